"""Shadows as the target was made: which of them sees which record, and with what noise."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reticent.attacks.records import Records
from reticent.attacks.shadow_models import ShadowPlan, memberships, shadows_like
from reticent.attacks.targets import ModelTarget
from reticent.mechanisms import AdditiveMechanism
from reticent.protect import RECIPES, Release, Terms, release_records
from reticent.protect.registry import classifiers
from reticent.training import SoftmaxHead

X, Y = load_digits(return_X_y=True)
X = X[:60] / 16
HEAD = SoftmaxHead(penalty=1e-2, bound=8.0, classes=range(10)).fit(X, Y[:60])
PLAN = ShadowPlan(count=6, seed=3)


def inside(rows):
    pool = Records(X[rows], Y[rows])
    return shadows_like(ModelTarget(HEAD), pool, PLAN).inside


def test_records_that_differ_are_drawn_one_by_one():
    assert np.array_equal(inside(np.arange(60)), memberships(60, 6, seed=3))


def test_copies_go_together():
    rows = np.append(np.arange(60), [7, 7, 7, 3])
    found = inside(rows)
    assert np.array_equal(found[:, :60], memberships(60, 6, seed=3))
    assert (found[:, [60, 61, 62]] == found[:, [7]]).all()
    assert (found[:, 63] == found[:, 3]).all()
    assert found.sum(axis=0).tolist() == [3] * len(rows)  # as many shadows lack it as saw it


PUBLIC = {"bound": 8.0, "penalty": 0.1}
CENTRED = {"mean_bound": 8.0}


def released(name, **more):
    kind = RECIPES[name]
    terms = Terms(epsilon=4.0, delta=1e-5, relation="add-remove")
    options = {key: value for key, value in PUBLIC.items() if key in kind.options} | more
    recipe = kind.planned(terms, records=60, features=64, classes=10, **options)
    return release_records(recipe, terms, X, Y[:60], classes=range(10))


@pytest.mark.parametrize(
    ("name", "more"), [(name, {}) for name in classifiers()] + [("weights", CENTRED)]
)
def test_shadows_of_every_recipe_are_noised_as_the_release_was(monkeypatch, name, more):
    """A mean that rows were centred by is public with the release, so that shadows keep it."""
    like, scales, real = released(name, **more), [], AdditiveMechanism.with_float_noise

    def watched(noise, generator):
        scales.append((type(noise), noise.scale))
        return real(noise, generator)

    monkeypatch.setattr(AdditiveMechanism, "with_float_noise", watched)
    found = shadows_like(ModelTarget(like), Records(X, Y[:60]), PLAN).models
    kept = {"mean"} if more else set()
    noises = {(type(noise), noise.scale) for step, noise in like.noises.items() if step not in kept}
    assert set(scales) == noises
    models = [getattr(shadow.model, "model_", shadow.model) for shadow in found]
    assert all(isinstance(model, Release) and model.recipe == like.recipe for model in models)
    answers = [model.logits(X).tobytes() for model in (*models, like)]
    assert len(set(answers)) == len(models) + 1
    centres = [np.zeros(0) if not more else model.tensors["centre"] for model in (*models, like)]
    assert len({centre.tobytes() for centre in centres}) == 1
