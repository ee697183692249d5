"""The noise of all additive mechanisms side by side for one (ε, δ) and one sensitivity."""

from dataclasses import dataclass, replace

from reticent.guarantee import Grade, Guarantee, Sensitivity, weakest
from reticent.mechanisms import additive, gaussian, registry
from reticent.mechanisms.pure import L2Laplace, Laplace, Logistic
from reticent.validation import positive, probability


@dataclass(frozen=True, kw_only=True)
class Calibrated:
    """One mechanism calibrated to one claim; ``std`` is None where it needs a dimension."""

    mechanism: str
    route: str
    scale: float
    std: float | None
    guarantee: Guarantee
    alternatives: "tuple[Calibrated, ...]" = ()

    def to_dict(self) -> dict[str, object]:
        """Plain values, as they stand in a JSON file."""
        return {
            "mechanism": self.mechanism,
            "route": self.route,
            "scale": self.scale,
            "std": self.std,
            "guarantee": self.guarantee.to_dict(),
            "alternatives": [row.to_dict() for row in self.alternatives],
        }


def calibrated(
    sensitivity: Sensitivity, *, epsilon: float, delta: float, dimension: int | None = None
) -> list[Calibrated]:
    """A row for every mechanism that these sensitivities allow at this (ε, δ).

    Laplace and logistic stand pure (δ = 0) where an L1 bound is known; what δ buys them is an
    alternative of the row. The classical Gaussian is an alternative of the analytic one.
    """
    epsilon, delta = positive("epsilon", epsilon), probability("delta", delta)
    rows = [
        _coordinatewise(Laplace, sensitivity, epsilon, delta),
        _coordinatewise(Logistic, sensitivity, epsilon, delta),
        _gaussian(sensitivity, epsilon, delta),
        _l2_laplace(sensitivity, epsilon, delta, dimension),
        *(
            _plug_in(registry.MECHANISMS[name], sensitivity, epsilon, delta)
            for name in registry.MECHANISMS.others
        ),
    ]
    return [row for row in rows if row is not None]


def _plug_in(
    kind: type[additive.AdditiveMechanism], sensitivity: Sensitivity, epsilon: float, delta: float
) -> Calibrated | None:
    known = sensitivity.l2_bound if kind.norm == "l2" else sensitivity.l1
    if known is None or (kind.needs_delta and delta == 0):
        return None
    spent = delta if kind.needs_delta else 0.0
    return _row(kind, sensitivity, epsilon, spent, f"plug-in, {kind.norm.upper()}")


def _coordinatewise(
    kind: type[Laplace | Logistic], sensitivity: Sensitivity, epsilon: float, delta: float
) -> Calibrated | None:
    ways = []
    if sensitivity.l1 is not None:
        only_l1 = _only(sensitivity, l1=sensitivity.l1)
        ways.append(_row(kind, only_l1, epsilon, 0.0, "pure, L1"))
        if delta > 0:
            ways.append(_row(kind, only_l1, epsilon, delta, "exact δ(ε), L1"))
    if sensitivity.l2 is not None and delta > 0:
        ways.append(_row(kind, _only(sensitivity, l2=sensitivity.l2), epsilon, delta, "zCDP, L2"))
    return _first(ways)


def _gaussian(sensitivity: Sensitivity, epsilon: float, delta: float) -> Calibrated | None:
    if delta == 0 or sensitivity.l2_bound is None:
        return None
    classical = gaussian.ClassicalGaussian.calibrate(sensitivity, epsilon=epsilon, delta=delta)
    published = Calibrated(
        mechanism=classical.name,
        route="textbook formula, L2",
        scale=classical.scale,
        std=classical.std,
        guarantee=classical.published_guarantee(),
    )
    return _first([_row(gaussian.Gaussian, sensitivity, epsilon, delta, "analytic, L2"), published])


def _l2_laplace(
    sensitivity: Sensitivity, epsilon: float, delta: float, dimension: int | None
) -> Calibrated | None:
    if sensitivity.l2_bound is None:
        return None
    ways = []
    for spent, route in ((0.0, "pure, L2"), (delta, "δ(ε) bound, L2")):
        mechanism = L2Laplace.calibrate(sensitivity, epsilon=epsilon, delta=spent)
        if dimension is not None:
            mechanism = mechanism.in_dimension(dimension)
        ways.append(_describe(mechanism, epsilon, spent, route))
    return _first(ways if delta > 0 else ways[:1])


def _row(
    kind: type[additive.AdditiveMechanism],
    sensitivity: Sensitivity,
    epsilon: float,
    delta: float,
    route: str,
) -> Calibrated:
    mechanism = kind.calibrate(sensitivity, epsilon=epsilon, delta=delta)
    return _describe(mechanism, epsilon, delta, route)


def _describe(
    mechanism: additive.AdditiveMechanism, epsilon: float, delta: float, route: str
) -> Calibrated:
    unknown = isinstance(mechanism, L2Laplace) and mechanism.dimension is None
    return Calibrated(
        mechanism=mechanism.name,
        route=route,
        scale=mechanism.scale,
        std=None if unknown else mechanism.std,
        guarantee=mechanism.guarantee(epsilon=epsilon, delta=delta),
    )


def _only(
    sensitivity: Sensitivity, *, l1: float | None = None, l2: float | None = None
) -> Sensitivity:
    """The same sensitivity known in one norm alone; proven becomes declared on the way."""
    return Sensitivity(
        l1=l1,
        l2=l2,
        grade=weakest((Grade.DECLARED, sensitivity.grade)),
        relation=sensitivity.relation,
        source=sensitivity.source,
        gamma=sensitivity.gamma,
    )


def _first(ways: list[Calibrated]) -> Calibrated | None:
    if not ways:
        return None
    head, *others = ways
    return replace(head, alternatives=tuple(others))
