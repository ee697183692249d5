"""Second moments: no unit moves them further than the bound, and some reach it."""

import itertools
import math

import numpy as np
import pytest

from reticent import bounds
from reticent.guarantee import Grade
from reticent.validation import InputError

WIDTH = 4
PUBLIC = {"entries": WIDTH * (WIDTH + 1) // 2, "records": 100}


def flat(matrix):
    above = np.triu_indices(len(matrix), 1)
    return np.concatenate([np.diag(matrix), math.sqrt(2) * matrix[above]])


def moment(rows):
    return flat(rows.T @ rows)


def units(rng, count):
    """Rows of norm at most 1 of one unit: equal ones, orthogonal ones, random ones."""
    for _ in range(400):
        rows = rng.normal(size=(count, WIDTH))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        yield rows * np.minimum(rng.uniform(0, 3, size=(count, 1)), 1.0)
        yield np.tile(rows[:1], (count, 1))
    for axis in range(2):
        yield np.tile(np.eye(WIDTH)[[axis]], (count, 1))


@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_no_unit_moves_a_moment_further_and_some_move_it_as_far(relation, each):
    bound = bounds.second_moment("moment", **PUBLIC, relation=relation, max_records_per_person=each)
    assert bound.grade is Grade.PROVEN
    found = [moment(rows) for rows in units(np.random.default_rng(0), each)]
    if relation == "replace-one":
        found = [one - other for one, other in itertools.pairwise(found)]
    assert max(np.linalg.norm(move) for move in found) <= bound.l2
    assert max(np.abs(move).sum() for move in found) <= bound.l1
    assert max(np.linalg.norm(move) for move in found) >= 0.999 * bound.l2


def test_several_moments_with_one_trace_are_blocks_of_one():
    """Of several views (P, W): means and differences of views, each of trace at most 1 together."""
    rng = np.random.default_rng(1)
    bound = {
        relation: bounds.second_moment("P, W", **PUBLIC, relation=relation).l2
        for relation in ("add-remove", "replace-one")
    }
    before = np.zeros(2 * PUBLIC["entries"])
    furthest = dict.fromkeys(bound, 0.0)
    for number in range(600):
        views = rng.normal(size=(3, WIDTH))
        if number % 3:  # all views equal: everything in P
            views = np.tile(np.eye(WIDTH)[number % 2], (3, 1))
        views /= np.linalg.norm(views, axis=1, keepdims=True)
        middle = views.mean(axis=0)
        inner = np.outer(middle, middle)
        term = np.concatenate([flat(inner), flat(views.T @ views / 3 - inner)])
        for relation, move in (("add-remove", term), ("replace-one", term - before)):
            furthest[relation] = max(furthest[relation], np.linalg.norm(move))
            assert np.linalg.norm(move) <= bound[relation]
        before = term
    assert furthest["add-remove"] >= 0.999 * bound["add-remove"]
    assert furthest["replace-one"] >= 0.95 * bound["replace-one"]


def test_rounding_grows_with_the_records_and_stays_small():
    few, many = (
        bounds.second_moment("moment", entries=1, records=n, relation="add-remove").l2
        for n in (100, 10**8)
    )
    assert 1 < few < many < 1 + 1e-2


def test_what_has_no_relation_is_refused():
    with pytest.raises(InputError, match="relation must be add-remove or replace-one"):
        bounds.second_moment("moment", **PUBLIC, relation="as declared with the sensitivity")
