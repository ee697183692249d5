"""Many independent tasks over processes: joblib here, a cluster as another joblib backend.

A task is a pure function of its specification, seeded by identity (``randomness.seeded``), so
one core, two cores and a cluster give equal rows. No other module names joblib.
"""

import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, suppress
from typing import Final, TypeVar

import joblib
from joblib._parallel_backends import LokyBackend
from joblib.externals.loky import get_reusable_executor

from reticent.validation import InputError

_SECONDS_BETWEEN_LOOKS: Final = 0.5
_EXPECTED: Final = (
    r"\d+ tasks which were still being processed",  # whoever presses Ctrl-C knows that
    "A worker stopped while some jobs",  # one that grew: another takes its place
)
"""Warnings of joblib's that say nothing to a user. Where warnings are errors the second would end
the thread that hands out tasks, and everybody would wait for ever."""

Task = TypeVar("Task")
Row = TypeVar("Row")


def map_tasks(
    function: Callable[[Task], Row],
    tasks: Iterable[Task],
    *,
    jobs: int | None = None,
    on_done: Callable[[int], object] | None = None,
) -> list[Row]:
    """``[function(task) for task in tasks]`` in that order, ``jobs`` at a time.

    ``jobs=1`` (the default) runs in this process; -1 takes every core. ``on_done`` is called in
    this process with the number of finished tasks: hang a progress bar on it.
    """
    runner = _runner(jobs)
    rows: list[Row] = []
    with _ended_workers_told():
        for row in runner(joblib.delayed(function)(task) for task in tasks):
            rows.append(row)
            if on_done is not None:
                on_done(len(rows))
    return rows


def begun(
    function: Callable[[Task], Row], task: Task, *, jobs: int | None = None
) -> Callable[[], Row]:
    """Start ``function(task)`` in another process; what is returned waits for its row.

    With ``jobs=1`` there is no other process: the task runs when it is waited for.
    """
    runner = _runner(jobs)
    rows = runner([joblib.delayed(function)(task)])

    def wait() -> Row:
        with _ended_workers_told():
            row: Row = next(rows)
        return row

    return wait


@contextmanager
def _ended_workers_told() -> Iterator[None]:
    """One line where the system killed a worker, which it does when memory is short."""
    try:
        yield
    except BrokenExecutor:
        raise InputError(
            "jobs must be so few that memory suffices for all, got a worker process that was"
            " killed: use 1 job"
        ) from None


def dismiss_workers() -> None:
    """Let idle worker processes end now, without waiting: each takes a second to leave."""
    get_reusable_executor(reuse=True).shutdown(wait=False)


def kill_workers() -> None:
    """End the worker processes at once, in whatever they are; their tasks are lost.

    joblib's own tracker of shared memory is no worker: it removes what they leave, and goes.
    """
    for worker in multiprocessing.active_children():
        if worker.pid is not None:  # loky's processes have no ``kill`` of their own
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGKILL)


def _runner(jobs: int | None) -> joblib.Parallel:
    """Processes of joblib's own kind look after the one that they work for; a cluster's do not."""
    for message in _EXPECTED:
        warnings.filterwarnings("ignore", message=message)
    backend, _ = joblib.parallel.get_active_backend()
    watch = {"initializer": _watch_owner, "initargs": (os.getpid(),)}
    more = watch if isinstance(backend, LokyBackend) and _checked(jobs) != 1 else {}
    return joblib.Parallel(n_jobs=_checked(jobs), return_as="generator", **more)


def _watch_owner(owner: int) -> None:
    """In a worker: end it when the process that it works for has ended, however that was."""

    def watch() -> None:
        while os.getppid() == owner:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="reticent-owner").start()


def workers(jobs: int | None = None) -> int:
    """How many run at a time for this ``jobs``: -1 is every core, None is 1."""
    return int(joblib.effective_n_jobs(_checked(jobs)))


def cores() -> int:
    """How many can really run at once: the cores that this process may use."""
    return workers(-1)


def _checked(jobs: int | None) -> int:
    if jobs is None:
        return 1
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs == 0:
        raise InputError(f"jobs must be a whole number other than 0 (-1: every core), got {jobs!r}")
    return jobs
