"""The rule of plan: fitted to the committed grids, and judged on data sets it has not seen."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from reticent.protect.plan import CURVE, LossCurve, predicted_loss
from reticent.studies.plan_fit import (
    COLUMNS,
    PROTOTYPES,
    SPECS,
    cells_of,
    fitted,
    judged,
    left_out_ranges,
)

RESULTS = sorted((Path(__file__).parents[2] / "results").glob("plan-grid-*.json"))
TRUE = LossCurve(constant=-1.0, slope=-0.7, half=0.0)


@pytest.fixture(scope="module")
def cells():
    return cells_of(json.loads(path.read_text()) for path in RESULTS)


def made(on, features, classes):
    """A result whose losses follow the true curve."""
    rows = []
    for records in (1_000, 10_000):
        for epsilon in (0.5, 1.0, 8.0):
            row = [str(records), str(features), str(classes), str(epsilon), "1.0"]
            (bare,) = cells_of([_result(on, [[*row, "0", "0", "0", "0", "0"]])])
            after = 1 - predicted_loss(bare.situation, TRUE).likely
            rows.append([*row, "0.1", repr(after), "0.2", "0.1", "0.1"])
    return _result(on, rows)


def _result(on, rows):
    table = {"columns": list(COLUMNS), "rows": rows}
    return {"specifications": [{"on": on, "delta": 1e-5}], "tables": [table]}


def test_a_true_curve_is_found_again():
    sets = [("a", 30, 2), ("b", 100, 10), ("c", 600, 4), ("d", 40, 30), ("e", 1000, 20)]
    found = asdict(fitted(cells_of(made(*numbers) for numbers in sets)))
    wanted = asdict(TRUE)
    assert found.pop("half") < 0.2  # only losses beyond the clip are off
    wanted.pop("half")
    assert found == pytest.approx(wanted, abs=0.15)


def test_another_table_is_refused():
    with pytest.raises(ValueError, match="columns must be"):
        cells_of([_result("a", []) | {"tables": [{"columns": ["x"], "rows": []}]}])


def test_regret_is_what_the_choice_loses():
    result = made("a", 30, 2)
    result["tables"][0]["rows"][0][5] = "1.0"  # weights would have been perfect
    cell = cells_of([result])[0]
    assert cell.choice == "noisy-gradient"
    assert cell.regret == pytest.approx(1 - cell.after["noisy-gradient"])


def test_the_constants_are_those_of_the_committed_grids(cells):
    assert asdict(fitted(cells)) == pytest.approx(asdict(CURVE), abs=1e-3)


def test_every_grid_is_there(cells):
    assert {cell.on for cell in cells} == set(SPECS)
    assert len(SPECS) >= 6
    assert set(SPECS) >= PROTOTYPES


def test_the_choice_loses_at_most_one_point_on_average_and_three_at_worst(cells):
    regrets = [cell.regret for cell in cells]
    assert np.mean(regrets) <= 0.01
    assert max(regrets) <= 0.03


def test_ranges_hold_the_loss_on_data_that_they_have_not_seen(cells):
    curves = left_out_ranges(cells)
    held = [
        predicted_loss(cell.situation, curves[cell.on]).low
        <= max(cell.loss("noisy-gradient"), 0.002)
        <= predicted_loss(cell.situation, curves[cell.on]).high
        for cell in cells
    ]
    assert np.mean(held) >= 0.8
    assert sum(row[-1] == "yes" for row in judged(cells).rows) == sum(held)
