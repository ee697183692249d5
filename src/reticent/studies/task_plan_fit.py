"""What regressions and heads of several labels lose on public tables, and how ``plan`` tells it.

Tables come with scikit-learn and mlxtend. Ranges of columns are their smallest and largest values,
with the middle as zero: a schema as an owner would write it, and none that could be proven. A curve
is fitted to all tables but one and judged on that one; what is shipped is fitted to all of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from reticent.arrays import Array, Floats
from reticent.data import Dataset, Schema
from reticent.protect import ReleaseRequest, plan, public_facts, task_loss
from reticent.protect.recipes import regression, weights
from reticent.protect.terms import Terms
from reticent.randomness import seeded
from reticent.run.spec import RunSpec
from reticent.run.tasks.models import drawing, unprotected_labels, unprotected_regression
from reticent.studies.task_tables import Loaded, read_written
from reticent.studies.trained import Outcome, Run, Table

COLUMNS: Final = (
    *("table", "records", "features", "labels", "ε", "ratio", "constant", "before", "after"),
)
_LEAST, _MOST = 0.002, 0.98
"""A loss is taken to be within these: logits of 0, or of more than all, are none."""
COVERED: Final = 0.9
"""Share of the residuals of tables left out that half of the range's width holds."""


@dataclass(frozen=True, kw_only=True)
class TaskGrid:
    """Every number stands here before a test record is asked about."""

    tables: tuple[str, ...]
    shares: tuple[float, ...] = (1.0, 0.25)
    """Of the private records that are trained on."""
    epsilons: tuple[float, ...] = (1.0, 3.0, 8.0, 20.0)
    delta: float = 1e-5
    draws: int = 5
    fewest: int = 40
    """Records; tables of fewer are left out."""
    seed: int = 0

    def run(self, records: int, bound: float, epsilon: float) -> RunSpec:
        """As ``reticent run`` would be asked."""
        return RunSpec(
            epsilon=epsilon,
            delta=self.delta,
            relation="add-remove",
            records=records,
            bound=bound,
            epsilons=(epsilon,),
            draws=self.draws,
            seed=self.seed,
        )


def study(spec: TaskGrid, run: Run) -> Outcome:
    """Numbers and several labels on public tables: what `plan --schema` is fitted to."""
    run.steps.plan(len(spec.tables) * len(spec.shares))
    cells = [
        run.cell((spec, name, share), _measured, spec, name, share)
        for name in spec.tables
        for share in spec.shares
    ]
    table = Table(
        title="Numbers and several labels: R² or mean accuracy before and after",
        columns=COLUMNS,
        rows=tuple(tuple(row) for cell in cells for row in cell),
        notes=(
            "Before: ridge regression or a sigmoid head, its penalty by cross-validation; after:"
            f" the mean of {spec.draws} draws of what `protect` releases by default. Labels 1: a"
            " number, and R²; else the mean accuracy of all labels. Constant: what is reached by"
            " the mean, or by the commoner answer to each label. A third of each table is asked"
            f" about. δ = {spec.delta:g}, add-remove, Gaussian noise; declared, for ranges were"
            " read off.",
        ),
    )
    return Outcome(specifications=(spec,), tables=(table,))


def _measured(spec: TaskGrid, name: str, share: float) -> list[list[str]]:
    schema, private, test = TABLES[name](spec.seed)
    records = int(share * len(private))
    if records < spec.fewest:
        return []
    chosen = seeded("records of a grid", spec.seed).permutation(len(private))[:records]
    data, numbers = private.take(np.sort(chosen)), schema.task == "regression"
    assert test.labels is not None
    rows, truth = test.features.astype(np.float64), test.labels
    score = _explained if numbers else _right
    free = _unprotected(schema, data, spec.run(records, schema.bound, 1.0))
    before = score(np.asarray(free.model.predict(rows)), truth)
    table_rows = []
    for epsilon in spec.epsilons:
        request = _request(schema, spec.run(records, schema.bound, epsilon))
        draw = drawing(data, request)
        after = [score(np.asarray(draw().predict(rows)), truth) for _ in range(spec.draws)]
        ratio = ratio_of(schema, request)
        public = (name, records, rows.shape[1], 1 if numbers else len(schema.classes))
        figures = (epsilon, ratio, 0.0 if numbers else _commoner(truth), before, np.mean(after))
        table_rows.append([*map(str, public), *(f"{value:.4g}" for value in figures)])
    return table_rows


def _unprotected(schema: Schema, data: Dataset, spec: RunSpec) -> Any:
    if schema.target is None:
        return unprotected_labels(data, spec)
    return unprotected_regression(data, spec, (schema.target.low, schema.target.high))


def _request(schema: Schema, spec: RunSpec) -> ReleaseRequest:
    options: dict[str, Any] = {"bound": spec.bound}
    if schema.target is None:
        options |= {"intercept": spec.intercept, "norms": spec.norms, "outputs": "sigmoid"}
    else:
        options |= public_facts.target_options(schema.target.low, schema.target.high)
    return ReleaseRequest(
        terms=spec.terms(epsilon=spec.epsilon),
        records=spec.records,
        recipe="weights" if schema.target is None else "adassp-regression",
        options=options,
    )


def ratio_of(schema: Schema, request: ReleaseRequest) -> float:
    """ρ of a request, as ``plan`` computes it."""
    terms: Terms = request.terms
    recipe = request.planned(len(schema.names), max(len(schema.classes), 1))
    if isinstance(recipe, regression.RegressionRecipe):
        return task_loss.regression_ratio(schema, recipe, terms)
    assert isinstance(recipe, weights.WeightsRecipe)
    return task_loss.labels_ratio(schema, recipe)


def _explained(predicted: Array, truth: Array) -> float:
    return 1 - float(np.mean((truth - predicted) ** 2) / np.var(truth))


def _right(predicted: Array, truth: Array) -> float:
    return float(np.mean(predicted == truth))


def _commoner(truth: Array) -> float:
    """The mean accuracy of always giving the commoner answer to each label."""
    shares = np.asarray(truth).mean(axis=0)
    return float(np.maximum(shares, 1 - shares).mean())


class Cell(NamedTuple):
    """One row of the grid: whose it is, ln(1/ρ), and logit of the loss."""

    table: str
    numbers: bool
    signal: float
    loss: float


def cells_of(rows: Sequence[Sequence[str]]) -> list[Cell]:
    """From rows of the study."""
    cells = []
    for row in rows:
        values = dict(zip(COLUMNS, row, strict=True))
        constant, before, after = (float(values[name]) for name in COLUMNS[-3:])
        loss = 1 - (after - constant) / (before - constant)
        loss = min(max(loss, _LEAST), _MOST)
        cells.append(
            Cell(
                table=values["table"].partition(",")[0],
                numbers=values["labels"] == "1",
                signal=-float(np.log(float(values["ratio"]))),
                loss=float(np.log(loss / (1 - loss))),
            )
        )
    return cells


def fitted(cells: Sequence[Cell]) -> plan.LossCurve:
    """Least squares; half the width holds nine residuals of ten of tables that were left out."""
    constant, slope = _line(cells)
    return plan.LossCurve(constant=constant, slope=slope, half=_half(cells))


def held(cells: Sequence[Cell]) -> tuple[int, int]:
    """How many losses lie in the range that was fitted without their table, and of how many."""
    inside = 0
    for name in sorted({cell.table for cell in cells}):
        curve = fitted([cell for cell in cells if cell.table != name])
        own = [cell for cell in cells if cell.table == name]
        inside += sum(abs(_residual(cell, (curve.constant, curve.slope))) <= curve.half
                      for cell in own)  # fmt: skip
    return inside, len(cells)


def _half(cells: Sequence[Cell]) -> float:
    left_out = []
    for name in sorted({cell.table for cell in cells}):
        line = _line([cell for cell in cells if cell.table != name])
        left_out += [abs(_residual(cell, line)) for cell in cells if cell.table == name]
    return float(np.quantile(left_out, COVERED))


def _line(cells: Sequence[Cell]) -> tuple[float, float]:
    rows = np.array([[1.0, cell.signal] for cell in cells])
    coefficients = np.linalg.lstsq(rows, np.array([cell.loss for cell in cells]), rcond=None)[0]
    return float(coefficients[0]), float(coefficients[1])


def _residual(cell: Cell, line: tuple[float, float]) -> float:
    return cell.loss - line[0] - line[1] * cell.signal


def _number(rows: Floats, target: Floats, seed: int) -> Loaded:
    label = {"role": "label", "type": "number", "range": [target.min(), target.max()]}
    return _table(rows, {"y": (label, target)}, seed)


def _several(rows: Floats, labels: Mapping[str, Array], seed: int) -> Loaded:
    kind = {"role": "label", "type": "true-false"}
    label_columns = {name: (kind, np.asarray(flags, dtype=bool)) for name, flags in labels.items()}
    return _table(rows, label_columns, seed)


def _table(rows: Floats, labels: Mapping[str, tuple[dict[str, Any], Array]], seed: int) -> Loaded:
    """A schema by the rule of this module, two thirds private and a third asked about."""
    kept = rows[:, rows.min(axis=0) < rows.max(axis=0)].astype(np.float64)
    columns: dict[str, Any] = {
        f"x{place}": {"type": "number", "range": [low, high], "zero": (low + high) / 2}
        for place, (low, high) in enumerate(
            zip(kept.min(axis=0).tolist(), kept.max(axis=0).tolist(), strict=True)
        )
    }
    columns |= {name: label for name, (label, _) in labels.items()}
    label_values = [values.tolist() for _, values in labels.values()]
    written = [[*row, *own] for row, *own in zip(kept.tolist(), *label_values, strict=True)]
    third = len(written) // 3
    facts = {
        "source": "private table: smallest and largest values",
        "records": len(written) - third,
        "columns": columns,
    }
    return read_written(Schema.from_dict(facts), list(columns), written, third, seed)


def _sklearn(name: str) -> tuple[Floats, Array]:
    from sklearn import datasets

    load: Callable[..., tuple[Floats, Array]] = getattr(datasets, f"load_{name}")
    return load(return_X_y=True)


def _mlxtend(name: str) -> tuple[Floats, Array]:
    from mlxtend import data

    rows, labels = getattr(data, f"{name}_data")()
    numbers = rows[:, : 7 if name == "autompg" else None].astype(np.float64)
    whole = np.isfinite(numbers).all(axis=1)
    return numbers[whole], np.asarray(labels)[whole]


def _wine(seed: int) -> Loaded:
    rows, _ = _mlxtend("wine")
    return _number(rows[:, 1:], rows[:, 0], seed)


def _cancer(seed: int) -> Loaded:
    rows, _ = _sklearn("breast_cancer")
    return _number(np.delete(rows, [1, 21], axis=1), rows[:, 1], seed)


def _cars(seed: int) -> Loaded:
    rows, miles = _mlxtend("autompg")
    made = rows[:, 6]
    labels = {"american": made == 1, "japanese": made == 3, "thrifty": miles > 23}
    return _several(rows[:, :6], labels, seed)


def _cancer_labels(seed: int) -> Loaded:
    rows, benign = _sklearn("breast_cancer")
    labels = {"benign": benign == 1, "large": rows[:, 20] > 16, "rough": rows[:, 21] > 25}
    return _several(rows[:, :20], labels, seed)


def _each_class(load: Callable[[str], tuple[Floats, Array]], name: str) -> Callable[[int], Loaded]:
    """Every class as a label of its own."""

    def loaded(seed: int) -> Loaded:
        rows, classes = load(name)
        kinds = np.unique(classes)
        return _several(rows, {f"is {kind}": classes == kind for kind in kinds}, seed)

    return loaded


def _of(load: Callable[[str], tuple[Floats, Array]], name: str) -> Callable[[int], Loaded]:
    def loaded(seed: int) -> Loaded:
        rows, target = load(name)
        return _number(rows, target.astype(np.float64), seed)

    return loaded


TABLES: Final[dict[str, Callable[[int], Loaded]]] = {
    "diabetes": _of(_sklearn, "diabetes"),
    "houses": _of(_mlxtend, "boston_housing"),
    "cars": _of(_mlxtend, "autompg"),
    "wine": _wine,
    "tumours": _cancer,
    "digits": _of(_sklearn, "digits"),
    "cars, three labels": _cars,
    "tumours, three labels": _cancer_labels,
    "wine, three labels": _each_class(_mlxtend, "wine"),
    "iris, three labels": _each_class(_mlxtend, "iris"),
    "digits, ten labels": _each_class(_sklearn, "digits"),
}
"""Numbers, then several labels; what stands before a comma is one data set."""
SPECS: Mapping[str, TaskGrid] = {
    "tables": TaskGrid(tables=tuple(TABLES)),
    "iris": replace(
        TaskGrid(tables=("iris, three labels",)), shares=(1.0,), epsilons=(3.0,), draws=2
    ),
}
