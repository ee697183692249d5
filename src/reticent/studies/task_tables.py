"""Real tables with other labels, raw rows by one schema each: a number, several labels, 80/15/5.

Each table goes the whole way: schema, plan, run (tune, attack, release, attack again, audit) and
predictions on raw rows. Lists and ranges of Adult and of the digits are their codebooks'. Those of
diabetes were set after a look at its columns, and its zeros after a first run: its schema says that
they come from the private table, so that its releases are declared.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from reticent.data import Dataset, Schema, data_folder, read_by_schema
from reticent.data.folder import find
from reticent.files import partial_folder
from reticent.protect.table import kept_rows
from reticent.results import Interval, task_results
from reticent.run.releases import recommended_kind
from reticent.run.spec import RunData, RunSpec
from reticent.run.tasks import job, measures
from reticent.studies.trained import Outcome, Run, Table
from reticent.training import SoftmaxHead

ADULT: Final = ("adult/adult.data", "adult/adult.test")
_GET: Final = "the UCI data set 'Adult' by Becker and Kohavi (adult.zip)"
_DIGIT: Final = {"type": "number", "range": [0, 16]}


@dataclass(frozen=True, kw_only=True)
class TaskTables:
    """Which tables, at which ε; everything else is the command's own default."""

    tables: tuple[str, ...]
    epsilons: tuple[float, ...] = (1.0, 3.0, 8.0)
    delta: float = 1e-5
    draws: int = 5
    shadows: int = 32
    seed: int = 0


SPECS: Mapping[str, TaskTables] = {
    "tables": TaskTables(tables=("diabetes", "digits, three labels", "digits, 80/15/5")),
    "adult": TaskTables(tables=("adult, age", "adult, two labels"), shadows=12),
}


def study(spec: TaskTables, run: Run) -> Outcome:
    """Tables whose label is a number, several labels, or three classes at 80/15/5."""
    run.steps.plan(len(spec.tables) * len(spec.epsilons))
    cells = [
        run.cell((spec, name, epsilon), _measured, spec, name, epsilon, run.folder)
        for name in spec.tables
        for epsilon in spec.epsilons
    ]
    rows = tuple(tuple(row) for cell in cells for row in cell)
    return Outcome(
        specifications=(spec,),
        tables=(
            Table(
                title="Other labels: raw tables by one schema each, before and after",
                columns=(
                    *("table", "records", "features", "ε", "grade", "measure", "before", "after"),
                    *("low", "high", "AUC before", "AUC after", "audit"),
                ),
                rows=rows,
                notes=(
                    f"δ = {spec.delta:g}, add-remove, unit: one record. {spec.draws} draws of the"
                    " noise; after is their mean, low and high its 95 % interval over test records"
                    " and draws. Records are those that were trained on; no test record was.",
                    "AUC is that of the attack that was strongest on shadow targets (loss, or LiRA"
                    " on residuals or label logits), before protection and on the release. A dash:"
                    " not measured in this table; classes are attacked by every other study.",
                    "Lists and ranges of Adult and of the digits are their codebooks'. Those of"
                    " diabetes were set after a look at its columns, and its zeros after a first"
                    " run: these rows are declared.",
                ),
            ),
        ),
    )


def _measured(spec: TaskTables, name: str, epsilon: float, folder: Path | None) -> list[list[str]]:
    schema, private, test = TABLES[name](folder, spec.seed)
    roles = RunData.of(private, test, seed=spec.seed)
    chosen = RunSpec(
        epsilon=epsilon,
        delta=spec.delta,
        relation="add-remove",
        records=schema.records or len(private),
        bound=schema.bound,
        epsilons=(epsilon,),
        draws=spec.draws,
        shadows=spec.shadows,
        seed=spec.seed,
    )
    lead = [name, str(len(private)), str(len(schema.names)), f"{epsilon:g}"]
    if schema.task == "classification":
        return [[*lead, *row] for row in _classes(roles, chosen)]
    target = schema.target
    asked = job.TaskSpec(
        labels=tuple(column.name for column in schema.labels),
        target=None if target is None else (target.low, target.high),
        unit="" if target is None else target.unit,
    )
    return [[*lead, *row] for row in _rows(job.run_task(roles, chosen, asked).results)]


def _rows(results: task_results.TaskResults) -> list[list[str]]:
    release, verdict = results.recommended, results.conclusion
    audit = "–" if release.audit is None else release.audit.verdict
    pairs = zip(results.unprotected.measures, release.measures, strict=True)
    return [
        [
            str(release.claim.grade),
            one.words,
            *_figures(one.figure, other.figure),
            *(f"{area.value:.3f}" for area in (verdict.before, verdict.after)),
            audit,
        ]
        for one, other in pairs
    ]


def _figures(before: Interval, after: Interval) -> list[str]:
    return [f"{value:.4g}" for value in (before.value, after.value, after.low, after.high)]


def _classes(roles: RunData, spec: RunSpec) -> list[list[str]]:
    """Accuracy and recall of each class, of the learner that ``plan`` names."""
    kind = recommended_kind(roles, spec)
    rows, names = roles.rows("test")
    labels, truth = kept_rows(roles.private, None)
    head = SoftmaxHead(bound=spec.bound, penalty=1e-4, classes=roles.private.classes)
    head.fit(labels, np.asarray(roles.private.classes)[truth])
    free = np.asarray(head.predict(rows))
    draws = [kind.draw() for _ in range(spec.draws)]
    predictions = [np.asarray(one.predict(rows)) for one in draws]
    table_rows = []
    for what, chosen in [
        ("accuracy", np.ones(len(names), dtype=bool)),
        *((f"recall of {name}", names == name) for name in roles.private.classes),
    ]:
        one_label = (chosen.sum(), 1)
        measured = measures.Measured(
            kinds=measures.kinds_of(("hit",), numbers=False)[:1],
            truth=np.ones(one_label, dtype=np.int64),
        )
        hits = [
            (answers == names)[chosen].astype(np.int64)[:, None] for answers in (free, *predictions)
        ]
        (before,), (after,) = measured.of(hits[:1]), measured.of(hits[1:])
        table_rows.append(
            [
                str(draws[0].guarantee.grade),
                what,
                *_figures(before.figure, after.figure),
                *("–", "–", "–"),
            ]
        )
    return table_rows


Loaded = tuple[Schema, Dataset, Dataset]
Load = Callable[[Path | None, int], Loaded]


def read_written(
    schema: Schema, header: Sequence[str], rows: Sequence[Sequence[Any]], held_out: int, seed: int
) -> Loaded:
    """Records written as CSV files, in a random order, and read by the schema as a user's are."""
    order = np.random.default_rng(seed).permutation(len(rows))
    with partial_folder("reticent-") as folder:
        parts = []
        for name, places in (("private", order[held_out:]), ("test", order[:held_out])):
            path = Path(folder) / f"{name}.csv"
            with path.open("w", encoding="utf-8", newline="") as file:
                table = csv.writer(file)
                table.writerow(header)
                table.writerows(rows[place] for place in places.tolist())
            parts.append(read_by_schema(path, schema))
    return schema, parts[0], parts[1]


DIABETES: Final[dict[str, Any]] = {
    "title": "Diabetes: progression one year after the baseline",
    "source": "private table: round numbers around its smallest and largest values",
    "records": 300,
    "columns": {
        "age": {"type": "number", "range": [18, 90], "zero": 54, "unit": "years"},
        "sex": {"type": "category", "values": ["1.0", "2.0"]},
        "bmi": {"type": "number", "range": [15, 45], "zero": 25},
        "bp": {"type": "number", "range": [60, 140], "zero": 95, "unit": "mmHg"},
        "s1": {"type": "number", "range": [90, 310], "zero": 200, "unit": "mg/dl"},
        "s2": {"type": "number", "range": [30, 250], "zero": 130, "unit": "mg/dl"},
        "s3": {"type": "number", "range": [20, 100], "zero": 50, "unit": "mg/dl"},
        "s4": {"type": "number", "range": [1, 10], "zero": 4},
        "s5": {"type": "number", "range": [3, 6.5], "zero": 4.6},
        "s6": {"type": "number", "range": [50, 130], "zero": 90, "unit": "mg/dl"},
        "progression": {
            "role": "label",
            "type": "number",
            "range": [0, 350],
            "unit": "points",
            "source": "the scale of the measure",
        },
    },
}


def _diabetes(folder: Path | None, seed: int) -> Loaded:
    del folder
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes(scaled=False)
    rows = [[*map(float, row), float(y)] for row, y in zip(bunch.data, bunch.target, strict=True)]
    header = [*bunch.feature_names, "progression"]
    return read_written(Schema.from_dict(DIABETES), header, rows, 142, seed)


def digits_schema(labels: dict[str, Any], records: int) -> Schema:
    """Of scikit-learn's digits: 64 counts of dark pixels in blocks of 16, and these labels."""
    return Schema.from_dict(
        {
            "source": "the codebook of the digits: counts of 16 pixels",
            "records": records,
            "columns": {f"p{place}": _DIGIT for place in range(64)} | labels,
        }
    )


def _digits(folder: Path | None, seed: int) -> Loaded:
    """Three true or false things about a digit."""
    del folder
    from sklearn.datasets import load_digits

    pixels, digits = load_digits(return_X_y=True)
    label_flags = {
        "even": digits % 2 == 0,
        "above 4": digits > 4,
        "loop": np.isin(digits, (0, 6, 8, 9)),
    }
    schema = digits_schema(
        {name: {"role": "label", "type": "true-false"} for name in label_flags}, records=1200
    )
    flags = np.column_stack(list(label_flags.values())).tolist()
    rows = [[*row, *labels] for row, labels in zip(pixels.tolist(), flags, strict=True)]
    return read_written(schema, [*(f"p{i}" for i in range(64)), *label_flags], rows, 597, seed)


def _imbalanced(folder: Path | None, seed: int) -> Loaded:
    """Three classes at 80/15/5: digits up to 5, 6 or 7, and nines, of which some are left out."""
    del folder
    from sklearn.datasets import load_digits

    pixels, digits = load_digits(return_X_y=True)
    names = np.where(digits <= 5, "low", np.where(digits <= 7, "middle", "nine"))
    sizes = {"low": 1080, "middle": 202, "nine": 68}
    rng = np.random.default_rng(seed)
    kept = np.concatenate(
        [
            rng.permutation(np.flatnonzero((names == name) & (digits != 8)))[:size]
            for name, size in sizes.items()
        ]
    )
    schema = digits_schema({"group": {"role": "label", "classes": list(sizes)}}, records=900)
    rows = [[*pixels[place].tolist(), str(names[place])] for place in kept]
    return read_written(schema, [*(f"p{i}" for i in range(64)), "group"], rows, 450, seed)


def _adult_schema(**changes: dict[str, Any]) -> Schema:
    """The schema of Adult with other labels."""
    facts = Schema.example("adult").to_dict()
    for column in facts["columns"]:
        if column["name"] in changes:
            source = column.get("source", "")
            name = column["name"]
            column.clear()
            column.update({"name": name, "source": source} | changes[name])
    facts["file"] |= {"true": [">50K", ">50K.", "Male"], "false": ["<=50K", "<=50K.", "Female"]}
    return Schema.from_dict(facts)


def _adult(schema: Schema, folder: Path | None) -> Loaded:
    private, test = (
        read_by_schema(find(data_folder(folder), [name], get=_GET), schema) for name in ADULT
    )
    return schema, private, test


def _adult_age(folder: Path | None, seed: int) -> Loaded:
    del seed
    return _adult(
        _adult_schema(
            age={"role": "label", "type": "number", "range": [17, 90], "unit": "years"},
            income={"type": "true-false"},
        ),
        folder,
    )


def _adult_labels(folder: Path | None, seed: int) -> Loaded:
    del seed
    label = {"role": "label", "type": "true-false"}
    return _adult(_adult_schema(income=label, sex=label), folder)


TABLES: Final[dict[str, Load]] = {
    "diabetes": _diabetes,
    "digits, three labels": _digits,
    "digits, 80/15/5": _imbalanced,
    "adult, age": _adult_age,
    "adult, two labels": _adult_labels,
}
