"""Cells that stay what they are, whatever stands beside them: each record is read by itself.

numpy finds one type for all cells of a list: 1 beside "a" is "1", and 2**53 + 1 beside 0.5 is the
float 2**53, which may be another class or another person. So neighbouring data sets would differ in
more than one record, and no sensitivity would hold (docs/theory.md, from the file to the theorem).
"""

import unicodedata
from typing import Any, Final

import numpy as np

from reticent.arrays import Array
from reticent.read_limit import refuse_above_limit
from reticent.validation import has_type

_FORMULA: Final = "=+-@|%"
"""What a formula or a command begins with in one spreadsheet or another."""

SCHEMA_STATED: Final = (
    "the file's columns and the types it stores them in are public:"
    " the same with or without any one record"
)
"""Assumed of every file and array with types of its own (.npz, .parquet, numpy, pandas)."""


def plain_cells(value: Any) -> Any:
    """What has a type, as it is; anything else as an array of objects, none of them changed.

    A list within a list or a tuple is one cell.

    >>> plain_cells([1, "a", 0.5, [2]]).tolist()
    [1, 'a', 0.5, [2]]
    """
    if isinstance(value, (list, tuple)):
        return np.fromiter(value, dtype=object, count=len(value))
    return value if has_type(value) else np.asarray(value, dtype=object)


def is_whole(cell: object) -> bool:
    """Whether a cell is a whole number; a truth value is none."""
    return isinstance(cell, (int, np.integer)) and not isinstance(cell, bool)


def no_formula(cell: object) -> object:
    r"""A cell to be written: a text that no spreadsheet takes for a formula; numbers as they are.

    Some leave out spaces and line ends before they look, and some take wide signs for the usual.

    >>> no_formula("=1+1"), no_formula(-1.0), no_formula(" \n@a")
    ("'=1+1", -1.0, "' \n@a")
    """
    if not isinstance(cell, str) or not unicodedata.normalize("NFKC", cell).lstrip():
        return cell
    begins = unicodedata.normalize("NFKC", cell).lstrip()[0] in _FORMULA or cell[0] in "\t\r\n"
    return f"'{cell}" if begins else cell


def text_array(file: str, values: list[str]) -> Array:
    """Texts as an array, in which each takes as much room as the longest: that is asked for first.

    Sorting them takes as much again, twice.
    """
    refuse_above_limit(file, 3 * 4 * len(values) * max(map(len, values), default=0))
    return np.array(values, dtype=np.str_)
