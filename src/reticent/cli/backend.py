"""``--backend`` and ``--address``: where the tasks of a long command run."""

import functools
from collections.abc import Callable
from typing import Annotated, Any

import typer

from reticent.cli.option_groups import with_options
from reticent.validation import InputError

Backend = Annotated[
    str,
    typer.Option(
        help="Where tasks run: loky, processes of this machine; or ray, a cluster, with all of its"
        " cores unless --jobs says how many (pip install 'reticent[ray]')."
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="Of the Ray cluster, which sees the private records. Without it Ray is started on this"
        " machine for this command alone.",
    ),
]


def with_backend(command: Callable[..., None]) -> Callable[..., None]:
    """A command of many tasks with the options --backend and --address."""

    @functools.wraps(command)
    def placed(
        *arguments: Any, backend: str = "loky", address: str | None = None, **more: Any
    ) -> None:
        if backend == "loky" and address is None:  # and nothing that starts workers is loaded
            command(*arguments, **more)
            return
        from reticent.parallel import tasks_on, workers

        with tasks_on(backend, address=address):
            if more.get("jobs") == 1:  # where one process is usual: here it would stay idle
                more["jobs"] = workers(-1)
            command(*arguments, **more)

    return with_options(placed, {"backend": (Backend, "loky"), "address": (Address, None)})


def refuse_cluster(form: str) -> None:
    """Refuse a cluster for what is one task."""
    from reticent.parallel import workers_are_remote

    if workers_are_remote():
        raise InputError(f"--backend must be loky with {form}, which is one task, got ray")
