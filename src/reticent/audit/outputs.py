"""Outputs of any function as arrays: which of them are equal, and their numbers."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from reticent.arrays import Array, Flags, Floats, Integers
from reticent.validation import InputError

_LARGEST: Final = 1e150
"""Numbers beyond it count as this one, so that squares stay finite."""


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Outputs of runs: which of them are equal, and their numbers where they are numbers."""

    codes: Integers
    """Equal for equal outputs."""
    values: Floats | None
    """A row for each run; NaN where an output is not a number."""

    def joined(self, others: Outputs) -> Outputs:
        """These outputs and then the others."""
        values = None
        if self.values is not None and others.values is not None:
            values = np.concatenate([self.values, others.values])
        return Outputs(codes=np.concatenate([self.codes, others.codes]), values=values)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: slice | Integers | Flags) -> Outputs:
        values = None if self.values is None else self.values[rows]
        return Outputs(codes=self.codes[rows], values=values)


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What the outputs were without noise, where inputs and outputs are numbers of one shape."""

    one: Floats
    other: Floats
    scale: float | None
    """Of textbook noise: ‖one − other‖₁/ε."""


def read_outputs(one: Sequence[Any], other: Sequence[Any]) -> tuple[Outputs, Outputs]:
    """Outputs on both inputs, equal ones by equal codes; infinity is an output as any other."""
    if all(output is None for side in (one, other) for output in side):
        raise InputError(
            "outputs must not all be None, got nothing else; the function must return what it"
            " computes"
        )
    first, second = _numbers(one), _numbers(other)
    if first is None or second is None:
        keys = [[_key(output) for output in side] for side in (one, other)]
        _refuse_nan(any(map(_has_nan, side)) for side in (one, other))
        return _coded(keys, _partly_numbers(one, other))
    if first.shape[1:] != second.shape[1:]:
        raise InputError(
            "outputs must have one shape on both inputs, got"
            f" {first.shape[1:]} and {second.shape[1:]}"
        )
    _refuse_nan(np.isnan(side).any() for side in (first, second))
    # One type for both: whether an output is 1 or 1.0 here depends on the outputs beside it.
    kind = np.result_type(first, second)
    tables = [
        np.ascontiguousarray(side.reshape(len(side), -1), dtype=kind) for side in (first, second)
    ]
    # Bit by bit: 0 and −0 are two outputs.
    return _coded([[hash(row.tobytes()) for row in side] for side in tables], tables)


def _coded(keys: list[list[Hashable]], tables: list[Array] | None) -> tuple[Outputs, Outputs]:
    codes: dict[Hashable, int] = {}
    coded = [np.array([codes.setdefault(key, len(codes)) for key in side]) for side in keys]
    values = [None, None] if tables is None else [_finite(table) for table in tables]
    return Outputs(codes=coded[0], values=values[0]), Outputs(codes=coded[1], values=values[1])


def _numbers(outputs: Sequence[Any]) -> Array | None:
    """The outputs as an array, if they are numbers or arrays of numbers of one shape."""
    if not isinstance(outputs, np.ndarray) and any(isinstance(part, str) for part in outputs):
        return None  # numpy would turn numbers beside them into text
    try:
        array = np.asarray(outputs)
    except ValueError:  # rows of unequal length
        return None
    return array if array.dtype.kind in "biuf" and array.size > 0 else None


def _partly_numbers(one: Sequence[Any], other: Sequence[Any]) -> list[Array] | None:
    """Numbers where an output is one (a function may also answer None), if any is."""
    rows = [
        np.array([[part if isinstance(part, numbers.Real) else np.nan] for part in side], float)
        for side in (one, other)
    ]
    return rows if any(np.isfinite(side).any() for side in rows) else None


def _refuse_nan(nan_flags: Iterable[object]) -> None:
    """A NaN is not equal to itself, so nobody can count how often it comes out."""
    if any(nan_flags):
        raise InputError(
            "outputs must not be NaN, got one; return None or a text where there is no number"
        )


def _has_nan(output: object) -> bool:
    if isinstance(output, (tuple, frozenset)):
        return any(map(_has_nan, output))
    return isinstance(output, numbers.Complex) and bool(output != output)  # noqa: PLR0124 - NaN


def _finite(table: Array) -> Floats:
    return np.clip(table.astype(np.float64), -_LARGEST, _LARGEST)


def _key(output: object) -> Hashable:
    if isinstance(output, np.ndarray):
        raise InputError(
            "outputs that are arrays must hold numbers and have one shape; return a tuple where"
            " they do not"
        )
    try:
        hash(output)
    except TypeError:
        raise InputError(
            "outputs must be numbers, arrays of one shape or hashable, got"
            f" {type(output).__name__}; return a tuple or a text of it"
        ) from None
    return (type(output).__name__, output)


def known_answers(one: object, other: object, outputs: Outputs, epsilon: float) -> Answers | None:
    """The inputs themselves, if they are numbers of the outputs' shape and differ."""
    if outputs.values is None:
        return None
    sides = []
    for side in (one, other):
        numbers = _numbers([side])
        if numbers is None or numbers.size != outputs.values.shape[1]:
            return None
        sides.append(_finite(numbers.reshape(-1)))
    distance = float(np.abs(sides[1] - sides[0]).sum())
    known = epsilon > 0 and 0 < distance < np.inf
    return Answers(one=sides[0], other=sides[1], scale=distance / epsilon if known else None)
