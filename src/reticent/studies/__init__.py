"""Papers: a frozen specification in, rows with the published value beside ours out.

A study holds no algorithm; everything it calls lives below. Exact items take seconds and no data;
trained ones fit models, some on data from a folder.
"""

from collections.abc import Callable, Mapping

from reticent.registry import Registry
from reticent.results.table import Table
from reticent.studies import alm, beyond, dpcl, lu, refutations, slides
from reticent.studies.trained import Cells, Outcome, Run, Steps, Trained, record
from reticent.validation import InputError

Exact = Callable[[], Table]
Study = Exact | Trained
_PAPERS: Mapping[str, Mapping[str, Study]] = {
    "alm": {**alm.ITEMS, **alm.TRAINED},
    "dpcl": dpcl.ITEMS,
    "lu": {**lu.ITEMS, **lu.TRAINED},
    "slides": {**slides.ITEMS, **slides.TRAINED},
    "refutations": refutations.ITEMS,
    "beyond": beyond.TRAINED,
}
STUDIES: Registry[Study] = Registry(
    "study",
    {f"{paper} {item}": study for paper, items in _PAPERS.items() for item, study in items.items()},
    entry_group="reticent.studies",
)
"""By the words after ``reticent reproduce``, paper and item; plug-ins too."""

__all__ = [
    "STUDIES",
    "Cells",
    "Outcome",
    "Run",
    "Steps",
    "Study",
    "Table",
    "Trained",
    "exact_items",
    "items",
    "papers",
    "record",
    "study",
    "trained",
]


def papers() -> list[str]:
    """All papers, and what none of them has."""
    return list(dict.fromkeys(name.partition(" ")[0] for name in STUDIES))


def items(paper: str) -> list[str]:
    """The items of a paper, the exact ones first."""
    if paper not in papers():
        raise InputError(f"paper must be one of {', '.join(papers())}, got {paper!r}")
    own = [name.partition(" ")[2] for name in STUDIES if name.startswith(f"{paper} ")]
    return sorted(own, key=lambda item: isinstance(STUDIES[f"{paper} {item}"], Trained))


def exact_items(paper: str) -> list[str]:
    """Those that need no training."""
    return [item for item in items(paper) if trained(paper, item) is None]


def study(paper: str, item: str) -> Table:
    """One exact item of one paper."""
    found = _named(paper, item)
    if isinstance(found, Trained):
        raise InputError(f"item {item} of {paper} must be run with trained, got study")
    return found()


def trained(paper: str, item: str) -> Trained | None:
    """An item that trains, to be run; None for an exact one."""
    found = _named(paper, item)
    return found if isinstance(found, Trained) else None


def _named(paper: str, item: str) -> Study:
    names = items(paper)
    if item not in names:
        raise InputError(f"item of {paper} must be one of {', '.join(names)}, got {item!r}")
    return STUDIES[f"{paper} {item}"]
