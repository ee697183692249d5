"""The program in a session of its own, and who of it is left after a signal."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
Program = subprocess.Popen[str]


def started(arguments: list[str], *, code: str | None = None) -> Program:
    """``reticent ARGUMENTS`` or other code, as the leader of a new session."""
    program = ["-m", "reticent"] if code is None else ["-c", code]
    return subprocess.Popen(
        [sys.executable, *program, *arguments],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def left_of(process: Program) -> list[int]:
    """The processes of its session that live."""
    return [pid for pid, session, state in _listed() if session == process.pid and state != "Z"]


def _listed() -> Iterator[tuple[int, int, str]]:
    """Id, session (of macOS: group) and state of every process."""
    if sys.platform == "linux":  # tests ask ten times a second: no program is started for it
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):  # it has ended meanwhile
                    state, _, _, session = _stat(entry)[:4]
                    yield int(entry.name), int(session), state
        return
    asked = ["ps", "-A", "-o", "pid=,pgid=,stat="]
    listed = subprocess.run(asked, check=True, capture_output=True, text=True)
    for line in listed.stdout.splitlines():
        pid, of, state = line.split()
        yield int(pid), int(of), state[0]


def _stat(entry: Path) -> list[str]:
    """What follows the name, which may hold anything: state, parent, group, session."""
    return (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()


def ended(
    process: Program, number: signal.Signals, *, limit: float = 20
) -> tuple[float, list[int], str]:
    """Seconds until nobody is left, who is left after ``limit``, and what was printed.

    The promise is 5 seconds (``make bench`` measures it); a busy machine may take longer.
    """
    begun = time.monotonic()
    os.kill(process.pid, number)
    while (left := left_of(process)) and time.monotonic() - begun < limit:
        time.sleep(0.02)
    seconds = time.monotonic() - begun
    for one in left:
        os.kill(one, signal.SIGKILL)
    said, _ = process.communicate()
    return seconds, left, said


def wait_for_workers(process: Program) -> None:
    """Until there are it, joblib's tracker and two workers; one that ended shows what it said."""
    wait_for(lambda: len(left_of(process)) >= 4 or process.poll() is not None)
    if process.poll() is not None:
        raise AssertionError(process.communicate()[0][-2000:])


def wait_for(holds: Callable[[], bool], seconds: float = 240) -> None:
    """Until it holds; a machine may be busy."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError("it did not happen")
        time.sleep(0.1)
