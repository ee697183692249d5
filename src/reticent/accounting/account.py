"""The ε of an event by every accountant that covers it, and the best of them.

Each accountant gives an upper bound for the same event and the choice between them looks at no
data, so their minimum is an upper bound too.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from reticent.accounting import advanced, basic, gdp, pld, rdp, zcdp
from reticent.accounting.accountant import Accountant
from reticent.guarantee.events import Event
from reticent.guarantee.grade import Grade, Relation, as_relation
from reticent.guarantee.guarantee import ONE_RECORD, Guarantee, checked_by
from reticent.validation import InputError, NotCoveredError, describe, probability

ACCOUNTANTS: Mapping[str, Accountant[Any]] = MappingProxyType(
    {
        way.name: way
        for way in (basic.BASIC, advanced.ADVANCED, zcdp.ZCDP, gdp.GDP, rdp.RDP, pld.PLD)
    }
)
"""Every accountant by its name; each refuses events that none of its rules covers."""

STATED = "noise multipliers and sensitivities as given by the caller"


@dataclass(frozen=True, kw_only=True)
class PrivacyCost:
    """What an event costs: ε at δ by each method, or why a method does not answer.

    ``epsilon`` is the smallest and ``method`` names where it comes from.
    """

    event: Event
    relation: Relation
    delta: float
    epsilons: Mapping[str, float]
    refusals: Mapping[str, str] = field(default_factory=dict)

    @property
    def method(self) -> str:
        """The method with the smallest ε."""
        return min(self.epsilons, key=lambda name: self.epsilons[name])

    @property
    def epsilon(self) -> float:
        """The smallest ε, never below the truth."""
        return self.epsilons[self.method]

    def guarantee(
        self, *, unit: str = ONE_RECORD, grade: Grade = Grade.DECLARED, gamma: float | None = None
    ) -> Guarantee:
        """The account as a claim, at most declared: the sensitivities are the caller's."""
        return Guarantee(
            epsilon=self.epsilon,
            delta=self.delta,
            grade=grade,
            relation=self.relation,
            unit=unit,
            checked=(theorem_line(self.method),),
            stated=(STATED,),
            gamma=gamma,
        )

    def to_dict(self) -> dict[str, object]:
        """Plain values, as they stand in a JSON file."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "relation": str(self.relation),
            "method": self.method,
            "epsilons": dict(self.epsilons),
            "refusals": dict(self.refusals),
            "event": self.event.to_dict(),
        }


def theorem_line(method: str) -> str:
    """By which composition theorem an ε comes, as a guarantee says it."""
    return checked_by(ACCOUNTANTS[method].theorem, "accounting.account.epsilon_by")


def account(
    event: Event, *, relation: Relation | str, delta: float, methods: Sequence[str] | None = None
) -> PrivacyCost:
    """The ε of ``event`` at ``delta`` under ``relation``, by all methods or by those named.

    >>> from reticent.guarantee import GaussianEvent, Repeated
    >>> steps = Repeated(event=GaussianEvent(noise_multiplier=10.0), count=100)
    >>> found = account(steps, relation="add-remove", delta=1e-5)
    >>> found.method, round(found.epsilon, 4)
    ('gdp', 4.3772)
    """
    if not isinstance(event, Event):
        raise InputError(f"event must be an Event, got {describe(event)}")
    if isinstance(methods, str) or (methods is not None and not methods):
        raise InputError(f"methods must be a list of names, got {methods!r}")
    relation, delta = as_relation(relation), probability("delta", delta)
    epsilons: dict[str, float] = {}
    refusals: dict[str, str] = {}
    for name in ACCOUNTANTS if methods is None else methods:
        try:
            epsilons[name] = epsilon_by(name, event, relation=relation, delta=delta)
        except NotCoveredError as refusal:
            refusals[name] = str(refusal)
    if not epsilons:
        raise NotCoveredError("no method covers the event: " + "; ".join(refusals.values()))
    return PrivacyCost(
        event=event,
        relation=relation,
        delta=delta,
        epsilons=MappingProxyType(epsilons),
        refusals=MappingProxyType(refusals),
    )


def epsilon_by(name: str, event: Event, *, relation: Relation, delta: float) -> float:
    """The ε by one method; NotCoveredError where it has no finite answer."""
    if name not in ACCOUNTANTS:
        raise InputError(f"method must be one of {', '.join(ACCOUNTANTS)}, got {name!r}")
    return _known_epsilon(name, event, relation, delta)


@lru_cache(maxsize=4096)
def _known_epsilon(name: str, event: Event, relation: Relation, delta: float) -> float:
    """Kept, because a search for the noise, the claim and the certificate ask for the same ε."""
    accountant = ACCOUNTANTS[name]
    with np.errstate(over="ignore", invalid="ignore"):  # infinities and NaN are refused below
        epsilon = accountant.epsilon(accountant.value(event, relation), delta)
    if not math.isfinite(epsilon):
        raise NotCoveredError(f"{name} has no finite epsilon at delta = {delta:.3g}")
    return epsilon
