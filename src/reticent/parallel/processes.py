"""Tasks over processes and threads of this machine, by joblib."""

import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from contextlib import suppress
from typing import Final, TypeVar

import joblib
from joblib._parallel_backends import LokyBackend
from joblib.externals.loky import get_reusable_executor

from reticent.parallel.backend import RETRIES
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
    jobs: int,
    on_done: Callable[[int], object] | None = None,
) -> list[Row]:
    """As ``parallel.map_tasks``. Where a worker was killed, those that had no row are done again.

    joblib does not say whose worker it was. So tries are counted in which no further row came: a
    task that kills its worker every time is soon the first of those that are left.
    """
    left = tasks if jobs == 1 else list(tasks)  # in this process no worker dies
    rows: list[Row] = []
    tries = before = 0
    while True:
        try:
            for row in _runner(jobs)(joblib.delayed(function)(task) for task in left):
                rows.append(row)
                if on_done is not None:
                    on_done(len(rows))
        except BrokenExecutor:
            tries = 1 if len(rows) > before else tries + 1
            if tries > RETRIES:
                raise _killed() from None
            left, before = list(left)[len(rows) - before :], len(rows)
        else:
            return rows


def map_threads(
    function: Callable[[Task], Row],
    tasks: Iterable[Task],
    *,
    threads: int,
    on_row: Callable[[Row], object] | None = None,
) -> list[Row]:
    """The rows of all tasks in their order, by threads of this process."""
    rows = []
    with ThreadPoolExecutor(threads) as pool:
        for row in pool.map(function, tasks):
            rows.append(row)
            if on_row is not None:
                on_row(row)
    return rows


def begun(function: Callable[[Task], Row], task: Task, *, jobs: int) -> Callable[[], Row]:
    """As ``parallel.begun``; where its worker was killed it is begun again by whoever waits."""
    rows = [_runner(jobs)([joblib.delayed(function)(task)])]

    def wait() -> Row:
        for left in reversed(range(RETRIES + 1)):
            try:
                row: Row = next(rows[-1])
            except BrokenExecutor:
                if left:
                    rows.append(_runner(jobs)([joblib.delayed(function)(task)]))
            else:
                return row
        raise _killed()

    return wait


def _killed() -> InputError:
    """One line where the system killed workers, which it does when memory is short."""
    return InputError(
        "jobs must be so few that memory suffices for all, got a worker process that was killed,"
        f" {RETRIES + 1} times: use 1 job"
    )


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


def _runner(jobs: int) -> joblib.Parallel:
    """Processes of joblib's own kind look after the one that they work for; others' do not."""
    for message in _EXPECTED:
        warnings.filterwarnings("ignore", message=message)
    backend, _ = joblib.parallel.get_active_backend()
    watch = {"initializer": _watch_owner, "initargs": (os.getpid(),)}
    more = watch if isinstance(backend, LokyBackend) and jobs != 1 else {}
    return joblib.Parallel(n_jobs=jobs, return_as="generator", **more)


def _watch_owner(owner: int) -> None:
    """In a worker: end it when the process that it works for has ended, however that was."""

    def watch() -> None:
        while os.getppid() == owner:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="reticent-owner").start()


def workers(jobs: int) -> int:
    """How many processes so many ``jobs`` are: -1 stands for all cores."""
    return int(joblib.effective_n_jobs(jobs))
