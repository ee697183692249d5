"""DP-SGD before any training: one plan by all accountants, and what logistic noise costs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from reticent.accounting import account, calibrate_noise, comparison, side_by_side
from reticent.guarantee import Relation, Sensitivity, events
from reticent.guarantee.rounding import upper_text
from reticent.mechanisms import Logistic
from reticent.results.table import Table

_RELATION = Relation.ADD_REMOVE
_KINDS = ("gaussian", "logistic")
_GRADE = "Grade declared; neighbours: add-remove; unit: one record."
_NAMES = {"basic": "naive", "zcdp": "zCDP", "gdp": "GDP", "rdp": "RDP", "pld": "PLD"}
"""Of accountants, as papers write them."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Poisson samples of a public number of records."""

    records: int = 60_000
    batch: int = 1024
    epochs: int = 5
    epsilon: float = 3.0
    delta: float = 1e-5

    @property
    def steps(self) -> int:
        """As many as see the records so many times."""
        return -(-self.epochs * self.records // self.batch)

    def event(self, kind: str, multiplier: float) -> events.Event:
        """All steps; ``multiplier`` is the scale of the noise over the clip."""
        step: events.Event = (
            events.GaussianEvent(noise_multiplier=multiplier)
            if kind == "gaussian"
            else events.LogisticEvent(noise_multiplier=multiplier, norm="l2")
        )
        sampled = events.PoissonSampled(event=step, rate=self.batch / self.records)
        return events.Repeated(event=sampled, count=self.steps)

    def noise(self, kind: str) -> float:
        """The least multiplier that the tightest accountant allows."""
        return calibrate_noise(
            lambda multiplier: self.event(kind, multiplier),
            epsilon=self.epsilon,
            delta=self.delta,
            relation=_RELATION,
        ).noise_multiplier

    def noise_by_rdp(self, least: float) -> float:
        """Of Gaussian noise, by Rényi DP alone, which needs up to twice the least."""
        low, high = least, 2 * least
        while high - low > 1e-4 * high:
            middle = (low + high) / 2
            cost = account(
                self.event("gaussian", middle),
                relation=_RELATION,
                delta=self.delta,
                methods=("rdp",),
            )
            low, high = (low, middle) if cost.epsilon <= self.epsilon else (middle, high)
        return high


def accountants() -> Table:
    """DP-SGD by PLD, RDP, zCDP, advanced and naive composition: one plan, every ε holds."""
    plan = Plan()
    multipliers = {kind: plan.noise(kind) for kind in _KINDS}
    compared = {
        kind: side_by_side(plan.event(kind, noise), relation=_RELATION, delta=plan.delta)
        for kind, noise in multipliers.items()
    }
    least = {kind: _tightest(compared[kind]) for kind in _KINDS}
    rows = [
        (
            _NAMES.get(name, name),
            *(_shown(compared[kind][name].epsilon, least[kind] == name) for kind in _KINDS),
            compared["gaussian"][name].note or "amplified by sampling",
        )
        for name in sorted(compared["gaussian"], key=lambda name: _size(compared["gaussian"][name]))
    ]
    return Table(
        title=f"ε of one plan at δ = {upper_text(plan.delta)}: batch {plan.batch} of "
        f"{plan.records:,} records, {plan.steps} steps",
        columns=("accountant", *_KINDS, "how"),
        rows=tuple(rows),
        notes=(
            f"Noise of scale {multipliers['gaussian']:.4f} and {multipliers['logistic']:.4f} times "
            f"the clip, each the least for ε = {plan.epsilon:g}; * is claimed, the others hold "
            "too. A dash: no theorem covers logistic noise under an L2 bound.",
            _GRADE,
        ),
    )


PLANS = (
    Plan(),
    Plan(batch=2048, epsilon=1.0),
    Plan(batch=512, epochs=40),
    Plan(batch=4096, epochs=25, epsilon=1.0),
    Plan(records=50_000, batch=8192, epochs=60, epsilon=2.0),
)


def logistic_noise() -> Table:
    """What logistic noise costs in DP-SGD: its variance over that of Gaussian noise."""
    rows = []
    for plan in PLANS:
        by_pld = plan.noise("gaussian")
        by_rdp = plan.noise_by_rdp(by_pld)
        deviation = Logistic(scale=plan.noise("logistic"), sensitivity=_ONE).std
        rows.append(
            (
                f"{plan.records:,}",
                str(plan.batch),
                str(plan.steps),
                upper_text(plan.epsilon),
                *(f"{value:.3f}" for value in (by_pld, by_rdp, deviation)),
                *(f"{100 * ((deviation / value) ** 2 - 1):+.1f} %" for value in (by_rdp, by_pld)),
            )
        )
    return Table(
        title=f"Logistic noise in DP-SGD at δ = {upper_text(Plan().delta)}",
        columns=(
            "records",
            "batch",
            "steps",
            "ε",
            "gaussian, PLD",
            "gaussian, RDP",
            "logistic",
            "variance: RDP",
            "PLD",
        ),
        rows=tuple(rows),
        notes=(
            "Deviations over the clip, and by how much the variance of logistic noise is above "
            "that of Gaussian noise by either accountant. Under an L2 bound logistic noise is "
            "accounted by RDP alone, as a Gaussian with σ² = 3s² (docs/theory.md C.2), whose "
            "variance is 9/π² of its own. PLD is what is claimed for Gaussian noise.",
            _GRADE,
        ),
    )


_ONE = Sensitivity(l2=1.0, relation=_RELATION, source="the clip")


def _tightest(compared: Mapping[str, comparison.Compared]) -> str:
    return min(compared, key=lambda name: _size(compared[name]))


def _size(one: comparison.Compared) -> float:
    return math.inf if one.epsilon is None else one.epsilon


def _shown(epsilon: float | None, claimed: bool) -> str:
    return "–" if epsilon is None else upper_text(epsilon) + ("*" if claimed else "")
