"""The grid on which a release lies, and where it saturates: functions of public numbers only."""

import math
from typing import Final, NamedTuple

from reticent.validation import InputError, positive

LARGEST_CELL: Final = 2**52
"""Outputs are k·grid with |k| ≤ 2⁵²: each is an exact float."""

VALUE_CELLS: Final = 2.0**51
"""Values are first clamped to ±2⁵¹·grid."""

_WIDEST: Final = 2.0**45
_SMALLEST_GRID: Final = 2.0**-960
_LARGEST_GRID: Final = 2.0**960


class Frame(NamedTuple):
    """A grid as the kernels read it; each number is exact.

    ``caution`` multiplies every error bound. It is 1; tests set 0 to see the bounds matter.
    """

    ratio: float
    inverse: float
    step: float
    caution: float = 1.0


class Saturation(NamedTuple):
    """The public limits of a release: |value| taken as it is, and the largest |output|."""

    value: float
    output: float


def default_grid(scale: float) -> float:
    """The power of two g with scale/g in [2¹², 2¹³).

    >>> default_grid(1.0) == 2.0**-12
    True
    """
    scale = positive("scale", scale)
    _, exponent = math.frexp(scale)
    if not -930 <= exponent <= 970:
        raise InputError(f"scale must be in [2**-931, 2**970), got {scale}: rescale the values")
    return math.ldexp(1.0, exponent - 13)


def checked_grid(scale: float, grid: float | None) -> float:
    """The grid in use, refused where the arithmetic could leave the range of exact floats."""
    scale = positive("scale", scale)
    if grid is None:
        return default_grid(scale)
    grid = positive("grid", grid)
    if math.frexp(grid)[0] != 0.5:
        raise InputError(f"grid must be a power of two, got {grid}")
    if not _SMALLEST_GRID <= grid <= _LARGEST_GRID:
        raise InputError(f"grid must be in [2**-960, 2**960], got {grid}: rescale the values")
    if not 1 / _WIDEST <= scale / grid <= _WIDEST:
        raise InputError(
            f"grid must be in [scale/2**45, scale*2**45], got {grid} for scale {scale}: "
            "take a power of two near scale/2**12"
        )
    return grid


def frame(scale: float, grid: float | None) -> Frame:
    """The checked grid with its exact quotients scale/g and 1/g."""
    step = checked_grid(scale, grid)
    return Frame(ratio=scale / step, inverse=1.0 / step, step=step)


def saturation(scale: float, grid: float | None = None) -> Saturation:
    """Where a release with this scale and grid saturates.

    The value is clamped to ±2⁵¹·g before the noise is added, which is 1-Lipschitz and so raises
    no sensitivity; the output is clamped to ±2⁵²·g, which is post-processing. With the default
    grid that is at least 2³⁸ scales either way, about 3·10¹¹: more than a sum has to its noise.
    """
    step = checked_grid(scale, grid)
    return Saturation(value=VALUE_CELLS * step, output=LARGEST_CELL * step)
