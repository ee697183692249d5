"""The verdicts as the file that is committed, and as what is said at the end of a run."""

from __future__ import annotations

import datetime
import platform
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tools.mutation.figures import TOLERANCE
from tools.mutation.run import KILLED, SURVIVED, TIMED_OUT, UNCHANGED

Row = dict[str, Any]

WANTED = 0.95
REASONS = Path(__file__).with_name("survivors.toml")
_LIBRARIES = ("reticent", "numpy", "scipy", "scikit-learn", "numba")
_KEY = ("file", "function", "before", "after")


def document_of(
    rows: list[Row], sites: Mapping[str, int], *, seed: int, reasons: Mapping[tuple[str, ...], str]
) -> dict[str, Any]:
    """All verdicts, in the form of the other results; ``sites`` by folder."""
    for row in rows:
        if row["verdict"] == SURVIVED:
            row["reason"] = reasons.get(key_of(row))
    versions = {"python": platform.python_version()} | {name: version(name) for name in _LIBRARIES}
    tables = [_totals(rows, sites, seed)]
    if survivors := [row for row in rows if row["verdict"] == SURVIVED]:
        tables.append(_survivors(survivors))
    return {
        "command": f"python tools/mutants.py --count {len(rows)} --seed {seed}",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": versions,
        "specifications": [],
        "tables": tables,
        "mutants": rows,
    }


def share_of(rows: Iterable[Row]) -> float | None:
    """The share of the mutants that change a figure which tests found; None where none does."""
    counts = Counter(row["verdict"] for row in rows)
    relevant = counts.total() - counts[UNCHANGED]
    return (counts[KILLED] + counts[TIMED_OUT]) / relevant if relevant else None


def judgement(rows: list[Row]) -> tuple[list[str], bool]:
    """What to say of a run, and whether it is good: enough is found, the rest has its reasons."""
    counts = Counter(row["verdict"] for row in rows)
    share = share_of(rows)
    said = [
        f"{len(rows)} mutants, {len(rows) - counts[UNCHANGED]} of which change a figure: "
        f"{counts[KILLED]} killed, {counts[TIMED_OUT]} timed out, {counts[SURVIVED]} survived"
    ]
    if share is not None:
        said.append(f"found {share:.1%}, at least {WANTED:.0%} wanted")
    bare = [row for row in rows if row["verdict"] == SURVIVED and not row.get("reason")]
    said += [f"no reason for {_place(row)}: {row['before']} → {row['after']}" for row in bare]
    return said, not bare and (share is None or share >= WANTED)


def reasons_of(path: Path) -> dict[tuple[str, ...], str]:
    """Why a survivor is one, by file, function and its lines before and after."""
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("survivor", [])
    return {key_of(entry): str(entry["reason"]) for entry in entries}


def key_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """What names a mutant wherever its lines move to."""
    return tuple(str(row[name]) for name in _KEY)


def line_of(row: Row, number: int, count: int) -> str:
    """One verdict in one line, and more of what survived."""
    start = f"[{number + 1:3d}/{count}] {row['verdict']:<17} {_place(row)}"
    if row["verdict"] != SURVIVED:
        return start + (f"  {row['test']}" if row["test"] else "")
    return f"{start}\n    {row['before']}\n    {row['after']}\n    {_change(row)}"


def _totals(rows: list[Row], sites: Mapping[str, int], seed: int) -> dict[str, Any]:
    columns = [
        "folder",
        "sites",
        "mutants",
        "figures changed",
        KILLED,
        TIMED_OUT,
        SURVIVED,
        "found",
    ]
    parts = {folder: [row for row in rows if _folder(row) == folder] for folder in sites}
    lines = [_counted(folder, sites[folder], part) for folder, part in parts.items()]
    return {
        "title": "Faults planted in the privacy code",
        "columns": columns,
        "rows": [*lines, _counted("all", sum(sites.values()), rows)],
        "notes": [
            f"Drawn uniformly over the sites, seed {seed}: operators, comparisons, constants, "
            "functions; one at a time, and the tests of the folder that mirrors its own run.",
            "A figure is changed where a printed ε, δ, scale, sensitivity or bound differs by more "
            f"than {TOLERANCE:g} relatively, or is an error. Timed out counts as found.",
        ],
    }


def _counted(name: str, sites: int, rows: list[Row]) -> list[str]:
    counts = Counter(row["verdict"] for row in rows)
    share = share_of(rows)
    numbers = (sites, len(rows), len(rows) - counts[UNCHANGED])
    verdicts = (counts[KILLED], counts[TIMED_OUT], counts[SURVIVED])
    return [name, *map(str, (*numbers, *verdicts)), "–" if share is None else f"{share:.1%}"]


def _survivors(rows: list[Row]) -> dict[str, Any]:
    lines = [
        [_place(row), f"`{row['before']}`", f"`{row['after']}`", _change(row), str(row["reason"])]
        for row in rows
    ]
    return {
        "title": "Those that no test found",
        "columns": ["place", "before", "after", "figure", "reason"],
        "rows": lines,
        "notes": [],
    }


def _change(row: Row) -> str:
    changed = row["changed"]
    return f"{changed['figure']}: {changed['was']} → {changed['now']}"


def _folder(row: Row) -> str:
    return str(row["file"]).partition("/")[0]


def _place(row: Row) -> str:
    return f"{row['file']}:{row['line']}"
