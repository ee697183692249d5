"""Public maps of feature rows that keep every norm within a public bound, in float64."""

import math
from collections.abc import Callable
from typing import Literal, cast

import numpy as np
from numpy.typing import DTypeLike

from reticent.arrays import Array, ArrayLike, Floats, Floats32
from reticent.validation import InputError

Norms = Literal["clip", "scale"]

NORMS: tuple[Norms, ...] = ("clip", "scale")
_UNIT = 2.0**-53
_ROWS = 256
"""Rows that are mapped while they are in the cache; no row depends on it."""
_HELD = 4096


def as_norms(value: object) -> Norms:
    """What is done to the norms of rows, by its name."""
    for norms in NORMS:
        if value == norms:
            return norms
    raise InputError(f"norms must be 'clip' or 'scale', got {value!r}")


def shrink(dimension: int) -> float:
    """1 + κ, κ = 2(d + 8)·2⁻⁵³: more than twice what rounding can add to the norm of a row."""
    return 1 + 2 * (dimension + 8) * _UNIT


def clip_rows(rows: Floats, bound: float) -> Floats:
    """Rows scaled down to norm at most ``bound``, rounding included; shorter rows stay as they are.

    Each row is a function of itself alone, bit by bit: of no other row, nor of the number of rows,
    a row's place, or the layout in memory. With υ = 2⁻⁵³ and d entries (Higham 2002, section 3.1):

    * entries are divided by a power of two, so that the largest is in [2⁻⁷⁴, 2²⁴). That is exact
      but for quotients below 2⁻¹⁰²², which are off by 2⁻¹⁰⁷⁵ at most, as are squares: nothing
      beside the largest, and (d/2 + 2)υ has room for it;
    * a square rounds once, the sum d − 1 times and the root once, so that the computed norm n̂ is
      within n·(1 ± (d/2 + 2)υ). A row with n̂ ≤ limit stays: n ≤ limit·(1 + (d/2 + 3)υ);
    * another is multiplied by limit/n̂, which rounds once, and so does each product: its norm is at
      most limit·(1 + (d/2 + 5)υ) + √d·2⁻¹⁰⁷⁵, the last for products that are subnormal;
    * limit = bound/(1 + κ) rounds once, and κ is 2(d + 8)υ: more than all of it.

    So no norm exceeds the bound, for bounds between 1e-290 and 1e270 and up to 2³² entries.
    """
    return _fitted(rows, bound, lengthen=False)


def scale_rows(rows: Floats, bound: float) -> Floats:
    """Rows scaled to norm ``bound``, at most, rounding included; a row of zeros stays.

    Functions of one row alone, and bounded, as ``clip_rows`` says.
    """
    return _fitted(rows, bound, lengthen=True)


def _fitted(rows: Floats, bound: float, *, lengthen: bool) -> Floats:
    from reticent.training.row_kernels import fitted_rows  # numba, only where rows are

    return fitted_rows(rows, bound / shrink(rows.shape[1]), lengthen=lengthen)


def radius(bound: float, intercept: float) -> float:
    """R = bound·√(1 + intercept²), rounded up."""
    return math.hypot(bound, intercept * bound) * (1 + 2.0**-50)


class MappedRows:
    """``public_map`` of rows that are too many to be held twice: mapped when they are asked for.

    Each h is a function of its row alone, bit by bit, so it does not matter with which others, or
    how often, it is mapped. It has a length, a shape and blocks, as an array has; the block that
    was asked for last is kept, since a sum over records looks at each block twice. Whoever needs
    all of it at once gets a whole array (``np.asarray``), which takes the memory of one.
    """

    ndim = 2

    def __init__(self, rows: "Rows", mapped: Callable[[Floats], Floats]) -> None:
        self._rows = rows
        self._mapped = mapped
        self.shape = (len(rows), mapped(rows[:0]).shape[1])
        self._last: tuple[slice, Floats] | None = None

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        """Of all mapped rows, if they were held."""
        return 8 * len(self) * int(self.shape[1])

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        whole = np.empty(self.shape)
        for start in range(0, len(self), _HELD):
            whole[start : start + _HELD] = self._mapped(self._rows[start : start + _HELD])
        return whole.astype(np.float64 if dtype is None else dtype, copy=False)

    def __getitem__(self, block: slice | Array) -> Floats:
        if not isinstance(block, slice):
            return self._mapped(self._rows[block])
        if self._last is None or self._last[0] != block:
            self._last = None  # before the next one is made
            self._last = block, self._mapped(self._rows[block])
        return self._last[1]


Rows = Floats | MappedRows
"""Rows that are looked at block by block."""


def doubles(rows: Floats | Floats32) -> MappedRows:
    """The same numbers as float64, aligned and in C order, block by block: rows of a file."""
    return MappedRows(
        cast("Floats", rows), lambda block: np.array(block, dtype=np.float64, order="C")
    )


def public_map(
    rows: Floats, *, bound: float, intercept: float, centre: ArrayLike | None, norms: Norms
) -> Floats:
    """From rows to h, for training and queries alike: centred, bounded, constant appended.

    Each h is a function of its row alone, bit by bit, of norm at most ``radius``. With a centre,
    entries are halved before it is taken off, so that no difference overflows (an odd multiple of
    2⁻¹⁰⁷⁴ rounds there); the halved bound and the doubling at the end are exact.
    """
    fitted = clip_rows if norms == "clip" else scale_rows
    count, width = rows.shape
    mapped = np.empty((count, width + 1 if intercept else width))  # in C order whatever rows are in
    half = None if centre is None else np.asarray(centre, dtype=np.float64) / 2
    for start in range(0, count, _ROWS):
        block = slice(start, start + _ROWS)
        if half is None:
            mapped[block, :width] = fitted(rows[block], bound)
        else:
            mapped[block, :width] = 2 * fitted(rows[block] / 2 - half, bound / 2)
    if intercept:
        mapped[:, width] = intercept * bound  # the intercept is a weight like any other
    return mapped
