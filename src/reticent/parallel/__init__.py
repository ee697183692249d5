"""Many independent tasks over processes: joblib's on this machine, Ray's on a cluster.

A task is a pure function of its specification, seeded by identity (``randomness.seeded``), so one
core, two cores and a cluster give equal rows, and a task whose worker died is done again: the rows
are those of a run in which nobody died. No other package names joblib or Ray.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from reticent.parallel import processes
from reticent.parallel.backend import BACKENDS, RETRIES, current_cluster, tasks_on
from reticent.parallel.processes import dismiss_workers, kill_workers
from reticent.validation import InputError

__all__ = [
    "BACKENDS",
    "RETRIES",
    "begun",
    "cores",
    "dismiss_workers",
    "kill_workers",
    "map_tasks",
    "map_threads",
    "tasks_on",
    "workers",
    "workers_are_remote",
]

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

    ``jobs=1`` (the default) runs in this process; -1 takes every core, of the cluster within
    ``tasks_on("ray")``. ``on_done`` is called in this process with the number of finished tasks:
    hang a progress bar on it. A task whose worker process was killed is done again, ``RETRIES``
    times at most.
    """
    number, cluster = _checked(jobs), current_cluster()
    if cluster is None or number == 1:
        return processes.map_tasks(function, tasks, jobs=number, on_done=on_done)
    return cluster.map_tasks(function, tasks, jobs=number, on_done=on_done)


def map_threads(
    function: Callable[[Task], Row],
    tasks: Iterable[Task],
    *,
    jobs: int | None = None,
    on_row: Callable[[Row], object] | None = None,
) -> list[Row]:
    """The same where compiled code computes: in threads of this process, which share its memory.

    On a cluster these are tasks as well. ``on_row`` is called with each row, in their order on this
    machine.
    """
    number, cluster = _checked(jobs), current_cluster()
    if cluster is None or number == 1:
        return processes.map_threads(function, tasks, threads=workers(number), on_row=on_row)
    return cluster.map_tasks(function, tasks, jobs=number, on_row=on_row)


def begun(
    function: Callable[[Task], Row], task: Task, *, jobs: int | None = None
) -> Callable[[], Row]:
    """Start ``function(task)`` in another process; what is returned waits for its row.

    With ``jobs=1`` there is no other process: the task runs when it is waited for.
    """
    number, cluster = _checked(jobs), current_cluster()
    if cluster is None or number == 1:
        return processes.begun(function, task, jobs=number)
    return cluster.begun(function, task)


def workers(jobs: int | None = None) -> int:
    """How many run at a time for this ``jobs``: -1 is every core, None is 1."""
    number, cluster = _checked(jobs), current_cluster()
    if cluster is None or number == 1:
        return processes.workers(number)
    return cluster.workers(number)


def cores() -> int:
    """How many can really run at once: the cores that this process, or the cluster, may use."""
    return workers(-1)


def workers_are_remote() -> bool:
    """Whether tasks go to a cluster (``tasks_on``)."""
    return current_cluster() is not None


def _checked(jobs: int | None) -> int:
    if jobs is None:
        return 1
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs == 0:
        raise InputError(f"jobs must be a whole number other than 0 (-1: every core), got {jobs!r}")
    return jobs
