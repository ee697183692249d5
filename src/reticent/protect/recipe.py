"""One way to learn with noise, as public numbers: what it asks of the records, and what it makes.

A ``Recipe`` sees no record until ``learn``, and there every look at the records is a noisy query of
one of its steps. From the steps follow the noise, the event that the accountants see and, by their
word, the ε of every certificate (``noise_scales``).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple, Self

import numpy as np
from scipy import special

from reticent.arrays import Array, Floats
from reticent.guarantee import Event, GaussianEvent, ObjectiveEvent, Sensitivity
from reticent.mechanisms import AdditiveMechanism, additive, registry
from reticent.protect.noisy_query import (
    ImplicitQuery,
    NoiseFunction,
    implicit_noise,
    noisy_query,
    with_noise_function,
)
from reticent.protect.plain_values import checked, fields, plain, type_name
from reticent.protect.terms import Terms
from reticent.protect.used_encoder import UsedStart
from reticent.validation import InputError, count

if TYPE_CHECKING:  # scikit-learn, which a certificate can do without
    from reticent.training import SigmoidHead, SoftmaxHead

Tensors = dict[str, Floats]
Task = Literal["classification", "regression", "statistic", "encoding"]
LARGEST_SCORE: Final = (
    "the answer is the class with the largest score; probabilities are the softmax of the scores"
)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One kind of noisy query: how far one unit moves it, its share of the budget, how often.

    ``theorem`` is the function that says how far, as a checked line names it. With a
    ``sampling_rate`` below 1 each query sees every record with that probability (Poisson
    subsampling; a ``FixedSize`` is sampling without replacement), and the accountants credit the
    amplification. Steps that name the same ``sample``
    ask their queries of one sample each time: these are composed first and amplified after.
    ``mechanism`` is the noise of this step, where it is not the recipe's.
    """

    sensitivity: Sensitivity
    share: float
    theorem: str
    times: int = 1
    sampling_rate: float = 1.0
    sample: str = ""
    mechanism: str | None = None
    implicit: "Curved | None" = None
    """Where the noise is in a loss that is minimised: what a record does to the curvature."""


@dataclass(frozen=True, kw_only=True)
class Curved:
    """Of objective perturbation: κ, and in how many directions a record's gradient may point."""

    curvature: float
    directions: int


@dataclass(frozen=True, kw_only=True)
class PlannedStep:
    """A step with the noise that it is due."""

    noise: AdditiveMechanism
    times: int = 1
    sampling_rate: float = 1.0
    sample: str = ""
    implicit: Curved | None = None

    def release(self, value: Floats) -> Floats:
        """The only way from a sum over records to what a recipe sees of it."""
        return noisy_query(self.noise, value, sampling_rate=self.sampling_rate)

    def implicit_noise(self, query: ImplicitQuery, *, grid: float) -> Floats:
        """The noise inside a loss: the only way to what the recipe sees of its minimum."""
        return implicit_noise(self.noise, query, grid=grid)

    def event(self, *, by_l2: bool = False) -> Event:
        """One query of this step, before sampling, as an accountant sees it."""
        event = _event_by_l2(self.noise) if by_l2 else self.noise.event()
        return event if self.implicit is None else _implicit_event(event, self.implicit)


Plan = Mapping[str, PlannedStep]


class Affine:
    """W (a row per output) and b: the scores of a linear model are W u + b."""

    __slots__ = ("offsets", "weights")

    def __init__(self, weights: Floats, offsets: Floats) -> None:
        self.weights = weights
        self.offsets = offsets

    def __iter__(self) -> Iterator[Floats]:
        return iter((self.weights, self.offsets))


class RowMap(NamedTuple):
    """What the layer of a linear model reads of a row: centred, then scaled or clipped.

    ``norms`` is "scale" to the norm ``bound``, or "clip" to at most that. ``centred`` rows have the
    tensor ``centre`` taken off; ``intercept`` times the bound is one entry more, 0 for none.
    """

    norms: Literal["clip", "scale"] = "scale"
    bound: float = 1.0
    centred: bool = False
    intercept: float = 0.0


class TargetRange(NamedTuple):
    """The public range of a number that is predicted: its middle, and half of its width."""

    centre: float
    half: float


class ReleasedMeans(NamedTuple):
    """Means that can be read off a release: of rows that were clipped to ``bound``, or by class.

    Those by class are of unit rows, times an unknown factor (no ``bound``); ``centred`` rows had a
    noisy mean taken off first, which is not released.
    """

    values: Floats
    bound: float | None = None
    centred: bool = False


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
    noises: ClassVar[tuple[str, ...]] = ()
    """The mechanisms that its theorem covers, the one to take first; none where it is any."""
    options: ClassVar[tuple[str, ...]] = ()
    """The public numbers that this recipe takes beside records and classes; others are refused."""
    checked: ClassVar[tuple[str, ...]] = ()
    """What its code makes sure of, each line with the function that does (``checked_by``)."""
    stated: ClassVar[tuple[str, ...]] = ()
    """What its user states."""
    on_optimum: ClassVar[bool] = False
    """Whether its noise is added to the certified optimum of a head, which is fitted first."""
    is_affine: ClassVar[bool] = False
    """Whether it releases weights and offsets of one affine layer on rows of norm 1, as such."""
    centres_heads: ClassVar[bool] = False
    """Whether it releases the noisy mean that the proof of a centred head composes."""
    trains_network: ClassVar[bool] = False
    """Whether it trains a network, which takes as long as that is large."""

    if TYPE_CHECKING:  # fields of the dataclass, or properties of it

        @property
        def records(self) -> int:
            """The public normaliser N: about the number of records."""

        @property
        def features(self) -> int:
            """The number of entries of a row, public."""

        @property
        def classes(self) -> int:
            """The number of outputs, public; 0 where nothing is predicted."""

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
        mechanism: str = registry.DEFAULT_NOISE,
        **options: Any,
    ) -> Self:
        """The recipe for these terms: constants that depend on them are fixed here."""
        numbers = {
            "records": count("records", records),
            "features": count("features", features),
            "classes": count("classes", classes, at_least=0),
            "mechanism": cls.noise_for(mechanism),
        }
        return cls._planned(terms, numbers, options)

    @classmethod
    def noise_for(cls, asked: str) -> str:
        """The mechanism of this recipe where a user asks for one; what is not covered is refused.

        ``DEFAULT_NOISE``, what every release has where nothing is said, stands for the first of
        ``noises``.
        """
        if not cls.noises or asked in cls.noises:
            return asked
        if asked != registry.DEFAULT_NOISE:
            covered = " or ".join(cls.noises)
            raise InputError(
                f"mechanism must be {covered} for {cls.name}, got {asked!r}: leave it out"
            )
        return cls.noises[0]

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

    def encoded(self, tensors: Mapping[str, Floats], rows: Floats) -> Floats:  # noqa: ARG002
        """The features of each row, where the release is an encoder."""
        raise InputError(
            f"a release of {self.name} must not be asked for features: it is {self.task}"
        )

    def training_views(self, rows: Floats) -> Floats | None:  # noqa: ARG002
        """(n, views, d): the views an encoder learns from, if they are a public function of a row.

        None where there are none, or where they are drawn from secret bits.
        """
        return None

    def probabilities(self, scores: Floats) -> Floats:
        """Of each class: the softmax of the scores."""
        return np.asarray(special.softmax(scores, axis=1))

    def decided(self, scores: Floats, classes: Array) -> Array:
        """The class of the largest score."""
        chosen: Array = classes[scores.argmax(axis=1)]
        return chosen

    @property
    def formula(self) -> tuple[str, ...]:
        """How an answer comes of a row x and the released tensors, for who has another program."""
        return ("scores = reticent.protect.load(PATH).logits(x)", LARGEST_SCORE)

    def layer(self, tensors: Mapping[str, Floats]) -> Affine | None:
        """The linear layer of the release, for who looks at weights; None where it is none."""
        del tensors
        return None

    @property
    def row_map(self) -> RowMap | None:
        """What ``layer`` reads of a row; None where the release is no linear model."""
        return None

    @property
    def target(self) -> TargetRange | None:
        """The range of the numbers that it predicts; None where it predicts none."""
        return None

    @property
    def several_labels(self) -> bool:
        """Whether it tells several labels of a record, each by itself."""
        return False

    def released_means(self, tensors: Mapping[str, Floats]) -> ReleasedMeans | None:
        """The means that its tensors tell, for who compares records with them."""
        del tensors
        return None

    def unfitted(self, classes: Any, centre: Floats | None) -> "SoftmaxHead | SigmoidHead | None":
        """The head whose optimum is noised, before its fit; None where it is none."""
        del classes, centre
        return None

    def convex_head(
        self, tensors: Mapping[str, Floats], classes: Array | None
    ) -> "SoftmaxHead | None":
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

    @property
    def start_width(self) -> int | None:
        """The features that a released head must read for this to start from it; None for none."""
        return None

    def refuse_other_start(self, start: UsedStart) -> None:  # noqa: B027 - most start from nothing
        """Raise where the head that this starts from is not the one whose certificate is here."""

    def refuse_foreign_code(self) -> None:  # noqa: B027 - most recipes run no code but their own
        """Raise where these numbers, read from a file, name code that nobody here asked to run."""

    def refuse_other_layout(self, shape: tuple[int, ...]) -> None:  # noqa: B027 - most read vectors
        """Raise where records of a table lie otherwise than these numbers say, axis by axis."""

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
    shapes, tensors, start = recipe.shapes(), {}, 0
    for name in sorted(shapes):
        size = int(np.prod(shapes[name]))
        tensors[name] = numbers[start : start + size].reshape(shapes[name])
        start += size
    return tensors


def _event_by_l2(noise: AdditiveMechanism) -> Event:
    assert isinstance(noise, additive.CoordinatewiseMechanism)
    return noise.event_l2()


def _implicit_event(event: Event, curved: Curved) -> Event:
    assert isinstance(event, GaussianEvent)
    return ObjectiveEvent(
        noise_multiplier=event.noise_multiplier,
        curvature=curved.curvature,
        directions=curved.directions,
    )
