"""Cells that stay what they are, whatever stands beside them: each record is read by itself.

numpy finds one type for all cells of a list: 1 beside "a" is "1", and 2**53 + 1 beside 0.5 is the
float 2**53, which may be another class or another person. So neighbouring data sets would differ in
more than one record, and no sensitivity would hold (docs/theory.md, from the file to the theorem).
"""

from typing import Any, Final

import numpy as np

from reticent.validation import has_type

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
