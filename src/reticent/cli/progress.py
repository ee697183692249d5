"""Progress of long work on the error stream: bars on a terminal, and now and then a line elsewhere.

A line comes from a thread of its own, so that one stage which takes long is told of as well. Work
that takes less than a line's interval prints nothing.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich import progress
from rich.console import Console

from reticent.cli.quiet import is_quiet, is_verbose
from reticent.validation import printable

SECONDS_BETWEEN_LINES = 15.0

ProgressCallback = Callable[[str, int, int], None]


@contextmanager
def stages(
    first: str = "starting", named: Mapping[str, str] | None = None
) -> Iterator[ProgressCallback]:
    """A function to be told what is being done, how much is done and how much there is.

    ``first`` stands in lines that come before it is told anything; ``named`` are other names for
    what it is told.
    """
    if is_quiet():
        yield lambda *_: None
        return
    console = Console(stderr=True)
    with _bars(console) if console.is_terminal else _lines(first) as show:
        tell = _told_stages(show) if is_verbose() else show
        other = named or {}
        yield lambda what, done, whole: tell(other.get(what, what), done, whole)


def _told_stages(show: ProgressCallback) -> ProgressCallback:
    """The same, and a line where a stage begins, with the seconds of the one before it."""
    started = time.monotonic()
    last: list[tuple[str, float]] = []

    def told(what: str, done: int, whole: int) -> None:
        if not last or last[-1][0] != what:
            now = time.monotonic()
            took = f" ({last[-1][0]}: {now - last[-1][1]:.1f} s)" if last else ""
            last[:] = [(what, now)]
            seconds = now - started
            print(
                f"reticent: {printable(what)} begins{took}, after {seconds:.0f} s",
                file=sys.stderr,
                flush=True,
            )
        show(what, done, whole)

    return told


@contextmanager
def progress_line(what: str) -> Iterator[Callable[[int, int], None]]:
    """The same for work of one stage."""
    with stages(f"{what}: starting") as show:
        yield lambda done, whole: show(what, done, whole)


@contextmanager
def _bars(console: Console) -> Iterator[ProgressCallback]:
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
    )
    tasks: dict[str, progress.TaskID] = {}
    with progress.Progress(*columns, console=console) as bars:

        def show(what: str, done: int, whole: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what)
            bars.update(tasks[what], completed=done, total=whole)

        yield show


@dataclass
class _State:
    """What was told last; a line is made of it."""

    line: str
    started: float = field(default_factory=time.monotonic)
    ended: threading.Event = field(default_factory=threading.Event)

    def show(self, what: str, done: int, whole: int) -> None:
        self.line = f"{what}: {done} of {whole}"

    def print_lines(self) -> None:
        while not self.ended.wait(SECONDS_BETWEEN_LINES):
            seconds = time.monotonic() - self.started
            try:
                print(f"reticent: {self.line}, after {seconds:.0f} s", file=sys.stderr, flush=True)
            except (OSError, ValueError):  # the reader has gone
                return


@contextmanager
def _lines(first: str) -> Iterator[ProgressCallback]:
    state = _State(first)
    printing = threading.Thread(target=state.print_lines, daemon=True, name="reticent-progress")
    printing.start()
    try:
        yield state.show
    finally:
        state.ended.set()
        printing.join()
