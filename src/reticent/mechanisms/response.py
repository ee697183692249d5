"""Randomised response among C classes (Warner 1965): a label stays, or gives way to another.

The answer is the own class with probability p and each other one with q = p·e^−ε₀, so that no
answer is e^ε₀ times as likely under one label as under another. The profile between two labels is
(p − e^ε·q)₊ exactly; that of a label and none is no larger (docs/theory.md I.4).
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from reticent.arrays import ArrayLike, Floats, Integers
from reticent.guarantee import Event, Repeated, Sensitivity
from reticent.guarantee.events import ResponseEvent
from reticent.mechanisms import additive, integer_noise
from reticent.mechanisms.profiles import averages, pure
from reticent.mechanisms.pure import PureMechanism
from reticent.mechanisms.rounded.kernels import compiled
from reticent.randomness import SecureBits
from reticent.validation import InputError, float_array, non_negative, probability

_UNITS: Final = 2**40
"""ε₀ is drawn by as a whole number of 2⁻⁴⁰, rounded down: exact odds, no more than was claimed."""
_MOST_UNITS: Final = 2.0**60
_DOUBT: Final = 1 - 2.0**-48
"""Above the rounding of √2/scale."""


@dataclass(frozen=True, kw_only=True)
class RandomisedResponse(PureMechanism, additive.AdditiveMechanism):
    """One-hot labels, each answered with a class: ε₀ = √2/scale for each label that changes.

    A vector holds the entries of all lines for the first class, then for the second and so on, and
    last for none: a line without a label has its 1 there, and is answered as one whose label is
    drawn first. So each line that changes moves the vector by 2 in L1, and the L1 sensitivity
    counts lines; its ``blocks`` are the classes and none. By its L2 norm √2 a label has the scale
    of Gaussian noise of about the same loss.

    >>> label = Sensitivity(l1=2.0, l21=2.0, blocks=11)
    >>> answer = RandomisedResponse.calibrate(label, epsilon=2.0, delta=0.0)
    >>> round(answer.kept, 4), round(answer.delta(epsilon=1.0), 4)
    (0.4509, 0.285)
    """

    norm: ClassVar[additive.Norm] = "l21"
    structure = "labels"
    is_joint: ClassVar[bool] = True
    name = "randomised-response"

    def __post_init__(self) -> None:
        """A number of lines and of classes must be there."""
        super().__post_init__()
        self._bound(self.sensitivity)

    @classmethod
    def _bound(cls, sensitivity: Sensitivity) -> float:
        """√2 for each line that changes: each moves L1 by 2, wherever the others move."""
        if not (sensitivity.blocks or 0) >= 3:
            raise InputError(
                f"sensitivity blocks must be >= 3 for {cls.name}: two classes or more, and none,"
                f" got {sensitivity.blocks}"
            )
        return math.sqrt(2) * _lines(sensitivity)

    @classmethod
    def _least_scale(cls, sensitivity: Sensitivity, epsilon: float, delta: float) -> float:
        if not _one_line(sensitivity):
            return super()._least_scale(sensitivity, epsilon, delta)
        others = _classes(sensitivity) - 1
        shift = epsilon + math.log1p(delta * others * math.exp(-epsilon)) - math.log1p(-delta)
        return cls._bound(sensitivity) / shift

    @property
    def bound(self) -> float:
        """The sensitivity in L21, as its distances are told."""
        return self.sensitivity.require_l21(self.name)

    @property
    def blocks(self) -> int:
        """The classes, and none."""
        return _classes(self.sensitivity) + 1

    def epsilon(self, *, delta: float) -> float:
        """Exact for one label: ln(e^ε₀ − δ(e^ε₀ + C − 1)); of more, that of their sum of ε₀."""
        if not _one_line(self.sensitivity):
            return super().epsilon(delta=delta)
        least, delta = self.pure_epsilon, probability("delta", delta)
        kept = delta * self._total(least)
        if delta == 0:
            return least
        return max(0.0, least * averages.SAFE + math.log1p(-kept)) if kept < 1 else 0.0

    def delta(self, *, epsilon: float) -> float:
        """Exact for one label: (e^ε₀ − e^ε)₊/(e^ε₀ + C − 1); of more, by their sum of ε₀."""
        least, epsilon = self.pure_epsilon, non_negative("epsilon", epsilon)
        if not _one_line(self.sensitivity):
            return pure.delta(least, epsilon)
        return -math.expm1(min(epsilon - least, 0.0)) / self._total(least)

    def event(self) -> Event:  # type: ignore[override]  # one for each label
        """One label, as an accountant sees it, as often as one unit has lines."""
        least = math.nextafter(math.sqrt(2) / self.scale, math.inf)
        one = ResponseEvent(epsilon=least, classes=_classes(self.sensitivity))
        lines = _lines(self.sensitivity)
        return one if lines == 1 else Repeated(event=one, count=lines)

    @property
    def kept(self) -> float:
        """The probability p that the answer is the own class."""
        return 1 / self._total(self._loss)

    @property
    def std(self) -> float:
        """Of the unbiased estimate of an entry that is 0: √(q(1 − q))/(p − q)."""
        other = self.kept * math.exp(-self._loss)
        return math.sqrt(other * (1 - other)) / self._lead

    def unbiased(self, answers: Floats) -> Floats:
        """(answer − q)/(p − q), a row per class, whose mean is 1 for the own one and 0 for others.

        It is 1/C for none. Post-processing; the block of none is never answered, and left out.
        """
        given = self._by_class(answers.reshape(-1))[:-1]
        return np.asarray((given - self.kept * math.exp(-self._loss)) / self._lead)

    @property
    def sampler(self) -> str:
        """How ``release`` draws its answers, in words for a guarantee."""
        return (
            "answers are drawn by exact rejection from whole numbers and coins, without floats:"
            " another class than the own one is taken with probability e^-ε"
        )

    def grid_in(self, size: int) -> float:  # noqa: ARG002 - of whatever size
        """Entries are 0 or 1."""
        return 1.0

    def norms(self, moved: Floats) -> dict[str, Floats]:
        """With L21 over the classes and none."""
        lengths = np.linalg.norm(self._by_class(moved), axis=-1)
        return super().norms(moved) | {"l21": np.asarray(lengths.sum(axis=-1))}

    def with_float_noise(self, generator: np.random.Generator) -> "FloatResponse":
        """Answers by a seeded generator: for studies and shadows, never to protect."""
        return FloatResponse(mechanism=self, generator=generator)

    def _rounded(self, value: Floats, grid: float | None) -> Floats:
        if grid not in (None, 1.0):
            raise InputError(f"grid must be 1 for {self.name}, got {grid}")
        given = self._given(value)
        odds = (given, _classes(self.sensitivity), *divmod(self._units, _UNITS))
        answers = np.empty(given.size, dtype=np.int64)
        integer_noise.fill_from(SecureBits().words, answers, _fill_responses, odds)
        return self._one_hot(answers).reshape(value.shape)

    def _log_density(self, noise: Floats) -> Floats:
        """By what became of each line: nothing, another class for its own, or a class for none."""
        table = self._by_class(noise)
        possible = np.isin(table, (-1.0, 0.0, 1.0)).all(axis=-2) & (table[..., -1, :] <= 0)
        given, taken = (table == 1).sum(axis=-2), (table == -1).sum(axis=-2)
        changed = (given == 1) & (taken == 1)
        from_none = changed & (table[..., -1, :] == -1)
        cases = from_none, changed, (given == 0) & (taken == 0)
        own = math.log(self.kept)
        chances = -math.log(self.blocks - 1), own - self._loss, own
        each = np.where(possible, np.select(cases, chances, -np.inf), -np.inf)
        return np.asarray(each.sum(axis=-1))

    def _float_noise(self, shape: tuple[int, ...], generator: np.random.Generator) -> Floats:
        del generator
        raise InputError(f"{self.name} must see the labels, got the shape {shape} alone")

    @property
    def _units(self) -> int:
        """ε₀ as it is drawn by, in 2⁻⁴⁰."""
        return math.floor(min(math.sqrt(2) / self.scale * _UNITS * _DOUBT, _MOST_UNITS))

    @property
    def _loss(self) -> float:
        """The same as a number."""
        return self._units / _UNITS

    @property
    def _lead(self) -> float:
        """How far p is above q, at least so much that estimates stay finite."""
        return max(-math.expm1(-self._loss) * self.kept, 1 / _UNITS)

    def _total(self, least: float) -> float:
        """1 + (C − 1)e^−ε₀, the sum of the odds."""
        return 1 + (_classes(self.sensitivity) - 1) * math.exp(-least)

    def _by_class(self, vectors: Floats) -> Floats:
        """With an axis for the classes before that of the lines."""
        blocks, size = self.blocks, vectors.shape[-1]
        if size < 1 or size % blocks:
            raise InputError(f"value must have {blocks} entries for each label, got {size} in all")
        return vectors.reshape(*vectors.shape[:-1], blocks, size // blocks)

    def _given(self, value: Floats) -> Integers:
        """The class of each line, C where there is none."""
        table = self._by_class(value.reshape(-1))
        if not (np.isin(table, (0.0, 1.0)).all() and (table.sum(axis=0) == 1).all()):
            raise InputError("value must hold one-hot labels, a class or none for each, got others")
        return np.asarray(table.argmax(axis=0), dtype=np.int64)

    def _one_hot(self, answers: Integers) -> Floats:
        table = np.zeros((self.blocks, answers.size))
        table[answers, np.arange(answers.size)] = 1.0
        return table


@dataclass(frozen=True, kw_only=True)
class FloatResponse(additive.FloatNoise):
    """Randomised response by a seeded generator."""

    mechanism: RandomisedResponse

    def release(self, value: ArrayLike) -> Floats:
        """A class for each line, kept with a probability in floats."""
        array, noise = float_array("value", value), self.mechanism
        given, classes = noise._given(array), _classes(noise.sensitivity)
        own = np.where(given < classes, given, self.generator.integers(classes, size=given.size))
        other = (own + self.generator.integers(1, classes, size=own.size)) % classes
        kept = self.generator.random(own.size) < noise.kept
        return noise._one_hot(np.where(kept, own, other)).reshape(array.shape)


def _classes(sensitivity: Sensitivity) -> int:
    assert sensitivity.blocks is not None
    return sensitivity.blocks - 1


def _lines(sensitivity: Sensitivity) -> int:
    """How many lines one unit changes at most."""
    return math.ceil(sensitivity.require_l1(RandomisedResponse.name) / 2)


def _one_line(sensitivity: Sensitivity) -> bool:
    return _lines(sensitivity) == 1


@compiled
def _fill_responses(
    out: Integers,
    progress: Integers,
    words: integer_noise.Words,
    odds: tuple[Integers, int, int, int],
) -> None:
    given, classes, whole, rest = odds
    tape = (words, progress[1:].copy())
    while progress[0] < out.size:
        out[progress[0]] = _response(tape, given[progress[0]], (classes, whole, rest))
        progress[0] += 1
        progress[1] = tape[1][0]


@compiled
def _response(tape: integer_noise.Tape, given: int, odds: tuple[int, int, int]) -> int:
    """A uniform class is taken if it is the own one, else with probability e^−ε₀.

    The coin is tossed in either case, so that few words alone do not tell the own class; it still
    takes more or fewer of them as it falls, and times are nothing to publish.
    """
    classes, whole, rest = odds
    drawn = integer_noise._uniform(tape, classes)
    own = given if given < classes else drawn
    while True:
        answer = integer_noise._uniform(tape, classes)
        coin = integer_noise._coins_exp(tape, whole, 1, 1) and integer_noise._coin_exp(
            tape, rest, _UNITS
        )
        if coin or answer == own:
            return answer
