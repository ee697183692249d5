"""CPU time and memory of a command with all its worker processes, as Linux counts them.

``ru_maxrss`` of a child begins at its parent's peak where it was started by vfork, so resident
memory is read from /proc: the sum over all processes, looked at often, and each one's own VmHWM.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ONE_THREAD: Final = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)
"""Of linear algebra in each process."""
_PROC: Final = Path("/proc")
_SECONDS_BETWEEN_LOOKS: Final = 0.2
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, kw_only=True)
class Used:
    """What a command took: CPU and wall seconds, and bytes resident in all processes together."""

    cpu: float
    wall: float
    peak: int
    printed: str
    """Its standard output."""
    errors: str
    """Its error stream, where progress lines stand."""


def used_by(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    killed_when: Callable[[], bool] = lambda: False,
) -> Used:
    """Run a command to its end, with these variables in its environment.

    It is killed (SIGKILL) as soon as ``killed_when`` says so; its own processes are all that ends.
    """
    if not _PROC.is_dir():
        raise RuntimeError("the system must have /proc to count memory of processes, got none")
    seconds: dict[int, float] = {}
    peak, started, was_killed = 0, time.monotonic(), False
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(
            command, stdout=out, stderr=err, env={**os.environ, **environment}
        )
        while process.poll() is None:
            resident = 0
            for pid in _tree(process.pid):
                cpu, size = _stat(pid)
                seconds[pid] = max(seconds.get(pid, 0.0), cpu)
                resident += size
            peak = max(peak, resident)
            if killed_when():
                was_killed = True
                process.kill()
                process.wait()
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        out.seek(0)
        err.seek(0)
        printed, errors = out.read(), err.read()
    if process.returncode and not was_killed:
        raise RuntimeError(f"{command} must succeed, got {process.returncode}: {errors[-2000:]}")
    return Used(
        cpu=sum(seconds.values()),
        wall=time.monotonic() - started,
        peak=peak,
        printed=printed,
        errors=errors,
    )


def status(field: str) -> int:
    """Bytes of a field of this process, such as VmHWM (its peak) or VmRSS."""
    for line in (_PROC / "self" / "status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(f"{field} must be a field of /proc/self/status, got none")


def _tree(root: int) -> list[int]:
    """A process and all below it."""
    children: dict[int, list[int]] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            parent = _fields(int(folder.name))
            if parent:
                children.setdefault(int(parent[1]), []).append(int(folder.name))
    found, left = [], [root]
    while left:
        found.append(left.pop())
        left += children.get(found[-1], [])
    return found


def _stat(pid: int) -> tuple[float, int]:
    """CPU seconds and resident bytes; none of a process that has ended."""
    fields = _fields(pid)
    if not fields:
        return 0.0, 0
    return (int(fields[11]) + int(fields[12])) / _TICKS, int(fields[21]) * _PAGE


def _fields(pid: int) -> list[str]:
    """Of /proc/PID/stat, from the state on; the name before it may hold anything."""
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return []
