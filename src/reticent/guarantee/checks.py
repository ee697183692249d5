"""Lines under *checked*: each names the function that checks it.

A line that nothing checks would be a promise of the code's author. So each ends with the function
in brackets, and a test breaks every one of these functions and sees that the line is found untrue.
"""

import importlib
import re
from typing import Any

from reticent.validation import InputError

_LINE = re.compile(r".* \[([a-z_0-9.]+(?:\.[A-Za-z_0-9]+)+)\]")


def checked_by(sentence: str, function: str) -> str:
    """A line: what is true, and the function of this package that makes sure of it.

    >>> checked_by("no row is longer than the bound", "training.features.clip_rows")
    'no row is longer than the bound [training.features.clip_rows]'
    """
    return f"{sentence} [{function}]"


def name_of_check(line: str) -> str:
    """The function that a line names."""
    named = _LINE.fullmatch(line)
    if named is None:
        raise InputError(f"a checked line must end with the function that checks it, got {line!r}")
    return named[1]


def check_of(line: str) -> Any:
    """The function itself; it must exist."""
    name = name_of_check(line)
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(("reticent", *parts[:length])))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise InputError(f"check must be a function of this package, got {name}")
