"""The rule of plan at δ = 0: fitted to the committed grids, judged on data sets it has not seen."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from reticent.data import Dataset
from reticent.protect.plan import PURE_CURVE, LossCurve
from reticent.protect.plan_pure import MATRIX_LDA, PURE_MEANS, RULE
from reticent.studies import plan_fit, tasks
from reticent.studies.pure_grid import COLUMNS, SPECS, UNTRIED, PureGrid, study
from reticent.studies.pure_plan_fit import cells_of, fitted, judged, left_out_fits
from reticent.studies.trained import Run

RESULTS = Path(__file__).parents[2] / "results"
GRIDS = sorted(RESULTS.glob("pure-grid-*.json"))
TRUE = LossCurve(constant=0.4, slope=-1.2, half=0.0)


@pytest.fixture(scope="module")
def cells():
    return cells_of(json.loads(path.read_text()) for path in GRIDS)


@pytest.fixture(scope="module")
def fits(cells):
    return left_out_fits(cells)


def result(on, rows):
    table = {"columns": list(COLUMNS), "rows": rows}
    return {"specifications": [{"on": on}], "tables": [table]}


def made(on, features, classes):
    """A result whose losses follow the true curve, for a rule that takes the better of two."""
    rows = []
    for records in (1_000, 10_000):
        for epsilon in (0.5, 1.0, 8.0):
            row = [str(records), str(features), str(classes), str(epsilon), "1.0"]
            (cell,) = cells_of([result(on, [[*row, "0", "0", "0", UNTRIED]])])
            signals = (cell.signals.matrix, cell.signals.means)
            matrix, means = (1 - TRUE.range(signal).likely for signal in signals)
            better = PURE_MEANS if cell.choice(RULE) == PURE_MEANS else MATRIX_LDA
            kept = (matrix, 0.0) if better == MATRIX_LDA else (0.0, means)
            rows.append([*row, *map(repr, kept), "0.0", UNTRIED])
    return result(on, rows)


def test_a_true_curve_and_rule_are_found_again():
    sets = [("a", 30, 2), ("b", 100, 10), ("c", 600, 4), ("d", 40, 30), ("e", 1000, 20)]
    fit = fitted(cells_of(made(*numbers) for numbers in sets))
    made_of = [cell for numbers in sets for cell in cells_of([made(*numbers)])]
    assert all(cell.regret(fit.rule) == 0 for cell in made_of)
    assert (fit.curve.constant, fit.curve.slope) == pytest.approx((0.4, -1.2), abs=0.15)
    assert fit.curve.half < 0.2  # only losses beyond the clip are off


def test_the_study_asks_every_learner_and_leaves_out_weights_that_drown():
    spec = PureGrid(on="digits", sizes=(600,), before=(0.95,), epsilons=(2.0, 8.0), draws=1)
    (table,) = study(spec, Run()).tables
    low, high = cells_of([result("digits", table.rows)])
    assert table.columns == COLUMNS
    assert table.rows[0][-1] == UNTRIED
    assert set(high.after) == set(COLUMNS[5:])
    assert high.after[PURE_MEANS] > max(low.after[MATRIX_LDA], 0.5)


def test_logarithms_of_capital_are_of_dollars(monkeypatch):
    """100,000 dollars are ln(100,001)/12 whatever the other columns, and 0 stays 0."""
    rows = np.zeros((2, len(tasks.COLUMNS)), dtype=np.float32)
    gain, loss = (tasks.COLUMNS.index(name) for name in ("capital-gain", "capital-loss"))
    rows[1, [gain, loss]] = 1.0
    held = Dataset(
        name="two", inputs=rows, labels=np.array([0, 1]), classes=("a", "b"), source="made"
    )
    monkeypatch.setattr(tasks, "load", lambda name, folder: held)
    found = tasks._adult_log("train", None).features.astype(np.float64)
    assert found[0].sum() == 0
    wanted = [np.log1p(1e5) / 12, np.log1p(1e4) / 12]
    assert found[1, [gain, loss]] == pytest.approx(wanted, rel=1e-6)
    assert found.sum() == pytest.approx(sum(wanted), rel=1e-6)


def test_another_table_is_refused():
    with pytest.raises(ValueError, match="columns must be"):
        cells_of([result("a", []) | {"tables": [{"columns": ["x"], "rows": []}]}])


def test_regret_is_what_the_choice_loses_and_what_was_not_tried_is_no_choice():
    row = ["1000", "30", "2", "1.0", ".9", ".5", ".4", ".7", UNTRIED]
    (cell,) = cells_of([result("a", [row])])
    assert set(cell.after) == set(COLUMNS[5:-1])
    assert cell.regret(RULE) == pytest.approx(0.7 - cell.after[cell.choice(RULE)])


def test_the_constants_are_those_of_the_committed_grids(cells):
    fit = fitted(cells)
    assert asdict(fit.rule) == pytest.approx(asdict(RULE), abs=1e-3)
    assert asdict(fit.curve) == pytest.approx(asdict(PURE_CURVE), abs=1e-3)


def test_every_grid_is_there_with_the_accuracy_before_that_was_measured(cells):
    assert {cell.on for cell in cells} == set(SPECS)
    assert len(SPECS) >= 6
    for cell in plan_fit.cells_of(
        json.loads(path.read_text()) for path in RESULTS.glob("plan-grid-*.json")
    ):
        if cell.on in SPECS:
            spec = SPECS[cell.on]
            assert cell.before == spec.before[spec.sizes.index(cell.situation.records)]


def test_the_choice_loses_at_most_one_point_on_average_and_three_at_worst(cells):
    regrets = [cell.regret(RULE) for cell in cells]
    assert np.mean(regrets) <= 0.01
    assert max(regrets) <= 0.03


def test_rules_that_did_not_see_a_data_set_lose_at_most_one_point_on_average(cells, fits):
    assert np.mean([cell.regret(fits[cell.on].rule) for cell in cells]) <= 0.01


def test_ranges_hold_the_loss_on_data_that_they_have_not_seen(cells, fits):
    held = []
    for cell in cells:
        predicted = fits[cell.on].predicted(cell)
        loss = max(cell.loss(fits[cell.on].rule), 0.002)
        held.append(predicted.low <= loss <= predicted.high)
    assert np.mean(held) >= 0.8
    assert sum(row[-1] == "yes" for row in judged(cells).rows) == sum(held)
