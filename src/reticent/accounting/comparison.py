"""The noise of all additive mechanisms side by side when each release is one of many steps."""

from collections.abc import Callable

from reticent.accounting.account import ACCOUNTANTS, STATED, theorem_line
from reticent.accounting.calibration import calibrate_noise
from reticent.guarantee import (
    Event,
    GaussianEvent,
    Grade,
    Guarantee,
    LaplaceEvent,
    LogisticEvent,
    Sensitivity,
    weakest,
)
from reticent.mechanisms import Calibrated, Gaussian, Laplace, Logistic
from reticent.mechanisms.base import SCALE_SLACK
from reticent.validation import NotCoveredError

Kind = type[Laplace] | type[Logistic] | type[Gaussian]
Release = Callable[[float], Event]

RELEASES: tuple[tuple[Kind, str, Release], ...] = (
    (Laplace, "l1", lambda noise: LaplaceEvent(noise_multiplier=noise, norm="l1")),
    (Laplace, "l2", lambda noise: LaplaceEvent(noise_multiplier=noise, norm="l2")),
    (Logistic, "l1", lambda noise: LogisticEvent(noise_multiplier=noise, norm="l1")),
    (Logistic, "l2", lambda noise: LogisticEvent(noise_multiplier=noise, norm="l2")),
    (Gaussian, "l2", lambda noise: GaussianEvent(noise_multiplier=noise)),
)


def calibrated_steps(
    sensitivity: Sensitivity,
    *,
    epsilon: float,
    delta: float,
    steps: Callable[[Event], Event],
) -> list[Calibrated]:
    """A row for every noise that these sensitivities and an accountant allow.

    ``steps`` turns one release into all of them: repeated, sampled. A combination that no
    accountant covers has no row.
    """
    rows = []
    for kind, norm, release in RELEASES:
        bound = _bound(sensitivity, kind, norm)
        if bound is None:
            continue
        try:
            found = calibrate_noise(
                lambda noise, release=release: steps(release(noise)),  # type: ignore[misc]
                epsilon=epsilon,
                delta=delta,
                relation=sensitivity.relation,
            )
        except NotCoveredError:
            continue
        scale = found.noise_multiplier * bound * (1 + SCALE_SLACK)
        route = f"{ACCOUNTANTS[found.method].name}, {norm.upper()}"
        claim = _claim(sensitivity, epsilon, delta, found.method)
        mechanism = kind(scale=scale, sensitivity=sensitivity)
        rows.append(
            Calibrated(
                mechanism=kind.name,
                route=route,
                scale=scale,
                std=mechanism.std,
                guarantee=claim,
            )
        )
    return rows


def _bound(sensitivity: Sensitivity, kind: Kind, norm: str) -> float | None:
    """The bound in that norm; an L1 bound serves as an L2 bound for Gaussian noise."""
    if norm == "l1":
        return sensitivity.l1
    return sensitivity.l2_bound if kind is Gaussian else sensitivity.l2


def _claim(sensitivity: Sensitivity, epsilon: float, delta: float, method: str) -> Guarantee:
    return Guarantee(
        epsilon=epsilon,
        delta=delta,
        grade=weakest((Grade.DECLARED, sensitivity.grade)),
        relation=sensitivity.relation,
        gamma=sensitivity.gamma,
        checked=(theorem_line(method),),
        stated=(STATED, f"the sensitivity: {sensitivity.source}"),
    )
