"""When a finding of Lu et al. counts as borne out; fixed before the long runs."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from scipy import stats

from reticent.audit.repeats import over_repeats
from reticent.protect.published.single_neuron import Noise, Scores
from reticent.results.table import Table
from reticent.studies.losses import bare

Cell = dict[str, Any]
Cells = Mapping[str, Mapping[str, list[Cell]]]
Row = tuple[str, str, str, str]

VARIANTS: Final[Mapping[str, tuple[Noise, Scores]]] = {
    "laplace": ("laplace", "algorithm"),
    "gaussian": ("gaussian", "algorithm"),
    "laplace, exp(Δp)": ("laplace", "proof"),
}
FIGURES: Final = ("training", "test", "gap", "leakage")
CLOSE: Final = 0.05
"""Differences of rates below it are called none."""
SURE: Final = 0.999
"""Of Student's intervals where one of many decides."""


def values(cells: Sequence[Cell], figure: str) -> list[Any]:
    """A figure of each seed."""
    if figure == "gap":
        return [cell["training"] - cell["test"] for cell in cells]
    return [cell[figure] for cell in cells]


def series(cells: Sequence[Cell], variant: str, place: int, what: int) -> list[float]:
    """Of each seed, loss (0) or leakage (1) at one ε."""
    return [cell[variant][place][what] for cell in cells]


def verdicts(cells: Cells, epsilons: Sequence[float]) -> Table:
    """Findings 1, 2, 4 and 5, one row for each data set where it is about one."""
    rows = [*finding_1(cells)]
    for on, found in cells.items():
        rows += finding_2(on, found["convexified"], epsilons)
    rows += [finding_4(on, found["convexified"], epsilons) for on, found in cells.items()]
    rows.append(finding_5(cells))
    return Table(
        title="Lu et al., findings 1, 2, 4 and 5",
        columns=("finding", "on", "verdict", "figures"),
        rows=tuple(rows),
        notes=(
            f"Grade published. Rules: “about” and “similar” within {CLOSE:g}; a curve falls unless "
            "a step up has a Student interval above 0, at 99.9 % because there are many; “always "
            "less”: somewhere less and nowhere more, at 99.9 %; “from its "
            "maximum to 0” within [a, b]: at a at least nine tenths of the maximum, at b at most "
            f"{CLOSE:g}.",
            "The ranges of ε are the paper's, for 10,000 records (Location 1,200): Δz grows as "
            "1/n, and the range with it. Finding 3 compares with DP-SGD, which is not run here.",
        ),
    )


def finding_1(cells: Cells) -> list[Row]:
    """Gap and leakage go together; without a gap there is next to no leakage."""
    rows: list[Row] = []
    for on, found in cells.items():
        own = found["convexified"]
        gap, leakage = (over_repeats(values(own, figure)) for figure in ("gap", "leakage"))
        if abs(gap.value) <= CLOSE:
            holds = leakage.high <= CLOSE
            said = f"gap {gap}, leakage {leakage}"
            rows.append(
                ("1: a model that does not overfit leaks almost nothing", on, *_said(holds, said))
            )
    if len(cells) < 2:
        return rows
    points = [cell for found in cells.values() for own in found.values() for cell in own]
    found = stats.spearmanr(values(points, "gap"), values(points, "leakage"))
    said = f"Spearman {found.statistic:.3f} over {len(points)} networks of both losses"
    holds = found.statistic > 0 and found.pvalue < 1e-3
    return [("1: leakage grows with the gap", ", ".join(cells), *_said(holds, said)), *rows]


def finding_2(on: str, cells: list[Cell], epsilons: Sequence[float]) -> list[Row]:
    """A falling curve, from about .5 at most, to 0 over a stated range of ε."""
    rows: list[Row] = []
    for noise in ("laplace", "gaussian"):
        means = [float(np.mean(series(cells, noise, place, 0))) for place in range(len(epsilons))]
        rises = _rises(cells, noise, epsilons)
        rows.append(
            (
                f"2: the loss falls in ε, {noise}",
                on,
                *_said(not rises, f"rises at ε = {', '.join(rises)}" if rises else "at every step"),
            )
        )
        most = over_repeats(series(cells, noise, int(np.argmax(means)), 0))
        rows.append(
            (
                f"2: the loss is about .5 at most, {noise}",
                on,
                *_said(abs(most.value - 0.5) <= CLOSE, f"largest {most}"),
            )
        )
        first, last = _range(on, noise)
        start, end = means[list(epsilons).index(first)], means[list(epsilons).index(last)]
        rows.append(
            (
                f"2: from its maximum to 0 within [{first:g}, {last:g}], {noise}",
                on,
                *_said(
                    start >= 0.9 * max(means) and end <= CLOSE,
                    f"{bare(start, 3)} at {first:g}, {bare(end, 3)} at {last:g}",
                ),
            )
        )
    return rows


def finding_4(on: str, cells: list[Cell], epsilons: Sequence[float]) -> Row:
    """Two classes: both noises cost alike; more: Gaussian noise always costs less."""
    apart = [
        over_repeats(
            np.subtract(series(cells, "laplace", place, 0), series(cells, "gaussian", place, 0)),
            confidence=SURE,
        )
        for place in range(len(epsilons))
    ]
    largest = int(np.argmax([abs(found.value) for found in apart]))
    said = f"laplace − gaussian at most {apart[largest].value:.3f}, at ε = {epsilons[largest]:g}"
    if cells[0]["classes"] == 2:
        holds = abs(apart[largest].value) <= CLOSE
        return ("4: two classes, laplace and gaussian lose alike", on, *_said(holds, said))
    less = [f"{e:g}" for e, found in zip(epsilons, apart, strict=True) if found.low > 0]
    more = [f"{e:g}" for e, found in zip(epsilons, apart, strict=True) if found.high < 0]
    said += f"; gaussian loses less at ε = {', '.join(less) or 'none'}, more at ε = "
    said += f"{', '.join(more) or 'none'}, beyond chance"
    holds = bool(less) and not more
    return ("4: several classes, gaussian always loses less", on, *_said(holds, said))


def finding_5(cells: Cells) -> Row:
    """Δz/(2/(λn)) is (C−1)/C·√(m/(m+C)) by the formulas: C and n, whatever ρ is."""
    factors = []
    for on, found in cells.items():
        first = found["convexified"][0]
        classes, features = first["classes"], first["features"]
        factors.append(f"{on} {bare(float(np.sqrt(features / (features + classes))), 3)}")
    said = (
        "the formulas say so: Δz = 2(C−1)/(Cλn)·√(m/(m+C)), as ρ and √|W| both grow with √m; the "
        f"root is {', '.join(factors)}. Measured changes are in the table above"
    )
    return ("5: Δz depends on C and n rather than on ρ", ", ".join(cells), "holds", said)


def _range(on: str, noise: str) -> tuple[float, float]:
    """Of ε, as finding 2 states it; Location is its exception."""
    return (0.1, 10.0) if noise == "gaussian" and on != "location" else (1.0, 100.0)


def _rises(cells: list[Cell], noise: str, epsilons: Sequence[float]) -> list[str]:
    """Where the loss grows from one ε to the next, beyond chance."""
    found = []
    for place in range(1, len(epsilons)):
        steps = np.subtract(series(cells, noise, place, 0), series(cells, noise, place - 1, 0))
        if over_repeats(steps, confidence=SURE).low > 0:
            found.append(f"{epsilons[place]:g}")
    return found


def _said(holds: bool, figures: str) -> tuple[str, str]:
    return "holds" if holds else "does not hold", figures
