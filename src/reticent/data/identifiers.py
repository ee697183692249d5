"""Columns that look like an identifier: by their names, and in a public table by their cells."""

import re
from collections.abc import Iterable
from typing import Final

_NAME: Final = re.compile(
    r"unnamed(: ?\d+)?|index|idx|row|(row|record|line|case)[ _-]?(id|nr|no|num|number)"
    r"|id|uuid|guid|pk|ssn|(.*[ _.-])(id|uuid|guid|key)",
    re.IGNORECASE,
)
_CAMEL: Final = re.compile(r".*[a-z0-9](Id|ID|Uuid|UUID)")


def looks_like_identifier(name: str) -> bool:
    """Whether a column is called as identifiers and row numbers are; no cell is looked at.

    >>> [looks_like_identifier(name) for name in ("Unnamed: 0", "patient_id", "customerId", "acid")]
    [True, True, True, False]
    """
    return bool(_NAME.fullmatch(name.strip()) or _CAMEL.fullmatch(name.strip()))


def identifiers_among(names: Iterable[str]) -> list[str]:
    """The names that look like identifiers."""
    return [name for name in names if looks_like_identifier(name)]
