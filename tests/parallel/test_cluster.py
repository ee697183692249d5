"""Tasks on a Ray cluster of two nodes: equal rows, whoever dies; and a Ray that stays closed."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from functools import partial
from io import StringIO

import numpy as np
import psutil
import pytest

from reticent.parallel import begun, map_tasks, tasks_on, workers
from reticent.randomness import seeded
from reticent.validation import InputError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def two_nodes():
    """A head and another node, with one core each; workers at the usual priority."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(prefix="rr") as short:
        warnings.simplefilter("ignore")
        settings = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0", "RAY_TMPDIR": short}
        os.environ |= settings
        os.mkdir(f"{short}/ray")  # where its address is written
        from ray.cluster_utils import Cluster

        node = {"num_cpus": 1, "include_dashboard": False, "temp_dir": short}
        cluster = Cluster(initialize_head=True, head_node_args=node)
        cluster.add_node(num_cpus=1)
        yield cluster
        cluster.shutdown()
    for name in settings:
        del os.environ[name]


@pytest.fixture
def on_ray(two_nodes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tasks_on("ray", address=two_nodes.address):
            yield two_nodes


def draw(index):
    return index, float(seeded("test", index).normal())


def node(_):
    import ray

    time.sleep(0.5)
    return ray.get_runtime_context().get_node_id()


def draw_or_die(folder, index):
    mark = folder / str(index)
    if index % 3 == 0 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return draw(index)


def die(_):
    os.kill(os.getpid(), signal.SIGKILL)


def divide(number):
    return 1 / number


def draw_elsewhere(lost, mark, index):
    """On the node that will be lost it never ends."""
    import ray

    if ray.get_runtime_context().get_node_id() == lost:
        mark.touch()
        time.sleep(600)
    return draw(index)


def test_both_nodes_work_and_rows_come_in_order(on_ray):
    assert workers(-1) == 2
    assert len(set(map_tasks(node, range(6), jobs=-1))) == 2
    seen = []
    assert map_tasks(draw, range(6), jobs=-1, on_done=seen.append) == map_tasks(draw, range(6))
    assert seen == list(range(1, 7))
    assert begun(draw, 4, jobs=2)() == draw(4)


def test_a_worker_that_is_killed_changes_nothing(on_ray, tmp_path):
    rows = map_tasks(partial(draw_or_die, tmp_path), range(4), jobs=2)
    assert rows == map_tasks(draw, range(4))
    assert len(list(tmp_path.iterdir())) == 2, "two workers were killed"


def test_what_a_task_raises_is_raised_as_it_is_and_a_deadly_one_is_told(on_ray):
    with pytest.raises(ZeroDivisionError, match=r"^division by zero$"):
        map_tasks(divide, [1, 0, 2], jobs=2)
    with pytest.raises(InputError, match=r"whose worker died 4 times .* use fewer jobs"):
        map_tasks(die, [0], jobs=2)


def study():
    """Table 1's way to a sensitivity, and shadow models, on a small table: plain numbers."""
    from sklearn.base import clone  # in here: every worker imports this file
    from sklearn.linear_model import LogisticRegression

    from reticent.attacks.records import Records
    from reticent.attacks.shadow_models import train_shadows
    from reticent.neighbours.head_sensitivity import published_sensitivity
    from reticent.training import SoftmaxHead

    rng = np.random.default_rng(3)
    rows, labels = rng.normal(size=(60, 5)), np.arange(60) % 3
    head = SoftmaxHead(bound=3.0, penalty=0.05, classes=(0, 1, 2))

    def refit(kept):
        return clone(head).fit(rows[kept], labels[kept]).weights_

    found = published_sensitivity(refit, len(rows), 4, 1, jobs=2)
    pool = Records(rows, labels)
    shadows = [
        train_shadows(kind, pool, count=4, seed=2, jobs=2)
        for kind in (head, LogisticRegression())  # stacked, and each by itself
    ]
    scores = [model.probabilities(rows).tolist() for one in shadows for model in one.models]
    return found.l1, found.l2, scores


def test_loky_and_ray_give_identical_rows_of_one_study(two_nodes):
    here = study()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tasks_on("ray", address=two_nodes.address):
            assert study() == here


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Members, others and two releases, small."""
    folder = tmp_path_factory.mktemp("tables")
    rng, labels = np.random.default_rng(5), np.arange(60) % 2
    for name in ("train", "test"):
        rows = rng.normal(size=(60, 3)) + np.eye(2, 3)[labels]
        np.savez(folder / f"{name}.npz", x=rows, y=labels)
    for out in ("one", "two"):
        budget = "--epsilon 1 --delta 1e-4 --relation add-remove --learner class-means"
        told = f"protect --private train.npz {TABLE} {budget} --out {out}"
        assert called(told, folder)[0] == 0
    return folder


TABLE = "--label y --classes 0,1 --records 60"
COMMANDS = {
    "attack": "attack --target one --members train.npz --nonmembers test.npz --label y"
    " --attacks lira-online,loss --shadows 4",
    "audit": "audit one two --private train.npz --label y --runs 40",
    "run": f"run --private train.npz --test test.npz {TABLE} --bound 3 --epsilon 1 --delta 1e-4"
    " --relation add-remove --epsilons 1 --draws 2 --shadows 10 --learner class-means --out whole"
    " --replace",
    "reproduce": "reproduce alm fig2 --on digits",
}


def called(line, folder, *more):
    """Exit code and what a command prints, in this process: its study may be made small."""
    from reticent.cli.main import run

    with chdir(folder), redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as errors:
        code = run([*line.split(), *more])
    return code, out.getvalue(), errors.getvalue()


def without_noise(command, document):
    """What no protecting noise is in: that is fresh in every run, on one backend as on another."""
    if command == "audit":
        return [(one["release"], one["claim"]) for one in document["audits"]], document["beta_each"]
    if command == "run":
        releases = [(one["name"], one["claim"], one["scales"]) for one in document["releases"]]
        return releases, *(document[part] for part in ("facts", "unprotected", "sensitivities"))
    return document


@pytest.mark.parametrize("command", COMMANDS)
def test_every_long_command_gives_the_same_on_loky_and_ray(two_nodes, tables, command, monkeypatch):
    from reticent.studies import alm_fig2

    small = alm_fig2.Fig2(on="digits", members=60, epsilons=(1.0,), pairs=2, draws=1, seeds=2)
    monkeypatch.setitem(alm_fig2.SPECS, "digits", small)
    found = []
    for where in (("loky",), ("ray", "--address", two_nodes.address)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            more = ("--jobs", "2", "--json", "--quiet", "--backend", *where)
            code, text, errors = called(COMMANDS[command], tables, *more)
        assert code == 0, errors
        found.append(without_noise(command, json.loads(text)))
    assert found[0] == found[1]


@pytest.mark.parametrize("backend", ["loky", "ray"])
def test_a_worker_killed_in_mid_study_changes_nothing(two_nodes, backend):
    """Refits of ALM's Fig. 2: one worker is killed at its work, and the tables are the same."""
    from reticent.studies import alm_fig2
    from reticent.studies.trained import Run, Steps

    spec = alm_fig2.Fig2(on="digits", members=60, epsilons=(1.0,), pairs=5, draws=1, seeds=2)
    at_work = {"ray": "ray::reticent", "loky": "loky"}[backend]
    killed = []

    def kill(*_):
        for process in [] if killed else psutil.Process().children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if at_work in " ".join(process.cmdline()) and process.children() == []:
                    process.kill()
                    killed.append(process.pid)
                    return

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tasks_on(backend, address=two_nodes.address if backend == "ray" else None):
            there = alm_fig2.study(spec, Run(jobs=2, steps=Steps(advance=kill)))
    assert killed, "a worker was at work"
    assert there == alm_fig2.study(spec, Run())


def test_a_node_that_is_lost_changes_nothing(two_nodes, tmp_path):
    """It is lost when a task of its own has begun on it, which another node does again."""
    mark = tmp_path / "begun"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lost = two_nodes.add_node(num_cpus=1)
        with tasks_on("ray", address=two_nodes.address):
            assert workers(-1) == 3

            def lose(_):
                if mark.exists() and lost in two_nodes.worker_nodes:
                    two_nodes.remove_node(lost, allow_graceful=False)
                time.sleep(0.2)

            task = partial(draw_elsewhere, lost.node_id, mark)
            rows = map_tasks(task, range(40), jobs=3, on_done=lose)
            assert rows == map_tasks(draw, range(40))
            assert mark.exists()


CLOSED = """
import contextlib, os, sys, pathlib, tempfile
import psutil
from reticent.parallel import map_tasks, tasks_on

SECRET = "a-private-value-17"

def fail(number):
    print(SECRET[:10] + SECRET[10:])
    raise ValueError(SECRET)

if __name__ == "__main__":
    tempfile.tempdir = sys.argv[1]
    with tasks_on("ray"):
        for _ in range(100):  # others are under way, or end just then
            try:
                map_tasks(fail, range(4), jobs=2)
            except ValueError as error:
                assert str(error) == SECRET
        tree = psutil.Process().children(recursive=True)
        heard, names = set(), ""
        for process in tree:
            with contextlib.suppress(psutil.NoSuchProcess):  # a worker that was idle
                names += " ".join(process.cmdline())
                found = process.net_connections("inet")
                heard |= {one.laddr.ip for one in found if one.status == "LISTEN"}
        assert heard and heard <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}, heard
        assert "--disable-frontend" in names, names  # the process is there, and shows nothing
        folder, = pathlib.Path(sys.argv[1]).glob("rr-*")
        files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
        assert files
        told = [path.name for path in files if SECRET.encode() in path.read_bytes()]
        assert all(name.startswith("worker-") and name.endswith(".out") for name in told), told
        assert folder.stat().st_mode & 0o077 == 0
    assert not folder.exists()
    assert not psutil.Process().children(recursive=True)
    print("closed")
"""


def test_a_ray_of_our_own_listens_to_this_machine_alone_and_leaves_nothing(tmp_path):
    """The address in the environment is not followed; what a task raised stands in no file.

    What a task prints is in its worker's file, as anywhere: tasks of the package print nothing.
    """
    (tmp_path / "closed.py").write_text(CLOSED)
    with tempfile.TemporaryDirectory(prefix="rr") as short:  # the path of a socket is short
        done = subprocess.run(
            [sys.executable, str(tmp_path / "closed.py"), short],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"RAY_ADDRESS": "192.0.2.1:6379"},
            timeout=300,
        )
    assert (done.returncode, done.stdout) == (0, "closed\n"), done.stderr[-2000:]
