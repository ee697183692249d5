"""Some releases of the committed end-to-end audit, gone through again; the rest of it stays.

A whole audit takes hours. What its tables say of all releases together follows from their rows: the
pairs of a release are spread evenly over its formats, relations and units. The largest movement of
a format is that of all pairs it ever had here, so it never says less than the rows do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from reticent.audit.end_to_end.pairs import combinations
from reticent.audit.end_to_end.releases import Audited
from reticent.run.every_release import WHOLE_JOB, every_release
from reticent.studies import end_to_end
from reticent.studies.trained import Run

Rows = list[list[str]]
FOUND = "Found in "


def again(tables: list[dict[str, Any]], _on: str, names: Sequence[str], run: Run) -> None:
    """Put the rows of these releases into both tables, as the study itself finds them."""
    spec = end_to_end.Named(**asdict(end_to_end.SPECS["built"]), releases=tuple(names))
    every = every_release() | WHOLE_JOB
    releases, formats = tables
    new, new_formats = end_to_end.study(spec, run).tables
    kept = {row[0]: row for row in releases["rows"][:-1]} | {r[0]: list(r) for r in new.rows[:-1]}
    rows = [kept[name] for name in every if name in kept]
    releases["rows"] = [*rows, _total(rows)]
    old = [note for note in releases["notes"] if _still_true(note, names, new.notes)]
    releases["notes"] = [*new.notes, *old]
    largest = {tuple(row[:3]): row[-1] for row in new_formats.rows}
    formats["rows"] = [
        [*row[:3], *_spread(tuple(row[:3]), rows, every),
         max(row[-1], largest.get(tuple(row[:3]), "0"), key=float)]
        for row in formats["rows"]
    ]  # fmt: skip


def _still_true(note: str, names: Sequence[str], fresh: Sequence[str]) -> bool:
    """Of a release that was not measured again, or of days before; and said once."""
    measured = any(note.startswith(f"{FOUND}{name}, ") for name in names)
    return note not in fresh and not measured


def _total(rows: Rows) -> list[str]:
    """The last row: sums, and the largest of both ratios."""
    columns = list(zip(*rows, strict=True))
    sums = {place: str(sum(map(int, columns[place]))) for place in (1, 2, 3, 6)}
    largest = {place: max(columns[place], key=float) for place in (4, 5)}
    return ["all", *(text for _, text in sorted((sums | largest).items()))]


def _spread(key: tuple[str, ...], rows: Rows, every: Mapping[str, Audited]) -> tuple[str, str]:
    """Pairs of one format, relation and unit, and the fewest of a release."""
    each = {}
    for name, pairs, *_ in rows:
        asked = combinations({name: every[name]})
        if key in [(one.format, str(one.relation), one.unit) for one in asked]:
            each[name] = int(pairs) // len(asked)
    fewest = min(pairs for name, pairs in each.items() if name not in WHOLE_JOB)
    return str(sum(each.values())), str(fewest)
