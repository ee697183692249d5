"""The index: every item of the checklist of the papers, with its verdict.

``rows`` takes committed files and computes the exact items; what came out is kept in ``rows.json``
beside this file by ``make docs``, so that ``reticent reproduce`` shows it without computing. A test
compares both.
"""

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from reticent import strict_json
from reticent.results.table import Table
from reticent.studies.index.entry import COLUMNS, Entry, Files, Row, Verdict, row_of

PAPERS: Final = ("alm", "lu", "slides", "dpcl", "known")
"""The papers of the index, as ``reticent reproduce`` names them."""
STORED: Final = Path(__file__).with_name("rows.json")
"""The file of all rows with their verdicts, as ``make docs`` wrote it."""
SHOWN: Final = ("paper", "item", "published", "ours", "verdict")
"""The columns of the index that a terminal has room for."""
_MOST: Final = {"item": 76, "published": 18, "ours": 24}
"""Signs of a cell in a terminal."""
TITLE: Final = "Every item of the papers, and its verdict"

__all__ = [
    "PAPERS",
    "SHOWN",
    "STORED",
    "Row",
    "committed",
    "entries",
    "rows",
    "stored",
    "stored_text",
    "table",
]


def entries(paper: str) -> tuple[Entry, ...]:
    """Those of one paper; modules are imported with their first use."""
    import importlib

    paper_entries: tuple[Entry, ...] = importlib.import_module(
        f"reticent.studies.index.{paper}"
    ).ENTRIES
    return paper_entries


def committed(folder: Path) -> Files:
    """The files of a folder of results, by name."""

    def read(name: str) -> Mapping[str, Any] | None:
        path = folder / f"{name}.json"
        if not path.is_file():
            return None
        document: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return document

    return read


def rows(files: Files, *, is_wanted: Callable[[Entry], bool] = lambda _: True) -> list[Row]:
    """A row for each entry that is wanted, its verdict computed now from ``files``."""
    return [
        row_of(paper, entry, files)
        for paper in PAPERS
        for entry in entries(paper)
        if is_wanted(entry)
    ]


def stored() -> list[Row]:
    """The rows as they were last written: nothing is computed."""
    return [Row(**row) for row in strict_json.read(STORED)]


def stored_text(made: list[Row]) -> str:
    """The rows as the JSON text that ``rows.json`` holds: ``stored`` reads it back."""
    return json.dumps([row._asdict() for row in made], ensure_ascii=False, indent=1) + "\n"


def table(made: list[Row], *, columns: tuple[str, ...] = COLUMNS, title: str = TITLE) -> Table:
    """Rows of the index as a table, with how many have which verdict."""
    numbers = {
        verdict: sum(row.verdict == verdict for row in made)
        for verdict in (str(one) for one in Verdict)
    }
    return Table(
        title=title,
        columns=columns,
        rows=tuple(tuple(_shown(row, name, columns) for name in columns) for row in made),
        notes=(
            ", ".join(f"{number} {verdict}" for verdict, number in numbers.items()) + ".",
            "A figure is reproduced where the published value is at most the tolerance away from"
            " its interval; of several, where at most so many differ. A theorem that a computed"
            " case contradicts is false; any other sentence that does not hold is not reproduced."
            " What a paper describes without a figure is carried out and must do what it says. In"
            " square brackets: other data in the place of the paper's, and how many; fewer than the"
            " paper's where there are no more.",
        ),
    )


def _shown(row: Row, name: str, columns: tuple[str, ...]) -> str:
    """Whole among all columns; in a terminal the first words, for a line or two a row."""
    text, most = str(getattr(row, name)), _MOST.get(name, math.inf)
    return text if columns == COLUMNS or len(text) <= most else f"{text[: int(most) - 1].rstrip()}…"
