"""Progress of long work: bars on a terminal's error stream, and nothing anywhere else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


@contextmanager
def stages() -> Iterator[Callable[[str, int, int], None]]:
    """A function to be told what is being done, how much is done and how much there is."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:

        def tell(what: str, done: int, whole: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what)
            bars.update(tasks[what], completed=done, total=whole)

        yield tell


@contextmanager
def progress_line(what: str) -> Iterator[Callable[[int, int], None]]:
    """The same for work of one stage."""
    with stages() as tell:
        yield lambda done, whole: tell(what, done, whole)
