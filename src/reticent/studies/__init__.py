"""Papers: a frozen specification in, rows with the published value beside ours out.

A study holds no algorithm; everything it calls lives below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reticent.pipeline import Table
from reticent.studies import alm, dpcl, slides
from reticent.validation import InputError

STUDIES: Mapping[str, Mapping[str, Callable[[], Table]]] = {
    "alm": alm.ITEMS,
    "dpcl": dpcl.ITEMS,
    "slides": slides.ITEMS,
}

__all__ = ["STUDIES", "Table", "study"]


def study(paper: str, item: str) -> Table:
    """One item of one paper."""
    if paper not in STUDIES:
        raise InputError(f"paper must be one of {', '.join(STUDIES)}, got {paper!r}")
    if item not in STUDIES[paper]:
        raise InputError(
            f"item of {paper} must be one of {', '.join(STUDIES[paper])}, got {item!r}"
        )
    return STUDIES[paper][item]()
