"""What accountants print of one event of every kind, of long compositions, and of calibrations."""

from functools import partial

from reticent.accounting import account, calibrate_noise
from reticent.accounting.calibration import calibrated_steps
from reticent.guarantee import (
    ApproximateEvent,
    Composed,
    GaussianEvent,
    LaplaceEvent,
    LogisticEvent,
    PoissonSampled,
    PureEvent,
    Repeated,
    SampledWithoutReplacement,
    Sensitivity,
    ZcdpEvent,
)
from tests.accounting.events import FAMILIES, gaussian, laplace, logistic

ADD, REPLACE, ANY = "add-remove", "replace-one", "as declared with the sensitivity"
DELTA = 1e-6


def sampled(event, rate):
    return PoissonSampled(event=event, rate=rate)


def drawn(event, size, population):
    return SampledWithoutReplacement(event=event, size=size, population=population)


def repeated(event, count):
    return Repeated(event=event, count=count)


LONG = {
    "sampled Gaussian × 1": (sampled(gaussian(0.8), 1e-4), ADD),
    "sampled Gaussian × 5": (repeated(sampled(gaussian(0.8), 0.4), 5), ADD),
    "sampled Gaussian × 300": (repeated(sampled(gaussian(1.1), 0.05), 300), ADD),
    "sampled Gaussian × 40,000": (repeated(sampled(gaussian(0.9), 0.004), 40_000), ADD),
    "rare samples × 10⁶": (repeated(sampled(gaussian(1.3), 1e-5), 10**6), ADD),
    "sampled Laplace × 200": (repeated(sampled(laplace(1.2), 0.03), 200), ADD),
    "sampled logistic × 200": (repeated(sampled(logistic(0.6), 0.03), 200), ADD),
    "sampled pure × 20": (repeated(sampled(PureEvent(epsilon=2.0), 0.2), 20), ADD),
    "sampled ρ × 9": (repeated(sampled(ZcdpEvent(rho=0.4), 0.5), 9), ADD),
    "three on a sample": (sampled(repeated(gaussian(2.0), 3), 0.1), ADD),
    "a sample of a sample": (sampled(sampled(logistic(1.0), 0.5), 0.3), ADD),
    "drawn Gaussian × 700": (repeated(drawn(gaussian(1.5), 64, 5000), 700), REPLACE),
    "drawn Laplace × 50": (repeated(drawn(laplace(2.0), 3, 10), 50), REPLACE),
    "drawn (ε, δ) × 3": (
        repeated(drawn(ApproximateEvent(epsilon=0.7, delta=1e-9), 1, 4), 3),
        REPLACE,
    ),
    "Gaussian × 10⁵": (repeated(gaussian(700.0), 10**5), ANY),
    "Laplace × 64": (repeated(laplace(3.0), 64), ANY),
    "Laplace under L2 × 64": (
        repeated(LaplaceEvent(noise_multiplier=8.0, norm="l2"), 64),
        ANY,
    ),
    "logistic × 1,000": (repeated(logistic(40.0), 1000), ANY),
    "(ε, δ) × 11": (repeated(ApproximateEvent(epsilon=0.2, delta=1e-9), 11), ANY),
    "all kinds": (
        Composed(events=(gaussian(2.0), laplace(3.0), logistic(1.5), PureEvent(epsilon=0.1))),
        ANY,
    ),
    "a large loss": (laplace(0.02), ANY),
    "a small loss": (gaussian(4e5), ANY),
}
CALIBRATED = {
    "Gaussian": (lambda noise: GaussianEvent(noise_multiplier=noise), ANY),
    "logistic × 20": (lambda noise: repeated(LogisticEvent(noise_multiplier=noise), 20), ANY),
    "Laplace under L2 × 20": (
        lambda noise: repeated(LaplaceEvent(noise_multiplier=noise, norm="l2"), 20),
        ANY,
    ),
    "sampled × 500": (lambda noise: repeated(sampled(gaussian(noise), 0.02), 500), ADD),
    "drawn × 30": (lambda noise: repeated(drawn(gaussian(noise), 1, 50), 30), REPLACE),
}


def epsilons(event, relation, delta):
    """By each accountant that covers the event."""
    return dict(account(event, relation=relation, delta=delta).epsilons)


def calibrated(event_of, relation, epsilon):
    found = calibrate_noise(event_of, epsilon=epsilon, delta=DELTA, relation=relation)
    return {"noise": found.noise_multiplier, "epsilon": found.epsilon}


def rows():
    """The table of ``reticent calibrate --steps``."""
    found = calibrated_steps(
        Sensitivity(l1=3.0, l2=1.0, relation=ADD),
        epsilon=2.0,
        delta=DELTA,
        steps=lambda release: repeated(sampled(release, 0.1), 40),
    )
    return {f"{row.mechanism}, {row.route}": [row.scale, row.std] for row in found}


CASES = {
    **{
        f"{family}, noise {noise}": partial(epsilons, family.event(noise), family.relation, DELTA)
        for family in FAMILIES
        for noise in (0.4, 2.0, 30.0)
    },
    **{
        f"{name}, δ = {delta}": partial(epsilons, *event, delta)
        for name, event in LONG.items()
        for delta in (1e-7, 1e-3)
    },
    **{
        f"calibrated {name}, ε = {epsilon}": partial(calibrated, *family, epsilon)
        for name, family in CALIBRATED.items()
        for epsilon in (0.1, 1.0, 7.0)
    },
    "calibrated rows": rows,
}
