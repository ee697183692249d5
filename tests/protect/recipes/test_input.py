"""Noise on each record: one line a record by its hash, a guarantee for each line by itself."""

import numpy as np
import pytest

from reticent import bounds
from reticent.audit.transcripts import audit_release_queries
from reticent.guarantee import Grade
from reticent.protect import RECIPES, Terms, release_records, save, verify
from reticent.protect.noise_scales import composed_epsilon, with_scales
from reticent.protect.recipes.input import lines
from reticent.protect.recipes.pate import hashes
from reticent.validation import InputError

RNG = np.random.default_rng(0)


def terms(**changes):
    return Terms(**({"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove"} | changes))


def planned(said, **options):
    return RECIPES["input"].planned(
        said, **({"records": 200, "features": 3, "classes": 2} | options)
    )


def data(n=200):
    labels = np.arange(n) % 2
    return RNG.normal(size=(n, 3)) + 3 * np.eye(3)[labels], labels


@pytest.mark.parametrize(("mechanism", "delta"), [("gaussian", 1e-5), ("laplace", 0.0)])
def test_a_proven_local_release(tmp_path, mechanism, delta):
    said = terms(delta=delta)
    found = release_records(planned(said, mechanism=mechanism), said, *data(), classes=range(2))
    assert found.guarantee.grade is Grade.PROVEN
    assert any("the guarantee is local as well" in line for line in found.guarantee.stated)
    plan = with_scales(found.recipe, found.scales, said)
    assert 0.99 < composed_epsilon(plan, relation=said.relation, delta=delta) <= 1.0
    save(found, tmp_path / "model")
    assert verify(tmp_path / "model").holds


def test_no_value_of_a_record_is_further_than_claimed():
    bound = bounds.record_lines(features=4, relation="add-remove")
    furthest = 0.0
    for _ in range(300):
        rows, labels = RNG.normal(size=(2, 3)), RNG.integers(2, size=2)
        rows[1] = -rows[0] if RNG.random() < 0.3 else rows[1]
        one, other = (lines(rows[[i]], labels[[i]], count=1, classes=2).ravel() for i in range(2))
        apart = one - other
        assert np.linalg.norm(apart) <= bound.l2
        assert np.abs(apart).sum() <= bound.l1
        furthest = max(furthest, float(np.linalg.norm(apart)))
    assert furthest > 0.95 * bound.l2


def test_it_learns_with_much_epsilon_and_not_with_little():
    """With little a line through the middle is drawn at random: right for half, ± .3 or so a draw.

    The mean of 40 has a deviation of about .05; above .9 it is once in 1e14. Without noise every
    draw is right for more than .9.
    """
    rows, labels = data(400)

    def right(epsilon):
        said = terms(epsilon=epsilon)
        found = release_records(planned(said, records=400), said, rows, labels, classes=range(2))
        return np.mean(found.predict(rows) == labels)

    assert right(300.0) > 0.9
    assert np.mean([right(0.1) for _ in range(40)]) < 0.9


@pytest.mark.parametrize("count", [5, 40, 1000])
def test_one_record_changes_one_line_wherever_it_stands(count):
    rows, labels = data(40)
    table = lines(rows, labels, count=count, classes=2)
    order = RNG.permutation(40)
    assert np.array_equal(lines(rows[order], labels[order], count=count, classes=2), table)
    for gone in range(40):
        left = np.delete(np.arange(40), gone)
        other = lines(rows[left], labels[left], count=count, classes=2)
        assert (table != other).any(axis=1).sum() <= 1


def test_what_is_refused_and_what_is_not():
    with pytest.raises(InputError, match="must be at most"):
        planned(terms(), records=10**9)
    said = terms()
    for n in (0, 1, 500):  # fewer lines, and more of them than N
        rows, labels = data(n)
        found = release_records(planned(said), said, rows, labels, classes=range(2))
        assert np.isfinite(found.predict_proba(np.eye(3))).all()


def test_transcripts_of_neighbours():
    rows, labels = data(30)
    said = terms()
    found = release_records(planned(said, records=30), said, rows, labels, classes=range(2))
    order = hashes(rows, labels)
    alone = int(np.argmin(order))  # of those with its line it stays: its going is seen
    kept = np.delete(np.arange(30), alone)
    other = rows[kept], labels[kept]
    audit = audit_release_queries(found, (rows, labels), other, runs=80, beta=1e-6)
    assert audit.verdict == "not refuted"
    assert audit.sealed
    assert 0.5 < audit.tightness <= 1
