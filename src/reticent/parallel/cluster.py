"""Tasks on a Ray cluster: the function is sent once, tasks are sent as they are due.

Ray retries a task whose worker or node died. What a task raises comes back as a value, so that
neither Ray's log nor its records of failed tasks show it. The dashboard and usage statistics are
off, workers' output is not collected, and a Ray of our own listens to this machine alone, with its
files in a folder that goes when it ends.
"""

import logging
import os
import signal
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from threadpoolctl import threadpool_limits

from reticent.parallel.backend import RETRIES
from reticent.validation import InputError

_CLOSED: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is sent to Ray's makers
    "RAY_task_events_report_interval_ms": "0",  # no records of tasks and of what failed
    "RAY_task_oom_retries": str(RETRIES),  # Ray's own bound is none
    "RAY_enable_metrics_collection": "0",
    "RAY_worker_niceness": "0",  # as loky's: Ray would let everybody else go first
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # or a warning about devices
}
"""Settings of a Ray of our own, most of which keep it closed; what the user has set stays."""
_LOOPBACK: Final = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""With 0 a Ray of our own listens to this machine alone, as it does on those systems."""
_LONGEST: Final = 20
"""Of the path of temporary files: that of a socket within it has about a hundred characters."""
_HANDLED: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

Task = TypeVar("Task")
Row = TypeVar("Row")


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A Ray cluster that this process has joined."""

    ray: Any

    def map_tasks(
        self,
        function: Callable[[Task], Row],
        tasks: Iterable[Task],
        *,
        jobs: int,
        on_done: Callable[[int], object] | None = None,
        on_row: Callable[[Row], object] | None = None,
    ) -> list[Row]:
        """As ``parallel.map_tasks``; rows come in the order of tasks, whoever is done first."""
        most, shared = self.workers(jobs), self.ray.put(function)
        rows: dict[int, Row] = {}
        waiting: dict[Any, int] = {}

        def take_one() -> None:
            ready, _ = self.ray.wait(list(waiting), num_returns=1)
            rows[waiting.pop(ready[0])] = row = self._row(ready[0])
            if on_row is not None:
                on_row(row)
            if on_done is not None:
                on_done(len(rows))

        # Where something is raised, tasks under way end by themselves, or with this job: cancelling
        # one that is just then done ends this process (Ray's check "task that was not pending").
        for number, task in enumerate(tasks):
            while len(waiting) >= most:
                take_one()
            waiting[self._submitted(shared, task)] = number
        while waiting:
            take_one()
        return [rows[number] for number in sorted(rows)]

    def begun(self, function: Callable[[Task], Row], task: Task) -> Callable[[], Row]:
        """Submit one task to the cluster; what is returned waits for its row."""
        reference = self._submitted(self.ray.put(function), task)
        return lambda: self._row(reference)

    def workers(self, jobs: int) -> int:
        """-1 is every core of the cluster."""
        cores = int(self.ray.cluster_resources().get("CPU", 1))
        return jobs if jobs > 0 else max(cores + 1 + jobs, 1)

    def _submitted(self, function: Any, task: Any) -> Any:
        """Named alike for all: the name of a task is shown to whoever may look at the cluster."""
        remote = self.ray.remote(_ended)
        options = {"num_cpus": 1, "max_retries": RETRIES, "retry_exceptions": False}
        return remote.options(name="reticent", **options).remote(function, task)

    def _row(self, reference: Any) -> Any:
        """The row of a finished task; what it raised is raised here, as it was."""
        try:
            raised, row = self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            raise InputError(
                "jobs must be so few that memory suffices for all, got a task whose worker died"
                f" {RETRIES + 1} times ({type(error).__name__}): use fewer jobs"
            ) from None
        if raised is not None:
            raise raised
        return row


def _ended(function: Callable[[Any], Any], task: Any) -> tuple[Exception | None, Any]:
    """In a worker: the row, or what the task raised; one thread of linear algebra, as in loky's."""
    try:
        with threadpool_limits(limits=1):
            return None, function(task)
    except Exception as error:  # noqa: BLE001 - it is raised again where it is waited for
        return error.with_traceback(None), None


@contextmanager
def joined(address: str | None) -> Iterator[Cluster]:
    """Within it this process belongs to that cluster, or to one of its own."""
    for name, value in _CLOSED.items():
        os.environ.setdefault(name, value)
    ray = _ray()
    if ray.is_initialized():  # by the caller, for purposes of its own: it stays
        yield Cluster(ray=ray)
        return
    short = None if len(tempfile.gettempdir()) < _LONGEST else "/tmp"
    with tempfile.TemporaryDirectory(prefix="rr-", dir=short, ignore_cleanup_errors=True) as folder:
        _start(ray, address, folder)
        try:
            yield Cluster(ray=ray)
        finally:
            ray.shutdown()


def _start(ray: Any, address: str | None, folder: str) -> None:
    """Signals stay ours: Ray would end the program without a word, and leave files."""
    handlers = {number: signal.getsignal(number) for number in _HANDLED}
    # A folder within the folder: Ray opens its own to everybody, and ours is our owner's alone.
    own = {"include_dashboard": False, "_temp_dir": os.path.join(folder, "r")}
    try:
        with warnings.catch_warnings(), _listening_to(ray, address):
            warnings.simplefilter("ignore")
            ray.init(
                address="local" if address is None else address,
                log_to_driver=False,
                logging_level=logging.CRITICAL,
                **(own if address is None else {}),
            )
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = "on this machine" if address is None else f"at {address}"
        raise InputError(
            f"address must be that of a Ray cluster which this machine is a node of, got none"
            f" {where} ({type(error).__name__})"
        ) from None
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in handlers.items():
                signal.signal(number, handler)


@contextmanager
def _listening_to(ray: Any, address: str | None) -> Iterator[None]:
    """A Ray of our own is told so before it starts; a cluster's nodes were told by others."""
    constants = ray._private.ray_constants
    before, constants.ENABLE_RAY_CLUSTER = constants.ENABLE_RAY_CLUSTER, address is not None
    if address is None:
        os.environ[_LOOPBACK] = "0"
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before
        if address is None:
            del os.environ[_LOOPBACK]


def _ray() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import ray
            import ray._private.ray_constants
            import ray._private.worker
            import ray.exceptions
    except ModuleNotFoundError:
        raise InputError(
            "ray must be installed for the backend ray: pip install 'reticent[ray]'"
        ) from None
    # What Ray says of workers that died goes to the standard output, where an answer stands.
    ray._private.worker.print_to_stdstream = lambda *_, **__: None
    return ray
