"""Shadows of learners with the noise inside: seeded, as noisy as a release, and never proven."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_digits

from reticent.attacks.shadow_models import NoisyShadow
from reticent.guarantee import Grade
from reticent.mechanisms import AdditiveMechanism
from reticent.protect.estimators import ESTIMATORS, PrivateNetwork
from reticent.protect.registry import classifiers

LEARNERS = {
    kind.recipe.name: kind
    for kind in ESTIMATORS
    if kind.recipe.name in classifiers() and kind is not PrivateNetwork
}
KINDS = [(name, "gaussian", 1e-5) for name in LEARNERS] + [("class-means", "laplace", 0.0)]
FALSE_ALARM = 1e-6 / len(KINDS)
DRAWS = 30
EPSILON = 200.0


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=3, return_X_y=True)
    return X[:200, 16:40] / 16, y[:200]


def learner(name, mechanism, delta):
    return LEARNERS[name](
        classes=range(3),
        records=200,
        epsilon=EPSILON,
        delta=delta,
        relation="add-remove",
        mechanism=mechanism,
    )


def released(kind, digits):
    return learner(*kind).fit(*digits).released_


def numbers(model):
    layer = model.recipe.layer(model.tensors)
    if layer is not None:
        return np.append(*layer)
    noisy = sorted(set(model.tensors) - {"map"})  # a map is public
    return np.concatenate([model.tensors[name].ravel() for name in noisy])


def spreading(model):
    """The numbers whose distances concentrate.

    Of pure-class-means the directions of the means: few noisy counts, with heavy tails and a floor,
    decide how long a mean is, and leave its direction to the noise on sums.
    """
    if model.recipe.name != "pure-class-means":
        return numbers(model)
    means = model.recipe.layer(model.tensors).weights
    return (means / np.linalg.norm(means, axis=1, keepdims=True)).ravel()


def chance_of_as_large_a_difference(one, other):
    """Both of one law: exchangeable draws, whose distances from their common mean are compared.

    Their distances concentrate, so a wrong scale sets the two samples apart.
    """
    both = np.concatenate([one, other])
    distances = np.linalg.norm(both - both.mean(axis=0), axis=1)
    return stats.ks_2samp(distances[: len(one)], distances[len(one) :], method="exact").pvalue


@pytest.mark.parametrize("kind", KINDS)
def test_equal_seeds_give_equal_shadows(digits, kind):
    like = released(kind, digits)
    one, same, other = (
        NoisyShadow(like, random_state=seed).fit(*digits).model_ for seed in (3, 3, 4)
    )
    assert np.array_equal(numbers(one), numbers(same))
    assert not np.isclose(numbers(one), numbers(other)).any()
    assert not np.isclose(numbers(one), numbers(like)).all()
    assert (one.recipe, one.terms, one.scales) == (like.recipe, like.terms, like.scales)


@pytest.mark.parametrize("kind", KINDS)
def test_a_shadow_is_never_proven(digits, kind):
    like = released(kind, digits)
    shadow = clone(NoisyShadow(like)).fit(*digits)
    assert like.guarantee.grade is Grade.PROVEN
    assert shadow.model_.guarantee.grade is Grade.DECLARED


@pytest.mark.parametrize("kind", KINDS)
def test_shadows_spread_as_releases_do(digits, kind, monkeypatch):
    """Noise of five times the scale, or of a quarter for learners with their own, is found.

    30 draws of each that do not overlap have probability 2/C(60, 30) = 1.7e-17 under one law.
    """
    real = [released(kind, digits) for _ in range(DRAWS)]
    like = released(kind, digits)

    def chance(view):
        fits = (NoisyShadow(like, random_state=seed).fit(*digits) for seed in range(DRAWS))
        shadows = [shadow.model_ for shadow in fits]
        both = (np.stack([view(model) for model in models]) for models in (real, shadows))
        return chance_of_as_large_a_difference(*both)

    assert min(chance(numbers), chance(spreading)) > FALSE_ALARM / 2
    exact = AdditiveMechanism.with_float_noise
    factor = 0.25 if like.recipe.noises else 5
    monkeypatch.setattr(
        AdditiveMechanism,
        "with_float_noise",
        lambda noise, generator: exact(replace(noise, scale=factor * noise.scale), generator),
    )
    assert chance(spreading) < FALSE_ALARM / 2


def test_it_answers_as_the_model_that_it_made(digits):
    rows, _ = digits
    shadow = NoisyShadow(released(KINDS[0], digits), random_state=1).fit(*digits)
    assert np.array_equal(shadow.predict(rows), shadow.model_.predict(rows))
    assert np.array_equal(shadow.predict_proba(rows), shadow.model_.predict_proba(rows))
    assert np.array_equal(shadow.decision_function(rows), shadow.model_.decision_function(rows))
    assert shadow.classes_.tolist() == [0, 1, 2]
