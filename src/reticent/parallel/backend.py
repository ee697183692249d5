"""Which backend tasks go to: processes of this machine, or a cluster that was named."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.parallel.cluster import Cluster

BACKENDS: Final = ("loky", "ray")
"""Processes of this machine, by joblib; a Ray cluster."""
RETRIES: Final = 3
"""How often a task is done again whose worker was killed."""
_ADDRESS: Final = re.compile(r"(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}")
_clusters: "list[Cluster]" = []


def current_cluster() -> "Cluster | None":
    """The cluster that tasks go to; None where they stay on this machine."""
    return _clusters[-1] if _clusters else None


@contextmanager
def tasks_on(backend: str, *, address: str | None = None) -> Iterator[None]:
    """Within it, tasks that may run in other processes go to this backend.

    Args:
        backend: "loky" or "ray".
        address: HOST:PORT of a Ray cluster that this machine is a node of. Without it Ray is
            started here, for this job alone, and listens to this machine alone: no cluster is
            looked for, and the variable RAY_ADDRESS is not read.

    >>> with tasks_on("loky"):
    ...     current_cluster() is None
    True
    """
    if backend not in BACKENDS:
        raise InputError(f"backend must be {' or '.join(BACKENDS)}, got {backend!r}")
    if address is not None and backend != "ray":
        raise InputError(f"address must be said with the backend ray, got it with {backend}")
    if address is not None and not _ADDRESS.fullmatch(address):
        raise InputError(f"address must be HOST:PORT of a Ray cluster, got {address!r}")
    if backend != "ray":
        yield
        return
    from reticent.parallel.cluster import joined

    with joined(address) as cluster:
        _clusters.append(cluster)
        try:
            yield
        finally:
            _clusters.remove(cluster)
