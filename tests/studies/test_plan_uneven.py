"""Uneven tables: cut to their shares, queries apart from private records, cells read back."""

import dataclasses

import numpy as np
import pytest

from reticent.protect.plan import Situation
from reticent.studies.plan_fit import source_of
from reticent.studies.plan_uneven import COLUMNS, SPECS, _scores, study, uneven_cells
from reticent.studies.tasks import Task, task
from reticent.studies.trained import Run
from reticent.studies.uneven_tasks import SHARES, cut_to_shares, uneven_task


def test_three_classes_stand_at_their_shares():
    whole = task("digits", records=1_796, seed=0).private
    found = cut_to_shares(whole, ("1", "7", "8"), SHARES)
    shares = np.bincount(found.labels) / len(found)
    assert shares == pytest.approx(SHARES, abs=0.005)
    assert found.classes == ("1", "7", "8")
    largest = np.sum(np.asarray(whole.classes)[whole.labels] == "1")
    assert np.sum(found.labels == 0) == largest  # no record of it is left out


def test_no_query_is_a_private_record():
    own = uneven_task("digits-80-15-5", records=150, seed=0)
    private = {row.tobytes() for row in own.rows}
    assert len(private) == 150
    assert not private & {row.tobytes() for row in own.queries}


def test_a_rare_class_counts_as_much_as_a_large_one():
    own = uneven_task("digits-80-15-5", records=150, seed=0)
    always = np.full(len(own.truth), "1")
    accuracy, balanced = _scores(always, own)
    assert accuracy == pytest.approx(0.8, abs=0.06)
    assert balanced == pytest.approx(1 / 3)
    missing = Task(private=own.private, queries=own.queries, truth=np.where(
        own.truth == "8", "7", own.truth))  # fmt: skip
    assert _scores(always, missing)[1] == pytest.approx(1 / 2)


@pytest.mark.slow
def test_the_study_is_read_back_as_cells():
    outcome = study(SPECS["digits"], Run())
    (table,) = outcome.tables
    assert table.columns == COLUMNS
    (cell,) = uneven_cells(
        {
            "specifications": [dataclasses.asdict(SPECS["digits"])],
            "tables": [table.to_dict()],
        }
    )
    assert (cell.on, cell.source, cell.choice) == ("digits-80-15-5", "digits", "noisy-gradient")
    assert isinstance(cell.situation, Situation)
    assert cell.situation.rarest_share == pytest.approx(0.05, abs=0.03)
    assert cell.before > 0.8
    with pytest.raises(ValueError, match="columns must be"):
        uneven_cells({"specifications": [{}], "tables": [{"columns": ["x"], "rows": []}]})


def test_what_is_cut_out_of_a_set_is_left_out_with_it():
    assert {source_of(name) for name in SPECS["all"].sizes} == {"adult", "hospital100", "mnist"}
