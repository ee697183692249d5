"""Studies that train: what they are run with, what they hand back, and what a stop leaves behind.

A finished cell of a study is a function of the specification and its key alone (and of fresh
noise), so it can be kept in a file and taken from there when the same command is run again.
"""

import ast
import datetime
import hashlib
import importlib
import importlib.metadata
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from reticent import strict_json
from reticent.files import write_atomic
from reticent.results.table import Table
from reticent.validation import InputError

__all__ = [
    "LIBRARIES",
    "Cells",
    "Outcome",
    "Run",
    "Steps",
    "Table",  # what an outcome is made of
    "Trained",
    "exact_in",
    "numbered",
    "record",
    "trained_in",
]

LIBRARIES = ("reticent", "numpy", "scipy", "scikit-learn", "torch")


@dataclass(kw_only=True)
class Steps:
    """How far a study is: fits and draws done, out of those planned."""

    advance: Callable[[int, int], None] | None = None
    done: int = 0
    whole: int = 0

    def plan(self, whole: int) -> None:
        """So many steps will be made."""
        self.whole = whole

    def step(self, *_: object) -> None:
        """Tell that one more step is done."""
        self.reach(self.done + 1)

    def reach(self, done: int) -> None:
        """Tell that so many steps are done in all."""
        self.done = done
        if self.advance is not None:
            self.advance(min(done, self.whole), self.whole)


class Cells:
    """Finished cells; with a path they are kept in a file after each one."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._kept: dict[str, Any] = {}
        if path is not None and path.is_file():
            self._kept = _read(path)

    def get(self, key: object, compute: Callable[[], Any]) -> Any:
        """The plain values of this cell, computed unless they are there."""
        name = hashlib.sha256(f"{importlib.metadata.version('reticent')} {key!r}".encode())
        digest = name.hexdigest()[:32]
        if digest not in self._kept:
            self._kept[digest] = compute()
            if self._path is not None:
                content = json.dumps(self._kept, allow_nan=False, ensure_ascii=False)
                write_atomic(self._path, content.encode())
        return self._kept[digest]

    def drop(self) -> None:
        """Forget the file: the result is written."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


@dataclass(frozen=True, kw_only=True)
class Run:
    """Where the data are, how many fits run at a time, and who is told how far it is."""

    folder: Path | None = None
    jobs: int = 1
    steps: Steps = field(default_factory=Steps)
    cells: Cells = field(default_factory=Cells)

    def cell(
        self, key: object, compute: Callable[..., Any], *arguments: Any, steps: int = 1
    ) -> Any:
        """The plain values of a cell, computed unless kept; so many steps are done then."""
        before = self.steps.done
        values = self.cells.get(key, lambda: compute(*arguments))
        self.steps.reach(before + steps)
        return values


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The tables of a study and the frozen specifications behind them."""

    specifications: tuple[Any, ...]
    tables: tuple[Table, ...]


@dataclass(frozen=True, kw_only=True)
class Trained:
    """An item of a paper that trains: on which data, and how it is run."""

    run: Callable[[str, Run], Outcome]
    on: tuple[str, ...]
    in_folder: frozenset[str] = frozenset()
    """Those of the data that are read from a data folder."""
    drawn: Callable[[Mapping[str, Any]], Mapping[str, str]] | None = None
    """Its figures, of what ``record`` makes of a result: SVG by the names of files."""

    @property
    def what(self) -> str:
        """What the item is, in one line."""
        return self.run.__doc__ or ""

    def chosen(self, on: str | None) -> str:
        """The data by name; by default the first."""
        if on is None:
            return self.on[0]
        if on not in self.on:
            raise InputError(f"--on must be one of {', '.join(self.on)}, got {on!r}")
        return on


def trained_in(
    module: str, on: Sequence[str], in_folder: Sequence[str] = (), *, has_figures: bool = False
) -> Trained:
    """An item that trains, as ``study`` and ``SPECS`` of a module that is imported when it runs.

    Of an item with figures the module has ``drawn`` too.
    """

    def run(on: str, run: Run) -> Outcome:
        studied = importlib.import_module(f"reticent.studies.{module}")
        outcome: Outcome = studied.study(studied.SPECS[on], run)
        return outcome

    run.__doc__ = _first_line(module, "study")

    def drawn(document: Mapping[str, Any]) -> Mapping[str, str]:
        studied = importlib.import_module(f"reticent.studies.{module}")
        figures: Mapping[str, str] = studied.drawn(document)
        return figures

    return Trained(
        run=run,
        on=tuple(on),
        in_folder=frozenset(in_folder),
        drawn=drawn if has_figures else None,
    )


def exact_in(module: str, function: str) -> Callable[[], Table]:
    """An item that needs no training: a function of a module that is imported when it is called."""

    def table() -> Table:
        made: Table = getattr(importlib.import_module(f"reticent.studies.{module}"), function)()
        return made

    table.__doc__ = _first_line(module, function)
    return table


def _first_line(module: str, function: str) -> str:
    """The first paragraph of a function's docstring, as a list of items shows it; no import."""
    path = Path(__file__).parent.joinpath(*module.split(".")).with_suffix(".py")
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return " ".join((ast.get_docstring(node) or "").partition("\n\n")[0].split())
    raise AttributeError(f"module {module!r} has no function {function!r}")


def record(outcome: Outcome, *, command: str) -> dict[str, object]:
    """What is kept of a study: all that is needed to judge and repeat it, and no path."""
    return {
        "command": command,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": _versions(),
        "specifications": [asdict(spec) for spec in outcome.specifications],
        "tables": [table.to_dict() for table in outcome.tables],
    }


def _versions() -> Mapping[str, str]:
    versions = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def _read(path: Path) -> dict[str, Any]:
    """What an earlier run kept; a file that is none of ours is refused, not overwritten."""
    try:
        kept = strict_json.read(path)
    except InputError:
        kept = None
    if not isinstance(kept, dict):
        raise InputError(f"{path} must hold the cells of an earlier run, got another file")
    return kept


def numbered(values: Sequence[float]) -> str:
    """0.1, 0.5, 1 as a reader writes them."""
    return ", ".join(f"{value:g}" for value in values)
