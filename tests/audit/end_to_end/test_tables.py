"""Tables, their neighbours and their files."""

import numpy as np
import pytest

from reticent.audit.end_to_end.adversarial import (
    FAMILIES,
    PERSON,
    Shape,
    adversarial_case,
    neighbour,
)
from reticent.audit.end_to_end.pairs import read_whole
from reticent.audit.end_to_end.table import FORMATS, Table, Writing
from reticent.data import read_table
from reticent.guarantee import Relation
from reticent.guarantee.guarantee import ONE_RECORD

PERSONS = "one person with at most 2 records"


def rows_of(table):
    return [tuple(map(repr, table.row(place).values())) for place in range(len(table))]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("numbers", ["r", ".17e", "+.17g"])
def test_files_hold_the_same_floats_however_they_are_written(
    tmp_path, kind, narrow, order, numbers
):
    table = Table(
        {
            "a": [1, 2**53, -7],
            "b": [0.1, -0.0, 5e-324],
            "label": ["x", "y", "x"],
        }
    )
    path = table.write(tmp_path / f"t.{kind}", Writing(numbers=numbers, order=order, narrow=narrow))
    data = read_table(path, label="label", classes=("x", "y"))
    assert data.features.tobytes() == np.array([[1, 0.1], [2**53, -0.0], [-7, 5e-324]]).tobytes()


@pytest.mark.parametrize("kind", FORMATS)
def test_a_users_file_is_read_and_written_again(tmp_path, kind):
    table = Table({"a": [1, 2], "b": [0.5, 1e300], "label": ["x", "y"]})
    path = table.write(tmp_path / f"t.{kind}", Writing())
    again = read_whole(path).without([0]).write(tmp_path / f"again.{kind}", Writing())
    data = read_table(again, label="label", classes=("x", "y"))
    assert data.features.tolist() == [[2.0, 1e300]]


@pytest.mark.parametrize("persons", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_neighbours_differ_by_one_unit(seed, persons):
    rng = np.random.default_rng(seed)
    case = adversarial_case(rng, Shape(width=3, persons=persons), fewest=1)
    unit = PERSONS if persons else ONE_RECORD
    before = rows_of(case.table)
    for relation in (Relation.ADD_REMOVE, Relation.REPLACE_ONE):
        other = neighbour(case, relation, unit, rng)
        after = rows_of(other)
        left = [row for row in before if row not in after]
        came = [row for row in after if row not in before]
        if persons:
            assert len({row[-1] for row in left}) <= 1
            assert len({row[-1] for row in came}) <= 1
        elif relation is Relation.ADD_REMOVE:
            assert abs(len(other) - len(case.table)) == 1
            assert len(left) + len(came) <= 1
        else:
            assert len(other) == len(case.table)


def test_the_record_of_an_owner_who_has_more_is_the_one_that_leaves():
    """Where the claim is about records, a row leaves whose owner's next row may follow."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        case = adversarial_case(rng, Shape(width=2, persons=True), fewest=20)
        other = neighbour(case, Relation.ADD_REMOVE, ONE_RECORD, rng)
        if len(other) < len(case.table):
            owners, left = list(case.table.columns[PERSON]), list(other.columns[PERSON])
            gone = next((o for o, p in zip(owners, [*left, None], strict=True) if o != p), None)
            assert gone is None or owners.count(gone) == left.count(gone) + 1


@pytest.mark.parametrize("family", FAMILIES)
def test_every_record_of_a_family_is_valid(family):
    rng = np.random.default_rng(1)
    for size, width in ((5, 1), (9, 2), (12, 16)):
        rows = FAMILIES[family](rng, size, width)
        assert [len(row) for row in rows] == [width] * size
        assert np.isfinite([[float(cell) for cell in row] for row in rows]).all()
