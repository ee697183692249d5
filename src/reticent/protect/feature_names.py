"""The names of a release's features: by them the columns of a query find their places."""

from collections.abc import Sequence
from typing import Any, Final

from reticent.arrays import Floats
from reticent.validation import InputError, lines, texts

_SHOWN: Final = 3


def feature_names(columns: Sequence[str]) -> tuple[str, ...]:
    """Names of columns; none where they only count an array's places, or are no names.

    A name that stands twice, or has a line break, is none.

    >>> feature_names(["age", "height"]), feature_names(["x[0]", "x[1]"])
    (('age', 'height'), ())
    """
    names = texts("columns", columns)
    array = names[0].rpartition("[")[0] if names else ""
    counted = tuple(f"{array}[{place}]" for place in range(len(names)))
    is_array = array != "" and names == counted
    odd = len(set(names)) < len(names) or any(len(name.splitlines()) > 1 for name in names)
    return () if is_array or odd else names


def in_order(rows: Floats, given: Sequence[str], expected: tuple[str, ...]) -> Floats:
    """Rows with their columns in the order of the release's, found by name.

    Where either side has no names, places are all that there is to go by. A column too many or too
    few is refused: to leave one out, or to guess it, would change the answer without a word.
    """
    names = feature_names(given)
    if not names or not expected or names == expected:
        return rows
    missing = [name for name in expected if name not in set(names)]
    others = len(set(names) - set(expected))  # not shown: without a header they would be cells
    if missing or others:
        lack = f" lack {_listed(missing)}" if missing else ""
        more = f" have {others} other column{'' if others == 1 else 's'}" if others else ""
        raise InputError(
            f"queries must have the {len(expected)} columns of the release by name, got rows that"
            f"{lack}{' and' if lack and more else ''}{more}"
        )
    place = {name: number for number, name in enumerate(names)}
    return rows[:, [place[name] for name in expected]]


def columns_of(frame: Any) -> tuple[str, ...]:
    """The names of a data frame's columns; none of what has no names, or others than texts.

    >>> columns_of([[1.0, 2.0]])
    ()
    """
    names = getattr(frame, "columns", None)
    if names is None or getattr(frame, "ndim", 2) != 2:
        return ()
    column_names = list(names)
    named = all(isinstance(name, str) and name.strip() for name in column_names)
    return tuple(column_names) if named and len(set(column_names)) == len(column_names) else ()


def checked_names(columns: object, features: int) -> tuple[str, ...]:
    """The columns of a certificate: texts that differ, one for each feature, or none."""
    if not isinstance(columns, (list, tuple)):
        raise InputError("columns must be a list of names, got another value")
    names = lines("columns", columns)
    if names and (len(names) != features or len(set(names)) < len(names)):
        raise InputError(f"columns must name each of {features} features once, got others")
    return names


def _listed(names: list[str]) -> str:
    more = "" if len(names) <= _SHOWN else f" and {len(names) - _SHOWN} more"
    return ", ".join(map(repr, names[:_SHOWN])) + more
