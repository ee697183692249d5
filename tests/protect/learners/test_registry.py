"""A certificate's recipe must be the one that the installed learner plans: verify compares them."""

import dataclasses

import numpy as np
import pytest

from reticent.protect import save, verify
from reticent.protect.learners.recipe import reached, with_scales
from reticent.protect.learners.registry import LEARNERS
from reticent.protect.learners.regression import AdaSSPRegressor
from reticent.protect.sealed_pair import read_pair, write_pair
from reticent.validation import InputError

TERMS = {"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove", "records": 60}
X = np.random.default_rng(0).normal(size=(60, 4))
Y = np.arange(60) % 3


def released_by(kind):
    if kind is AdaSSPRegressor:
        return kind(bound=1.0, target_bound=1.0, **TERMS).fit(X, Y / 3.0).released_
    return kind(classes=range(3), **TERMS).fit(X, Y).released_


def resealed(path, **changes):
    """The files of a stranger who can write both, and seals them anew."""
    pair = read_pair(path)
    claims = dict(pair.claims)
    claims["recipe"] = claims["recipe"] | changes
    write_pair(path, claims, dict(pair.tensors))


@pytest.mark.parametrize("kind", LEARNERS.values())
def test_every_constant_of_a_recipe_is_compared(kind, tmp_path):
    save(released_by(kind), tmp_path / "model")
    assert verify(tmp_path / "model").holds
    recipe = read_pair(tmp_path / "model").claims["recipe"]
    own = {"records", "features", "classes", "records_each", "bound", "target_bound"}
    for name in set(recipe) - own:
        value = recipe[name]
        changed = not value if isinstance(value, bool) else type(value)(2 * value + 0.125)
        save(released_by(kind), tmp_path / "model")
        resealed(tmp_path / "model", **{name: changed})
        try:
            found = verify(tmp_path / "model")
        except InputError:  # other sums, so other scales
            continue
        assert any(problem.startswith(f"{name} is ") for problem in found.problems), name


def test_no_steps_at_all(tmp_path):
    save(released_by(LEARNERS["noisy gradient"]), tmp_path / "model")
    resealed(tmp_path / "model", steps_taken=0)
    problems = verify(tmp_path / "model").problems
    assert "steps_taken is 0, and noisy gradient has 100" in problems


def test_a_recipe_without_steps_would_be_cheaper():
    """Why it matters: fewer steps spend less, so a smaller ε would follow from the same scales."""
    released = released_by(LEARNERS["noisy gradient"])
    shorter = dataclasses.replace(released.recipe, steps_taken=1)
    terms = {"relation": released.guarantee.relation, "mechanism": "gaussian"}
    whole, part = (
        reached(with_scales(recipe, released.scales, **terms), delta=1e-5)
        for recipe in (released.recipe, shorter)
    )
    assert part < 0.5 * whole
