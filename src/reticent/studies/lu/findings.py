"""Lu et al., Table 5 and Figs. 3 to 13 (their Algorithm 1 half), and findings 1, 2, 4 and 5.

When a finding counts as borne out was fixed before the long runs.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from scipy import stats

from reticent.audit.metrics import over_repeats
from reticent.protect.published.single_neuron import Noise, Scores, SingleNeuron
from reticent.results import table
from reticent.studies.losses import bare
from reticent.studies.lu import findings_specs
from reticent.studies.lu.findings_specs import PUBLISHED, Findings
from reticent.studies.lu.tables import TABLE_5, Network
from reticent.studies.lu.victims import Attacked, Fitted, fitted, logit_change, network_of
from reticent.studies.membership import records_of
from reticent.studies.trained import Outcome, Run, Table

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
    rows = of_finding(1, finding_1(cells))
    for on, by_loss in cells.items():
        rows += of_finding(2, finding_2(on, by_loss["convexified"], epsilons))
    fourth = [finding_4(on, by_loss["convexified"], epsilons) for on, by_loss in cells.items()]
    rows += [*of_finding(4, fourth), *of_finding(5, [finding_5(cells)])]
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
            "1/n, and the range with it. Finding 3 compares with DP-SGD: reproduce lu dp-sgd.",
        ),
    )


def of_finding(number: int, rows: Iterable[Row]) -> list[Row]:
    """Rows with the number of their finding beside its words."""
    return [(table.Cell(row[0], number), *row[1:]) for row in rows]


def finding_1(cells: Cells) -> list[Row]:
    """Gap and leakage go together; without a gap there is next to no leakage."""
    rows: list[Row] = []
    for on, by_loss in cells.items():
        own = by_loss["convexified"]
        gap, leakage = (over_repeats(values(own, figure)) for figure in ("gap", "leakage"))
        if abs(gap.value) <= CLOSE:
            holds = leakage.high <= CLOSE
            figures = f"gap {gap}, leakage {leakage}"
            rows.append(
                (
                    "1: a model that does not overfit leaks almost nothing",
                    on,
                    *verdict_cells(holds, figures),
                )
            )
    if len(cells) < 2:
        return rows
    points = [cell for by_loss in cells.values() for own in by_loss.values() for cell in own]
    correlation = stats.spearmanr(values(points, "gap"), values(points, "leakage"))
    figures = f"Spearman {correlation.statistic:.3f} over {len(points)} networks of both losses"
    holds = correlation.statistic > 0 and correlation.pvalue < 1e-3
    return [
        ("1: leakage grows with the gap", ", ".join(cells), *verdict_cells(holds, figures)),
        *rows,
    ]


def finding_2(on: str, cells: list[Cell], epsilons: Sequence[float]) -> list[Row]:
    """A falling curve, from about .5 at most, to 0 over a stated range of ε."""
    rows: list[Row] = []
    for noise in ("laplace", "gaussian"):
        means = [float(np.mean(series(cells, noise, place, 0))) for place in range(len(epsilons))]
        rises = rises_of(cells, noise, epsilons)
        rows.append(
            (
                f"2: the loss falls in ε, {noise}",
                on,
                *verdict_cells(
                    not rises, f"rises at ε = {', '.join(rises)}" if rises else "at every step"
                ),
            )
        )
        most = over_repeats(series(cells, noise, int(np.argmax(means)), 0))
        rows.append(
            (
                f"2: the loss is about .5 at most, {noise}",
                on,
                *verdict_cells(abs(most.value - 0.5) <= CLOSE, f"largest {most}"),
            )
        )
        first, last = range_of(on, noise)
        start, end = means[list(epsilons).index(first)], means[list(epsilons).index(last)]
        rows.append(
            (
                f"2: from its maximum to 0 within [{first:g}, {last:g}], {noise}",
                on,
                *verdict_cells(
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
    largest = int(np.argmax([abs(difference.value) for difference in apart]))
    figures = f"laplace − gaussian at most {apart[largest].value:.3f}, at ε = {epsilons[largest]:g}"
    if cells[0]["classes"] == 2:
        holds = abs(apart[largest].value) <= CLOSE
        return (
            "4: two classes, laplace and gaussian lose alike",
            on,
            *verdict_cells(holds, figures),
        )
    less = [f"{e:g}" for e, difference in zip(epsilons, apart, strict=True) if difference.low > 0]
    more = [f"{e:g}" for e, difference in zip(epsilons, apart, strict=True) if difference.high < 0]
    figures += f"; gaussian loses less at ε = {', '.join(less) or 'none'}, more at ε = "
    figures += f"{', '.join(more) or 'none'}, beyond chance"
    holds = bool(less) and not more
    return ("4: several classes, gaussian always loses less", on, *verdict_cells(holds, figures))


def finding_5(cells: Cells) -> Row:
    """Δz/(2/(λn)) is (C−1)/C·√(m/(m+C)) by the formulas: C and n, whatever ρ is."""
    factors = []
    for on, by_loss in cells.items():
        first = by_loss["convexified"][0]
        classes, features = first["classes"], first["features"]
        factors.append(f"{on} {bare(float(np.sqrt(features / (features + classes))), 3)}")
    figures = (
        "the formulas say so: Δz = 2(C−1)/(Cλn)·√(m/(m+C)), as ρ and √|W| both grow with √m; the "
        f"root is {', '.join(factors)}. Measured changes are in the table above"
    )
    words = "5: Δz depends on C and n rather than on ρ"
    return (words, ", ".join(cells), table.Cell.verdict(True), figures)


def range_of(on: str, noise: str) -> tuple[float, float]:
    """Of ε, as finding 2 states it; Location is its exception."""
    return (0.1, 10.0) if noise == "gaussian" and on != "location" else (1.0, 100.0)


def rises_of(cells: list[Cell], noise: str, epsilons: Sequence[float]) -> list[str]:
    """Where the loss grows from one ε to the next, beyond chance."""
    rises = []
    for place in range(1, len(epsilons)):
        steps = np.subtract(series(cells, noise, place, 0), series(cells, noise, place - 1, 0))
        if over_repeats(steps, confidence=SURE).low > 0:
            rises.append(f"{epsilons[place]:g}")
    return rises


def verdict_cells(holds: bool, figures: str) -> tuple[str, str]:
    """A verdict, and what decides it."""
    return table.Cell.verdict(holds), figures


SPECS: Mapping[str, Findings] = findings_specs.SPECS
LOSSES = ("original", "convexified")


def study(spec: Findings, run: Run) -> Outcome:
    """Table 5, Figs. 3–13 for Algorithm 1, and findings 1, 2, 4 and 5, each with its verdict.

    Baselines, Algorithm 1 at each ε, sensitivities, and the findings one by one.
    """
    run.steps.plan(len(spec.data) * len(LOSSES) * spec.seeds)
    cells = {data.on: _cells(spec, data, run) for data in spec.data}
    return Outcome(
        specifications=(spec,),
        tables=(
            _baselines(spec, cells),
            _algorithm_1(spec, cells),
            _sensitivities(spec, cells),
            verdicts(cells, spec.epsilons),
        ),
    )


def _cells(spec: Findings, data: Attacked, run: Run) -> dict[str, list[Cell]]:
    """Of each loss, one cell for each seed."""

    def cell(loss: str, seed: int) -> Cell:
        key = (data, loss, spec.alpha, spec.epsilons, spec.removed, seed)
        values: Cell = run.cell(key, _measured, spec, data, loss, seed, run)
        return values

    seeds = range(spec.first_seed, spec.first_seed + spec.seeds)
    return {loss: [cell(loss, seed) for seed in seeds] for loss in LOSSES}


def _measured(spec: Findings, data: Attacked, loss: str, seed: int, run: Run) -> Cell:
    records = records_of(data.on, run.folder)
    alpha = spec.alpha if loss == "convexified" else None
    trial = fitted(data, records, alpha, seed=seed, run=run)
    cell: dict[str, Any] = {
        "training": trial.accuracy(members=True),
        "test": trial.accuracy(members=False),
        "leakage": trial.leakage(),
    }
    if alpha is None:
        return cell
    network = network_of(data, records)
    cell |= perturbed(trial, network, spec.epsilons, test=cell["test"])
    moved = logit_change(data, records, alpha, seed=seed, removed=spec.removed)
    classes, features = network.classes, network.features
    neuron = network.calculated().neuron
    return cell | {"neuron": neuron, "moved": moved, "classes": classes, "features": features}


def perturbed(
    trial: Fitted, network: Network, epsilons: Sequence[float], *, test: float
) -> dict[str, list[list[float]]]:
    """Of Algorithm 1's answers, loss and leakage at each ε; ``test`` is the victim's accuracy."""
    neuron = network.calculated().neuron
    logits = trial.victim.logits(trial.scored.inputs)
    figures: dict[str, list[list[float]]] = {}
    for name, (noise, scores) in VARIANTS.items():
        figures[name] = []
        for epsilon in epsilons:
            mechanism = SingleNeuron(
                classes=network.classes, budget=epsilon, neuron=neuron, noise=noise, scores=scores
            )
            accuracy, leakage = trial.answered(mechanism.release(logits))
            figures[name].append([1 - accuracy / test, leakage])
    return figures


def _baselines(spec: Findings, cells: Mapping[str, dict[str, list[Cell]]]) -> Table:
    rows = [
        (
            on,
            loss,
            *(table.Cell.of(over_repeats(values(by_loss[loss], figure))) for figure in FIGURES),
        )
        for on, by_loss in cells.items()
        for loss in LOSSES
    ]
    return Table(
        title=f"Lu et al., Table 5: averaged and convexified loss (α = {spec.alpha:g})",
        columns=("data", "loss", *FIGURES),
        rows=(*_published(cells), *rows),
        notes=(
            f"Networks m–128–C of Table 4 with 0.001‖W‖² (biases too); {_sizes(spec)}. Leakage is "
            "TPR − FPR of shadow networks (Eq. 32) that decide by themselves; shadows have the "
            "victim's loss.",
            f"Means over {spec.seeds} seeds with Student's 95 % interval; seeds share records.",
        ),
    )


def _sizes(spec: Findings) -> str:
    return "; ".join(
        f"{data.on}: {data.members:,} members, {data.passes} passes, {data.shadows} shadows"
        for data in spec.data
    )


def _published(cells: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Rows of Table 5 for the data that the paper has."""
    rows = []
    for on in cells:
        if on in PUBLISHED:
            row = TABLE_5[PUBLISHED[on]]
            original = (row.original_training, row.original_test, row.original_gap)
            convexified = (row.training, row.test, row.gap, row.leakage)
            rows.append((on, "original, printed", *(bare(cell, 4) for cell in original), "–"))
            rows.append((on, "convexified, printed", *(bare(cell, 4) for cell in convexified)))
    return rows


def _algorithm_1(spec: Findings, cells: Mapping[str, dict[str, list[Cell]]]) -> Table:
    rows = [
        (on, f"{epsilon:g}", *_measurements(by_loss["convexified"], place))
        for on, by_loss in cells.items()
        for place, epsilon in enumerate(spec.epsilons)
    ]
    losses = tuple(f"loss, {name}" for name in VARIANTS)
    return Table(
        title="Lu et al., Figs. 3–13: Algorithm 1, accuracy loss and leakage for one answer",
        columns=("data", "ε", *losses, "leakage, laplace", "leakage, gaussian"),
        rows=tuple(rows),
        notes=(
            "Grade published: Theorem 6 is false for three classes and more, and Δz (Eqs. 18–21) "
            "is no bound. Loss is 1 − accuracy/accuracy without noise (Eq. 31); the attack is that "
            "on answers without noise. Budgets: ε/(2C+1) for Laplace noise; for Gaussian noise "
            "“ε” is μ, with μ/√(4C+1), which is another promise (reproduce lu splits).",
            "exp(Δp): the neuron is chosen with the Δq of Theorem 6's proof.",
        ),
    )


def _measurements(cells: list[Cell], place: int) -> tuple[str, ...]:
    losses = [over_repeats(series(cells, name, place, 0)) for name in VARIANTS]
    leaks = [over_repeats(series(cells, name, place, 1)) for name in ("laplace", "gaussian")]
    return tuple(table.Cell.of(figure) for figure in (*losses, *leaks))


def _sensitivities(spec: Findings, cells: Mapping[str, dict[str, list[Cell]]]) -> Table:
    rows = []
    for on, by_loss in cells.items():
        first, moved = by_loss["convexified"][0], values(by_loss["convexified"], "moved")
        rows.append(
            (
                on,
                str(first["features"]),
                str(first["classes"]),
                f"{first['neuron']:.4f}",
                f"{max(largest for largest, _ in moved):.4f}",
                str(over_repeats([mean for _, mean in moved])),
            )
        )
    return Table(
        title="Lu et al., Table 6 and finding 5: the paper's Δz and what single records do",
        columns=("data", "features", "C", "Δz", "largest change", "mean of each record's largest"),
        rows=tuple(rows),
        notes=(
            f"Change of any logit of up to 1,000 records that were not trained on, when one of "
            f"{spec.removed} random records is left out, {spec.seeds} seeds: same initial weights "
            "and order. What random records do is no bound on what a record can do.",
        ),
    )
