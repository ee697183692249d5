"""Two orderings of DPCL's ways that were asked for after the runs: from the table alone.

The sentences of ``dpcl_figures`` pair trainings by seed, which a table no longer shows. What it
shows bounds the paired difference: with n seeds the deviations of a, of b and of a − b satisfy
s(a − b) ≤ s(a) + s(b), whatever the seeds share, and Student's half-width is t·s/√n for all
three. So the paired interval lies within [low(a) − high(b), high(a) − low(b)], and a verdict that
these limits give is one that pairing would have given; "cannot be told" may be more than pairing
would have said. A rerun is judged by the same function of the table that it prints.

Of one training there are no limits over seeds. Both shares of the queries then get Clopper's and
Pearson's limits at half of the error each, which hold together by the union bound, whatever the
two ways have in common; they say how well these trainings were measured, not how others would end.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from reticent.audit import Measured
from reticent.audit.intervals import Share
from reticent.results.table import Cell, Limits, Table, limits_of

ORDERINGS: Final = (("none", "proven"), ("proven", "published"))
"""The first is said to end above the second."""
METRICS: Final = ("kNN", "probe")
CONFIDENCE: Final = 0.95
_HALF: Final = 0.0005
"""Half a unit of the last digit that is printed: committed values are rounded to it."""
NOTE: Final = (
    "None above proven, and proven above published, are computed from the last rows of the table"
    " above: limits that hold the paired interval whatever the two ways share, so that a verdict"
    " is one that pairing would have given (of one seed: exact limits of both shares of the"
    " queries, together 95 %)."
)


def sentence_of(ways: tuple[str, str]) -> str:
    """The sentence.

    >>> sentence_of(("none", "proven"))
    'none ends above proven'
    """
    first, second = ways
    return f"{first} ends above {second}"


def with_orderings(sentences: Table, along: Table, queries: int) -> Table:
    """The sentences with these two, for each loss and metric; those that are there are replaced.

    Args:
        sentences: Of ``dpcl_figures.verdicts``.
        along: The figures along the steps, with their values.
        queries: How many labelled queries an accuracy is a share of.
    """
    own = {sentence_of(ways) for ways in ORDERINGS}
    kept = tuple(row for row in sentences.rows if row[2] not in own)
    made = tuple(_judged(along, queries))
    notes = tuple(note for note in sentences.notes if note != NOTE)
    return replace(sentences, rows=kept + made, notes=notes + ((NOTE,) if made else ()))


def _judged(along: Table, queries: int) -> Iterator[tuple[str, ...]]:
    ends = _ends(along)
    for loss in dict.fromkeys(loss for loss, _ in ends):
        for ways in ORDERINGS:
            if not all((loss, way) in ends for way in ways):
                continue
            for metric in METRICS:
                place = along.columns.index(metric)
                first, second = (limits_of(ends[loss, way][place]) for way in ways)
                apart = _apart(first, second, queries)
                verdict = Cell.verdict(_holds(apart))
                yield "–", loss, sentence_of(ways), metric, Cell.of(apart), verdict


def _ends(along: Table) -> Mapping[tuple[str, str], Sequence[str]]:
    """Of each loss and way the row of its last step."""
    last: dict[tuple[str, str], Sequence[str]] = {}
    for row in along.rows:
        key = (row[0], row[1])
        if key not in last or limits_of(row[2]) >= limits_of(last[key][2]):
            last[key] = row
    return last


def _apart(first: Limits, second: Limits, queries: int) -> Measured:
    """The difference between limits that hold, the rounding of what is printed included."""
    one, other = (
        _of_one_training(end, queries) if end.low == end.high else end for end in (first, second)
    )
    return Measured(
        value=one.value - other.value,
        low=one.low - other.high - 2 * _HALF,
        high=one.high - other.low + 2 * _HALF,
        confidence=CONFIDENCE,
    )


def _of_one_training(end: Limits, queries: int) -> Limits:
    share = Share(hits=end.value * queries, of=queries)
    tail = (1 - CONFIDENCE) / 4  # two sides of two shares
    return Limits(end.value, share.low(tail), share.high(tail))


def _holds(apart: Measured) -> bool | None:
    if apart.low > 0:
        return True
    return False if apart.high < 0 else None
