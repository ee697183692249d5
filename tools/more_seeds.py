"""Add seeds to a committed ``dpcl`` study, whose first seeds need no hours once more.

``python -m tools.more_seeds --on mnist --data DIR 2``: the two seeds that follow are run by the
study itself, and joined with what the file says of the others. A mean with Student's interval and
the number of its seeds tell the sum and the sum of squares behind them, to the last digit that was
printed, and these add up. The limits of a difference, which decide a verdict, are widened by one
unit of that digit. A stop leaves FILE.part to go on from; ``SPECS`` gets the new number by hand.
"""

import argparse
import datetime
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from scipy import stats

from reticent.audit import Measured
from reticent.files import write_atomic
from reticent.results.table import Cell, Limits, Table, limits_of
from reticent.studies import dpcl_figures
from reticent.studies.dpcl_orderings import with_orderings
from reticent.studies.trained import Cells, Run

RESULTS: Final = Path(__file__).resolve().parent.parent / "results"
CONFIDENCE: Final = 0.95
UNIT: Final = 0.001
"""Of the last digit of a difference."""


def main(arguments: list[str] | None = None) -> None:
    """Run so many more seeds and rewrite the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("more", type=int, help="how many seeds are added")
    parser.add_argument("--on", required=True, help="the data, as dpcl figures names them")
    parser.add_argument("--data", type=Path, help="the data folder")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--jobs", type=int, default=1)
    said = parser.parse_args(arguments)
    path = said.results / f"dpcl-{said.on}.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    first = dpcl_figures.SPECS[said.on]
    if document["specifications"] != json.loads(json.dumps([asdict(first)])):
        raise SystemExit(f"{path.name} must be of the specification in the code, got another")
    if min(said.more, first.seeds) < 2:
        raise SystemExit(f"both parts must be 2 seeds at least, got {first.seeds} and {said.more}")
    added = replace(first, first_seed=first.first_seed + first.seeds, seeds=said.more)
    cells = Cells(path.with_name(f"{path.name}.part"))
    run = Run(folder=said.data, jobs=said.jobs, cells=cells)
    new = dpcl_figures.study(added, run).tables
    whole = replace(first, seeds=first.seeds + said.more)
    document["tables"] = joined(document, new, (first, whole))
    document["specifications"] = [asdict(whole)]
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
    write_atomic(path, text.encode())
    cells.drop()


def joined(
    document: dict[str, Any],
    new: Sequence[Table],
    specs: tuple[dpcl_figures.Figures, dpcl_figures.Figures],
) -> list[dict[str, object]]:
    """Both tables of the file with the new seeds in them.

    Args:
        document: As it stands in the file.
        new: The tables of the study with the new seeds alone.
        specs: Of the file, and with all seeds.
    """
    first, whole = specs
    seeds = (first.seeds, whole.seeds - first.seeds)
    along, sentences = map(Table.from_dict, document["tables"])
    steps = replace(along, rows=_steps(along.rows, new[0].rows, seeds))
    repeated = f"Means over {first.seeds} seeds"
    notes = [
        *(one.replace(repeated, f"Means over {whole.seeds} seeds") for one in steps.notes),
        _note(document["date"], seeds),
    ]
    steps = replace(steps, notes=tuple(notes))
    judged = replace(sentences, rows=_judged(sentences.rows, new[1].rows, seeds))
    return [one.to_dict() for one in (steps, with_orderings(judged, steps, whole.queries))]


def _note(date: str, seeds: tuple[int, int]) -> str:
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return (
        f"The first {seeds[0]} seeds are of {date}, {seeds[1]} more of {today}: joined from means"
        " and intervals as they were printed, limits of differences widened by one unit of the last"
        " digit."
    )


Rows = tuple[tuple[str, ...], ...]


def _steps(old: Rows, new: Rows, seeds: tuple[int, int]) -> Rows:
    """Loss, way and step name a row; all other cells are figures."""
    added = {tuple(row[:3]): row for row in new}
    rows = []
    for row in old:
        other = added[tuple(row[:3])]
        cells = zip(row[3:], other[3:], strict=True)
        rows.append((*row[:3], *(_cell(one, two, seeds) for one, two in cells)))
    return tuple(rows)


def _cell(one: str, other: str, seeds: tuple[int, int]) -> Cell:
    """With as many digits as the first has."""
    places = len(one.partition(" ")[0].partition(".")[2])
    both = together(limits_of(one), limits_of(other), seeds)
    shown = f"{both.value:.{places}f} [{both.low:.{places}f}, {both.high:.{places}f}]"
    return Cell(shown, both)


def _judged(old: Rows, new: Rows, seeds: tuple[int, int]) -> Rows:
    """Sentences by figure, loss, words and metric, judged anew; orderings are left to theirs."""
    added = {tuple(row[:4]): row for row in new}
    known = {(one.figure, one.loss, one.said, one.metric): one for one in dpcl_figures.SENTENCES}
    rows = []
    for row in old:
        key, other = tuple(row[:4]), added[tuple(row[:4])]
        if row[0] == "Fig. 3":
            worst = max((row[4], other[4]), key=limits_of)
            steady = limits_of(worst).value <= dpcl_figures.STEADY
            rows.append((*key, worst, Cell.verdict(steady)))
        elif key in known:
            both = together(limits_of(row[4]), limits_of(other[4]), seeds)
            apart = Measured(
                value=both.value,
                low=both.low - UNIT,
                high=both.high + UNIT,
                confidence=CONFIDENCE,
            )
            holds = dpcl_figures.holds_by(known[key], apart)
            rows.append((*key, Cell.of(apart), Cell.verdict(holds)))
        else:
            rows.append(tuple(row))  # an ordering, which is computed anew from the first table
    return tuple(rows)


def together(one: Limits, other: Limits, seeds: tuple[int, int]) -> Limits:
    """The mean of both samples with Student's interval, from those of each.

    >>> from reticent.audit.metrics import over_repeats
    >>> parts = [over_repeats([0.1, 0.4, 0.2]), over_repeats([0.3, 0.5])]
    >>> both = together(*(Limits(part.value, part.low, part.high) for part in parts), (3, 2))
    >>> whole = over_repeats([0.1, 0.4, 0.2, 0.3, 0.5])
    >>> round(both.low - whole.low, 9), round(both.high - whole.high, 9)
    (0.0, 0.0)
    """
    number = sum(seeds)
    sums = [part.value * size for part, size in zip((one, other), seeds, strict=True)]
    squares = [
        _squares(part, size) + part.value**2 * size
        for part, size in zip((one, other), seeds, strict=True)
    ]
    mean = sum(sums) / number
    spread = max(sum(squares) - number * mean**2, 0.0) / (number - 1)
    width = _student(number) * math.sqrt(spread / number)
    return Limits(mean, mean - width, mean + width)


def _squares(part: Limits, size: int) -> float:
    """The sum of squared deviations behind an interval."""
    error = (part.high - part.low) / 2 / _student(size)
    return size * (size - 1) * error**2


def _student(size: int) -> float:
    return float(stats.t.ppf((1 + CONFIDENCE) / 2, size - 1))


if __name__ == "__main__":
    main()
