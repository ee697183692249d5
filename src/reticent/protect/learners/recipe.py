"""What a learner will release, planned from public numbers before any record is seen."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.guarantee import Composed, Event, Relation, Repeated, Sensitivity
from reticent.guarantee.rounding import product_up, sum_up, up
from reticent.mechanisms import AdditiveMechanism
from reticent.protect.budget import currencies_of, event_of, mechanism_of, part
from reticent.protect.public_numbers import unit_of
from reticent.validation import InputError

Floats = NDArray[np.float64]
Answer = Callable[[AdditiveMechanism, Floats], Floats]
"""The noise that a sum is due and the sum in, what a learner sees of it out."""
Watched = Callable[[Answer], Floats]
"""A learner on its records: goes through all its sums, each with this answer, to the numbers of a
model; no guarantee comes with them."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One kind of noisy sum: how far a record moves it, its share of the budget, how often."""

    sensitivity: Sensitivity
    share: float
    times: int = 1


@dataclass(frozen=True, kw_only=True)
class Recipe(ABC):
    """The public numbers of a learner."""

    records: int
    features: int
    classes: int
    records_each: int = 1

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
        return self.noise.release(value)


Plan = dict[str, Planned]


@dataclass(frozen=True, kw_only=True)
class _Answered(Planned):
    """A step whose sums somebody else answers."""

    answer: Answer

    def release(self, value: Floats) -> Floats:
        return self.answer(self.noise, value)


def answered_by(plan: Plan, answer: Answer) -> Plan:
    """The plan with every sum answered by ``answer``: nothing that is made with it is proven."""
    return {
        name: _Answered(noise=step.noise, times=step.times, answer=answer)
        for name, step in plan.items()
    }


def refuse_answered(plan: Plan) -> None:
    """A guarantee is about the plan's own noise."""
    if any(type(step) is not Planned for step in plan.values()):
        raise InputError("sums must be answered by their own noise to prove anything, got others")


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
