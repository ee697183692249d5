"""The noise that a recipe is due, from public numbers: scales, the event, and its ε.

``noise_plan`` splits a budget over the steps of a recipe, ``event_of`` is what the accountants see
of the plan, and ``composed_epsilon`` their word on it: the ε of every certificate.
"""

import math
from collections.abc import Collection, Mapping
from functools import lru_cache

from reticent import guarantee
from reticent.accounting import account, calibrate_noise
from reticent.guarantee.rounding import up
from reticent.mechanisms import AdditiveMechanism, additive, registry
from reticent.protect.budget import share_scales
from reticent.protect.noisy_query import FixedSize
from reticent.protect.recipe import Plan, PlannedStep, Recipe, Step
from reticent.protect.terms import Terms
from reticent.validation import InputError, NotCoveredError

_ROUNDING = 1.001
"""By what factor the accountants' ε of a plan may be above ε and count as rounding."""
_TRIES = 20
"""To make up for it; two are enough."""


def noise_plan(
    recipe: Recipe, terms: Terms, *, given: Mapping[str, AdditiveMechanism] | None = None
) -> Plan:
    """Each step with the noise that its share of (ε, δ) buys, calibrated from public numbers alone.

    ``given`` is the noise of steps that were released before, as a mean to centre by.
    """
    steps, kinds = recipe.steps(terms), kinds_of(recipe, terms)
    whole = sum(step.share for step in steps.values())
    if not abs(whole - 1) < 1e-9:
        raise InputError(f"shares must add up to 1, got {whole}")
    mixed = len(set(kinds.values())) > 1 and any(kind.needs_delta for kind in kinds.values())
    if mixed or any(step.sampling_rate < 1 or step.implicit for step in steps.values()):
        scales = _sampled_scales(recipe, steps, terms)
    else:
        shares = {
            name: (kinds[name], step.sensitivity, step.share, step.times)
            for name, step in steps.items()
        }
        scales = share_scales(shares, epsilon=terms.epsilon, delta=terms.delta)
    done = {name: noise.scale for name, noise in (given or {}).items()}
    return _enough(recipe, scales | done, terms, fixed=done)


def with_scales(recipe: Recipe, scales: Mapping[str, float], terms: Terms) -> Plan:
    """The plan of a certificate: its sensitivities follow from the recipe, its scales are given."""
    steps = recipe.steps(terms)
    if set(steps) != set(scales):
        raise InputError(f"scales must be those of {', '.join(steps)}, got others")
    kinds = kinds_of(recipe, terms)
    return {
        name: PlannedStep(
            noise=kinds[name](scale=scales[name], sensitivity=step.sensitivity),
            times=step.times,
            sampling_rate=step.sampling_rate,
            sample=step.sample,
            implicit=step.implicit,
        )
        for name, step in steps.items()
    }


def kinds_of(recipe: Recipe, terms: Terms) -> dict[str, type[AdditiveMechanism]]:
    """The noise of each step: its own where it says one, else the recipe's."""
    return {
        name: registry.MECHANISMS.named(step.mechanism or recipe.mechanism)
        for name, step in recipe.steps(terms).items()
    }


def scales_of(plan: Plan) -> dict[str, float]:
    """The scale of the noise of each step."""
    return {name: step.noise.scale for name, step in plan.items()}


def event_of(plan: Plan, *, relation: guarantee.Relation, delta: float) -> guarantee.Event:
    """The whole plan as one event, through the norm by which the accountants give the smaller ε."""
    events = _events(plan)
    if len(events) == 1:
        return events[0]
    return min(events, key=lambda event: _epsilon(event, relation, delta))


def composed_epsilon(plan: Plan, *, relation: guarantee.Relation, delta: float) -> float:
    """The ε at δ of all queries of a plan: the accountants' for its event, rounded up."""
    return up(min(_epsilon(event, relation, delta) for event in _events(plan)))


def composed_epsilon_of(
    noises: list[AdditiveMechanism],
    *,
    relation: guarantee.Relation,
    delta: float,
    rates: list[float] | None = None,
    samples: list[int] | None = None,
) -> float:
    """The ε at δ of releases with these noises on the same data; rounded up.

    ``rates`` are those of the samples that they saw, ``samples`` their numbers: releases on one
    sample are composed before they are amplified; by default each has a sample of its own. Samples
    of one rate under noise of the same scales count as often as there are, each release at the
    furthest that any of them moved.
    """
    if rates is not None and min(rates, default=1.0) < 1:
        numbers = list(range(len(noises))) if samples is None else samples
        plan = _sampled_plan(noises, rates, numbers)
        return composed_epsilon(plan, relation=relation, delta=delta)
    plan = {str(place): PlannedStep(noise=noise) for place, noise in enumerate(noises)}
    return composed_epsilon(plan, relation=relation, delta=delta)


def _sampled_plan(noises: list[AdditiveMechanism], rates: list[float], samples: list[int]) -> Plan:
    """A planned step for each place in a kind of sample: its rate and the scales it was asked."""
    by_sample: dict[tuple[int, float], list[AdditiveMechanism]] = {}
    for noise, rate, sample in zip(noises, rates, samples, strict=True):
        by_sample.setdefault((sample, rate), []).append(noise)
    kinds: dict[tuple[float, ...], list[list[AdditiveMechanism]]] = {}
    for (_, rate), asked in by_sample.items():
        kinds.setdefault((rate, *(noise.scale for noise in asked)), []).append(asked)
    return {
        f"{kind} {place}": PlannedStep(
            noise=max(column, key=lambda noise: noise.bound),
            times=len(column),
            sampling_rate=kind[0],
            sample=str(kind),
        )
        for kind, group in kinds.items()
        for place, column in enumerate(zip(*group, strict=True))
    }


def _events(plan: Plan) -> list[guarantee.Event]:
    """The event of a plan; where the noise is known in both norms, one for each of them."""
    noises = [step.noise for step in plan.values()]
    events = [_event(plan, by_l2=False)]
    if all(isinstance(noise, additive.CoordinatewiseMechanism) for noise in noises) and all(
        noise.sensitivity.l2 is not None for noise in noises
    ):
        events.append(_event(plan, by_l2=True))
    return events


def _event(plan: Plan, *, by_l2: bool) -> guarantee.Event:
    """Queries of one sample are composed, then amplified, then repeated; samples compose."""
    samples: dict[tuple[str, str], list[PlannedStep]] = {}
    for name, step in plan.items():
        samples.setdefault((step.sample, "" if step.sample else name), []).append(step)
    return _composed([_event_of_sample(steps, by_l2=by_l2) for steps in samples.values()])


def _event_of_sample(steps: list[PlannedStep], *, by_l2: bool) -> guarantee.Event:
    rates, times = {step.sampling_rate for step in steps}, {step.times for step in steps}
    if len(rates) > 1 or len(times) > 1:
        raise InputError("steps of one sample must have one rate and be asked as often, got others")
    event = _composed([step.event(by_l2=by_l2) for step in steps])
    return _repeated(event, rates.pop(), times.pop())


def _repeated(event: guarantee.Event, rate: float, times: int) -> guarantee.Event:
    sampled = event
    if isinstance(rate, FixedSize):
        sampled = guarantee.SampledWithoutReplacement(
            event=event, size=rate.size, population=rate.population
        )
    elif rate < 1:
        sampled = guarantee.PoissonSampled(event=event, rate=rate)
    return sampled if times == 1 else guarantee.Repeated(event=sampled, count=times)


@lru_cache(maxsize=1024)
def _epsilon(event: guarantee.Event, relation: guarantee.Relation, delta: float) -> float:
    """The accountants' word; without one (a norm that gives no ε at δ = 0) it is infinite."""
    try:
        return account(event, relation=relation, delta=delta).epsilon
    except NotCoveredError:
        return math.inf


def _composed(events: list[guarantee.Event]) -> guarantee.Event:
    return events[0] if len(events) == 1 else guarantee.Composed(events=tuple(events))


def _sampled_scales(recipe: Recipe, steps: dict[str, Step], terms: Terms) -> dict[str, float]:
    """Scales Δ·c/√(share/times) with the least c that the accountants allow.

    Of Gaussian noise beside pure noise too, which have no other measure in common that adds up.
    """
    relative = {
        name: _length(step.sensitivity) / (step.share / step.times) ** 0.5
        for name, step in steps.items()
    }

    def least(which: int) -> float:
        def event(factor: float) -> guarantee.Event:
            scales = {name: factor * one for name, one in relative.items()}
            return _events(with_scales(recipe, scales, terms))[which]

        return calibrate_noise(
            event, epsilon=terms.epsilon, delta=terms.delta, relation=terms.relation
        ).noise_multiplier

    try:
        factor = least(-1)  # by L2, where it is known
    except NotCoveredError:
        factor = least(0)
    return {name: factor * one for name, one in relative.items()}


def _enough(
    recipe: Recipe, scales: dict[str, float], terms: Terms, *, fixed: Collection[str]
) -> Plan:
    """The plan of these scales, with a little more noise where the accountants' ε needs it.

    They compute on a grid of losses: their figure may be some 10⁻⁷ above a mechanism's own. A plan
    that lacks more is left as it is, and refused by its claim.
    """
    for _ in range(_TRIES):
        plan = with_scales(recipe, scales, terms)
        spent = composed_epsilon(plan, relation=terms.relation, delta=terms.delta)
        if not terms.epsilon < spent <= _ROUNDING * terms.epsilon:
            break
        growth = 1 + 2 * (spent / terms.epsilon - 1) + 2.0**-40
        scales = {name: one if name in fixed else one * growth for name, one in scales.items()}
    return plan


def _length(sensitivity: guarantee.Sensitivity) -> float:
    length = sensitivity.l2 if sensitivity.l2 is not None else sensitivity.l1
    assert length is not None
    return length
