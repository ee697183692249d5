"""The one way from a function of the private records to what leaves: ``noisy_query``.

Every release passes it: each sum of a learner, the coordinates of a head, a mean, every answer. So
an audit can stand at one place, see the exact values of a whole fit and give the noise itself
(``with_noise_function``). Nothing that is made meanwhile is minted: ``minted`` leaves it declared.
"""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import numpy as np

from reticent.arrays import Array, Floats, Integers
from reticent.guarantee import Grade, Guarantee
from reticent.guarantee.minting import proven
from reticent.mechanisms import AdditiveMechanism, Mechanism
from reticent.randomness import secret_sample

NoiseFunction = Callable[[Any, Floats], Array]
"""The mechanism that a value is due and the value in, what the world sees of it out."""

REPLACED: Final = "the noise was replaced by an audit: nothing is promised"

_FUNCTION: ContextVar[NoiseFunction | None] = ContextVar("noise function", default=None)
_RATE: ContextVar[float] = ContextVar("sampling rate", default=1.0)


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


def is_replaced() -> bool:
    """Whether an audit answers the queries of this thread."""
    return _FUNCTION.get() is not None


def sampling_rate() -> float:
    """With which rate the query saw the records that a noise function is asked to answer."""
    return _RATE.get()


def noisy_rows(noise: Mechanism, values: Floats) -> Array:
    """Each row with noise of its own, as a query of its own: the answers to several questions."""
    if _FUNCTION.get() is None and not getattr(noise, "is_joint", False):
        return noise.release(values)  # its noise is i.i.d. over all entries, or row by row
    return np.stack([noisy_query(noise, row) for row in values])


Sampler = Callable[[Floats, Array, float], Integers]
"""Rows, labels and a rate in, the places of the rows that a query sees out."""

_SAMPLER: ContextVar[Sampler | None] = ContextVar("sampler", default=None)


def sampled_records(rows: Floats, labels: Array, rate: float) -> Integers:
    """The places of a Poisson sample, by secret coins, or what an audit takes in its place."""
    sampler = _SAMPLER.get()
    if sampler is None or _FUNCTION.get() is None:  # coins that are not secret: only in an audit
        return secret_sample(len(rows), rate)
    return sampler(rows, labels, rate)


def everyone(rows: Floats, labels: Array, rate: float) -> Integers:
    """The sampler of an audit that looks at the worst case: all records are seen."""
    del labels, rate
    return np.arange(len(rows))


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
    before = _FUNCTION.set(function)
    try:
        yield
    finally:
        _FUNCTION.reset(before)


def minted(claim: Guarantee) -> Guarantee:
    """The claim graded proven; declared, and saying why, where the noise was not its own."""
    return proven(claim) if _FUNCTION.get() is None else _unproven(claim)


def is_minted(claim: Guarantee) -> bool:
    """Whether a claim was minted; under an audit, whether it would have been."""
    audited = _FUNCTION.get() is not None and REPLACED in claim.stated
    return audited or claim.grade is Grade.PROVEN


def still_minted(claim: Guarantee) -> Guarantee:
    """A claim that was minted before, for a query of now: declared where the noise is replaced."""
    return claim if _FUNCTION.get() is None else _unproven(claim)


def _unproven(claim: Guarantee) -> Guarantee:
    grade = Grade.DECLARED if claim.grade is Grade.PROVEN else claim.grade
    return dataclasses.replace(claim, grade=grade, stated=(*claim.stated, REPLACED))
