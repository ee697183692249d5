"""Tasks give the same rows in the same order, however many run at once."""

import os
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from reticent.parallel import (
    begun,
    dismiss_workers,
    kill_workers,
    map_tasks,
    map_threads,
    tasks_on,
    workers,
)
from reticent.randomness import seeded
from reticent.validation import InputError


def draw(index):
    return index, float(seeded("test", index).normal())


def test_one_and_two_processes_give_equal_rows():
    alone = map_tasks(draw, range(6))
    assert map_tasks(draw, range(6), jobs=2) == alone
    assert [index for index, _ in alone] == list(range(6))
    assert len({value for _, value in alone}) == 6


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_task_that_was_begun_gives_its_row_beside_others(jobs):
    waits = [begun(draw, index, jobs=jobs) for index in range(2)]
    rows = map_tasks(draw, range(6), jobs=jobs)
    assert [wait() for wait in reversed(waits)] == [rows[1], rows[0]]


def test_a_task_that_was_begun_runs_in_another_process_at_once(tmp_path):
    mark = tmp_path / "mark"
    wait = begun(_leave, mark, jobs=2)
    deadline = time.monotonic() + 60
    while not mark.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert int(mark.read_text()) == wait() != os.getpid()


def test_what_a_task_raises_is_raised_where_it_is_waited_for():
    with pytest.raises(ZeroDivisionError):
        begun(_divide, 0, jobs=2)()


@pytest.mark.slow
def test_a_task_that_kills_every_worker_is_told_in_one_line():
    with pytest.raises(InputError, match="a worker process that was killed, 4 times: use 1 job"):
        map_tasks(_die, range(2), jobs=2)
    with pytest.raises(InputError, match="got a worker process that was killed, 4 times"):
        begun(_die, 0, jobs=2)()
    assert map_tasks(draw, range(2), jobs=2) == map_tasks(draw, range(2))


def test_a_worker_that_is_killed_changes_nothing(tmp_path):
    """The third task ends its worker, twice; the rows are those of nobody's death."""
    seen = []
    rows = map_tasks(partial(_draw_or_die, tmp_path), range(6), jobs=2, on_done=seen.append)
    assert rows == map_tasks(draw, range(6))
    assert seen == list(range(1, 7))
    assert len(list(tmp_path.iterdir())) == DEATHS


def test_a_task_that_was_begun_is_begun_again_where_its_worker_was_killed(tmp_path):
    assert begun(partial(_draw_or_die, tmp_path), FATAL, jobs=2)() == draw(FATAL)
    assert len(list(tmp_path.iterdir())) == DEATHS


FATAL, DEATHS = 2, 2


def _draw_or_die(folder, index):
    deaths = len(list(folder.iterdir()))
    if index == FATAL and deaths < DEATHS:
        (folder / str(deaths)).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return draw(index)


def test_threads_give_rows_in_the_order_of_tasks():
    seen = []
    rows = map_threads(draw, range(6), jobs=2, on_row=seen.append)
    assert rows == seen == map_tasks(draw, range(6))


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (("dask", None), "backend must be loky or ray, got 'dask'"),
        (("loky", "here:6379"), "address must be said with the backend ray, got it with loky"),
        (("ray", "auto"), "address must be HOST:PORT of a Ray cluster, got 'auto'"),
        (("ray", "ray://here:10001"), "address must be HOST:PORT"),
    ],
)
def test_backends_that_are_refused(given, rule):
    backend, address = given
    with pytest.raises(InputError, match=rule), tasks_on(backend, address=address):
        pass


def test_without_ray_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'reticent\[ray\]'"), tasks_on("ray"):
        pass


def test_workers_that_were_dismissed_are_followed_by_others():
    first = set(map_tasks(_place, range(2), jobs=2))
    dismiss_workers()
    second = set(map_tasks(_place, range(2), jobs=2))
    assert not first & second
    dismiss_workers()
    dismiss_workers()  # nobody is there


def test_workers_that_are_killed_are_gone_at_once():
    killed = set(map_tasks(_place, range(4), jobs=2))
    kill_workers()
    assert not any(_lives(pid) for pid in killed)
    kill_workers()  # nobody is there
    assert not killed & set(map_tasks(_place, range(2), jobs=2))


def _lives(pid):
    """Whether it runs a second later; one that ended and was not asked for is a zombie."""
    asked = ["ps", "-o", "stat=", "-p", str(pid)]
    for _ in range(100):
        state = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
        if not state.strip() or state.startswith("Z"):
            return False
        time.sleep(0.01)
    return True


def _place(_):
    return os.getpid()


def _die(_):
    os.kill(os.getpid(), signal.SIGKILL)


def _leave(mark):
    mark.write_text(str(os.getpid()))
    return os.getpid()


def _divide(number):
    return 1 / number


def test_progress_counts_up():
    seen = []
    map_tasks(draw, range(3), on_done=seen.append)
    assert seen == [1, 2, 3]


@pytest.mark.parametrize("jobs", [0, True, "2", 1.5])
def test_bad_jobs(jobs):
    with pytest.raises(InputError, match="jobs must be a whole number"):
        map_tasks(draw, range(2), jobs=jobs)
    with pytest.raises(InputError, match="jobs must be a whole number"):
        workers(jobs)


def test_workers():
    assert (workers(), workers(1), workers(3)) == (1, 1, 3)
    assert 1 <= workers(-1) <= (os.cpu_count() or 1)


GROWING = """
import time, warnings
import numpy as np
from reticent.parallel import map_tasks

def grow(number):
    vars(np).setdefault("kept", []).append(np.ones(40_000_000))  # joblib minds growth by 300 MB
    time.sleep(1.2)  # it looks once a second
    return number

warnings.simplefilter("error")
print(map_tasks(grow, range(6), jobs=2))
"""


@pytest.mark.slow
def test_a_worker_that_grew_is_replaced_where_warnings_are_errors():
    """As in a test suite: the warning would end joblib's own thread, and nothing would go on."""
    done = subprocess.run(
        [sys.executable, "-c", GROWING], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout) == (0, "[0, 1, 2, 3, 4, 5]\n")
