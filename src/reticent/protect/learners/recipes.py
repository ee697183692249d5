"""The recipes of all learners, by the names that stand in certificates."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from reticent.protect.learners.gradient_recipe import GradientRecipe
from reticent.protect.learners.recipe import Recipe
from reticent.protect.learners.regression_recipe import RegressionRecipe
from reticent.protect.learners.statistics import StatisticsRecipe
from reticent.protect.public_numbers import checked_each
from reticent.validation import InputError, count, describe, non_negative

_RECIPES: dict[str, type[Recipe]] = {
    "noisy gradient": GradientRecipe,
    "class means": StatisticsRecipe,
    "AdaSSP": StatisticsRecipe,
    "linear discriminant analysis": StatisticsRecipe,
    "AdaSSP regression": RegressionRecipe,
}


def _truth(name: str, value: object) -> bool:
    if type(value) is not bool:
        raise InputError(f"{name} must be true or false, got {describe(value)}")
    return value


_CHECKS: dict[str, Callable[[str, object], object]] = {
    "int": lambda name, value: count(name, value, at_least=0),
    "int | None": lambda _, value: checked_each(value),  # records_each alone is one
    "float": non_negative,
    "bool": _truth,
}


def recipe_of(learner: object, values: object) -> Recipe:
    """The public numbers of a certificate; what is missing, unknown or out of range is refused."""
    if not isinstance(learner, str) or learner not in _RECIPES:
        raise InputError(f"learner must be one of {', '.join(_RECIPES)}, got {describe(learner)}")
    kind = _RECIPES[learner]
    fields = {field.name: str(field.type) for field in dataclasses.fields(kind)}
    if not isinstance(values, Mapping) or set(values) != set(fields):
        raise InputError(f"recipe must have {', '.join(sorted(fields))}, got others")
    checked: dict[str, Any] = {
        name: _CHECKS[type_](name, values[name]) for name, type_ in fields.items()
    }
    return kind(**checked)
