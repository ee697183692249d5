"""The verdict of a row that is read from a committed file is decided by figures in that file.

Every row is judged again on copies of its files whose figures were changed: all alike, rising,
falling, far away, or such that the paper's sentence holds; and with every judged sentence turned
about. A row whose verdict none of these changes is found.
"""

import json
import re
from functools import cache
from pathlib import Path

import pytest

from reticent.studies import index
from reticent.studies.index.entry import Entry, Held, Reader, Verdict, row_of
from reticent.studies.index.lu_trained import SETS
from reticent.studies.lu.findings import range_of

ROOT = Path(__file__).parents[3]
FILES = cache(index.committed(ROOT / "results"))
IDENTIFIERS = (
    *("ε", "δ", "α", "penalty", "layers", "noisy", "weights", "records", "seeds", "queries"),
    *("share of the moment", "bound", "figure", "published", "streams", "finding", "step"),
)
"""Columns that say which row it is, or what somebody else printed."""
PRINTED = re.compile(r"-?\d*\.?\d+")
DECIDED = (Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.FALSE)


def read_rows():
    """Every row that is read from a committed file that is there."""
    return [
        pytest.param(paper, one, id=f"{paper}: {one.item}")
        for paper in index.PAPERS
        for one in index.entries(paper)
        if one.read_from is not None and FILES(one.read_from) is not None
    ]


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def changed(name, figure, holds):
    """A copy of a file in which figures are ``figure(row, column, place)``, sentences turned.

    Only values are: texts stay as they are, and a verdict that was read from one would stay too.
    """
    copy = json.loads(json.dumps(FILES(name)))
    for table in copy.get("tables", [copy]):
        values = table.get("values") if "tables" in copy else table["rows"]
        for place, row in enumerate(values or ()):
            named = dict(zip(table["columns"], table["rows"][place], strict=True)) | {"file": name}
            for column, title in enumerate(table["columns"]):
                if isinstance(row[column], bool) or title == "verdict":  # of which None is one
                    row[column] = holds
                elif title not in IDENTIFIERS:
                    row[column] = like(row[column], figure(named, title, place))
        for note in table.get("judged", ()):
            if note is not None:
                note["holds"] = holds
        for title, value in table.get("figures", {}).items():
            table["figures"][title] = like(value, figure({"file": name}, title, 0))
    return copy


def like(value, new):
    """The new figure in the form of the value that it replaces."""
    if isinstance(value, list):
        return [new] * len(value)
    return new if is_number(value) else value


def alm_as_published(row, column, place):
    """The attack falls from .62 to .5, and little is lost."""
    found = 0.62 if row.get("mechanism") == "none" else 0.5
    return {"attack": found}.get(column, 0.01)


def lu_as_published(row, column, place):
    """Leakage goes with the gap over data sets; losses fall from .5 within the stated range."""
    rank = [f"lu-dp-sgd-{on}" for on, *_ in SETS.values()].index(row["file"])
    if not column.startswith("Algorithm 1, "):
        gap = 0.04 * rank
        return {"training": 0.9, "test": 0.9 - gap, "leakage": gap}.get(column, 0.9)
    on, noise = row["file"].removeprefix("lu-dp-sgd-"), column.removeprefix("Algorithm 1, ")
    start, end = range_of(on, noise)
    epsilon = float(row["ε"])
    return 0.5 if epsilon <= start else 0.0 if epsilon >= end else 0.2


def gaussian_less(row, column, place):
    """Than Laplace noise, but for two classes; and RDP loses most of all accountants."""
    if column == "Algorithm 1, gaussian":
        return 0.5 if row["file"] in ("lu-dp-sgd-shoppers2", "lu-dp-sgd-adult") else 0.4
    return 0.9 if column == "RDP" else 0.5


def two_losses(row, column, place):
    """Both losses of Table 5 far apart."""
    return 0.9 if row.get("loss") == "original" else 0.1


def changes(one):
    """From (row, column, place) to the figure that stands there instead."""
    if one.read_from.startswith("alm-"):
        yield alm_as_published
    if one.read_from.startswith("lu-dp-sgd"):
        yield lu_as_published
        yield gaussian_less
    yield two_losses
    targets = [0.0, 0.5, 1.0, 100.0]
    if PRINTED.fullmatch(one.published):
        published = float(one.published)
        targets.append(published)
        yield lambda row, column, place: 0.5 + published if column == "training" else 0.5
    for value in targets:
        yield lambda row, column, place, value=value: value
    for step in (0.01, -0.01):
        yield lambda row, column, place, step=step: 0.5 + step * place


def is_decided_by_figures(paper, one):
    """Whether a changed copy of its files gives the row another verdict; missing data none."""
    first = row_of(paper, one, FILES).verdict
    if first == Verdict.DATA_MISSING:
        return True
    assert first in DECIDED
    for figure in changes(one):
        for holds in (True, False):

            def files(name, figure=figure, holds=holds):
                return None if FILES(name) is None else changed(name, figure, holds)

            if row_of(paper, one, files).verdict in {*DECIDED} - {first}:
                return True
    return False


@pytest.mark.parametrize(("paper", "one"), read_rows())
def test_a_changed_figure_changes_the_verdict(paper, one):
    assert is_decided_by_figures(paper, one)


def test_a_verdict_that_is_written_down_is_found():
    fixed = Entry(
        item="x",
        source="s",
        published="p",
        command="",
        ours=Reader("alm-layers", lambda _: Held(True, "written down")),
    )
    assert not is_decided_by_figures("alm", fixed)


def test_no_row_is_written_down_in_the_code():
    """Nothing but a rule decides ``Held``."""
    modules = (ROOT / "src/reticent/studies/index").glob("*.py")
    assert [path.name for path in modules if "Held(True" in path.read_text(encoding="utf-8")] == []
