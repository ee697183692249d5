"""The search for worse neighbours: what the samplers miss, it finds."""

import numpy as np
import pytest

from reticent.bounds import softmax_head
from reticent.guarantee import Grade, Relation, Sensitivity
from reticent.neighbours import (
    LeaveOneOut,
    local_sensitivity,
    published_of,
    search_from,
    search_worse_neighbours,
)
from reticent.neighbours.search import built_records
from reticent.training.softmax_head import SoftmaxHead
from reticent.validation import InputError

OUTLIER = 6789


@pytest.fixture(scope="module")
def solver():
    """10,000 ordinary records in four features, and one alone in the fifth."""
    rng = np.random.default_rng(0)
    X = np.zeros((10_000, 5))
    X[:, :4] = rng.standard_normal((10_000, 4)) * 0.2
    y = (X[:, 0] + 0.2 * rng.standard_normal(10_000) > 0).astype(int)
    X[OUTLIER] = [0, 0, 0, 0, 1]
    head = SoftmaxHead(penalty=1e-4, classes=[0, 1], records=10_000).fit(X, y)
    return LeaveOneOut(head, X, y, threads=1)


@pytest.fixture(scope="module")
def published(solver):
    return published_of(solver, pairs=500, seed=0)


def test_the_published_value_misses_an_outlier_and_the_search_finds_it(solver, published):
    truth = solver.without([OUTLIER]).norms
    assert published.l2 < truth.l2[0] / 2
    found = search_from(solver, published, additions=1)
    assert found.l2 > truth.l2[0]  # a pair, with another record on the other side
    assert found.exceeded > 2
    assert found.kind == "a removed record"
    assert "is exceeded" in str(found)
    assert "no bound" in str(found)


def test_what_is_left_of_the_claim_has_lower_trust(solver):
    claimed = Sensitivity(
        l1=0.01, l2=0.01, grade=Grade.SAMPLED, gamma=0.01, relation=Relation.REPLACE_ONE
    )
    found = search_from(solver, claimed)
    assert found.sensitivity.grade is Grade.PUBLISHED
    assert found.sensitivity.l2 == found.l2 == pytest.approx(found.exceeded * 0.01, rel=0.5)
    assert found.sensitivity.relation is Relation.REPLACE_ONE
    assert "exceeded the claimed value" in found.sensitivity.source


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_proven_bound_is_not_exceeded_and_keeps_its_grade(solver, relation):
    head = solver.head
    proven = softmax_head(
        penalty=head.penalty,
        records=head.records,
        radius=head.radius,
        tolerance=head.tolerance_,
        relation=relation,
    )
    found = search_from(solver, proven)
    assert 0.1 < found.exceeded < 1
    assert found.sensitivity is proven
    assert "proves nothing" in str(found)


def test_built_records_lie_in_the_public_domain_and_reach_its_edge(solver):
    rows, labels = built_records(solver, 8)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(solver.head.bound)
    least = solver.head.classes_[solver.head.logits(rows).argmin(axis=1)]
    assert np.array_equal(labels[::2], least[::2])


def test_built_records_go_further_than_any_removal():
    """No record of the data uses the fifth feature; a neighbour's may."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 5)) * [0.2, 0.2, 0.2, 0.2, 0]
    y = (X[:, 0] + 0.2 * rng.standard_normal(1000) > 0).astype(int)
    head = SoftmaxHead(penalty=1e-3, classes=[0, 1], records=1000).fit(X, y)
    local = local_sensitivity(head, X, y)
    found = search_worse_neighbours(head, X, y, local)
    assert found.kind == "a record built within the bound"
    assert found.exceeded > 3


def solver_rows(solver):
    return solver.objective.rows[:, :-1]


def solver_labels(solver):
    return solver.head.classes_[solver.objective.labels]


def test_the_centre_moves_the_domain():
    rng = np.random.default_rng(0)
    centre = np.array([3.0, -2.0])
    X, y = centre + 0.3 * rng.standard_normal((50, 2)), rng.integers(0, 2, 50)
    head = SoftmaxHead(classes=[0, 1], records=50, centre=centre, bound=0.5).fit(X, y)
    rows, _ = built_records(LeaveOneOut(head, X, y), 2)
    assert np.linalg.norm(rows - centre, axis=1) == pytest.approx(0.5)


@pytest.mark.parametrize("settings", [{"removals": 0}, {"additions": 0}, {"measured": "no"}])
def test_bad_input_gets_one_line(solver, settings):
    claimed = Sensitivity(l2=1.0)
    X, y = solver_rows(solver), solver_labels(solver)
    with pytest.raises(InputError, match=f"{next(iter(settings))} must be"):
        search_worse_neighbours(solver.head, X, y, claimed, **settings)
