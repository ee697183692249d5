"""The least noise on an answer with which k answers together are (ε, δ)-DP.

Every bound on the whole holds, so the scale is the smallest that any of them allows: ε/k (basic),
μ/√k (Gaussian DP, exact), and what advanced composition, ρ, Rényi DP and privacy loss
distributions give. All of them hold for queries that are chosen after seeing earlier answers,
because the noise of every answer, and the number of answers, are fixed beforehand.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from reticent.accounting import ACCOUNTANTS, calibrate_noise
from reticent.guarantee import Composed, Event, Relation, Repeated, Sensitivity
from reticent.ledger import Budget, FilterKind
from reticent.ledger.costs import Costs, costs_of
from reticent.mechanisms import Gaussian
from reticent.mechanisms.profiles import conversions, gaussian
from reticent.protect.answers.answer_mechanisms import Family, Kind, families, is_pure
from reticent.validation import InputError, NotCoveredError

MOST_BY_LOSSES = 10**6
"""Answers up to which privacy loss distributions are asked; beyond, they take minutes."""
_UNUSED = 2.0**-37
_SLACK = 2.0**-40
"""Scales are this much larger, so that no rounding of a multiplier crosses the ε asked for."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """k answers within (ε, δ), after what was released ``before`` them."""

    epsilon: float
    delta: float
    relation: Relation
    queries: int
    filter: FilterKind | None
    before: Event | None

    def whole(self, event: Event) -> Event:
        """All answers, and what was before them."""
        answers = event if self.queries == 1 else Repeated(event=event, count=self.queries)
        return answers if self.before is None else Composed(events=(self.before, answers))

    @property
    def methods(self) -> tuple[str, ...] | None:
        """The accountants that are asked; None for all."""
        if self.queries <= MOST_BY_LOSSES:
            return None
        return tuple(name for name in ACCOUNTANTS if name != "pld")

    def fits(self, event: Event) -> bool:
        """Whether a ledger with this filter takes the charges of all answers, one by one.

        Each charge rounds a sum up by a unit in its last place at most; the allowance for rounding
        that a budget has is left unused, so that the whole keeps within ε itself.
        """
        costs = costs_of(self.whole(event), self.relation)
        budget = self.budget(costs)
        if budget is None:
            return False
        margin = (1 + (self.queries + 2) * 2.0**-52) / (1 - _UNUSED)
        return all(
            amount is not None and amount * margin <= budget.limits[name]
            for name, amount in budget.amounts(costs).items()
        )

    def budget(self, costs: Costs) -> Budget | None:
        """The budget of an account for these costs; None where no Rényi order has room for them."""
        if self.filter is not FilterKind.RDP:
            return self._fixed
        try:
            return Budget.fixed(
                epsilon=self.epsilon, delta=self.delta, filter=self.filter, plan=costs
            )
        except InputError:
            return None

    @cached_property
    def _fixed(self) -> Budget:
        assert self.filter is not None
        return Budget.fixed(epsilon=self.epsilon, delta=self.delta, filter=self.filter)


def least_scale(kind: Kind, sensitivity: Sensitivity, asked: Asked) -> float:
    """The smallest scale that any composition theorem allows."""
    if asked.delta == 0 and not is_pure(kind):
        raise InputError(f"delta must be > 0 for {kind.name} noise, got 0; use a pure mechanism")
    candidate_scales = _by_filter if asked.filter is not None else _by_accountants
    scales = list(candidate_scales(kind, sensitivity, asked))
    if not scales:
        raise NotCoveredError(
            f"{kind.name} noise must be covered by the filter, got {asked.filter}: take another"
        )
    return min(scales) * (1 + _SLACK)


def _by_accountants(kind: Kind, sensitivity: Sensitivity, asked: Asked) -> Iterator[float]:
    if asked.before is None:
        if issubclass(kind, Gaussian):
            shift = gaussian.shift(asked.epsilon, asked.delta) / math.sqrt(asked.queries)
            yield sensitivity.require_l2(kind.name) / shift
            return  # exact: nothing is smaller
        part = asked.epsilon / asked.queries * (1 - _SLACK)
        yield kind.calibrate(sensitivity, epsilon=part, delta=0.0).scale
    if asked.queries > MOST_BY_LOSSES and asked.delta > 0:
        yield from _by_filter(kind, sensitivity, replace(asked, filter=FilterKind.ZCDP))
    elif asked.delta > 0 or asked.before is not None:
        for family in families(kind, sensitivity):
            multiplier = _multiplier(family, asked)
            if multiplier is not None:
                yield multiplier * family.bound


def _multiplier(family: Family, asked: Asked) -> float | None:
    try:
        return calibrate_noise(
            lambda noise: asked.whole(family.event(noise)),
            epsilon=asked.epsilon,
            delta=asked.delta,
            relation=asked.relation,
        ).noise_multiplier
    except NotCoveredError:  # such as an L2 bound at δ = 0
        return None


def _by_filter(kind: Kind, sensitivity: Sensitivity, asked: Asked) -> Iterator[float]:
    for family in families(kind, sensitivity):
        multiplier = _fitting(family, asked)
        if multiplier is not None:
            yield multiplier * family.bound


def _fitting(family: Family, asked: Asked) -> float | None:
    """The smallest multiplier whose charges a ledger's budget takes, None where it takes none."""
    largest = 1.0
    while not asked.fits(family.event(largest)):
        largest *= 2
        if largest > 1e12:
            return None
    return conversions.smallest_above(
        lambda noise: asked.fits(family.event(noise)), largest / 2**40, largest
    )
