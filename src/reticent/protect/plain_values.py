"""The numbers of a recipe as plain values: what a certificate may hold, and how it is read."""

import dataclasses
import math
import unicodedata
from collections.abc import Callable
from typing import Any, NewType

import numpy as np

from reticent.validation import InputError, count, describe, finite, non_negative, positive

SignedFloat = NewType("SignedFloat", float)
"""A number of a recipe that may be negative, such as the middle of a label's range."""


def checked(name: str, kind: str, value: object) -> Any:
    """The value of a field of this type; what is out of range is refused."""
    if kind not in _CHECKS:
        raise InputError(f"{name} must have a type that a certificate can hold, got {kind}")
    return _CHECKS[kind](name, value)


def fields(recipe: Any) -> tuple[dataclasses.Field[Any], ...]:
    """Of a recipe, or of its class: its numbers, in their order."""
    return dataclasses.fields(recipe)


def type_name(kind: Any) -> str:
    """A field's type as it is written: an annotation is a text or a type."""
    return kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))


def is_plain(recipe: Any) -> bool:
    """Whether each number of a recipe is of Python's own types: what it says is what it is."""
    values = [getattr(recipe, one.name) for one in fields(recipe)]
    parts = [part for value in values for part in (value if type(value) is tuple else (value,))]
    return all(type(part) in (int, float, str, bool, type(None)) for part in parts)


def plain(value: Any) -> Any:
    """A field's value as JSON has it."""
    return list(value) if isinstance(value, tuple) else value


def class_names(values: object) -> list[Any]:
    """Classes that stay what they are in a file, and differ for whoever reads them there.

    A file holds texts and numbers. As an array those of several types become one, a text loses the
    zeros at its end, and an integer beyond 64 bits is no number any more.
    """
    kinds = (str, int, float, bool)
    if not isinstance(values, list) or not all(type(one) in kinds for one in values):
        raise InputError(f"classes must be a list of texts or numbers, got {describe(values)}")
    read = np.asarray(values)
    if read.dtype == object or read.tolist() != values or _types(read.tolist()) != _types(values):
        raise InputError("classes must be all texts or all numbers of 64 bits, got others")
    if len(set(values)) < len(values) or len(set(map(_as_seen, values))) < len(values):
        raise InputError("classes must be distinct, got two that cannot be told apart")
    return values


def _types(values: list[Any]) -> list[type]:
    return [type(one) for one in values]


def _as_seen(value: object) -> str:
    """What people see of a class: two texts that differ in what has no width are one."""
    spelled = unicodedata.normalize("NFC", str(value))
    return " ".join("".join(one for one in spelled if one.isprintable()).split())


def _whole(name: str, value: object) -> int:
    number = count(name, value, at_least=0)
    if number > 2**53:
        raise InputError(f"{name} must be <= 2**53, got a larger number")
    return number


def _within(name: str, value: float) -> float:
    """Products of such numbers stay within the range of floats."""
    if value and not 1e-75 <= value <= 1e75:
        raise InputError(f"{name} must be 0 or within 1e-75 and 1e75, got {value}")
    return value


def _truth(name: str, value: object) -> bool:
    if type(value) is not bool:
        raise InputError(f"{name} must be true or false, got {describe(value)}")
    return value


def _text(name: str, value: object) -> str:
    if type(value) is not str:
        raise InputError(f"{name} must be a text, got {describe(value)}")
    return value


def _signed(name: str, value: object) -> float:
    """A number of either sign, within the same range as others."""
    number = finite(name, value)
    return math.copysign(_within(name, abs(number)), number)


_CHECKS: dict[str, Callable[[str, object], object]] = {
    "int": _whole,
    "float": lambda name, value: _within(name, non_negative(name, value)),
    "float | None": lambda name, value: (
        None if value is None else _within(name, positive(name, value))
    ),
    "SignedFloat": _signed,
    "bool": _truth,
    "str": _text,
}
