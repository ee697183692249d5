"""Verdicts as they are given, a line of JSON each, so that a run that was cut off goes on."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from tools.mutation.sites import Mutant

Row = dict[str, Any]


class Journal:
    """The verdicts on one package, drawn with one seed."""

    def __init__(self, path: Path) -> None:
        self.rows: dict[str, Row] = {}
        self.unchanged: Row | None = None
        self._path = path
        self._lock = threading.Lock()

    @classmethod
    def opened(cls, path: Path, header: Row) -> Journal:
        """The journal with this header; one with another is begun anew."""
        journal = cls(path)
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        entries = [entry for line in lines if (entry := _parsed(line)) is not None]
        if not entries or entries[0] != {"header": header}:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"header": header}) + "\n", encoding="utf-8")
            return journal
        for entry in entries[1:]:
            journal._read(entry)
        return journal

    def row(self, mutant: Mutant) -> Row | None:
        """The verdict on a mutant, if it was given."""
        return self.rows.get(key_in_journal(mutant))

    def survived(self, mutant: Mutant) -> bool:
        """Whether its verdict was that it survived."""
        row = self.row(mutant)
        return row is not None and row["verdict"] == "survived"

    def add(self, mutant: Mutant, row: Row) -> None:
        """A verdict, on disk when this returns."""
        self._append({"mutant": key_in_journal(mutant), "row": row})

    def set_unchanged(self, values: Row) -> None:
        """What the unchanged project gives."""
        self._append({"unchanged": values})

    def _append(self, entry: Row) -> None:
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
            self._read(entry)

    def _read(self, entry: Row) -> None:
        if "unchanged" in entry:
            self.unchanged = entry["unchanged"]
        else:
            self.rows[entry["mutant"]] = entry["row"]


def _parsed(line: str) -> Row | None:
    """A line that was cut off is none."""
    try:
        entry: Row = json.loads(line)
    except ValueError:
        return None
    return entry


def key_in_journal(mutant: Mutant) -> str:
    """What names a mutant of one version of the package."""
    return f"{mutant.file} {mutant.start} {mutant.end} {mutant.text}"
