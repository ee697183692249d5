"""Ends of processes: SIGTERM leaves no worker, no empty folder and no half file, also in pieces.

Every test here was seen to fail with its defence taken out (CONTRIBUTING.md: break it once).
"""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from reticent import files
from reticent.cli import progress
from reticent.files import clear_partial, folder_for, partial_folder, write_atomic
from tests.fuzz.processes import ended, started, wait_for, wait_for_workers

TERMINATED = 128 + signal.SIGTERM


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A table large enough for a run to take a while."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(3)
    for name in ("train", "test"):
        np.savez(folder / f"{name}.npz", x=rng.normal(size=(300, 40)), y=np.arange(300) % 3)
    return folder


def command(tables, out):
    told = "--label y --epsilon 1 --delta 1e-5 --relation add-remove --records 1000 --jobs 2"
    told += " --shadows 400"
    return [
        "run", "--private", str(tables / "train.npz"), "--test", str(tables / "test.npz"),
        *told.split(), "--out", str(out),
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0, 1, 3])
def test_sigterm_ends_all_workers_and_leaves_nothing(tables, tmp_path, seconds):
    """Three moments: workers start, workers learn, results come; ``make bench`` tries thirty."""
    process = started(command(tables, tmp_path / "out"))
    wait_for_workers(process)
    time.sleep(seconds)
    assert process.poll() is None, "the run must be long enough to be ended"
    _, left, said = ended(process, signal.SIGTERM)
    assert (left, process.returncode) == ([], TERMINATED)
    assert said.splitlines()[-1] == "reticent: interrupted"
    assert not (tmp_path / "out").exists()


STUCK = """
import sys, time
from reticent.cli.app import app
from reticent.cli.main import main
from reticent.files import folder_for

def sleep(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            time.sleep(1)
        except KeyboardInterrupt:
            pass  # code that swallows an interruption, or compiled code that never sees it

def stuck():
    from pathlib import Path
    with folder_for(Path(sys.argv[1])):
        from reticent.parallel import begun
        wait = begun(time.sleep, 600, jobs=2)
        Path(sys.argv[1]).with_name("deaf").touch()
        sleep(600)

app.command("stuck")(stuck)
main(["stuck"])
"""


@pytest.mark.slow
def test_a_main_thread_that_does_not_listen_is_ended_all_the_same(tmp_path):
    process = started([str(tmp_path / "out")], code=STUCK)
    wait_for_workers(process)
    wait_for((tmp_path / "deaf").exists)
    time.sleep(1)
    assert (tmp_path / "out").exists()
    _, left, _ = ended(process, signal.SIGTERM)
    assert (left, process.returncode) == ([], TERMINATED)
    assert not (tmp_path / "out").exists()


FORKED = """
import os, signal, time
from reticent.cli import termination
termination.SECONDS = 0.1
termination.end_on_signals()
child = os.fork()
if child == 0:
    try:
        time.sleep(60)
    finally:
        os._exit(1)
time.sleep(0.2)
os.kill(child, signal.SIGTERM)
status = os.waitpid(child, 0)[1]
time.sleep(1)
print(os.waitstatus_to_exitcode(status))
"""


def test_a_forked_child_that_is_ended_leaves_its_parent_alone():
    """Its signal must not reach the thread that would end the parent."""
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"%d\n" % -signal.SIGTERM)


@pytest.mark.slow
def test_workers_end_with_a_process_that_was_killed(tables, tmp_path):
    process = started(command(tables, tmp_path / "out"))
    wait_for_workers(process)
    _, left, _ = ended(process, signal.SIGKILL)
    assert left == []


# --------------------------------------------------------------- what a killed run has left


WRITING = """
import os, sys, signal
from pathlib import Path
from reticent import files
target = Path(sys.argv[1])
with files.partial_folder(".run-", within=target):
    os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
    files.write_atomic(target / "results.json", b"half")
"""


def test_the_next_run_clears_what_a_killed_one_left(tmp_path):
    killed = subprocess.run([sys.executable, "-c", WRITING, tmp_path], check=False)
    assert killed.returncode == -signal.SIGKILL
    left = sorted(path.name.partition(".")[2].partition(".")[0] for path in tmp_path.iterdir())
    assert len(left) == 2, "a partial file and a folder"
    with folder_for(tmp_path):
        assert list(tmp_path.iterdir()) == []


def test_writing_a_file_again_clears_its_partial_one(tmp_path):
    (tmp_path / ".a.json.0123.reticent-partial").write_text("half")
    (tmp_path / ".b.json.0123.reticent-partial").write_text("of another file")
    write_atomic(tmp_path / "a.json", b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {
        "a.json",
        ".b.json.0123.reticent-partial",
    }


def test_what_somebody_still_writes_is_not_cleared(tmp_path):
    """The lock is another process's: pid or age would tell nothing."""
    code = (
        "import sys, pathlib\nfrom reticent.files import partial_folder\n"
        "with partial_folder('.run-', within=pathlib.Path(sys.argv[1])) as folder:\n"
        "    print(folder, flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        folder = other.stdout.readline().strip()
        clear_partial(tmp_path, ".")
        assert os.path.isdir(folder)
        other.stdin.close()
        other.wait()
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("kept")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".x.reticent-partial").symlink_to(tmp_path / "kept")
    clear_partial(tmp_path / "out", ".")
    assert (tmp_path / "kept" / "file").read_text() == "kept"


def test_a_private_scratch_folder_is_its_owners_and_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(files.tempfile, "tempdir", str(tmp_path))
    with partial_folder("reticent-") as folder:
        assert folder.parent == tmp_path
        assert folder.stat().st_mode & 0o077 == 0
    assert list(tmp_path.iterdir()) == []


# ----------------------------------------------------------------------------- progress lines


def test_long_work_is_told_of_without_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.05)
    shown = []

    def is_told():
        captured = capsys.readouterr()
        assert captured.out == "", "an answer in JSON stays JSON"
        shown.extend(captured.err.splitlines())
        return any("attacks" in line for line in shown)

    with progress.stages() as tell:
        tell("attacks", 3, 12)
        wait_for(is_told)  # no further step is told: the line comes all the same
    assert shown[-1].startswith("reticent: attacks: 3 of 12, after ")


def test_short_work_and_a_loop_of_many_steps_print_no_line(capsys):
    with progress.stages() as tell:
        for done in range(10_000):
            tell("shadow models", done, 10_000)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")
