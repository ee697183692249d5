"""Which floats can come out: what textbook noise in floating point tells beside its value.

The privacy of noise is proven for real numbers. A float v + noise carries more (Mironov 2012):

- The lowest bit. Noise near −v is a coarser float the larger v is, so v + noise next to 0 is a
  multiple of a power of 2 that depends on v, and other outputs cannot come from v at all.
- The sampler's uniform number. Laplace noise b·log(k/2⁵³) and logistic noise b·log(k/(2⁵³ − k))
  leave gaps between whole k. Where a gap is wider than the rounding of the output, the k that an
  output asks for is next to a whole number if v was the answer, and anywhere else if not.

The second needs the scale b; the textbook's Δ₁/ε is tried.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from scipy import special

from reticent.arrays import Flags, Floats

_BITS: Final = 53
"""Of a float, and of the uniform numbers that samplers begin with."""
_ROUNDINGS: Final = 1.5
"""Relative roundings, of half a unit at most, between a uniform number and its noise."""
_NEARBY: Final = 16
"""Whole k next to the one that exact arithmetic asks for: rounding moves it by a few."""
_RESOLVED: Final = 0.25
"""Of the distance between whole numbers: an error below it leaves something to see."""


def lowest_bits(values: Floats) -> Floats:
    """The exponent of the lowest bit of each float: the largest power of 2 that divides it.

    >>> lowest_bits(np.array([1.0, 6.0, 0.375, 0.0]))  # 2⁰, 2¹, 2⁻³; everything divides 0
    array([ 0.,  1., -3., nan])
    """
    mantissas, exponents = np.frexp(np.where(np.isfinite(values), values, 0.0))
    whole = np.abs(mantissas * 2.0**_BITS).astype(np.int64)
    _, places = np.frexp((whole & -whole).astype(np.float64))
    return np.where(whole > 0, exponents - _BITS + places - 1.0, np.nan)


def laplace_misfits(outputs: Floats, answer: Floats, scale: float) -> Floats:
    """How far from a whole number the k of each output is, in multiples of its rounding error.

    At most about 1 if the output is ``answer`` plus Laplace noise of this scale from 53 random
    bits, any number otherwise; 0 where rounding hides it.
    """
    return _misfits(outputs, answer, scale, lambda size: np.exp(-size))


def logistic_misfits(outputs: Floats, answer: Floats, scale: float) -> Floats:
    """The same for logistic noise."""
    return _misfits(outputs, answer, scale, lambda size: special.expit(-size))


def _misfits(
    outputs: Floats, answer: Floats, scale: float, tail: Callable[[Floats], Floats]
) -> Floats:
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.abs(outputs - answer) / scale
        asked = 2.0**_BITS * tail(size)
        rounding = np.spacing(np.abs(outputs)) / 2 / scale
        error = asked * (rounding + _ROUNDINGS * 2.0**-_BITS * (1 + size))
        misfits = np.abs(asked - np.rint(asked)) / error
    return np.where((asked >= 1) & (error < _RESOLVED), misfits, 0.0)


def reached_by_logistic(outputs: Floats, answer: float, scale: float) -> Flags:
    """Whether answer + scale·log(u/(1 − u)) in floats is the very output for some u = k/2⁵³.

    >>> rng = np.random.default_rng(0)
    >>> u = rng.integers(1, 2**53, size=1000) / 2**53
    >>> outputs = 0.0 + np.log(u / (1 - u))
    >>> bool(reached_by_logistic(outputs, 0.0, 1.0).all())
    True
    >>> bool(reached_by_logistic(outputs, 1.0, 1.0).mean() < 0.3)
    True
    """
    asked = np.rint(2.0**_BITS * special.expit((outputs - answer) / scale))
    nearby = asked[:, None] + np.arange(-_NEARBY, _NEARBY + 1)
    u = np.clip(nearby, 1.0, 2.0**_BITS - 1) / 2.0**_BITS
    reached = answer + scale * np.log(u / (1 - u)) == outputs[:, None]
    return np.asarray(reached.any(axis=1))
