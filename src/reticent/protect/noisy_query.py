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

from reticent.arrays import Array, Floats
from reticent.guarantee import Grade, Guarantee
from reticent.guarantee.minting import proven
from reticent.mechanisms import Mechanism

NoiseFunction = Callable[[Any, Floats], Array]
"""The mechanism that a value is due and the value in, what the world sees of it out."""

REPLACED: Final = "the noise was replaced by an audit: nothing is promised"

_FUNCTION: ContextVar[NoiseFunction | None] = ContextVar("noise function", default=None)


def noisy_query(noise: Mechanism, value: Floats) -> Array:
    """The value with the mechanism's own noise, or what an audit answers in its place."""
    function = _FUNCTION.get()
    return noise.release(value) if function is None else function(noise, value)


def noisy_rows(noise: Mechanism, values: Floats) -> Array:
    """Each row with noise of its own, as a query of its own: the answers to several questions."""
    if _FUNCTION.get() is None and not getattr(noise, "is_joint", False):
        return noise.release(values)  # its noise is i.i.d. over all entries, or row by row
    return np.stack([noisy_query(noise, row) for row in values])


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
