"""Studies that train: what they are run with, what they hand back, and what a stop leaves behind.

A finished cell of a study is a function of the specification and its key alone (and of fresh
noise), so it can be kept in a file and taken from there when the same command is run again.
"""

import dataclasses
import datetime
import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reticent.files import write_atomic
from reticent.results.table import Table
from reticent.validation import InputError

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
        found = name.hexdigest()[:32]
        if found not in self._kept:
            self._kept[found] = compute()
            if self._path is not None:
                content = json.dumps(self._kept, allow_nan=False, ensure_ascii=False)
                write_atomic(self._path, content.encode())
        return self._kept[found]

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


def record(outcome: Outcome, *, command: str) -> dict[str, object]:
    """What is kept of a study: all that is needed to judge and repeat it, and no path."""
    return {
        "command": command,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": _versions(),
        "specifications": [dataclasses.asdict(spec) for spec in outcome.specifications],
        "tables": [table.to_dict() for table in outcome.tables],
    }


def _versions() -> Mapping[str, str]:
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _read(path: Path) -> dict[str, Any]:
    """What an earlier run kept; a file that is none of ours is refused, not overwritten."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError):
        kept = None
    if not isinstance(kept, dict):
        raise InputError(f"{path} must hold the cells of an earlier run, got another file")
    return kept


def numbered(values: Sequence[float]) -> str:
    """0.1, 0.5, 1 as a reader writes them."""
    return ", ".join(f"{value:g}" for value in values)
