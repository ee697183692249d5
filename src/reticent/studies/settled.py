"""Which constants were settled after figures on which data were seen: one table for all studies.

A release by such a recipe is proven all the same, for its user looked at nothing. A row of a study
on these very data is not: of that choice its ε says nothing. So its grade is *declared*, here and
in every other study that has the row.
"""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Final

from reticent.guarantee import Grade

EVERY: Final = "all learners"
"""Where the features themselves were chosen on these data."""
_TRUST: Final = "how a class mean is trusted by its noise"
_TRAINED: Final = "a constant was found or compared on training records of these data"
_QUERIES: Final = "the damping was settled after figures on these queries were seen"
_LOOKED: Final = "figures on training records of these data were seen while its rules were settled"
_MEANS: Final = dict.fromkeys(("class-means", "lda"), _TRUST)
_PURE: Final = dict.fromkeys(("pure-class-means", "matrix-lda"), _LOOKED)

SETTLED: Final[Mapping[str, Mapping[str, str]]] = {
    "digits": _MEANS | _PURE,
    "hospital100": _MEANS | _PURE,
    "location": _MEANS,
    "trec": _MEANS,
    "adult": _MEANS
    | _PURE
    | {
        "functional": _QUERIES,
        "objective": "the share of ε for the curvature was settled after figures on these queries",
        "pate": "the records of a teacher were settled after figures on these queries",
    },
    "adult-log": {
        EVERY: "capital gain and loss are ln(1 + dollars)/12, chosen on training records of Adult"
    },
    "mnist": _PURE | {"functional": _TRAINED},
    "cifar10": {
        **dict.fromkeys(("functional", *_PURE), _TRAINED),
        **dict.fromkeys(("prototypes", "closed-form", "scattering"), _TRAINED),
    },
    "scattering": {EVERY: "roots of features were chosen on images of MNIST and CIFAR-10"},
}
"""By data set and learner, with what was settled."""


def reasons(on: str, learners: Iterable[str]) -> dict[str, str]:
    """Of those learners whose constants were settled on these data, what was."""
    known = SETTLED.get(on, {})
    found = {name: known.get(name, known.get(EVERY, "")) for name in dict.fromkeys(learners)}
    return {name: why for name, why in found.items() if why}


def is_settled(on: str, *learners: str) -> bool:
    """Whether a constant of one of them was settled on these data."""
    return bool(reasons(on, learners))


def grade_of(claimed: str, on: str, *learners: str) -> str:
    """The grade of a row of a study on these data, whose release has the claimed one."""
    settled = claimed == Grade.PROVEN and is_settled(on, *learners)
    return str(Grade.DECLARED) if settled else claimed


def note(on: str, learners: Iterable[str]) -> tuple[str, ...]:
    """Which rows of a table are declared for it, and why; nothing where none is."""
    found = sorted(reasons(on, learners).items(), key=lambda item: (item[1], item[0]))
    parts = [
        f"{', '.join(name for name, _ in same)} ({why})"
        for why, same in groupby(found, key=lambda item: item[1])
    ]
    if not parts:
        return ()
    return (
        f"Settled on these data, so declared here: {'; '.join(parts)}. The releases are proven.",
    )
