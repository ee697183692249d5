"""Tables: a file keeps values beside texts, and both say the same."""

import json
import re
from pathlib import Path

import pytest

from reticent.audit import Measured
from reticent.results.table import VERDICTS, Cell, Judged, Limits, Table, limits_of, value_of
from reticent.validation import InputError

RESULTS = Path(__file__).parents[2] / "results"
NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?")
TABLE = Table(
    title="A",
    columns=("a", "b", "c", "d"),
    rows=(
        ("x", Cell(".5", 0.5), Cell("0.5 [0.4, 0.6]", Limits(0.5, 0.4, 0.6)), Cell.verdict(False)),
        ("y", Cell("3", 3), "–", Cell.verdict(None)),
    ),
    notes=(
        "plain",
        Judged("n: “s”: why.", claim="“s”", of="n", holds=True, why="why", at=(0.1,), not_at=(1,)),
    ),
    figures={"one": 1.5, "two": Limits(1.0, 0.5, 1.5)},
)


def test_a_table_is_the_same_from_its_file():
    plain = json.loads(json.dumps(TABLE.to_dict()))
    again = Table.from_dict(plain)
    assert again == TABLE
    assert again.to_dict() == plain
    assert plain["values"][0] == [None, 0.5, [0.5, 0.4, 0.6], False]
    assert plain["judged"] == [None, TABLE.notes[1].to_dict()]
    assert [note.of for note in again.judged] == ["n"]


def test_a_table_of_texts_has_nothing_beside_them():
    plain = Table(title="A", columns=("a",), rows=(("x",),), notes=("n",)).to_dict()
    assert set(plain) == {"title", "columns", "rows", "notes"}
    assert value_of("0.5") is None


def test_a_measured_cell_prints_what_it_holds():
    cell = Cell.of(Measured(value=0.5, low=0.4, high=0.6, confidence=0.95))
    assert (cell, cell.value) == ("0.500 [0.400, 0.600]", (0.5, 0.4, 0.6))
    assert {Cell.verdict(holds): holds for holds in VERDICTS} == {
        "holds": True, "does not hold": False, "cannot be told": None,
    }  # fmt: skip


@pytest.mark.parametrize("cell", ["0.5", Cell("holds", True), Cell.verdict(None), None])
def test_what_has_no_figure_is_refused(cell):
    with pytest.raises(InputError, match="must have a figure beside its text"):
        limits_of(cell)


@pytest.mark.parametrize("value", ["0.5", [0.5], [0.5, 0.4], [0.5, "0.4", 0.6], {}, []])
def test_what_is_no_value_is_refused(value):
    plain = TABLE.to_dict()
    plain["values"][0][1] = value
    with pytest.raises(InputError, match="must be a number or three"):
        Table.from_dict(plain)


def test_committed_texts_and_values_say_the_same():
    """Each number of a valued cell is its value, rounded as it is printed."""
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in RESULTS.glob("*.json")]
    tables = [table for document in documents for table in document.get("tables", ())]
    valued = [check(table) for table in tables]
    assert sum(valued) > 6_000


def check(table):
    """One table of a file; how many of its cells have a value."""
    own = Table.from_dict(table)
    assert own.to_dict() == table
    number = 0
    for cell in (cell for row in own.rows for cell in row if value_of(cell) is not None):
        number += 1
        if isinstance(cell.value, bool):
            assert cell == VERDICTS[cell.value]
            continue
        printed = NUMBER.findall(cell)
        limits = cell.value if isinstance(cell.value, Limits) else (cell.value,)
        if isinstance(cell.value, Limits) and "±" in cell:
            limits = (cell.value.value, cell.value.high - cell.value.value)
        for text, value in zip(printed, limits, strict=False):
            assert abs(float(text) - value) <= 0.5001 * 10.0 ** -len(text.partition(".")[2])
    for note in own.judged:
        assert note.claim in note
        assert note.why in note
        verdict = note.why.startswith("holds") and "does not hold" not in note.why
        assert note.holds is verdict
    return number


@pytest.mark.parametrize("change", [{"rows": [["x"]]}, {"notes": [3]}, {"columns": [1, 2, 3, 4]}])
def test_what_is_no_table_of_texts_is_refused(change):
    with pytest.raises(InputError, match="must have rows of texts"):
        Table.from_dict(TABLE.to_dict() | change)
