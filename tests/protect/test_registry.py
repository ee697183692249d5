"""The registry of recipes; and a certificate's numbers must be those that its recipe plans."""

import dataclasses

import numpy as np
import pytest

from reticent.protect import RECIPES, save, verify
from reticent.protect.estimators import ESTIMATORS, AdaSSPRegressor, NoisyGradientHead
from reticent.protect.noise_scales import composed_epsilon, with_scales
from reticent.protect.registry import classifiers, encoders, is_own
from reticent.protect.sealed_pair import read_pair, write_pair
from reticent.validation import InputError

TERMS = {"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove", "records": 60}
X = np.random.default_rng(0).normal(size=(60, 4))
Y = np.arange(60) % 3


def test_each_recipe_stands_under_its_own_name_with_its_task():
    for name in RECIPES:
        assert RECIPES[name].name == name
        assert RECIPES.group(name, "task") == RECIPES[name].task
        assert RECIPES.summary(name)
    others = {"mean", "adassp-regression", "functional-regression", *encoders()}
    assert set(classifiers()) == set(RECIPES) - others


def released_by(kind):
    if kind is AdaSSPRegressor:
        return kind(bound=1.0, target_bound=1.0, **TERMS).fit(X, Y / 3.0).released_
    return kind(classes=range(3), **TERMS).fit(X, Y).released_


def resealed(path, **changes):
    """The files of a stranger who can write both, and seals them anew."""
    pair = read_pair(path)
    claims = dict(pair.claims)
    claims["numbers"] = claims["numbers"] | changes
    write_pair(path, claims, dict(pair.tensors))


def _changed(value):
    if isinstance(value, bool | str):
        return f"{value}, changed" if isinstance(value, str) else not value
    return type(value)(2 * value + 0.125)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_constant_of_a_recipe_is_compared(kind, tmp_path):
    save(released_by(kind), tmp_path / "model")
    assert verify(tmp_path / "model").holds
    recipe = read_pair(tmp_path / "model").claims["numbers"]
    own = {"records", "features", "classes", "mechanism", *kind.recipe.options}  # said by users
    for name in set(recipe) - own:
        value = recipe[name]
        changed = _changed(value)
        save(released_by(kind), tmp_path / "model")
        resealed(tmp_path / "model", **{name: changed})
        try:
            found = verify(tmp_path / "model")
        except InputError:  # other sums, so other scales
            continue
        assert any(problem.startswith(f"{name} is ") for problem in found.problems), name


def test_no_steps_at_all(tmp_path):
    save(released_by(NoisyGradientHead), tmp_path / "model")
    resealed(tmp_path / "model", steps_taken=0)
    with pytest.raises(InputError, match="count must be >= 1, got 0"):
        verify(tmp_path / "model")
    save(released_by(NoisyGradientHead), tmp_path / "model")
    resealed(tmp_path / "model", steps_taken=1)
    problems = verify(tmp_path / "model").problems
    assert "steps_taken is 1, and noisy-gradient has 100" in problems


def test_a_recipe_without_steps_would_be_cheaper():
    """Why it matters: fewer steps spend less, so a smaller ε would follow from the same scales."""
    released = released_by(NoisyGradientHead)
    shorter = dataclasses.replace(released.recipe, steps_taken=1)
    whole, part = (
        composed_epsilon(
            with_scales(recipe, released.scales, released.terms),
            relation=released.terms.relation,
            delta=1e-5,
        )
        for recipe in (released.recipe, shorter)
    )
    assert part < 0.5 * whole


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_only_the_very_class_is_the_package_s_own(kind):
    recipe = released_by(kind).recipe
    other = type(type(recipe).__name__, (type(recipe),), {})
    assert is_own(recipe)
    assert not is_own(other(**recipe.to_dict()))
