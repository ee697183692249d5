"""Objective perturbation: the theorem by quadrature, the release, its audits, refusals."""

import math

import numpy as np
import pytest
from scipy import special

from reticent import bounds
from reticent.accounting import account
from reticent.accounting.objective import ObjectiveBound
from reticent.audit.end_to_end.pairs import audit_pair, combinations
from reticent.audit.transcripts import audit_release_queries
from reticent.guarantee import Composed, GaussianEvent, Grade, ObjectiveEvent, PoissonSampled
from reticent.protect import RECIPES, Terms, noise_scales, release_records, save, verify
from reticent.protect import recipe as recipe_module
from reticent.protect.noise_scales import composed_epsilon, with_scales
from reticent.run.every_release import every_release
from reticent.training.softmax import zero_sum_basis
from reticent.validation import InputError, NotCoveredError

RNG = np.random.default_rng(0)


def terms(**changes):
    return Terms(**({"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove"} | changes))


def planned(said, *, records=400, classes=2, features=3, **options):
    return RECIPES["objective"].planned(
        said, records=records, features=features, classes=classes, **options
    )


def data(n=400, classes=2):
    labels = np.arange(n) % classes
    return RNG.normal(size=(n, 3)) + 2 * np.eye(3)[labels], labels


# ------------------------------------------------------------------------------------- the theorem


def logistic_density(grid, records, penalty, noise):
    """Of the minimum v of Σ ln(1 + e^{−√2·s·h·v}) + (Λ/2)v² + b·v, b ~ N(0, noise²)."""
    slope, curvature = penalty * grid, np.full_like(grid, penalty)
    for h, s in records:
        z = math.sqrt(2) * s * h
        p = special.expit(-z * grid)
        slope, curvature = slope - z * p, curvature + z * z * p * (1 - p)
    return np.exp(-((slope / noise) ** 2) / 2) / noise / math.sqrt(2 * math.pi) * curvature


def hockey_stick(one, other, epsilon, cell):
    return float(np.maximum(one - math.exp(epsilon) * other, 0).sum() * cell)


WORLDS = [
    ([], [(1.0, 1)]),
    ([(1.0, 1)] * 3, [(1.0, 1)] * 3 + [(1.0, -1)]),
    ([(-1.0, 1), (0.3, -1)], [(-1.0, 1), (0.3, -1), (1.0, 1)]),
    ([(1.0, -1)] * 20, [(1.0, -1)] * 20 + [(1.0, 1)]),
]
REPLACED = [
    ([(1.0, 1)], [(-1.0, 1)]),
    ([(1.0, 1)] * 4, [(1.0, 1)] * 3 + [(1.0, -1)]),
]


@pytest.mark.parametrize(("noise", "penalty"), [(1.0, 0.3), (3.0, 3.0), (3.0, 0.05)])
def test_no_pair_of_data_sets_exceeds_the_bound(noise, penalty):
    """Exact densities in one dimension, in both directions; without κ the bound would be false."""
    edge = (8 * noise + 30) / penalty
    grid = np.linspace(-edge, edge, 100_001)
    cell = grid[1] - grid[0]
    kappa = bounds.determinant_ratio(classes=2, radius=1.0, total_penalty=penalty)
    too_small = 0
    for pairs, touched in ((WORLDS, 1), (REPLACED, 2)):
        bound = ObjectiveBound(touched * math.sqrt(2) / noise, kappa, touched)
        without = ObjectiveBound(touched * math.sqrt(2) / noise, 0.0, touched)
        for worlds in pairs:
            densities = [logistic_density(grid, world, penalty, noise) for world in worlds]
            assert densities[0].sum() * cell == pytest.approx(1, abs=1e-6)
            for one, other in (densities, densities[::-1]):
                for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0):
                    measured = hockey_stick(one, other, epsilon, cell)
                    at = np.array([epsilon])
                    assert measured <= bound.delta(at)[0] + 1e-7
                    too_small += measured > without.delta(at)[0] + 1e-4
    if penalty < 0.1:
        assert too_small


def test_three_classes_in_two_coordinates():
    """C = 3 and one feature: V has two coordinates, and the density is on a plane."""
    axis = np.linspace(-14, 14, 601)
    plane = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    basis, penalty, noise = zero_sum_basis(3), 1.0, 3.0

    def density(records):
        slope, hessian = penalty * plane, np.tile(penalty * np.eye(2), (len(plane), 1, 1))
        for h, y in records:
            logits = h * plane @ basis.T
            p = np.exp(logits - logits.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
            slope = slope + h * (p - np.eye(3)[y]) @ basis
            spread = np.einsum("ni,ij->nij", p, np.eye(3)) - np.einsum("ni,nj->nij", p, p)
            hessian = hessian + h * h * np.einsum("ia,nij,jb->nab", basis, spread, basis)
        size = (slope**2).sum(axis=1)
        return np.exp(-size / (2 * noise**2)) / (2 * math.pi * noise**2) * np.linalg.det(hessian)

    cell = (axis[1] - axis[0]) ** 2
    kappa = bounds.determinant_ratio(classes=3, radius=1.0, total_penalty=penalty)
    bound = ObjectiveBound(math.sqrt(2) / noise, kappa, 2)
    for one, other in (([], [(1.0, 0)]), ([(1.0, 0), (-1.0, 1)], [(1.0, 0), (-1.0, 1), (1.0, 2)])):
        here, there = density(one), density(other)
        assert here.sum() * cell == pytest.approx(1, abs=1e-3)
        for epsilon in (0.0, 0.5, 1.0):
            for p, q in ((here, there), (there, here)):
                assert (
                    hockey_stick(p, q, epsilon, cell) <= bound.delta(np.array([epsilon]))[0] + 1e-5
                )


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_no_record_changes_the_determinant_further(classes):
    """Any positive definite H ⪰ Λ, any probabilities; equal ones with H = Λ attain it."""
    basis, penalty = zero_sum_basis(classes), 0.7
    kappa = bounds.determinant_ratio(classes=classes, radius=1.0, total_penalty=penalty)
    for trial in range(60):
        p = RNG.dirichlet(np.ones(classes)) if trial else np.full(classes, 1 / classes)
        x = RNG.normal(size=3)
        x /= np.linalg.norm(x)
        change = np.kron(basis.T @ (np.diag(p) - np.outer(p, p)) @ basis, np.outer(x, x))
        factor = RNG.normal(size=(len(change), 5)) if trial > 1 else np.zeros((len(change), 1))
        common = penalty * np.eye(len(change)) + factor @ factor.T
        ratio = np.linalg.slogdet(common + change)[1] - np.linalg.slogdet(common)[1]
        assert 0 <= ratio + 1e-12
        assert ratio <= kappa + 1e-12
        if trial == 0:
            assert ratio == pytest.approx(kappa)


# ------------------------------------------------------------------------------------ accounting


def test_one_direction_is_a_gaussian_at_epsilon_less_kappa():
    event = ObjectiveEvent(noise_multiplier=5.0, curvature=0.25, directions=1)
    alone = account(GaussianEvent(noise_multiplier=5.0), relation="add-remove", delta=1e-5).epsilon
    found = account(event, relation="add-remove", delta=1e-5).epsilon
    assert alone + 0.25 <= found <= alone + 0.25 + 1e-4
    again = Composed(events=(event, GaussianEvent(noise_multiplier=50.0)))
    assert found < account(again, relation="add-remove", delta=1e-5).epsilon < found + 0.01


def test_several_directions_against_draws():
    """200,000 draws of κ + a²/2 + a·χ: five standard deviations fail once in a million runs."""
    bound = ObjectiveBound(0.4, 0.1, 6)
    loss = 0.1 + 0.08 + 0.4 * np.sqrt(RNG.chisquare(6, size=200_000))
    for epsilon in (0.0, 0.8, 1.5):
        excess = np.maximum(1 - np.exp(epsilon - loss), 0)
        found = float(bound.delta(np.array([epsilon]))[0])
        error = excess.std() / math.sqrt(len(excess))
        assert excess.mean() - 5 * error <= found <= excess.mean() + 5 * error + 1e-3


def test_samples_of_it_are_not_covered():
    event = ObjectiveEvent(noise_multiplier=5.0, curvature=0.25, directions=1)
    with pytest.raises(NotCoveredError):
        account(PoissonSampled(event=event, rate=0.1), relation="add-remove", delta=1e-5)


# ------------------------------------------------------------------------------------- the release


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("classes", "each"), [(2, None), (3, 2)])
def test_a_proven_release_that_spends_its_budget(tmp_path, relation, classes, each):
    rows, labels = data(classes=classes)
    said = terms(relation=relation, max_records_per_person=each)
    found = release_records(
        planned(said, classes=classes), said, rows, labels, classes=range(classes)
    )
    assert found.guarantee.grade is Grade.PROVEN
    plan = with_scales(found.recipe, found.scales, said)
    assert 0.98 < composed_epsilon(plan, relation=said.relation, delta=1e-5) <= 1.0
    save(found, tmp_path / "model")
    assert verify(tmp_path / "model").holds


def test_it_learns_and_its_weights_are_those_of_its_layer():
    rows, labels = data(4000)
    said = terms()
    found = release_records(planned(said, records=4000), said, rows, labels, classes=range(2))
    assert np.mean(found.predict(rows) == labels) > 0.9
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    layer = found.recipe.layer(found.tensors)
    assert np.allclose(found.logits(rows), unit @ layer.weights.T + layer.offsets)


def test_every_data_set_has_a_release():
    said = terms()
    for n in (0, 1, 800):
        rows, labels = data(n)
        found = release_records(planned(said), said, rows, np.zeros_like(labels), classes=range(2))
        assert np.isfinite(found.logits(np.eye(3))).all()


def test_what_is_refused():
    for wrong, options in (
        ({"delta": 0.0}, {}),
        ({}, {"mechanism": "laplace"}),
        ({}, {"curvature_share": 1.5}),
        ({}, {"classes": 1}),
    ):
        with pytest.raises(InputError, match="must"):
            planned(terms(**wrong), **options)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_transcripts_of_neighbours(monkeypatch, relation):
    """The same minimum in both worlds: the noise that leads to it differs by one gradient."""
    rows, labels = data(30)
    said = terms(relation=relation)
    found = release_records(planned(said, records=30), said, rows, labels, classes=range(2))
    fewer = rows[1:], labels[1:]
    other = fewer if relation == "add-remove" else (rows, np.append(1 - labels[0], labels[1:]))
    audit = audit_release_queries(found, (rows, labels), other, runs=20)
    assert audit.verdict == "not refuted"
    assert audit.sealed
    assert 0.2 < audit.tightness <= 1


def test_the_noise_of_a_replay_leads_to_its_answer():
    rows, labels = data(30)
    said = terms()
    recipe = planned(said, records=30)
    plan = noise_scales.noise_plan(recipe, said)
    values = []

    def answer(noise, value):
        drawn = noise.release(value)
        values.append(value)
        return drawn

    recipe_module.replay(recipe, plan, rows, labels)(answer)
    assert len(values) == 2
    assert not values[0].any()  # noise inside the loss
    assert values[1].any()  # the minimum


@pytest.mark.slow
def test_end_to_end_and_a_search_that_stops_early_is_found(monkeypatch):
    audited = {"objective": every_release()["objective"]}

    def holds():
        return all(
            audit_pair(audited["objective"], one, number).outcome.holds
            for one in combinations(audited)
            for number in range(6)
        )

    assert holds()
    from reticent.protect.recipes import objective

    honest = objective.certified_minimum
    monkeypatch.setattr(
        objective,
        "certified_minimum",
        lambda loss, *, tolerance: honest(loss, tolerance=1e3 * tolerance),
    )
    assert not holds()
