"""Lu et al., findings 2 and 3, as far as they are about DP-SGD: when each counts as borne out.

The rules were fixed before the first figure was seen.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from reticent.arrays import Floats
from reticent.results.table import Table
from reticent.studies.losses import bare
from reticent.studies.lu import findings
from reticent.studies.lu.findings import CLOSE, Cell, Row, range_of, rises_of, series, verdict_cells
from reticent.studies.lu.noisy_victims import ACCOUNTANTS

NOISES: Final = ("laplace", "gaussian")
MUCH: Final = 0.1
"""“Much smaller” is by so much."""
LEAKS: Final = 0.02
"""Leakage below it is “approximately 0” (finding 3), and differences below it are called none."""
LARGEST: Final = 1.0
"""Of the ε that finding 3 is judged at: the conclusion says ε ≤ 1."""
NOT_CLAIMED: Final = "not claimed"


def verdicts(on: str, cells: list[Cell], epsilons: Sequence[float]) -> Table:
    """What findings 2 and 3 say of DP-SGD and of Algorithm 1 beside it."""
    return Table(
        title=f"Lu et al., findings 2 and 3 against DP-SGD on {on}",
        columns=("finding", "on", "verdict", "figures"),
        rows=(
            *findings.of_finding(2, finding_2(on, cells, epsilons)),
            *findings.of_finding(3, finding_3(on, cells, epsilons)),
        ),
        notes=(
            f"Rules, for means over seeds. “No such curve”: the largest loss is not within "
            f"{CLOSE:g} of .5, and the loss does not go from its maximum (nine tenths of it) to 0 "
            f"(at most {CLOSE:g}) within either range of Algorithm 1. “Much smaller”: by {MUCH:g} "
            "than with every accountant.",
            f"Finding 3, at each ε ≤ {LARGEST:g}. “Least loss”: nowhere more than the best "
            f"accountant's by above {CLOSE:g}, and somewhere less by above {CLOSE:g}. “Closest "
            "leakage”: the distance to the smaller of e^ε − 1 and the victim's leakage is nowhere "
            f"above the nearest accountant's by more than {LEAKS:g}, and somewhere below by more. "
            "“Better trade-off” as the word is used elsewhere: least loss, and nowhere more "
            f"leakage than that accountant by above {LEAKS:g}. “Converges”: within {CLOSE:g} of "
            "the victim's leakage at every ε above 10 (gaussian) or 100 (laplace). Where the "
            f"victim leaks less than {LEAKS:g}, finding 3 claims nothing but the last.",
            "At one ε both are given the same number, not the same promise: Algorithm 1 answers "
            "one query with it (and not even that: Theorem 6 is false), DP-SGD all queries, at δ.",
        ),
    )


def no_stable_curve(accountant: str) -> str:
    """The sentence of finding 2 about one accountant."""
    return f"2: no such stable curve by DP-SGD, {accountant}"


def finding_2(on: str, cells: list[Cell], epsilons: Sequence[float]) -> list[Row]:
    """No such stable curve, and a larger maximum."""
    rows: list[Row] = []
    for name, shown in ACCOUNTANTS.items():
        losses = _means(cells, name, 0)
        same = [
            f"[{first:g}, {last:g}]"
            for first, last in dict.fromkeys(range_of(on, noise) for noise in NOISES)
            if _at(losses, epsilons, first) >= 0.9 * losses.max()
            and _at(losses, epsilons, last) <= CLOSE
        ]
        up = rises_of(cells, name, epsilons)
        figures = (
            f"largest {bare(losses.max(), 3)}; from it to 0 within {' and '.join(same) or 'none'}; "
            + (f"rises at ε = {', '.join(up)}" if up else "falls at every step")
        )
        holds = abs(losses.max() - 0.5) > CLOSE and not same
        rows.append((no_stable_curve(shown), on, *verdict_cells(holds, figures)))
    most = {shown: _means(cells, name, 0).max() for name, shown in ACCOUNTANTS.items()}
    least = min(most, key=lambda shown: most[shown])
    for noise in NOISES:
        own = _means(cells, noise, 0).max()
        figures = f"{bare(own, 3)} against {bare(most[least], 3)} or more ({least})"
        what = f"2: the largest loss is much smaller than DP-SGD's, {noise}"
        rows.append((what, on, *verdict_cells(own <= most[least] - MUCH, figures)))
    return rows


def finding_3(on: str, cells: list[Cell], epsilons: Sequence[float]) -> list[Row]:
    """A good trade-off where the victim leaks."""
    leaks = float(np.mean([cell["leakage"] for cell in cells]))
    rows: list[Row] = []
    for noise in NOISES:
        for what, (holds, figures) in _compared(cells, noise, epsilons).items():
            verdict = verdict_cells(holds, figures) if leaks >= LEAKS else (NOT_CLAIMED, figures)
            rows.append((f"3: {what} at ε ≤ {LARGEST:g}, {noise}", on, *verdict))
        after = 10.0 if noise == "gaussian" else 100.0
        away = [
            abs(leakage - leaks)
            for epsilon, leakage in zip(epsilons, _means(cells, noise, 1), strict=True)
            if epsilon > after
        ]
        figures = f"at most {bare(max(away), 3)} from {bare(leaks, 3)}"
        what = f"3: the leakage converges to the victim's above ε = {after:g}, {noise}"
        rows.append((what, on, *verdict_cells(max(away) <= CLOSE, figures)))
    return rows


def _compared(
    cells: list[Cell], noise: str, epsilons: Sequence[float]
) -> dict[str, tuple[bool, str]]:
    """The three sentences, each with what decides it."""
    low = np.array([epsilon <= LARGEST for epsilon in epsilons])
    names = list(ACCOUNTANTS)
    losses = np.array([_means(cells, name, 0)[low] for name in names])
    best = losses.argmin(axis=0)
    every = np.arange(losses.shape[1])
    own = _means(cells, noise, 0)[low]
    more = own - losses[best, every]
    least = bool(more.max() <= CLOSE and more.min() < -CLOSE)

    leaked = np.array([_means(cells, name, 1)[low] for name in names])
    excess = _means(cells, noise, 1)[low] - leaked[best, every]
    away = np.array([_distances(cells, name, epsilons)[low] for name in names])
    further = _distances(cells, noise, epsilons)[low] - away.min(axis=0)
    closest = bool(further.max() <= LEAKS and further.min() < -LEAKS)
    return {
        "least loss": (least, f"less DP-SGD's best: {_list(more)}"),
        "closest leakage to the bound": (closest, f"distance less the nearest's: {_list(further)}"),
        "a better trade-off than DP-SGD": (
            least and bool(excess.max() <= LEAKS),
            f"leakage less DP-SGD's with the least loss: {_list(excess)}",
        ),
    }


def _distances(cells: list[Cell], name: str, epsilons: Sequence[float]) -> Floats:
    """At each ε, the mean of |leakage − bound|; the bound is plotted up to the victim's leakage."""
    away = [
        [
            abs(figures[1] - min(float(np.expm1(min(epsilon, 1e2))), cell["leakage"]))
            for epsilon, figures in zip(epsilons, cell[name], strict=True)
        ]
        for cell in cells
    ]
    return np.asarray(np.mean(away, axis=0))


def _means(cells: list[Cell], name: str, what: int) -> Floats:
    """Over seeds, loss (0) or leakage (1) at each ε."""
    places = range(len(cells[0][name]))
    return np.array([np.mean(series(cells, name, place, what)) for place in places])


def _at(losses: Floats, epsilons: Sequence[float], epsilon: float) -> float:
    return float(losses[list(epsilons).index(epsilon)])


def _list(values: Floats) -> str:
    return ", ".join(f"{value:+.3f}" for value in values)
