"""What a learner will release, planned from public numbers before any record is seen."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from reticent.guarantee import Composed, Event, Relation, Repeated, Sensitivity
from reticent.guarantee.checks import checked_by
from reticent.guarantee.rounding import product_up, sum_up, up
from reticent.mechanisms import AdditiveMechanism
from reticent.protect.budget import currencies_of, event_of, mechanism_of, part
from reticent.protect.noisy_query import NoiseFunction, noisy_query
from reticent.protect.public_numbers import unit_of
from reticent.validation import InputError

Floats = NDArray[np.float64]
Watched = Callable[[NoiseFunction], Floats]
"""A learner on its records: goes through all its sums, each answered by this function, to the
numbers of a model; no guarantee comes with them."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One kind of noisy sum: how far a record moves it, its share of the budget, how often.

    ``theorem`` is the function that says how far, as a checked line names it.
    """

    sensitivity: Sensitivity
    share: float
    theorem: str
    times: int = 1


@dataclass(frozen=True, kw_only=True)
class Recipe(ABC):
    """The public numbers of a learner."""

    rows: ClassVar[str] = checked_by(
        "each record's row is scaled to norm 1 by itself, in one order of summation, and cut to "
        "a grid on which sums and products are exact",
        "protect.learners.exact_rows.unit_rows",
    )
    """What is done to the rows, as a line of a guarantee."""

    records: int
    features: int
    classes: int
    records_each: int | None = None

    @abstractmethod
    def steps(self, relation: Relation) -> dict[str, Step]:
        """All that it releases, by name; the shares add up to one."""

    @property
    def unit(self) -> str:
        """Who is protected."""
        return unit_of(self.records_each)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in a certificate."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A step with its noise."""

    noise: AdditiveMechanism
    times: int

    def release(self, value: Floats) -> Floats:
        """The only way from a sum over records to what a learner sees of it."""
        return noisy_query(self.noise, value)


Plan = dict[str, Planned]


def planned(
    recipe: Recipe, *, epsilon: float, delta: float, relation: Relation, mechanism: str
) -> Plan:
    """Each step with the noise that its share of (ε, δ) buys."""
    steps = recipe.steps(relation)
    whole = sum(step.share for step in steps.values())
    if not abs(whole - 1) < 1e-9:
        raise InputError(f"shares must add up to 1, got {whole}")
    kind = mechanism_of(mechanism)
    return {
        name: Planned(
            noise=part(
                kind,
                step.sensitivity,
                epsilon=epsilon,
                delta=delta,
                share=step.share / step.times * (1 - 1e-9),
            ),
            times=step.times,
        )
        for name, step in steps.items()
    }


def with_scales(
    recipe: Recipe, scales: dict[str, float], *, relation: Relation, mechanism: str
) -> Plan:
    """The plan of a certificate: its sensitivities follow from the recipe, its scales are given."""
    steps = recipe.steps(relation)
    if set(steps) != set(scales):
        raise InputError(f"scales must be those of {', '.join(steps)}, got others")
    kind = mechanism_of(mechanism)
    return {
        name: Planned(
            noise=kind(scale=scales[name], sensitivity=step.sensitivity), times=step.times
        )
        for name, step in steps.items()
    }


def reached(plan: Plan, *, delta: float) -> float:
    """The ε at δ of all steps together; rounded up."""
    steps = list(plan.values())
    return min(
        up(
            currency.epsilon(
                sum_up(product_up(currency.spent(step.noise), step.times) for step in steps),
                delta,
            )
        )
        for currency in currencies_of(type(steps[0].noise), delta)
    )


def event_of_plan(plan: Plan, *, delta: float) -> Event:
    """The whole plan as an accountant sees it."""
    return Composed(
        events=tuple(
            Repeated(event=event_of(step.noise, delta=delta), count=step.times)
            for step in plan.values()
        )
    )
