"""What mechanisms print: scales for (ε, δ), and ε, δ, Rényi divergences, ρ and μ of a scale."""

import math
from functools import partial

from reticent.guarantee import Sensitivity
from reticent.mechanisms import (
    ClassicalGaussian,
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteLogistic,
    Exponential,
    Gaussian,
    L2Laplace,
    Laplace,
    Logistic,
    PermuteAndFlip,
    calibrated,
)
from reticent.mechanisms.profiles import conversions, pure
from reticent.mechanisms.rounded.grid import default_grid, saturation

KINDS = (
    ClassicalGaussian,
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteLogistic,
    Exponential,
    Gaussian,
    L2Laplace,
    Laplace,
    Logistic,
    PermuteAndFlip,
)
SENSITIVITIES = {
    "l1 = 2": Sensitivity(l1=2.0),
    "l2 = 0.4": Sensitivity(l2=0.4),
    "l1 = 9, l2 = 1": Sensitivity(l1=9.0, l2=1.0),
    "l∞ = 1": Sensitivity(linf=1.0),
}
BUDGETS = ((0.02, 1e-9), (0.7, 0.0), (0.7, 1e-5), (5.0, 1e-2), (60.0, 1e-12))
EPSILONS = (0.0, 0.05, 0.8, 4.0, 30.0)
DELTAS = (0.0, 1e-12, 1e-5, 0.1)
ORDERS = (1.0001, 1.7, 6.0, 300.0, math.inf)


def printed(value):
    """A number, or the refusal in its place; JSON has no infinity."""
    try:
        found = value()
    except ValueError:
        return "refused"
    return str(found) if isinstance(found, float) and not math.isfinite(found) else found


def calibration(kind, sensitivity):
    return [
        printed(lambda e=e, d=d: kind.calibrate(sensitivity, epsilon=e, delta=d).scale)
        for e, d in BUDGETS
    ]


def privacy(kind, sensitivity, scale):
    more = {"claimed_epsilon": scale, "claimed_delta": 1e-5} if kind is ClassicalGaussian else {}
    try:
        noise = kind(scale=scale, sensitivity=sensitivity, **more)
    except ValueError:
        return "refused"
    return {
        "ε": [printed(lambda d=d: noise.epsilon(delta=d)) for d in DELTAS],
        "δ": [printed(lambda e=e: noise.delta(epsilon=e)) for e in EPSILONS],
        "D": [printed(lambda a=a: noise.rdp(order=a)) for a in ORDERS],
        "ρ": printed(noise.zcdp),
        "μ": printed(noise.gdp),
        "std": printed(lambda: spread(noise)),
        "event": printed(lambda: noise.event().to_dict()),
    }


def spread(noise):
    """Of one entry of seven; a choice has none."""
    if isinstance(noise, L2Laplace):
        return noise.in_dimension(7).std
    return getattr(noise, "std", math.nan)


def table(sensitivity):
    """The rows of ``reticent calibrate`` with their alternatives."""
    rows = calibrated(sensitivity, epsilon=1.5, delta=1e-6, dimension=5)
    return {
        f"{way.mechanism}, {way.route}": [way.scale, way.std, str(way.guarantee)]
        for row in rows
        for way in (row, *row.alternatives)
    }


def grids(scale):
    limits = saturation(scale)
    return [default_grid(scale), limits.value, limits.output]


CASES = {
    **{
        f"{kind.name}, {name}: calibrated": partial(calibration, kind, sensitivity)
        for kind in KINDS
        for name, sensitivity in SENSITIVITIES.items()
    },
    **{
        f"{kind.name}, {name}: scale {scale}": partial(privacy, kind, sensitivity, scale)
        for kind in KINDS
        for name, sensitivity in SENSITIVITIES.items()
        for scale in (0.01, 0.3, 2.5, 90.0)
    },
    **{
        f"table, {name}": partial(table, sensitivity) for name, sensitivity in SENSITIVITIES.items()
    },
    **{f"grid of {scale}": partial(grids, scale) for scale in (1e-200, 0.7, 3e9)},
    "bounded range": lambda: [pure.bounded_range_zcdp(e) for e in (0.1, 1.0, 7.0, 9.0, 50.0)],
    "ρ for (ε, δ)": lambda: [conversions.zcdp_for(e, d) for e, d in BUDGETS],
}
