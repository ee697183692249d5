"""Public maps of feature rows that keep every norm within a public bound, in float64."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.validation import InputError

Floats = NDArray[np.float64]
Norms = Literal["clip", "scale"]

NORMS: tuple[Norms, ...] = ("clip", "scale")
_UNIT = 2.0**-53


def as_norms(value: object) -> Norms:
    """What is done to the norms of rows, by its name."""
    for norms in NORMS:
        if value == norms:
            return norms
    raise InputError(f"norms must be 'clip' or 'scale', got {value!r}")


def shrink(dimension: int) -> float:
    """1 + κ, κ = 2(d + 8)·2⁻⁵³: twice what rounding can add to the norm of a clipped row."""
    return 1 + 2 * (dimension + 8) * _UNIT


def clip_rows(rows: Floats, bound: float) -> Floats:
    """Rows scaled down to norm at most ``bound``, rounding included; shorter rows stay as they are.

    The computed norm of a row is within (d/2 + 2)·2⁻⁵³ of the true one, relatively, and scaling
    rounds once more; both fit into the factor ``shrink``. Each row is a function of itself alone.
    """
    return _fitted(rows, bound, lengthen=False)


def scale_rows(rows: Floats, bound: float) -> Floats:
    """Rows scaled to norm ``bound``, rounding included; a row of zeros stays."""
    return _fitted(rows, bound, lengthen=True)


def _fitted(rows: Floats, bound: float, *, lengthen: bool) -> Floats:
    limit = bound / shrink(rows.shape[1])
    # Entries near the ends of the float range would square to 0 or infinity: scale them first.
    largest = np.maximum(np.abs(rows).max(axis=1, keepdims=True, initial=0.0), 2.0**-1000)
    exponent = np.ldexp(1.0, np.frexp(largest)[1] - 1)
    scaled = rows / exponent
    norms = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]
    changed = (norms > limit / exponent) | (lengthen & (norms > 0))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        factor = np.where(changed, limit / norms, exponent)
    fitted: Floats = scaled * factor
    return fitted


def with_bias(rows: Floats, bias: float) -> Floats:
    """The rows with a constant feature appended: the intercept is a weight like any other."""
    return np.hstack([rows, np.full((rows.shape[0], 1), bias)])


def radius(bound: float, intercept: float) -> float:
    """R = bound·√(1 + intercept²), rounded up."""
    return math.hypot(bound, intercept * bound) * (1 + 2.0**-50)


def public_map(
    rows: Floats, *, bound: float, intercept: float, centre: ArrayLike | None, norms: Norms
) -> Floats:
    """From rows to h, for training and queries alike: centred, bounded, constant appended."""
    fitted = clip_rows if norms == "clip" else scale_rows
    if centre is None:
        rows = fitted(rows, bound)
    else:  # halves cannot overflow
        rows = 2 * fitted(rows / 2 - np.asarray(centre, dtype=np.float64) / 2, bound / 2)
    return with_bias(rows, intercept * bound) if intercept else rows
