"""Papers: a frozen specification in, rows with the published value beside ours out.

A study holds no algorithm; everything it calls lives below. Exact items take seconds and no data;
trained ones fit models, some on data from a folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reticent.pipeline import Table
from reticent.studies import alm, beyond, dpcl, lu, refutations, slides
from reticent.studies.trained import Cells, Outcome, Run, Steps, Trained, record
from reticent.validation import InputError

STUDIES: Mapping[str, Mapping[str, Callable[[], Table]]] = {
    "alm": alm.ITEMS,
    "dpcl": dpcl.ITEMS,
    "lu": lu.ITEMS,
    "slides": slides.ITEMS,
    "refutations": refutations.ITEMS,
    "beyond": {},
}
TRAINED: Mapping[str, Mapping[str, Trained]] = {
    "alm": alm.TRAINED,
    "lu": lu.TRAINED,
    "slides": slides.TRAINED,
    "beyond": beyond.TRAINED,
}

__all__ = [
    "STUDIES",
    "TRAINED",
    "Cells",
    "Outcome",
    "Run",
    "Steps",
    "Table",
    "Trained",
    "items",
    "record",
    "study",
    "trained",
]


def items(paper: str) -> list[str]:
    """The items of a paper, the exact ones first."""
    if paper not in STUDIES:
        raise InputError(f"paper must be one of {', '.join(STUDIES)}, got {paper!r}")
    return [*STUDIES[paper], *TRAINED.get(paper, {})]


def study(paper: str, item: str) -> Table:
    """One exact item of one paper."""
    _check(paper, item)
    if item not in STUDIES[paper]:
        raise InputError(f"item {item} of {paper} must be run with trained, got study")
    return STUDIES[paper][item]()


def trained(paper: str, item: str) -> Trained | None:
    """An item that trains, to be run; None for an exact one."""
    _check(paper, item)
    return TRAINED.get(paper, {}).get(item)


def _check(paper: str, item: str) -> None:
    names = items(paper)
    if item not in names:
        raise InputError(f"item of {paper} must be one of {', '.join(names)}, got {item!r}")
