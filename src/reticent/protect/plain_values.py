"""The numbers of a recipe as plain values: what a certificate may hold, and how it is read."""

from collections.abc import Callable
from typing import Any

from reticent.validation import InputError, count, describe, non_negative, positive


def checked(name: str, kind: str, value: object) -> Any:
    """The value of a field of this type; what is out of range is refused."""
    if kind not in _CHECKS:
        raise InputError(f"{name} must have a type that a certificate can hold, got {kind}")
    return _CHECKS[kind](name, value)


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


_CHECKS: dict[str, Callable[[str, object], object]] = {
    "int": _whole,
    "float": lambda name, value: _within(name, non_negative(name, value)),
    "float | None": lambda name, value: (
        None if value is None else _within(name, positive(name, value))
    ),
    "bool": _truth,
    "str": _text,
}
