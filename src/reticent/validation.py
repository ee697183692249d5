"""Checks of input that answer in one line: name, rule, value.

Every comparison is written so that NaN fails it: ``not value > 0`` rather than ``value <= 0``.
"""

import math
import numbers

import numpy as np

from reticent.arrays import Array, ArrayLike, Floats, Integers


class InputError(ValueError):
    """Something the caller gave breaks a rule; the message is one line that says which."""


class NotCoveredError(InputError):
    """A question for which there is no theorem here (an event an accountant has no rule for)."""


def real(name: str, value: object) -> float:
    """The value as a float; complex numbers, booleans, text and arrays are refused."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise InputError(f"{name} must be a real number, got {describe(value)}")
    try:
        return float(value)
    except OverflowError:
        raise InputError(f"{name} must fit a float, got an integer beyond 1.8e308") from None


def finite(name: str, value: object) -> float:
    """A real number that is neither NaN nor infinite."""
    number = real(name, value)
    if not math.isfinite(number):
        raise InputError(f"{name} must be finite, got {number}")
    return number


def positive(name: str, value: object) -> float:
    """A finite number above zero."""
    number = real(name, value)
    if not 0 < number < math.inf:
        raise InputError(f"{name} must be > 0 and finite, got {number}")
    return number


def non_negative(name: str, value: object) -> float:
    """A finite number, zero allowed."""
    number = real(name, value)
    if not 0 <= number < math.inf:
        raise InputError(f"{name} must be >= 0 and finite, got {number}")
    return number


def probability(name: str, value: object) -> float:
    """A number in [0, 1)."""
    number = real(name, value)
    if not 0 <= number < 1:
        raise InputError(f"{name} must be in [0, 1), got {number}")
    return number


def open_probability(name: str, value: object) -> float:
    """A number strictly between 0 and 1."""
    number = real(name, value)
    if not 0 < number < 1:
        raise InputError(f"{name} must be in (0, 1), got {number}")
    return number


def sampling_rate(name: str, value: object) -> float:
    """A number in (0, 1]."""
    number = real(name, value)
    if not 0 < number <= 1:
        raise InputError(f"{name} must be in (0, 1], got {number}")
    return number


def renyi_order(name: str, value: object) -> float:
    """A Rényi order: above 1, infinity allowed."""
    number = real(name, value)
    if not number > 1:
        raise InputError(f"{name} must be > 1, got {number}")
    return number


def count(name: str, value: object, *, at_least: int = 1) -> int:
    """A whole number from ``at_least`` on."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise InputError(f"{name} must be a whole number, got {describe(value)}")
    number = int(value)
    if number < at_least:
        raise InputError(f"{name} must be >= {at_least}, got {number}")
    return number


def text(name: str, value: object) -> str:
    """A text that is not empty, or a line that says why not."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{name} must be a non-empty text, got {describe(value)}")
    return value


def line(name: str, value: object) -> str:
    """A non-empty string without line breaks: it will stand in a printed line."""
    if len(text(name, value).splitlines()) > 1:
        raise InputError(f"{name} must be a text of one line, got {describe(value)}")
    return str(value)


def texts(name: str, value: object) -> tuple[str, ...]:
    """A tuple of non-empty strings, from any list or tuple of them."""
    if isinstance(value, str) or not isinstance(value, (list, tuple)):
        raise InputError(f"{name} must be a list of texts, got {describe(value)}")
    return tuple(text(name, item) for item in value)


def lines(name: str, value: object) -> tuple[str, ...]:
    """A tuple of non-empty strings without line breaks."""
    return tuple(line(name, item) for item in texts(name, value))


def float_array(name: str, value: ArrayLike, *, copy: bool = True) -> Floats:
    """A non-empty float64 array of finite numbers, of any shape; nothing is lost on the way.

    No entry is named in the message: entries are private. Without ``copy`` it may be the very
    array that was given: for whoever only reads it.
    """
    array = _array(name, value, kinds="iuf", of="real numbers")
    result: Floats = array.astype(np.float64, copy=copy)
    if not np.isfinite(result).all():
        raise InputError(f"{name} must be finite, got {_not_finite(result)}")
    if array.dtype.kind in "iu" and _beyond_exact(array):
        raise InputError(f"{name} must hold integers of at most 2**53, got larger ones")
    return result


def float_rows(name: str, value: ArrayLike) -> Floats:
    """Rows of finite numbers, of one width; there may be none of them.

    Each cell becomes the float64 nearest to it, whatever the others are: whether a record is valid,
    and what it becomes, is a function of that record (theory F14). So larger integers are rounded
    here, and not refused as ``float_array`` does, which knows them by the type of all cells.
    """
    if isinstance(value, np.ndarray) and value.ndim == 2 and len(value) == 0 and value.shape[1]:
        return value.astype(np.float64)
    cells = value if has_type(value) else _number_cells(name, value)
    array = _array(name, cells, kinds="iuf", of="real numbers").astype(np.float64)
    if array.ndim != 2:
        raise InputError(f"{name} must have rows and columns, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{name} must be finite, got {_not_finite(array)}")
    return array


def integer_array(name: str, value: ArrayLike) -> Integers:
    """A non-empty int64 array from integers of any width; floats are refused."""
    array = _array(name, value, kinds="iu", of="integers")
    if _beyond_exact(array):
        raise InputError(f"{name} must hold integers of at most 2**53, got larger ones")
    return array.astype(np.int64)


def describe(value: object) -> str:
    """A short name of a refused value: its type, and itself where that is harmless and short."""
    shown = repr(value)
    kind = type(value).__name__
    return f"{kind} {shown}" if len(shown) <= 40 and "\n" not in shown else kind


def printable(text: str) -> str:
    r"""The text on one line, as it may be shown wherever it came from.

    A control or escape character, a mark that turns the direction of writing, one that has no width
    and half of a surrogate pair become U+FFFD: nothing that stands in a file moves the cursor,
    hides a line or writes a second one. Every kind of space becomes a space.

    >>> printable("a\x1b[2J\u202eb\nc")
    'a�[2J�b c'
    """
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else " " if sign.isspace() else "\ufffd" for sign in text
    )


def _array(name: str, value: ArrayLike, *, kinds: str, of: str) -> Array:
    try:
        array = np.asarray(value)
    except ValueError:
        raise InputError(f"{name} must be rectangular, got rows of unequal length") from None
    if array.size == 0:
        raise InputError(f"{name} must not be empty, got shape {array.shape}")
    if array.dtype.kind not in kinds:
        raise InputError(f"{name} must hold {of}, got an array of {array.dtype}")
    return array


def has_type(value: object) -> bool:
    """Whether all cells were of one numpy type before they came here."""
    kind = getattr(value, "dtype", None)
    return isinstance(kind, np.dtype) and kind != np.dtype(object)


def _number_cells(name: str, value: ArrayLike) -> Floats:
    """The cells of nested lists as floats, one by one; a text is no number, whatever it says."""
    try:
        cells = np.array(value, dtype=object)
        if any(isinstance(cell, (str, bytes)) for cell in cells.flat):
            raise InputError(f"{name} must hold real numbers, got a text")
        return cells.astype(np.float64)
    except InputError:
        raise
    except (ValueError, TypeError, OverflowError):
        kind = "rows of unequal length or cells that are no numbers"
        raise InputError(f"{name} must be rectangular and of numbers, got {kind}") from None


def _beyond_exact(array: Array) -> bool:
    return int(array.max()) > 2**53 or int(array.min()) < -(2**53)


def _not_finite(array: Floats) -> str:
    kinds = {"NaN": np.isnan(array).any(), "infinity": np.isinf(array).any()}
    return " and ".join(kind for kind, is_there in kinds.items() if is_there)
