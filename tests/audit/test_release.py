"""The exact audit of released heads: true claims stand, false ones fall by the right figure."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reticent.attacks.released_weights import noise_of
from reticent.audit.pairs import pair_epsilon, runs_for_half
from reticent.audit.release import audit_release, worst_pair
from reticent.mechanisms.profiles import gaussian
from reticent.protect import release_weights
from reticent.training import SigmoidHead, SoftmaxHead
from reticent.validation import InputError

TERMS = {"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove"}


def held(directions=100, each=10, along=0.25, few=3):
    """A few mislabelled records, each with a feature of its own, where the others hold the head.

    A record's own feature is curved by the penalty alone, and its label stays unlikely, so it
    moves the head almost as far as the theorem allows.
    """
    width = directions + few
    usual = np.repeat(np.eye(width)[:directions], each, axis=0)
    wrong = np.zeros((few, width))
    wrong[:, :directions] = along / np.sqrt(directions)
    wrong[np.arange(few), directions + np.arange(few)] = np.sqrt(1 - along**2)
    return np.vstack([usual, wrong]), np.repeat([0, 1], [len(usual), few])


@pytest.fixture(scope="module")
def worst():
    X, y = held()
    head = SoftmaxHead(penalty=1e-3, bound=1.0, classes=range(2), records=1_000, intercept=0.0)
    return X, y, head.fit(X, y)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300] / 16 - 0.3, y[:300]
    numbers = {"penalty": 1e-2, "bound": 1.0, "norms": "scale"}
    return X, y, SoftmaxHead(classes=range(10), records=300, **numbers).fit(X, y)


def test_the_worst_data_come_close_to_the_claim_from_below(worst):
    X, y, head = worst
    found = audit_release(release_weights(head, **TERMS), X, y, beta=1e-6, runs=20_000)
    assert 0.9 < found.tightness <= 1
    assert 0.9 < found.analytic <= 1
    assert found.exact
    assert found.measured.epsilon <= found.analytic
    assert found.verdict == "not refuted"
    assert "without a record, and with it" in str(found)
    assert "over the most that the theorem allows" in str(found)


@pytest.mark.slow
def test_code_that_adds_half_the_noise_is_refuted_by_the_measured_bound(worst):
    """Certificate, theorem and analytic figure are as before; only the code is wrong."""
    X, y, head = worst
    released = release_weights(head, **TERMS)
    half, rng = noise_of(released).scale / 2, np.random.default_rng(0)
    found = audit_release(
        released,
        X,
        y,
        draw=lambda value: value + half * rng.normal(size=value.shape),
        runs=200_000,  # more than the power of 0.95 that would do by default
    )
    assert found.finds_half
    assert found.analytic <= 1
    assert found.measured.epsilon > 1
    assert found.refuted_by == "measured bound, for every mechanism"
    assert found.to_dict()["verdict"] == "refuted"


def with_half_the_scale(released):
    scales = {name: scale / 2 for name, scale in released.scales.items()}
    return dataclasses.replace(released, scales=scales)


def test_a_scale_that_is_too_small_is_refuted_by_the_exact_pair(worst):
    """As of a sensitivity that was sampled, where the outlier was not drawn."""
    X, y, head = worst
    released = release_weights(head, **TERMS)
    small = with_half_the_scale(released)
    found = audit_release(small, X, y, runs=2_000)
    assert found.analytic > 1.8
    assert found.verdict == "refuted"


def test_a_sampled_claim_falls_by_fresh_pairs_and_not_by_one_pair(worst):
    """The same scale as above, where one pair refutes the claim that holds for every pair."""
    X, y, head = worst
    released = release_weights(head, **TERMS)
    sampled = dataclasses.replace(released.guarantee, grade="sampled", gamma=0.1)
    small = dataclasses.replace(with_half_the_scale(released), guarantee=sampled)
    alone = audit_release(small, X, y, runs=2_000)
    assert alone.analytic > 1.8
    assert (alone.verdict, alone.refuted) == ("not refuted", False)
    assert "cannot be refuted by single pairs" in str(alone)
    distances = np.full(100, noise_of(released).sensitivity.l2)
    fresh = SimpleNamespace(l1=distances, l2=distances)
    found = audit_release(small, X, y, runs=2_000, fresh=fresh)
    assert found.refuted_by == "share of fresh pairs beyond it"
    assert found.to_dict()["fresh"]["exceeding"] == 100
    few = SimpleNamespace(l1=distances / 10, l2=distances / 10)
    assert audit_release(small, X, y, runs=2_000, fresh=few).verdict == "not refuted"


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(
    ("mechanism", "delta"),
    [
        ("gaussian", 1e-5),
        ("logistic", 1e-5),
        ("logistic", 0.0),
        ("laplace", 0.0),
        ("l2-laplace", 0.0),
    ],
)
def test_true_claims_stand(digits, mechanism, delta, relation):
    X, y, head = digits
    terms = {"epsilon": 4.0, "delta": delta, "relation": relation, "mechanism": mechanism}
    found = audit_release(release_weights(head, **terms), X, y, beta=1e-6, runs=2_000)
    assert found.verdict == "not refuted"
    assert 0.2 < found.tightness <= 1
    assert 0 < found.analytic <= 4
    assert found.exact == (mechanism == "gaussian" or delta == 0)
    assert str(found.measured.relation) == relation


def test_the_pair_is_one_of_neighbours(digits):
    """Heads that are fitted anew on both data sets are those of the pair."""
    X, y, head = digits
    released = release_weights(head, **TERMS)
    pair = worst_pair(released, X, y, candidates=4)
    assert np.allclose(pair.absent, head.coordinates_.ravel(), atol=1e-7)
    assert pair.l2 <= noise_of(released).sensitivity.l2
    assert pair_epsilon(noise_of(released), pair, 1e-5) == pytest.approx(
        gaussian.epsilon(pair.l2 / released.scales["coordinates"], 1e-5)
    )


def test_more_runs_are_needed_the_looser_the_pair(worst):
    X, y, head = worst
    released = release_weights(head, **TERMS)
    pair = worst_pair(released, X, y)
    nearer = dataclasses.replace(pair, present=(2 * pair.absent + 8 * pair.present) / 10)
    noise = noise_of(released)
    few = runs_for_half(noise, pair, released.guarantee, 0.05)
    assert few < 200_000 < runs_for_half(noise, nearer, released.guarantee, 0.05)
    assert few < runs_for_half(noise, pair, released.guarantee, 1e-6)


def test_bad_input_gets_one_line(digits):
    X, y, head = digits
    released = release_weights(head, **TERMS)
    for wrong in ({"beta": 0.7}, {"runs": 0}, {"candidates": 0}):
        with pytest.raises(InputError, match=f"{next(iter(wrong))} must be"):
            audit_release(released, X, y, **wrong)
    with pytest.raises(InputError, match="target must be released weights of a head"):
        audit_release(head, X, y)
    labels = SigmoidHead(penalty=1e-2, bound=1.0, records=300, classes=range(3))
    labels.fit(X, np.eye(3, dtype=int)[y % 3])
    with pytest.raises(InputError, match="softmax head"):
        audit_release(release_weights(labels, **TERMS), X, y)


def test_a_table_without_records_is_refused(digits):
    X, y, head = digits
    with pytest.raises(InputError, match="X must hold a record"):
        audit_release(release_weights(head, **TERMS), X[:0], y[:0])


def test_a_table_of_another_width_is_refused(digits):
    X, y, head = digits
    with pytest.raises(InputError, match="X must have the 64 features of the release, got 63"):
        audit_release(release_weights(head, **TERMS), X[:, 1:], y)
