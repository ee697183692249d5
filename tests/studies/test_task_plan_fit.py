"""What ``plan`` says of numbers and of several labels: fitted anew, judged on other tables."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from reticent.data import Schema
from reticent.protect.plan import LossCurve
from reticent.protect.task_loss import (
    HELD,
    LABELS_CURVE,
    LARGEST_RATIO,
    NUMBER_CURVE,
    predicted_task_loss,
    public_moment,
    public_variance,
)
from reticent.protect.task_plan import plan_task
from reticent.protect.terms import Terms
from reticent.studies.task_plan_fit import (
    COLUMNS,
    SPECS,
    TABLES,
    Cell,
    cells_of,
    fitted,
    held,
    study,
)
from reticent.studies.task_tables import DIABETES, _adult_schema, digits_schema
from reticent.studies.trained import Run

RESULTS = Path(__file__).parents[2] / "results"


def rows(name):
    return json.loads((RESULTS / name).read_text())["tables"][0]["rows"]


@pytest.fixture(scope="module")
def cells():
    return cells_of(rows("task-plan-tables.json"))


@pytest.mark.parametrize(
    ("task", "curve"), [("regression", NUMBER_CURVE), ("multilabel", LABELS_CURVE)]
)
def test_the_constants_are_those_of_the_committed_cells(cells, task, curve):
    own = [cell for cell in cells if cell.numbers == (task == "regression")]
    assert asdict(fitted(own)) == pytest.approx(asdict(curve), abs=1e-3)
    inside, many = held(own)
    assert (inside, many) == HELD[task]
    assert inside >= 0.8 * many


def test_a_fit_finds_a_line_and_does_not_hold_what_is_far_from_it():
    line = [
        Cell(table=str(k), numbers=True, signal=float(s), loss=1.0 - 2.0 * s + 0.1 * (-1) ** s)
        for k in range(4)
        for s in range(4)
    ]
    found = fitted(line)
    assert (found.constant, found.slope) == pytest.approx((1.0, -2.0), abs=0.1)
    assert held(line)[0] >= 0.7 * len(line)
    far = [*line, *(Cell(table="far", numbers=True, signal=s, loss=40.0) for s in (0.0, 1.0))]
    assert held(far)[0] <= len(line)  # a table far from the others is not in their range


def terms(epsilon):
    return Terms(epsilon=epsilon, delta=1e-5, relation="add-remove")


LABEL = {"role": "label", "type": "true-false"}
OTHERS = {
    "diabetes": ("R²", Schema.from_dict(DIABETES), 0.0),
    "adult, age": (
        "R²",
        _adult_schema(
            age={"role": "label", "type": "number", "range": [17, 90]},
            income={"type": "true-false"},
        ),
        0.0,
    ),
    "adult, two labels": (
        "accuracy, mean of all labels", _adult_schema(income=LABEL, sex=LABEL), 0.7154,
    ),
    "digits, three labels": (
        "accuracy, mean of all labels",
        digits_schema({"even": LABEL, "above 4": LABEL, "loop": LABEL}, records=1200),
        0.5539,
    ),
}  # fmt: skip
"""By the committed runs: the measure, the schema, and what the commoner answers reach."""


@pytest.mark.parametrize("name", OTHERS)
def test_ranges_hold_what_whole_runs_measured(name):
    """Adult and these schemas took no part in the fit."""
    measure, schema, constant = OTHERS[name]
    file = "tasks-adult.json" if name.startswith("adult") else "tasks-tables.json"
    told = [row for row in rows(file) if row[0] == name and row[5] == measure]
    assert len(told) == 3
    inside = 0
    for row in told:
        found = plan_task(schema, terms(float(row[3])), int(row[1])).loss
        loss = 1 - (float(row[7]) - constant) / (float(row[6]) - constant)
        inside += found is not None and found.low <= loss <= found.high
    assert inside == INSIDE[name]


INSIDE = {"diabetes": 3, "adult, age": 3, "adult, two labels": 3, "digits, three labels": 2}
"""Of three each; of the digits at ε = 1 nothing is predicted."""


def test_more_noise_is_a_larger_loss_and_beyond_the_grid_there_is_no_prediction():
    schema = Schema.from_dict(DIABETES)
    losses = [plan_task(schema, terms(epsilon), 300).loss.likely for epsilon in (1.0, 3.0, 8.0)]
    assert losses == sorted(losses, reverse=True)
    far = plan_task(schema, terms(0.05), 300)
    assert far.ratio > LARGEST_RATIO
    assert far.loss is None
    assert "no prediction" in far.loss_line
    assert predicted_task_loss("regression", float("nan")) is None
    assert isinstance(NUMBER_CURVE, LossCurve)


def test_the_public_variance_is_that_of_values_spread_evenly():
    schema = Schema.from_dict(
        {
            "source": "a codebook",
            "columns": {
                "a": {"type": "number", "range": [0, 10]},
                "b": {"type": "number", "range": [-1, 1], "zero": 0},
                "c": {"type": "category", "values": ["x", "y", "z", "w"]},
                "d": {"type": "true-false"},
                "y": {"role": "label", "type": "number", "range": [0, 1]},
            },
        }
    )
    assert public_variance(schema) == pytest.approx(1 / 12 + 4 / 12 + 3 / 4 + 1 / 4)
    assert public_moment(schema) == pytest.approx(1 / 3 + 1 / 3 + 1 + 1 / 2)


def test_the_study_is_read_back_as_cells():
    outcome = study(SPECS["iris"], Run())
    (table,) = outcome.tables
    assert table.columns == COLUMNS
    (cell,) = cells_of(table.rows)
    assert (cell.table, cell.numbers) == ("iris", False)
    assert set(SPECS["tables"].tables) == set(TABLES)
