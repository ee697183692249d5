"""Three ways to data for shadow models without the target's own (Shokri et al. 2017, section V.C).

Model-based: a search for records of which the target itself is sure. Statistics-based: each feature
from its marginal within a class. Noisy real: other real records, with some features reset.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from reticent.arrays import ArrayLike, Flags, Floats, Integers
from reticent.attacks.records import Records
from reticent.attacks.targets import Target, target_of
from reticent.validation import InputError, count, float_rows, open_probability, sampling_rate


class SynthesisFailed(InputError):  # noqa: N818 - it says what happened
    """A search ended without a record that the target is sure of."""


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """The values that a feature can have, all that an adversary knows of an input.

    >>> space = FeatureSpace.bits(4)
    >>> space.random(2, np.random.default_rng(0)).shape
    (2, 4)
    """

    low: Floats
    high: Floats
    whole: bool
    """Whole numbers only."""

    def __init__(self, low: ArrayLike, high: ArrayLike, *, whole: bool = False) -> None:
        sizes = [np.size(end) for end in (low, high)]
        if sizes[0] != sizes[1]:
            raise InputError(f"low and high must have one length, got {sizes[0]} and {sizes[1]}")
        ends = float_rows("low and high", np.stack([low, high]))
        if not (ends[0] <= ends[1]).all():
            raise InputError("low must be at most high for each feature, got a feature above")
        if whole and not np.array_equal(ends, np.round(ends)):
            raise InputError("low and high must be whole where the features are, got fractions")
        object.__setattr__(self, "low", ends[0])
        object.__setattr__(self, "high", ends[1])
        object.__setattr__(self, "whole", whole)

    @classmethod
    def bits(cls, features: int) -> "FeatureSpace":
        """The space of so many features, each 0 or 1."""
        width = count("features", features)
        return cls(np.zeros(width), np.ones(width), whole=True)

    @property
    def width(self) -> int:
        """The number of features of a record."""
        return len(self.low)

    def random(self, number: int, rng: np.random.Generator) -> Floats:
        """So many inputs, each feature uniform among its values."""
        shares = rng.random((number, self.width))
        if self.whole:
            return np.asarray(self.low + np.floor(shares * (self.high - self.low + 1)))
        return np.asarray(self.low + shares * (self.high - self.low))

    def reset(self, inputs: Floats, rng: np.random.Generator) -> Floats:
        """Each feature at another of its values, uniform among these: a bit is flipped.

        A feature with one value keeps it.
        """
        if not self.whole:
            return self.random(len(inputs), rng)
        steps = 1 + np.floor(rng.random(inputs.shape) * (self.high - self.low))
        return np.asarray(self.low + (inputs - self.low + steps) % (self.high - self.low + 1))


@dataclass(frozen=True, kw_only=True)
class Search:
    """The numbers of Algorithm 1; the paper's names in brackets."""

    confidence: float = 0.2
    """The target must be surer than this (conf_min)."""
    most: int = 128
    """How many features are resampled at first (k_max); at most all of them."""
    fewest: int = 4
    """How many at the end (k_min)."""
    rejections: int = 10
    """More than so many in a row halve the number of features (rej_max)."""
    iterations: int = 1_000
    """Queries of one search (iter_max)."""
    starts: int = 3
    """How often a search that failed is begun again."""

    def __post_init__(self) -> None:
        """Numbers in range."""
        open_probability("confidence", self.confidence)
        if count("most", self.most) < count("fewest", self.fewest):
            raise InputError(f"most must be at least fewest, {self.fewest}, got {self.most}")
        count("rejections", self.rejections, at_least=0)
        count("iterations", self.iterations)
        count("starts", self.starts)


def synthesized(
    target: object,
    *,
    space: FeatureSpace,
    per_class: int,
    rng: np.random.Generator,
    search: Search | None = None,
) -> Records:
    """Model-based: so many records of each class that the target puts there, surely enough.

    Queries of all searches of a class are asked together; each search goes its own way.

    Raises:
        SynthesisFailed: A search failed as often as it may start. (Such a class may have no record
            that looks like random features; the paper saw it for images.)
    """
    asked_target, size = target_of(target), count("per_class", per_class)
    rule = Search() if search is None else search
    inputs = [
        _of_class(asked_target, place, size, space, rule, rng)
        for place in range(len(asked_target.classes))
    ]
    return Records(np.concatenate(inputs), np.repeat(asked_target.classes, size))


def from_marginals(records: Records, *, number: int, rng: np.random.Generator) -> Records:
    """Statistics-based: each feature from its marginal among the records of the class.

    A feature's value is that of a record of the class, drawn anew for each feature. The classes
    come in the records' own shares, to within one pass over them.
    """
    rows = float_rows("inputs", records.inputs)
    labels = np.resize(rng.permutation(records.labels), count("number", number))
    inputs = np.empty((len(labels), rows.shape[1]))
    for label in np.unique(labels):
        own = np.flatnonzero(records.labels == label)
        chosen = own[rng.integers(len(own), size=(int((labels == label).sum()), rows.shape[1]))]
        inputs[labels == label] = np.take_along_axis(rows, chosen, axis=0)
    return Records(inputs, labels)


def noisy_real(
    records: Records, *, share: float, space: FeatureSpace, rng: np.random.Generator
) -> Records:
    """Real records, none of the target's, with this share of each one's features reset.

    The number of features is rounded; the paper's shares are .1 and .2.
    """
    rows = _fitting(records.inputs, space)
    changed = round(sampling_rate("share", share) * space.width)
    chosen = _chosen(np.full(len(rows), changed), space.width, rng)
    return Records(np.where(chosen, space.reset(rows, rng), rows), records.labels)


def _of_class(
    target: Target,
    place: int,
    wanted: int,
    space: FeatureSpace,
    rule: Search,
    rng: np.random.Generator,
) -> Floats:
    parts: list[Floats] = []
    surest = 0.0
    for _ in range(rule.starts):
        searches = _Searches.begun(wanted - sum(map(len, parts)), space, rule, rng)
        for _ in range(rule.iterations):
            if searches.done.all():
                break
            searches.ask(target, place, rng)
        parts.append(searches.kept[searches.done])
        surest = max(surest, float(searches.best.max()))
        if searches.done.all():
            return np.concatenate(parts)
    raise SynthesisFailed(
        f"class {target.classes[place]} must have records that the target is surer of than"
        f" {rule.confidence:g}, {sum(map(len, parts))} of {wanted} were found and {surest:.2g} was"
        " the surest: allow more iterations, or take data from statistics or noisy records"
    )


@dataclass(kw_only=True, eq=False)
class _Searches:
    """Algorithm 1, several at once: arrays of one entry for each search."""

    space: FeatureSpace
    rule: Search
    tried: Floats
    kept: Floats
    """x*, the last accepted record."""
    best: Floats
    """Its probability of the class, y*."""
    rejected: Integers
    """In a row, j."""
    features: Integers
    """How many are resampled next, k."""
    done: Flags

    @classmethod
    def begun(
        cls, number: int, space: FeatureSpace, rule: Search, rng: np.random.Generator
    ) -> Self:
        return cls(
            space=space,
            rule=rule,
            tried=space.random(number, rng),
            kept=np.zeros((number, space.width)),
            best=np.zeros(number),
            rejected=np.zeros(number, dtype=np.int64),
            features=np.full(number, min(rule.most, space.width)),
            done=np.zeros(number, dtype=bool),
        )

    def ask(self, target: Target, place: int, rng: np.random.Generator) -> None:
        """One iteration of the searches that go on."""
        going = np.flatnonzero(~self.done)
        answers = target.probabilities(self.tried[going])
        self._judge(going, answers[:, place], answers.argmax(axis=1) == place, rng)
        going = np.flatnonzero(~self.done)
        chosen = _chosen(self.features[going], self.space.width, rng)
        drawn = self.space.random(len(going), rng)
        self.tried[going] = np.where(chosen, drawn, self.kept[going])

    def _judge(self, going: Integers, sure: Floats, top: Flags, rng: np.random.Generator) -> None:
        accepted = sure >= self.best[going]
        better, worse = going[accepted], going[~accepted]
        self.kept[better], self.best[better] = self.tried[better], sure[accepted]
        self.rejected[better] = 0
        enough = accepted & top & (sure > self.rule.confidence)
        self.done[going] = enough & (rng.random(len(going)) < sure)
        self.rejected[worse] += 1
        many = worse[self.rejected[worse] > self.rule.rejections]
        self.features[many] = np.maximum(self.rule.fewest, -(-self.features[many] // 2))
        self.rejected[many] = 0


def _chosen(numbers: Integers, width: int, rng: np.random.Generator) -> Flags:
    """Rows of flags: so many of the features, at random."""
    ranks = rng.random((len(numbers), width)).argsort(axis=1).argsort(axis=1)
    return np.asarray(ranks < numbers[:, None])


def _fitting(inputs: ArrayLike, space: FeatureSpace) -> Floats:
    rows = float_rows("inputs", inputs)
    if rows.shape[1] != space.width or not ((rows >= space.low) & (rows <= space.high)).all():
        raise InputError(
            f"inputs must be rows of {space.width} features within the space, got"
            f" {rows.shape[1]} features or values beyond it"
        )
    return rows
