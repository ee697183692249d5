"""The rule of plan: fitted to the committed grids, and judged on data sets it has not seen."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from reticent.protect.plan import CLUSTER_CURVE, CURVE, LossCurve, predicted_loss
from reticent.studies import plan_uneven
from reticent.studies.plan_fit import (
    COLUMNS,
    PROTOTYPES,
    RAREST,
    SPECS,
    cells_of,
    covered,
    curves_of,
    fitted,
    judged,
    left_out_ranges,
    sources_of,
)
from reticent.studies.plan_uneven import uneven_cells

FOLDER = Path(__file__).parents[2] / "results"
RESULTS = sorted(FOLDER.glob("plan-grid-*.json"))
TRUE = LossCurve(constant=-1.0, slope=-0.7, half=0.0)


@pytest.fixture(scope="module")
def cells():
    uneven = json.loads((FOLDER / "plan-uneven.json").read_text())
    return [*cells_of(json.loads(path.read_text()) for path in RESULTS), *uneven_cells(uneven)]


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


def test_what_a_rare_class_adds_is_found_again():
    """Two data sets of five have a rare class."""
    sets = [("a", 30, 2), ("b", 100, 10), ("adult", 600, 4), ("trec", 40, 5), ("e", 1000, 20)]
    cells = cells_of(made(*numbers) for numbers in sets)
    rare = LossCurve(constant=-1.0, slope=-0.7, rarest=0.5, half=0.0)
    moved = [
        replace(one, after={"noisy-gradient": 1 - predicted_loss(one.situation, rare).likely})
        for one in cells
    ]
    assert fitted(moved).rarest == pytest.approx(0.5, abs=0.1)
    assert fitted(cells).rarest == pytest.approx(0.0, abs=0.1)


def test_the_constants_are_those_of_the_committed_grids(cells):
    found = curves_of(cells)
    assert asdict(found["noisy-gradient"]) == pytest.approx(asdict(CURVE), abs=1e-3)
    assert asdict(found["class-means"]) == pytest.approx(asdict(CLUSTER_CURVE), abs=1e-3)


def test_every_grid_is_there(cells):
    assert {cell.on for cell in cells} == {*SPECS, *plan_uneven.SPECS["all"].sizes}
    assert len(SPECS) >= 6
    assert {cell.on for cell in cells} >= PROTOTYPES
    assert set(SPECS) >= set(RAREST)


def test_the_choice_loses_at_most_one_point_on_average_and_three_at_worst(cells):
    regrets = [cell.regret for cell in cells]
    assert np.mean(regrets) <= 0.01
    assert max(regrets) <= 0.03


def test_ranges_hold_the_loss_on_data_that_they_have_not_seen(cells):
    held = covered(cells)
    assert len(held) >= 90
    assert np.mean(held) >= 0.8
    assert sum(row[-1] == "yes" for row in judged(cells).rows) == sum(held)


def test_ranges_hold_the_loss_of_uneven_tables_alone(cells):
    """At least 30 cells: 80/15/5, mixed columns, cluster-made labels."""
    own = {*plan_uneven.SPECS["all"].sizes}
    held = [one for cell, one in zip(cells, covered(cells), strict=True) if cell.on in own]
    assert len(held) >= 30
    assert np.mean(held) >= 0.8


def test_a_range_saw_nothing_that_was_cut_out_of_its_data(cells):
    """With other losses on all tables of one data set, its own curves stay as they were."""
    curves = left_out_ranges(cells)
    assert set(curves) == set(sources_of(cells))
    for source in ("mnist", "adult"):
        changed = [
            replace(one, after=dict.fromkeys(one.after, 0.01)) if one.source == source else one
            for one in cells
        ]
        again = left_out_ranges(changed)
        assert again[source] == curves[source]
        assert again["cifar10"] != curves["cifar10"]
