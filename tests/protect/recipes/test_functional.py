"""The functional mechanism: proven from noisy coefficients, audited, and as it was printed."""

import dataclasses

import numpy as np
import pytest

from reticent import bounds
from reticent.audit.end_to_end.pairs import audit_pair, combinations
from reticent.audit.transcripts import audit_release_queries
from reticent.bounds.published import functional as printed
from reticent.guarantee import Grade
from reticent.protect import RECIPES, Terms, load, release_records, save, verify
from reticent.protect.noise_scales import composed_epsilon, with_scales
from reticent.protect.published.functional import FunctionalMechanism
from reticent.run.every_release import every_release
from reticent.validation import InputError

RNG = np.random.default_rng(0)


def terms(**changes):
    return Terms(**({"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove"} | changes))


def two_classes(n=4000, width=6, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    rows = rng.normal(size=(n, width)) + np.outer(2 * labels - 1, np.linspace(0, 1.2, width))
    return rows, labels


def released(rows, labels, classes, said=None, mechanism="gaussian", **options):
    said = terms() if said is None else said
    recipe = RECIPES["functional"].planned(
        said,
        records=max(len(rows), 1),
        features=rows.shape[1],
        classes=classes,
        mechanism=mechanism,
        **options,
    )
    return release_records(recipe, said, rows, labels, classes=range(classes))


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(
    ("mechanism", "delta"), [("gaussian", 1e-5), ("logistic", 1e-5), ("laplace", 0.0)]
)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_proven_release_that_spends_its_budget(tmp_path, relation, mechanism, delta, classes):
    rows, labels = two_classes(300)
    said = terms(relation=relation, delta=delta, max_records_per_person=2)
    found = released(rows, labels % classes, classes, said, mechanism)
    assert found.guarantee.grade is Grade.PROVEN
    plan = with_scales(found.recipe, found.scales, said)
    assert 0.99 < composed_epsilon(plan, relation=said.relation, delta=delta) <= 1.0
    save(found, tmp_path / "model")
    assert verify(tmp_path / "model").holds
    again = load(tmp_path / "model").predict(rows)
    assert np.array_equal(again, found.predict(rows))


def test_it_learns_two_classes_and_three():
    rows, labels = two_classes()
    test, truth = two_classes(seed=1)
    assert np.mean(released(rows, labels, 2).predict(test) == truth) > 0.9
    three = RNG.normal(size=(6000, 5)) + 3 * np.eye(5)[np.arange(6000) % 3]
    found = released(three, np.arange(6000) % 3, 3)
    assert np.mean(found.predict(three) == np.arange(6000) % 3) > 0.9


def test_without_noise_it_minimises_the_expanded_loss():
    """Against the polynomial itself, summed over records with the rows that were released from."""
    from reticent.protect.recipes.functional import minimum

    rows, labels = two_classes(500)
    x, s = rows / np.linalg.norm(rows, axis=1, keepdims=True), 2.0 * labels - 1
    w = 2 * minimum(x.T @ x, x.T @ s, noise=1e-12)

    def loss(w):
        z = x @ w
        return np.sum(np.log(2) - s * z / 2 + z**2 / 8)

    steps = RNG.normal(size=(50, len(w)))
    assert all(loss(w) <= loss(w + 1e-3 * step) for step in steps)


@pytest.mark.parametrize("empty", [True, False])
def test_every_data_set_has_a_release(empty):
    rows = np.zeros((0, 4)) if empty else np.full((9, 4), 1e300)
    found = released(rows, np.zeros(len(rows), dtype=int), 3)
    assert np.isfinite(found.predict_proba(np.eye(4))).all()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_transcripts_of_neighbours(relation, classes):
    rows, labels = two_classes(40)
    found = released(rows, labels, classes, terms(relation=relation))
    fewer = rows[1:], labels[1:]
    opposite = np.vstack([-rows[:1], rows[1:]]), labels
    other = fewer if relation == "add-remove" else opposite
    audit = audit_release_queries(found, (rows, labels), other, runs=80, beta=1e-6)
    assert audit.verdict == "not refuted"
    assert audit.sealed
    assert 0.3 < audit.tightness <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["functional", "functional-regression"])
def test_end_to_end_and_too_little_noise_is_found(monkeypatch, name):
    audited = {name: every_release()[name]}

    def holds():
        return all(
            audit_pair(audited[name], one, number).outcome.holds
            for one in combinations(audited)
            for number in range(4)
        )

    assert holds()
    for theorem in ("target_statistics", "class_statistics"):
        honest = getattr(bounds, theorem)

        def smaller(honest=honest, **given):
            moved = honest(**given)
            norms = {"l1": 0.6 * moved.l1, "l2": 0.6 * moved.l2}
            return dataclasses.replace(moved, grade="declared", **norms)

        monkeypatch.setattr(bounds, theorem, smaller)
    assert not holds()


# ------------------------------------------------------------------------------------- as printed


@pytest.mark.parametrize("loss", ["linear", "logistic"])
@pytest.mark.parametrize("width", [1, 2, 5, 12])
def test_the_printed_constants_are_true_and_the_proven_ones_tight(loss, width):
    """The spread row (1, …, 1)/√d attains the proven one; the constant of the loss apart."""
    mechanism = FunctionalMechanism(features=width, epsilon=1.0, loss=loss)
    constant = 1.0 if loss == "linear" else 0.0  # y²
    proven = getattr(printed, loss)(width)
    worst = 0.0
    spread = np.full((1, width), width**-0.5)
    others = RNG.normal(size=(200, width))
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    for row in np.vstack([spread, others]):
        moved = np.abs(mechanism.coefficients(row[None], [1.0])).sum() + constant
        worst = max(worst, moved)
        assert moved <= proven * (1 + 1e-12)
    assert worst == pytest.approx(proven)
    assert (
        2 * proven
        <= mechanism.constant
        == pytest.approx(2 * (width + 1) ** 2 if loss == "linear" else width**2 / 4 + 3 * width)
    )


def test_replace_one_needs_at_most_twice():
    mechanism = FunctionalMechanism(features=3, epsilon=1.0, loss="logistic")
    for _ in range(200):
        x, z = RNG.normal(size=(2, 3))
        x, z = x / np.linalg.norm(x), z / np.linalg.norm(z)
        one, other = (mechanism.coefficients(r[None], [s]) for r, s in ((x, 1.0), (z, -1.0)))
        assert np.abs(one - other).sum() <= mechanism.proven_constant


def test_as_printed_it_is_graded_published_and_learns_with_little_noise():
    rows, labels = two_classes()
    x, s = rows / np.linalg.norm(rows, axis=1, keepdims=True), 2.0 * labels - 1
    mechanism = FunctionalMechanism(features=6, epsilon=1e4, loss="logistic")
    assert mechanism.guarantee.grade is Grade.PUBLISHED
    weights = mechanism.release(x, s)
    assert np.mean((x @ weights > 0) == labels) > 0.9
    for wrong in ({"loss": "hinge"}, {"epsilon": np.nan}, {"features": 0}):
        with pytest.raises(InputError):
            FunctionalMechanism(**({"features": 3, "epsilon": 1.0} | wrong))
