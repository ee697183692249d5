"""One way to learn with noise, as public numbers: what it asks of the records, and what it makes.

A ``Recipe`` sees no record until ``learn``, and there every look at the records is a noisy query of
one of its steps. From the steps follow the noise (``noise_plan``), the event that the accountants
see (``event_of``) and, by their word, the ε of every certificate (``composed_epsilon``).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from scipy import special

from reticent.accounting.account import account
from reticent.accounting.calibration import calibrate_noise
from reticent.arrays import Array, Floats
from reticent.guarantee import Composed, Event, PoissonSampled, Relation, Repeated, Sensitivity
from reticent.guarantee.rounding import up
from reticent.mechanisms import AdditiveMechanism
from reticent.mechanisms.additive import CoordinatewiseMechanism
from reticent.protect.budget import mechanism_of, share_scales
from reticent.protect.noisy_query import NoiseFunction, noisy_query, with_noise_function
from reticent.protect.plain_values import checked, fields, plain, type_name
from reticent.protect.terms import Terms
from reticent.training import SoftmaxHead
from reticent.validation import InputError, NotCoveredError, count

Tensors = dict[str, Floats]
Task = Literal["classification", "regression", "statistic"]
_ROUNDING = 1.001
"""By what factor the accountants' ε of a plan may be above ε and count as rounding."""
_TRIES = 20
"""To make up for it; two are enough."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One kind of noisy query: how far one unit moves it, its share of the budget, how often.

    ``theorem`` is the function that says how far, as a checked line names it. With a
    ``sampling_rate`` below 1 each query sees every record with that probability (Poisson
    subsampling), and the accountants credit the amplification.
    """

    sensitivity: Sensitivity
    share: float
    theorem: str
    times: int = 1
    sampling_rate: float = 1.0


@dataclass(frozen=True, kw_only=True)
class PlannedStep:
    """A step with the noise that it is due."""

    noise: AdditiveMechanism
    times: int = 1
    sampling_rate: float = 1.0

    def release(self, value: Floats) -> Floats:
        """The only way from a sum over records to what a recipe sees of it."""
        return noisy_query(self.noise, value, sampling_rate=self.sampling_rate)

    def event(self, *, by_l2: bool = False) -> Event:
        """All queries of this step as an accountant sees them."""
        event = _event_by_l2(self.noise) if by_l2 else self.noise.event()
        if self.sampling_rate < 1:
            event = PoissonSampled(event=event, rate=self.sampling_rate)
        return event if self.times == 1 else Repeated(event=event, count=self.times)


Plan = Mapping[str, PlannedStep]


class Affine:
    """W (a row per output) and b: the scores of a linear model are W u + b."""

    __slots__ = ("offsets", "weights")

    def __init__(self, weights: Floats, offsets: Floats) -> None:
        self.weights = weights
        self.offsets = offsets

    def __iter__(self) -> Iterator[Floats]:
        return iter((self.weights, self.offsets))


class Recipe(ABC):
    """The public numbers of one way to learn; a frozen dataclass in every subclass.

    A new recipe says its ``steps``, how it learns and how its tensors predict; planning, charging,
    minting, certificates, ``verify``, audits and shadow models follow from these.
    """

    __slots__ = ()  # with slots in a subclass too, nobody hangs another ``learn`` on an instance

    name: ClassVar[str]
    """One name for the CLI, certificates, reports and audits."""
    summary: ClassVar[str] = ""
    """A line for the help of commands, where a plug-in has one; ours stand in the registry."""
    task: ClassVar[Task] = "classification"
    options: ClassVar[tuple[str, ...]] = ()
    """The public numbers that this recipe takes beside records and classes; others are refused."""
    checked: ClassVar[tuple[str, ...]] = ()
    """What its code makes sure of, each line with the function that does (``checked_by``)."""
    stated: ClassVar[tuple[str, ...]] = ()
    """What its user states."""

    if TYPE_CHECKING:  # fields of the dataclass, or properties of it

        @property
        def records(self) -> int:
            """The public normaliser N: about the number of records."""

        @property
        def features(self) -> int:
            """Of a row."""

        @property
        def classes(self) -> int:
            """The number of outputs."""

        @property
        def mechanism(self) -> str:
            """The noise of all its steps."""

    @classmethod
    def planned(
        cls,
        terms: Terms,
        *,
        records: int,
        features: int,
        classes: int = 0,
        mechanism: str = "gaussian",
        **options: Any,
    ) -> Self:
        """The recipe for these terms: constants that depend on them are fixed here."""
        numbers = {
            "records": count("records", records),
            "features": count("features", features),
            "classes": count("classes", classes, at_least=0),
            "mechanism": mechanism,
        }
        return cls._planned(terms, numbers, options)

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """From the public numbers as they are, for recipes without further constants."""
        del terms
        return cls(**numbers, **options)

    @abstractmethod
    def steps(self, terms: Terms) -> dict[str, Step]:
        """All noisy queries, by name; their shares of the budget add up to one."""

    @abstractmethod
    def learn(self, rows: Floats, labels: Array, plan: Plan) -> Tensors:
        """The tensors of a model; every look at the records passes a step of the plan.

        ``labels`` are places among the classes, or targets where the task is regression.
        """

    @abstractmethod
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every tensor that ``learn`` returns."""

    def scores(self, tensors: Mapping[str, Floats], rows: Floats) -> Floats:  # noqa: ARG002
        """Of each row: a logit per class, or one number where the task is regression."""
        raise InputError(
            f"a release of {self.name} must not be asked to predict: it is {self.task}"
        )

    def probabilities(self, scores: Floats) -> Floats:
        """Of each class: the softmax of the scores."""
        return np.asarray(special.softmax(scores, axis=1))

    def decided(self, scores: Floats, classes: Array) -> Array:
        """The class of the largest score."""
        chosen: Array = classes[scores.argmax(axis=1)]
        return chosen

    def layer(self, tensors: Mapping[str, Floats]) -> Affine | None:
        """The linear layer of the release, for who looks at weights; None where it is none."""
        del tensors
        return None

    def convex_head(
        self, tensors: Mapping[str, Floats], classes: Array | None
    ) -> SoftmaxHead | None:
        """The certified head whose optimum was noised, before its fit; None where it is none."""
        del tensors, classes
        return None

    def released_as(self) -> dict[str, tuple[str, int]]:
        """Tensors that are noisy answers themselves: the step, and by what it was divided.

        They lie on the grid of its noise. Others are computed from answers, and lie on none.
        """
        return {}

    @property
    def unproven(self) -> tuple[str, ...]:
        """What no theorem covers in the way these numbers ask for; with any, it is declared."""
        return ()

    def refuse_foreign_code(self) -> None:  # noqa: B027 - most recipes run no code but their own
        """Raise where these numbers, read from a file, name code that nobody here asked to run."""

    def misfits(self, terms: Terms) -> list[str]:
        """Where the numbers are not what the installed recipe plans for the same terms."""
        del terms
        return []

    @property
    def is_binary(self) -> bool:
        """Whether it tells two classes that exclude each other."""
        return self.task == "classification" and self.classes == 2

    @property
    def public_numbers(self) -> tuple[str, ...]:
        """The names of what its user says: their sources stand in the certificate."""
        return ("records", "classes", *self.options)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in a certificate."""
        return {one.name: plain(getattr(self, one.name)) for one in fields(self)}

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """From plain values; what is missing, unknown or out of range is refused."""
        kinds = {one.name: type_name(one.type) for one in fields(cls)}
        if not isinstance(values, Mapping) or set(values) != set(kinds):
            raise InputError(f"numbers must have {', '.join(sorted(kinds))}, got others")
        return cls(**{name: checked(name, kind, values[name]) for name, kind in kinds.items()})


def noise_plan(
    recipe: Recipe, terms: Terms, *, given: Mapping[str, AdditiveMechanism] | None = None
) -> Plan:
    """Each step with the noise that its share of (ε, δ) buys, calibrated from public numbers alone.

    ``given`` is the noise of steps that were released before, as a mean to centre by.
    """
    steps, kind = recipe.steps(terms), mechanism_of(recipe.mechanism)
    whole = sum(step.share for step in steps.values())
    if not abs(whole - 1) < 1e-9:
        raise InputError(f"shares must add up to 1, got {whole}")
    if any(step.sampling_rate < 1 for step in steps.values()):
        scales = _sampled_scales(recipe, steps, terms)
    else:
        shares = {name: (step.sensitivity, step.share, step.times) for name, step in steps.items()}
        scales = share_scales(kind, shares, epsilon=terms.epsilon, delta=terms.delta)
    done = {name: noise.scale for name, noise in (given or {}).items()}
    return _enough(recipe, scales | done, terms, fixed=done)


def with_scales(recipe: Recipe, scales: Mapping[str, float], terms: Terms) -> Plan:
    """The plan of a certificate: its sensitivities follow from the recipe, its scales are given."""
    steps = recipe.steps(terms)
    if set(steps) != set(scales):
        raise InputError(f"scales must be those of {', '.join(steps)}, got others")
    kind = mechanism_of(recipe.mechanism)
    return {
        name: PlannedStep(
            noise=kind(scale=scales[name], sensitivity=step.sensitivity),
            times=step.times,
            sampling_rate=step.sampling_rate,
        )
        for name, step in steps.items()
    }


def scales_of(plan: Plan) -> dict[str, float]:
    """The scale of the noise of each step."""
    return {name: step.noise.scale for name, step in plan.items()}


def event_of(plan: Plan, *, relation: Relation, delta: float) -> Event:
    """The whole plan as one event, through the norm by which the accountants give the smaller ε."""
    events = _events(plan)
    if len(events) == 1:
        return events[0]
    return min(events, key=lambda event: _epsilon(event, relation, delta))


def composed_epsilon(plan: Plan, *, relation: Relation, delta: float) -> float:
    """The ε at δ of all queries of a plan: the accountants' for its event, rounded up."""
    return up(min(_epsilon(event, relation, delta) for event in _events(plan)))


def composed_epsilon_of(
    noises: list[AdditiveMechanism],
    *,
    relation: Relation,
    delta: float,
    rates: list[float] | None = None,
) -> float:
    """The ε at δ of releases with these noises on the same data; rounded up.

    ``rates`` are those of the samples that they saw. Samples of one rate under noise of one scale
    count as often as there are, each at the furthest that any of them moved.
    """
    if rates is not None and min(rates, default=1.0) < 1:
        return composed_epsilon(_sampled_plan(noises, rates), relation=relation, delta=delta)
    plan = {str(place): PlannedStep(noise=noise) for place, noise in enumerate(noises)}
    return composed_epsilon(plan, relation=relation, delta=delta)


def _sampled_plan(noises: list[AdditiveMechanism], rates: list[float]) -> Plan:
    groups: dict[tuple[float, float], list[AdditiveMechanism]] = {}
    for noise, rate in zip(noises, rates, strict=True):
        groups.setdefault((rate, noise.scale), []).append(noise)
    return {
        f"{rate} {scale}": PlannedStep(
            noise=max(group, key=lambda noise: noise.bound), times=len(group), sampling_rate=rate
        )
        for (rate, scale), group in groups.items()
    }


Replay = Callable[[NoiseFunction], Floats]
"""A recipe on its records: goes through all its queries, each answered by this function, to the
numbers of a model; no guarantee comes with them."""


def replay(recipe: Recipe, plan: Plan, rows: Floats, labels: Array) -> Replay:
    """The recipe as an audit or a shadow runs it, again and again, with noise of its own.

    Nothing is charged or minted.
    """

    def run(noise: NoiseFunction) -> Floats:
        with with_noise_function(noise):
            tensors = recipe.learn(rows, labels, plan)
        return np.concatenate([tensors[name].ravel() for name in sorted(tensors)])

    return run


def tensors_of(recipe: Recipe, numbers: Floats) -> Tensors:
    """The tensors of a replay's numbers."""
    shapes, found, start = recipe.shapes(), {}, 0
    for name in sorted(shapes):
        size = int(np.prod(shapes[name]))
        found[name] = numbers[start : start + size].reshape(shapes[name])
        start += size
    return found


def _events(plan: Plan) -> list[Event]:
    """The event of a plan; where the noise is known in both norms, one for each of them."""
    steps = list(plan.values())
    events = [_composed([step.event() for step in steps])]
    noises = [step.noise for step in steps]
    if all(isinstance(noise, CoordinatewiseMechanism) for noise in noises) and all(
        noise.sensitivity.l2 is not None for noise in noises
    ):
        events.append(_composed([step.event(by_l2=True) for step in steps]))
    return events


@lru_cache(maxsize=1024)
def _epsilon(event: Event, relation: Relation, delta: float) -> float:
    """The accountants' word; without one (a norm that gives no ε at δ = 0) it is infinite."""
    try:
        return account(event, relation=relation, delta=delta).epsilon
    except NotCoveredError:
        return math.inf


def _composed(events: list[Event]) -> Event:
    return events[0] if len(events) == 1 else Composed(events=tuple(events))


def _event_by_l2(noise: AdditiveMechanism) -> Event:
    assert isinstance(noise, CoordinatewiseMechanism)
    return noise.event_l2()


def _sampled_scales(recipe: Recipe, steps: dict[str, Step], terms: Terms) -> dict[str, float]:
    """Scales Δ·c/√(share/times) with the least c that the accountants allow."""
    relative = {
        name: _length(step.sensitivity) / (step.share / step.times) ** 0.5
        for name, step in steps.items()
    }

    def least(which: int) -> float:
        def event(factor: float) -> Event:
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


def _length(sensitivity: Sensitivity) -> float:
    length = sensitivity.l2 if sensitivity.l2 is not None else sensitivity.l1
    assert length is not None
    return length
