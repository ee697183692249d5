"""Whether a study that was run again agrees with its committed file, within both intervals.

``python tools/compare_results.py NEW.json [NEW.json ...]``: each is compared, row by row, with the
file of its name in results/. A cell with an interval agrees when both intervals overlap (two
independent 95 % intervals do with probability .994 and more); a cell of other numbers is counted
where it differs, and decides nothing.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_BRACKETS = re.compile(r"^(\S+) \[(\S+), (\S+)\]$")
_PLUS_MINUS = re.compile(r"^(\S+)±(\S+)$")

Interval = tuple[float, float]
Row = list[str]


def main(arguments: list[str] | None = None) -> int:
    """0 where every interval overlaps its committed one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--committed", type=Path, default=ROOT / "results")
    said = parser.parse_args(arguments)
    apart = 0
    for path in said.files:
        equal, overlapping, wrong, other = compared(_read(said.committed / path.name), _read(path))
        print(
            f"{path.name}: {equal} cells equal, {overlapping} intervals overlap, {len(wrong)} do "
            f"not, {other} other cells differ"
        )
        for line in wrong:
            print(f"  {line}")
        apart += len(wrong)
    return int(apart > 0)


def compared(old: dict[str, Any], new: dict[str, Any]) -> tuple[int, int, list[str], int]:
    """Cells that are equal, intervals that overlap, those that do not, other cells that differ."""
    equal = overlapping = other = 0
    wrong = []
    for before, after in _rows(old, new):
        same = sum(one == two for one, two in zip(before.values(), after.values(), strict=True))
        equal += same
        pairs = [(_interval(before, name), _interval(after, name)) for name in before]
        judged = [(one, two) for one, two in pairs if one is not None and two is not None]
        good = sum(one[0] <= two[1] and two[0] <= one[1] for one, two in judged)
        overlapping += good
        if good < len(judged):
            wrong.append(f"{list(before.values())} was committed, {list(after.values())} is new")
        other += 0 if judged else len(before) - same
    return equal, overlapping, wrong, other


def _rows(old: dict[str, Any], new: dict[str, Any]) -> Iterator[tuple[dict[str, str], ...]]:
    if [one["columns"] for one in old["tables"]] != [one["columns"] for one in new["tables"]]:
        raise SystemExit("both files must have the same tables, got other columns")
    for before, after in zip(old["tables"], new["tables"], strict=True):
        for one, two in zip(before["rows"], after["rows"], strict=True):
            yield (
                dict(zip(before["columns"], one, strict=True)),
                dict(zip(after["columns"], two, strict=True)),
            )


def _interval(row: dict[str, str], name: str) -> Interval | None:
    """Of a cell: its brackets, its ±, or the columns low and high of its row."""
    if name == "low" and "high" in row:
        return float(row["low"]), float(row["high"])
    if found := _BRACKETS.match(row[name]):
        return float(found[2]), float(found[3])
    if found := _PLUS_MINUS.match(row[name]):
        return float(found[1]) - float(found[2]), float(found[1]) + float(found[2])
    return None


def _read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


if __name__ == "__main__":
    sys.exit(main())
