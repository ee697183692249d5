"""Claims about persons: true ones stand on the worst data, those for one record's noise fall."""

import dataclasses

import numpy as np
import pytest

from reticent.attacks.released_weights import noise_of
from reticent.audit.end_to_end.adversarial import held_records
from reticent.audit.pairs import changed_by_persons, refuse_others, rows_of_units
from reticent.audit.release import audit_release, worst_pair
from reticent.guarantee import Relation
from reticent.neighbours import LeaveOneOut
from reticent.neighbours.search import built_records
from reticent.protect import release_weights
from reticent.training import SoftmaxHead
from reticent.validation import InputError

RARE = 1e-6
NOISES = [("gaussian", 1e-5), ("laplace", 0.0)]
HELD = 500
"""Records that hold the head; the two persons come after them."""


def owned(each):
    """Two persons own ``each`` equal mislabelled records, opposed to the other's."""
    X, y = held_records(directions=50, each=10, spread=True)
    rows = np.append(np.arange(HELD), np.repeat([HELD, HELD + 1], each))
    return X[rows], y[rows], rows


def fitted(X, y, penalty=3e-3, tolerance=None):
    numbers = {"classes": range(2), "records": 1_000, "intercept": 0.0, "tolerance": tolerance}
    return SoftmaxHead(penalty=penalty, bound=1.0, **numbers).fit(X, y)


def refitted(X, y, penalty=3e-3):
    """The coordinates to many more digits than a fit needs."""
    return fitted(X, y, penalty, tolerance=1e-10).coordinates_.ravel()


@pytest.fixture(scope="module", params=[2, 3])
def people(request):
    X, y, persons = owned(request.param)
    return request.param, X, y, persons, fitted(X, y)


def released(head, each, mechanism="gaussian", delta=1e-5, relation="add-remove"):
    return release_weights(
        head,
        epsilon=1.0,
        delta=delta,
        relation=relation,
        mechanism=mechanism,
        max_records_per_person=each,
    )


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("mechanism", "delta"), NOISES)
def test_true_claims_stand_on_the_worst_data(people, mechanism, delta, relation):
    each, X, y, persons, head = people
    claimed = released(head, each, mechanism, delta, relation)
    found = audit_release(claimed, X, y, persons=persons, candidates=4, beta=RARE, runs=1_000)
    assert found.verdict == "not refuted"
    assert 0.7 < found.tightness <= 1
    assert 0.6 < found.analytic <= 1
    assert found.exact
    assert found.pair.startswith("without all records of a person, and ")
    assert found.claim.unit == f"one person with at most {each} records"


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("mechanism", "delta"), NOISES)
def test_noise_for_one_record_does_not_protect_a_person(people, mechanism, delta, relation):
    """The certificate says person, the scale is that of a record."""
    each, X, y, persons, head = people
    alone = released(head, None, mechanism, delta, relation)
    unit = f"one person with at most {each} records"
    claim = dataclasses.replace(alone.guarantee, unit=unit, grade="declared")
    terms = dataclasses.replace(alone.terms, max_records_per_person=each)
    forged = dataclasses.replace(alone, terms=terms, guarantee=claim)
    found = audit_release(forged, X, y, persons=persons, candidates=4, beta=RARE, runs=1_000)
    assert found.refuted_by == "exact pair of neighbours, whose ε exceeds the claim"
    of_persons, of_records = (noise_of(one).sensitivity.l2 for one in (forged, alone))
    assert found.tightness * of_persons > 1.3 * of_records


@pytest.mark.parametrize(
    ("field", "value"),
    [("unit", "one person with at most 2 records"), ("relation", Relation.REPLACE_ONE)],
)
def test_a_guarantee_about_other_neighbours_than_the_terms_is_refused(field, value):
    X, y, _ = owned(2)
    alone = released(fitted(X, y), None)
    claim = dataclasses.replace(alone.guarantee, grade="declared", **{field: value})
    forged = dataclasses.replace(alone, guarantee=claim)
    with pytest.raises(InputError, match=f"{field} must be that of the terms, .*, got {value}"):
        audit_release(forged, X, y)


def test_the_pair_is_that_of_a_refit_without_the_persons_rows(people):
    each, X, y, persons, head = people
    worlds = [(X[persons != who], y[persons != who]) for who in (HELD, HELD + 1)]
    without = [refitted(*world) for world in worlds]
    pair = worst_pair(released(head, each), X, y, persons=persons, candidates=4)
    assert pair.absent == pytest.approx(refitted(X, y), abs=1e-6)
    assert min(np.abs(pair.present - other).max() for other in without) < 1e-6 < pair.l2
    terms = released(head, each, relation="replace-one")
    both = worst_pair(terms, X, y, persons=persons, candidates=4)
    found = sorted([both.absent, both.present], key=sum)
    assert np.abs(np.array(found) - sorted(without, key=sum)).max() < 1e-6
    refuse_others(*worlds, Relation.REPLACE_ONE, each)  # they are neighbours


def test_a_built_person_is_so_many_equal_records():
    """Ordinary persons move the head little; one who is built moves it far."""
    rng = np.random.default_rng(0)
    X = np.zeros((200, 6))
    X[:, :5] = rng.normal(size=(200, 5)) / 4
    y, persons = (X[:, 0] > 0).astype(int), np.arange(200) // 2
    claimed = released(fitted(X, y, penalty=0.05), 2)
    pair = worst_pair(claimed, X, y, persons=persons)
    assert pair.kind.startswith("with 2 equal records of a person built within the bound")
    assert 0.5 < pair.l2 / noise_of(claimed).sensitivity.l2 <= 1
    solver = LeaveOneOut(fitted(X, y, penalty=0.05), X, y)
    moved = [
        refitted(np.vstack([X, row, row]), np.append(y, [label, label]), penalty=0.05)
        for row, label in zip(*built_records(solver, 32), strict=True)
    ]
    full = refitted(X, y, penalty=0.05)
    furthest = max(moved, key=lambda head: np.linalg.norm(head - full))
    assert pair.present == pytest.approx(furthest, abs=1e-4 * pair.l2)


def test_only_persons_of_equally_many_rows_replace_each_other():
    """The furthest two own 3 rows and 2: a record too many would be replaced by nothing."""
    X, y, persons = owned(3)
    X, y, persons = X[:-1], y[:-1], persons[:-1]
    head = fitted(X, y)
    pair = worst_pair(
        released(head, 3, relation="replace-one"), X, y, persons=persons, candidates=6
    )
    heads = [refitted(X[persons != who], y[persons != who]) for who in (HELD, HELD + 1)]
    assert pair.l2 < np.linalg.norm(heads[0] - heads[1]) * 0.9
    (removed, _) = changed_by_persons(
        LeaveOneOut(head, X, y), rows_of_units(persons, len(X), 3), 2, copies=3
    )
    assert removed.sizes.tolist() == [3, 2]


def test_a_person_whose_records_cancel_moves_little():
    """Influences of a person's records are summed, not their sizes."""
    X, y, persons = owned(2)
    mixed = persons.copy()
    mixed[-4:] = [HELD, HELD + 1, HELD, HELD + 1]  # each owns one record and its opposite
    solver = LeaveOneOut(fitted(X, y), X, y)
    own, crossed = (
        solver.group_influence(rows_of_units(whose, len(X), 2)).max() for whose in (persons, mixed)
    )
    assert crossed < own / 2


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_with_one_record_each_every_row_is_a_person(relation):
    """The rows that were kept are the persons: whose they are may be said and need not be."""
    X, y, _ = owned(1)
    claimed = released(fitted(X, y), 1, relation=relation)
    assert claimed.guarantee.unit == "one person with at most 1 record"
    plain = worst_pair(claimed, X, y, candidates=4)
    named = worst_pair(claimed, X, y, candidates=4, persons=np.arange(len(X)))
    other = {"add-remove": "with it", "replace-one": "another's in its place"}[relation]
    assert plain.kind == named.kind == f"without the one record of a person, and {other}"
    assert np.array_equal(plain.present, named.present)
    found = audit_release(claimed, X, y, candidates=4, beta=RARE, runs=1_000)
    assert found.verdict == "not refuted"
    assert 0.7 < found.tightness <= 1


def test_a_claim_about_one_record_knows_no_persons():
    X, y, persons = owned(2)
    claimed = released(fitted(X, y), None)
    assert worst_pair(claimed, X, y, candidates=4).kind == "without a record, and with it"
    with pytest.raises(InputError, match="persons must not be given: the claim is about one rec"):
        audit_release(claimed, X, y, persons=persons)


def test_bad_input_gets_one_line():
    X, y, persons = owned(3)
    claimed = released(fitted(X, y), 2)
    for wrong, message in (
        (None, "persons must be given, one for each row: the claim is about one person with at"),
        (persons, "persons must have at most 2 of the rows each, as the claim says, got 3"),
        (persons[:-1], r"persons must have shape \(506,\)"),
        (persons + 0.5, "persons must be whole numbers or texts"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            audit_release(claimed, X, y, persons=wrong)
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="persons must have at most 1 of the rows each"):
        audit_release(released(fitted(X, y), 1), X, y, persons=persons)
    with pytest.raises(InputError, match="persons must be at least one"):
        rows_of_units(np.zeros(0, dtype=int), 0, 2)
