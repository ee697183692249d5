"""Accountants: ε of many events by each of them, sampling, composition, calibration, groups."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from reticent.accounting import account, calibrate_noise, gdp, zcdp
from reticent.accounting.account import ACCOUNTANTS, epsilon_by
from reticent.accounting.calibration import calibrated_steps
from reticent.guarantee import (
    ApproximateEvent,
    BoundedRangeEvent,
    Composed,
    Event,
    GaussianEvent,
    LaplaceEvent,
    LogisticEvent,
    Mixture,
    Parallel,
    PoissonSampled,
    PostProcessed,
    PureEvent,
    Relation,
    Repeated,
    SampledWithoutReplacement,
    Sensitivity,
    ZcdpEvent,
)
from tools.mutation.probes.record import Figures

ANY, ADD, REPLACE = Relation.AS_DECLARED, Relation.ADD_REMOVE, Relation.REPLACE_ONE
DELTAS = (0.0, 1e-9, 1e-5, 0.03)
Named = tuple[str, Event, Relation]


def releases(noise: float) -> dict[str, Event]:
    """One release of each kind."""
    return {
        "gaussian": GaussianEvent(noise_multiplier=noise),
        "laplace": LaplaceEvent(noise_multiplier=noise),
        "laplace l2": LaplaceEvent(noise_multiplier=noise, norm="l2"),
        "logistic": LogisticEvent(noise_multiplier=noise),
        "logistic l2": LogisticEvent(noise_multiplier=noise, norm="l2"),
        "pure": PureEvent(epsilon=1 / noise),
        "bounded range": BoundedRangeEvent(epsilon=1 / noise),
        "approximate": ApproximateEvent(epsilon=1 / noise, delta=1e-10),
        "zcdp": ZcdpEvent(rho=0.5 / noise**2),
    }


def events() -> Iterator[Named]:
    """Releases, and every way in which they combine."""
    for noise in (0.1, 0.7, 3.0, 250.0):
        for name, event in releases(noise).items():
            yield f"{name} {noise}", event, ANY
    kinds = releases(1.5)
    for name, event in kinds.items():
        yield f"{name} × 30", Repeated(event=event, count=30), ANY
        yield f"{name} sampled", PoissonSampled(event=event, rate=0.02), ADD
        drawn = SampledWithoutReplacement(event=event, size=20, population=1000)
        yield f"{name} drawn", drawn, REPLACE
    g, laplace, logistic = kinds["gaussian"], kinds["laplace"], kinds["logistic"]
    yield "nothing", PureEvent(epsilon=0.0), ANY
    yield "no (ε, δ)", ApproximateEvent(epsilon=0.0, delta=0.0), ANY
    yield "only δ", ApproximateEvent(epsilon=0.0, delta=1e-7), ANY
    yield "no range", BoundedRangeEvent(epsilon=0.0), ANY
    yield "no ρ", ZcdpEvent(rho=0.0), ANY
    yield "a large ε", PureEvent(epsilon=800.0), ANY
    yield "a larger ε", LaplaceEvent(noise_multiplier=1e-4), ANY
    yield "composed", Composed(events=(g, logistic, laplace, g)), ANY
    yield "two Gaussians", Composed(events=(g, GaussianEvent(noise_multiplier=0.5))), ANY
    yield "mixture", Mixture(events=(laplace, logistic, laplace)), ANY
    yield "mixture of equals", Mixture(events=(g, g)), ANY
    yield "parallel", Parallel(events=(laplace, g)), ADD
    yield "parallel replaced", Parallel(events=(laplace, g)), REPLACE
    yield "post-processed", PostProcessed(event=logistic), ANY
    yield from _sampled(g, laplace, logistic)


def _sampled(g: Event, laplace: Event, logistic: Event) -> Iterator[Named]:
    for rate in (1e-5, 0.3, 0.95, 1.0):
        yield f"sampled at {rate}", PoissonSampled(event=g, rate=rate), ADD
    little = GaussianEvent(noise_multiplier=0.15)
    yield "much loss, sampled", PoissonSampled(event=little, rate=0.4), ADD
    kept = SampledWithoutReplacement(event=little, size=4, population=10)
    yield "much loss, drawn", kept, REPLACE
    l2 = PoissonSampled(event=LogisticEvent(noise_multiplier=0.3, norm="l2"), rate=0.7)
    yield "much loss under L2, sampled", l2, ADD
    rho = PoissonSampled(event=ZcdpEvent(rho=3.0), rate=0.3)
    yield "much ρ, sampled", rho, ADD
    yield "sampled × 2000", Repeated(event=PoissonSampled(event=g, rate=0.01), count=2000), ADD
    steps = Repeated(event=PoissonSampled(event=laplace, rate=0.1), count=50)
    yield "sampled Laplace × 50", steps, ADD
    two = PoissonSampled(event=Composed(events=(g, laplace)), rate=0.05)
    yield "two on one sample", two, ADD
    both = PoissonSampled(event=Repeated(event=g, count=3), rate=0.05)
    yield "three Gaussians on one sample", both, ADD
    inner = PoissonSampled(event=logistic, rate=0.5)
    yield "a sample of a sample", PoissonSampled(event=inner, rate=0.5), ADD
    yield "sampled, replaced", PoissonSampled(event=g, rate=0.1), REPLACE
    drawn = SampledWithoutReplacement(event=g, size=600, population=1000)
    yield "drawn, many", drawn, REPLACE
    yield "drawn × 500", Repeated(event=drawn, count=500), REPLACE
    yield "drawn, all", SampledWithoutReplacement(event=laplace, size=9, population=9), REPLACE
    large = SampledWithoutReplacement(event=PureEvent(epsilon=750.0), size=1, population=9)
    yield "drawn, a large ε", large, REPLACE
    yield "sampled, a large ε", PoissonSampled(event=PureEvent(epsilon=750.0), rate=0.2), ADD
    mixed = Composed(events=(PoissonSampled(event=g, rate=0.1), laplace))
    yield "sampled and not", mixed, ADD


def fill(figures: Figures) -> None:
    """All figures of accountants."""
    for (name, event, relation), method in product(events(), ACCOUNTANTS):
        for delta in DELTAS[1:3] if method == "pld" else DELTAS:
            at = f"{method}, {name}, {delta}"
            figures.add(at, epsilon_by, method, event, relation=relation, delta=delta)
    _accounts(figures)
    _groups(figures)
    _calibration(figures)


def _accounts(figures: Figures) -> None:
    steps = Repeated(event=GaussianEvent(noise_multiplier=10.0), count=100)
    figures.add("account", lambda: account(steps, relation=ADD, delta=1e-5).to_dict())
    figures.add("account: guarantee", lambda: account(steps, relation=ADD, delta=1e-5).guarantee())
    strange = Composed(events=(ZcdpEvent(rho=0.1), ApproximateEvent(epsilon=0.1, delta=1e-9)))
    figures.add("account: none", lambda: account(strange, relation=ANY, delta=1e-5).epsilon)


def _groups(figures: Figures) -> None:
    for size in (1, 2, 7):
        figures.add(f"gdp.group {size}", gdp.group, 0.3, size)
        figures.add(f"zcdp.group {size}", zcdp.group, 0.3, size)


def _gaussian(noise: float) -> Event:
    return GaussianEvent(noise_multiplier=noise)


def _many_laplace(noise: float) -> Event:
    return Repeated(event=LaplaceEvent(noise_multiplier=noise, norm="l2"), count=9)


def _many_sampled(noise: float) -> Event:
    return Repeated(event=PoissonSampled(event=_gaussian(noise), rate=0.02), count=40)


def _calibration(figures: Figures) -> None:
    for family, epsilon in product((_gaussian, _many_laplace, _many_sampled), (0.2, 5.0)):
        at = f"calibrate_noise {family.__name__}, {epsilon}"
        figures.add(at, calibrate_noise, family, epsilon=epsilon, delta=1e-6, relation=ADD)
    for bracket in ((0.1, 0.2), (50.0, 100.0), (2.0, 1.0)):
        figures.add(
            f"calibrate_noise within {bracket}",
            calibrate_noise,
            _gaussian,
            epsilon=1.0,
            delta=1e-5,
            relation=ADD,
            bracket=bracket,
        )
    figures.add(
        "calibrated_steps",
        calibrated_steps,
        Sensitivity(l1=3.0, l2=1.0, relation=ADD),
        epsilon=2.0,
        delta=1e-6,
        steps=lambda release: Repeated(event=release, count=12),
    )
