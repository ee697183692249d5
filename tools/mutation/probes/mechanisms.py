"""Mechanisms: calibrated scales, ε, δ, Rényi divergences, ρ, μ, over a grid with its extremes."""

from __future__ import annotations

import math
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from reticent.guarantee import Grade, Relation, Sensitivity
from reticent.mechanisms import (
    AdditiveMechanism,
    ClassicalGaussian,
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteLogistic,
    Exponential,
    Gaussian,
    L2Laplace,
    Laplace,
    Logistic,
    Mechanism,
    PermuteAndFlip,
    SelectionMechanism,
    calibrated,
)
from reticent.mechanisms.profiles import conversions, gaussian, laplace, logistic, pure
from tools.mutation.probes.record import Figures, each

ADDITIVE: tuple[type[AdditiveMechanism], ...] = (Gaussian, ClassicalGaussian, Laplace, Logistic)
OTHER: tuple[type[Mechanism], ...] = (
    L2Laplace,
    DiscreteLaplace,
    DiscreteLogistic,
    DiscreteGaussian,
    Exponential,
    PermuteAndFlip,
)
KINDS: tuple[type[Mechanism], ...] = (*ADDITIVE, *OTHER)
SENSITIVITIES = {
    "l1": Sensitivity(l1=1.0, relation=Relation.ADD_REMOVE),
    "l2": Sensitivity(l2=0.3, relation=Relation.REPLACE_ONE),
    "l1 l2": Sensitivity(l1=7.0, l2=1.0),
    "linf": Sensitivity(linf=2.0, grade=Grade.SAMPLED, gamma=0.01),
    "all": Sensitivity(l1=4.0, l2=2.0, linf=1.5, grade=Grade.PUBLISHED),
}
BUDGETS = ((0.05, 1e-5), (1.0, 0.0), (1.0, 1e-6), (6.0, 1e-3), (40.0, 1e-12))
SHIFTS = (0.0, 1e-9, 1e-3, 0.02, 0.09, 0.11, 0.3, 0.6, 1.0, 2.5, 10.0, 40.0, 300.0)
EPSILONS = (0.0, 1e-6, 0.01, 0.3, 0.99, 2.4, 9.0, 41.0, 600.0)
DELTAS = (0.0, 1e-200, 1e-12, 1e-5, 0.01, 0.4, 0.9)
ORDERS = (1 + 1e-7, 1.01, 1.5, 2.0, 3.5, 17.0, 900.0, 1e6, math.inf)
SCALES = (0.02, 0.4, 1.0, 3.0, 77.0)


def fill(figures: Figures) -> None:
    """All figures of mechanisms but those of the samplers."""
    for kind, (name, sensitivity) in product(KINDS, SENSITIVITIES.items()):
        at = f"{kind.name}, {name}"
        for epsilon, delta in BUDGETS:
            figures.add(
                f"calibrate {at}, ε {epsilon}, δ {delta}",
                _calibration,
                kind,
                sensitivity,
                epsilon=epsilon,
                delta=delta,
            )
        for scale in SCALES:
            _of_scale(figures, kind, f"{at}, {scale}", sensitivity, scale)
    for (name, sensitivity), (epsilon, delta) in product(
        SENSITIVITIES.items(), ((0.5, 0.0), (1.0, 1e-6), (8.0, 1e-3))
    ):
        figures.add(
            f"calibrated, {name}, {epsilon}, {delta}",
            calibrated,
            sensitivity,
            epsilon=epsilon,
            delta=delta,
            dimension=12,
        )
    _profiles(figures)
    _conversions(figures)


def _calibration(
    kind: type[Mechanism], sensitivity: Sensitivity, *, epsilon: float, delta: float
) -> object:
    noise = kind.calibrate(sensitivity, epsilon=epsilon, delta=delta)
    return noise.scale, noise.guarantee(delta=delta)


def _of_scale(
    figures: Figures, kind: type[Mechanism], name: str, sensitivity: Sensitivity, scale: float
) -> None:
    more = {"claimed_epsilon": scale, "claimed_delta": 1e-5} if kind is ClassicalGaussian else {}
    given: dict[str, Any] = {"scale": scale, "sensitivity": sensitivity, **more}
    try:
        noise = kind(**given)
    except ValueError:
        figures.add(name, kind, **given)
        return
    figures.add(f"{name}: ε", each, lambda d: noise.epsilon(delta=d), DELTAS)
    figures.add(f"{name}: δ", each, lambda e: noise.delta(epsilon=e), EPSILONS)
    figures.add(f"{name}: rdp", each, lambda a: noise.rdp(order=a), ORDERS)
    figures.add(f"{name}: ρ", noise.zcdp)
    figures.add(f"{name}: μ", noise.gdp)
    figures.add(f"{name}: event", noise.event)
    figures.add(f"{name}: derivation", noise.derivation, delta=1e-5)
    if isinstance(noise, AdditiveMechanism):
        _of_additive(figures, name, noise)
    if isinstance(noise, SelectionMechanism):
        scores = [[0.0, 1.0, 2.5], [-3.0, 0.5, 0.4]]
        figures.add(f"{name}: log probabilities", noise.log_probabilities, scores)
    if isinstance(noise, ClassicalGaussian):
        figures.add(f"{name}: published", noise.published_guarantee)


def _of_additive(figures: Figures, name: str, noise: Any) -> None:
    noise = noise.in_dimension(3) if isinstance(noise, L2Laplace) else noise
    vectors = np.array([[0.0, 0.0, 0.0], [0.5, -1.0, 3.0], [20.0, 1.0, -7.0]])
    figures.add(f"{name}: std", lambda: noise.std)
    figures.add(f"{name}: log density", noise.log_density, vectors)
    drawn = noise.with_float_noise(np.random.default_rng(5))
    figures.add(f"{name}: float noise", drawn.release, np.array([1.0, 2.0, 3.0]))
    figures.add(f"{name}: float guarantee", drawn.guarantee, delta=1e-5)
    if hasattr(noise, "event_l2"):
        figures.add(f"{name}: event l2", noise.event_l2)


def _profiles(figures: Figures) -> None:
    profiles: dict[str, Any] = {
        "gaussian": gaussian,
        "laplace": laplace,
        "logistic": logistic,
        "pure": pure,
    }
    for (name, profile), shift in product(profiles.items(), SHIFTS):
        at = f"profiles.{name}, {shift}"
        figures.add(f"{at}: δ", each, partial(profile.delta, shift), EPSILONS)
        figures.add(f"{at}: ε", each, partial(profile.epsilon, shift), DELTAS)
        figures.add(f"{at}: rdp", each, partial(profile.rdp, shift), ORDERS)
        figures.add(f"{at}: ρ", profile.zcdp, shift)
    for (name, profile), epsilon in product(profiles.items(), EPSILONS[1:]):
        at = f"profiles.{name}: shift at {epsilon}"
        figures.add(at, each, partial(profile.shift, epsilon), DELTAS[:-1])
    for name in ("laplace", "logistic"):
        figures.add(f"profiles.{name}: ρ l2", each, profiles[name].zcdp_l2, SHIFTS)
        figures.add(f"profiles.{name}: shift l2", each, profiles[name].shift_l2, SHIFTS)
    figures.add("profiles.pure: μ", each, pure.gdp, SHIFTS[1:])
    figures.add("profiles.pure: bounded range ρ", each, pure.bounded_range_zcdp, SHIFTS)
    for shift in SHIFTS:
        at = f"profiles.pure: bounded range, {shift}"
        figures.add(f"{at}: δ", each, partial(pure.bounded_range_delta, shift), EPSILONS)
        figures.add(f"{at}: rdp", each, partial(pure.bounded_range_rdp, shift), ORDERS)
    for epsilon in EPSILONS[1:]:
        figures.add(f"classical {epsilon}", gaussian.classical_scale, 2.0, epsilon, 1e-5)


def _conversions(figures: Figures) -> None:
    for rho in (0.0, 1e-10, 1e-4, 0.01, 0.5, 3.0, 200.0, math.inf):
        figures.add(f"ε of ρ {rho}", each, partial(conversions.zcdp_to_epsilon, rho), DELTAS)
        figures.add(f"δ of ρ {rho}", each, partial(conversions.zcdp_to_delta, rho), EPSILONS)
    for epsilon, delta in ((0.01, 1e-9), (1.0, 0.0), (1.0, 1e-5), (30.0, 1e-2)):
        figures.add(f"ρ for {epsilon}, {delta}", conversions.zcdp_for, epsilon, delta)
    orders = [1.5, 2.0, 8.0, 64.0, math.inf]
    curves = ([0.5, 0.6, 0.9, 2.0, 5.0], [0.0, 0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0, 1.1])
    for values, delta in product(curves, (0.0, 1e-9, 1e-3, 0.5)):
        figures.add(f"rdp {values}, {delta}", conversions.rdp_to_epsilon, orders, values, delta)
