"""The one way from a function of the private records to what leaves: ``noisy_query``.

Every release passes it: each sum of a learner, the coordinates of a head, a mean, every answer. So
an audit can stand at one place, see the exact values of a whole fit and give the noise itself
(``with_noise_function``). Nothing that is made meanwhile is minted: ``minted`` leaves it declared.
"""

import dataclasses
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol

import numpy as np

from reticent.arrays import Array, Floats, Floats32, Integers
from reticent.guarantee import Grade, Guarantee
from reticent.guarantee.minting import proven
from reticent.mechanisms import AdditiveMechanism, Mechanism
from reticent.randomness import SecureBits, secret_order, secret_sample, seeded
from reticent.validation import InputError

NoiseFunction = Callable[[Any, Floats], Array]
"""The mechanism that a value is due and the value in, what the world sees of it out."""

REPLACED: Final = "the noise was replaced by an audit: nothing is promised"


class FixedSize(float):
    """The rate of samples of ``size`` of ``population`` places, drawn without replacement.

    It goes wherever a rate goes; the accountants see sampling without replacement by it, which they
    cover for replace-one, and Poisson sampling by any other number.
    """

    size: int
    population: int

    def __new__(cls, size: int, population: int) -> "FixedSize":
        """Both are public. A draw of all places is an order of them, and amplifies nothing."""
        if not 1 <= size <= population:
            raise InputError(f"size must be between 1 and {population}, got {size}")
        made = super().__new__(cls, size / population)
        made.size, made.population = size, population
        return made

    def __eq__(self, other: object) -> bool:
        """No Poisson rate is equal to it."""
        if not isinstance(other, FixedSize):
            return False
        return (self.size, self.population) == (other.size, other.population)

    def __ne__(self, other: object) -> bool:
        """The opposite: a float has its own."""
        return not self == other

    def __hash__(self) -> int:
        """Of both numbers."""
        return hash((self.size, self.population))


_FUNCTION: ContextVar[NoiseFunction | None] = ContextVar("noise function", default=None)
_REPLACEMENTS: ContextVar[int] = ContextVar("times that noise was replaced", default=0)
_RATE: ContextVar[float] = ContextVar("sampling rate", default=1.0)
_SAMPLE: ContextVar[int] = ContextVar("number of samples drawn", default=0)


def noisy_query(
    noise: Mechanism, value: Floats, *, sampling_rate: float = 1.0, over: bool = False
) -> Array:
    """The value with the mechanism's own noise, or what an audit answers in its place.

    ``sampling_rate`` is that of the Poisson sample that the value was computed from. With ``over``
    the noisy vector may be written over the exact one, which nobody needs any more.
    """
    function = _FUNCTION.get()
    if function is None:
        if over and isinstance(noise, AdditiveMechanism):
            return noise.release_over(value)
        return noise.release(value)
    before = _RATE.set(sampling_rate)
    try:
        return function(noise, value)
    finally:
        _RATE.reset(before)


def noisy_query_float32(
    noise: AdditiveMechanism, value: Floats32, *, sampling_rate: float = 1.0
) -> Floats32:
    """``noisy_query`` of a flat float32 vector, written over it, with float noise: fast, declared.

    The claim states ``additive.IDEAL_NOISE``.
    """
    if _FUNCTION.get() is None:
        return noise.release_over_float32(value)
    value[:] = noisy_query(noise, value.astype(np.float64), sampling_rate=sampling_rate)
    return value


class ImplicitQuery(Protocol):
    """A sum over records at a point that its own noise decides: answer = value(answer) + noise.

    The perturbed minimum of a loss is one: with the answer a = −λN·V, value(a) is the sum of the
    records' gradients at V, and the noise the linear term. One record moves value(a) by one
    gradient, whatever a is, as it moves the value of any other query.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the noise and of the answer."""

    def solve(self, noise: Floats) -> Floats:
        """The answer that this noise leads to."""

    def value(self, answer: Floats) -> Floats:
        """The sum over records at this answer."""


class Replayed(np.ndarray):
    """An answer of an earlier run: of an implicit query it is the answer, and not its noise."""


_IMPLICIT: ContextVar[ImplicitQuery | None] = ContextVar("implicit query", default=None)


def implicit_noise(noise: AdditiveMechanism, query: ImplicitQuery, *, grid: float) -> Floats:
    """The noise of an implicit query: fresh, or the one that leads to an audit's answer here."""
    nothing = np.zeros(query.shape)
    function = _FUNCTION.get()
    if function is None:
        return noise.release(nothing, grid=grid)
    before = _IMPLICIT.set(query)
    try:
        given = np.asanyarray(function(noise, nothing))
    finally:
        _IMPLICIT.reset(before)
    answer = np.asarray(given) if isinstance(given, Replayed) else query.solve(given)
    return np.asarray(answer - query.value(answer))


def settled(value: Floats, given: Array) -> tuple[Floats, Array]:
    """What an audit records of a query: its exact value, and its answer.

    Of an implicit one ``given`` is noise that was drawn, or the answer of an earlier run.
    """
    query = _IMPLICIT.get()
    if query is None:
        return value, given
    answer = np.asarray(given) if isinstance(given, Replayed) else query.solve(np.asarray(given))
    return query.value(answer), answer.view(Replayed)


def is_replaced() -> bool:
    """Whether an audit answers the queries of this thread."""
    return _FUNCTION.get() is not None


def sampling_rate() -> float:
    """With which rate the query saw the records that a noise function is asked to answer."""
    return _RATE.get()


def sample_number() -> int:
    """Of the sample that was drawn last: queries with one number saw the same records."""
    return _SAMPLE.get()


def noisy_rows(noise: Mechanism, values: Floats) -> Array:
    """Each row with noise of its own, as a query of its own: the answers to several questions."""
    if _FUNCTION.get() is None and not getattr(noise, "is_joint", False):
        return noise.release(values)  # its noise is i.i.d. over all entries, or row by row
    return np.stack([noisy_query(noise, row) for row in values])


Sampler = Callable[[Floats, Array, float], Integers]
"""Rows, labels and a rate in, the places of the rows that a query sees out."""

_SAMPLER: ContextVar[Sampler | None] = ContextVar("sampler", default=None)


def sampled_records(rows: Floats, labels: Array, rate: float) -> Integers:
    """The places of a Poisson sample, by secret coins, or what an audit takes in its place.

    Of a rate that is a ``FixedSize``: so many places of the population in a fresh random order,
    each set and each order as likely as any other; rows must be as many.
    """
    _SAMPLE.set(_SAMPLE.get() + 1)
    sampler = _SAMPLER.get()
    if sampler is None or _FUNCTION.get() is None:  # coins that are not secret: only in an audit
        if isinstance(rate, FixedSize):
            return secret_order(rate.population)[: rate.size]
        return secret_sample(len(rows), rate)
    return sampler(rows, labels, rate)


def record_uniforms(rows: Floats, labels: Array, count: int) -> Floats32:
    """``count`` numbers in [0, 1) for each record, from secret bits: what its views are drawn by.

    In an audit they are a function of the record and of the number of the sample, so that a record
    has the same views in two worlds: which others there are changes nothing of it.
    """
    if _FUNCTION.get() is None:
        words = SecureBits().words(len(rows) * count).reshape(len(rows), count)
    else:
        words = np.zeros((len(rows), count), dtype=np.uint64)
        for place, (row, label) in enumerate(zip(rows, labels, strict=True)):
            record = hashlib.sha256(row.tobytes() + np.asarray(label).tobytes()).hexdigest()
            draw = seeded("views in an audit", record, _SAMPLE.get())
            words[place] = draw.integers(2**64, size=count, dtype=np.uint64)
    return ((words >> np.uint64(40)) * 2.0**-24).astype(np.float32)


def everyone(rows: Floats, labels: Array, rate: float) -> Integers:
    """The sampler of an audit that looks at the worst case: all records are seen.

    Of samples of one size, whose bounds depend on it, the first so many.
    """
    del labels
    return np.arange(rate.size if isinstance(rate, FixedSize) else len(rows))


@contextmanager
def with_sampler(sampler: Sampler) -> Iterator[None]:
    """Until it is left, samples of queries whose noise an audit gives are taken by ``sampler``."""
    before = _SAMPLER.set(sampler)
    try:
        yield
    finally:
        _SAMPLER.reset(before)


@contextmanager
def with_noise_function(function: NoiseFunction) -> Iterator[None]:
    """Until it is left, every noisy query of this thread is answered by ``function``."""
    _REPLACEMENTS.set(_REPLACEMENTS.get() + 1)  # and never back: see ``minted``
    before, samples = _FUNCTION.set(function), _SAMPLE.set(0)
    try:
        yield
    finally:
        _FUNCTION.reset(before)
        _SAMPLE.reset(samples)


def replacements() -> int:
    """How often noise was replaced here so far, by audits that are over too."""
    return _REPLACEMENTS.get()


def minted(claim: Guarantee, *, since: int | None = None) -> Guarantee:
    """The claim graded proven; declared, and saying why, where the noise was not its own.

    ``since`` is what ``replacements`` said before the first query of the claim: a callback may have
    replaced noise in between, and put it back.
    """
    own = _FUNCTION.get() is None and since in (None, _REPLACEMENTS.get())
    return proven(claim) if own else _unproven(claim)


def is_minted(claim: Guarantee) -> bool:
    """Whether a claim was minted; under an audit, whether it would have been."""
    audited = _FUNCTION.get() is not None and REPLACED in claim.stated
    return audited or claim.grade is Grade.PROVEN


def own_stated(claim: Guarantee) -> tuple[str, ...]:
    """The stated lines of a claim; within an audit without the one that the audit added."""
    if _FUNCTION.get() is None:
        return claim.stated
    return tuple(line for line in claim.stated if line != REPLACED)


def still_minted(claim: Guarantee) -> Guarantee:
    """A claim that was minted before, for a query of now: declared where the noise is replaced."""
    return claim if _FUNCTION.get() is None else _unproven(claim)


def _unproven(claim: Guarantee) -> Guarantee:
    grade = Grade.DECLARED if claim.grade is Grade.PROVEN else claim.grade
    return dataclasses.replace(claim, grade=grade, stated=(*claim.stated, REPLACED))
