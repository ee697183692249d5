"""What training studies share: kept cells, progress, losses, verdicts, tasks."""

import json

import numpy as np
import pytest

from reticent.studies import STUDIES, Cells, Outcome, Steps, Table, Trained, record, study, trained
from reticent.studies.losses import Claim, bare, loss_row, verdict
from reticent.studies.tasks import task, unit_root
from reticent.validation import InputError

CLAIM = Claim(grade="published", mechanism="logistic", epsilon=1.0, delta=0.0)


class TestCells:
    def test_a_cell_is_computed_once(self):
        cells, calls = Cells(), []
        for _ in range(2):
            assert cells.get("a", lambda: calls.append(1) or [1.5]) == [1.5]
        assert len(calls) == 1

    def test_a_stop_loses_only_the_cell_it_fell_into(self, tmp_path):
        path = tmp_path / "out.json.part"
        first = Cells(path)
        first.get(("spec", 1), lambda: [1])

        def stopped():
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            first.get(("spec", 2), stopped)
        again = Cells(path)
        assert again.get(("spec", 1), stopped) == [1]
        assert again.get(("spec", 2), lambda: [2]) == [2]

    def test_another_specification_is_another_cell(self, tmp_path):
        path = tmp_path / "out.json.part"
        Cells(path).get(("spec", 1), lambda: [1])
        assert Cells(path).get(("other", 1), lambda: [3]) == [3]

    def test_the_file_goes_when_the_result_is_written(self, tmp_path):
        cells = Cells(tmp_path / "part")
        cells.get(1, lambda: 1)
        cells.drop()
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("content", [b"[1]", b"\xff", b"{"])
    def test_a_foreign_file_is_refused(self, tmp_path, content):
        path = tmp_path / "part"
        path.write_bytes(content)
        with pytest.raises(InputError, match="must hold the cells of an earlier run"):
            Cells(path)


def test_progress_never_passes_the_plan():
    seen = []
    steps = Steps(advance=lambda done, whole: seen.append((done, whole)))
    steps.plan(2)
    for _ in range(3):
        steps.step()
    assert seen == [(1, 2), (2, 2), (2, 2)]


@pytest.mark.parametrize(
    ("holding", "said"),
    [
        ((1.0, 2.0), "c: holds at every ε (1, 2)."),
        ((), "c: does not hold at any ε (1, 2)."),
        ((2.0,), "c: holds at ε = 2, does not hold at ε = 1."),
    ],
)
def test_a_verdict_is_what_the_rows_say(holding, said):
    assert verdict("c", [1.0, 2.0], lambda epsilon: epsilon in holding) == said


@pytest.mark.parametrize(
    ("value", "shown"), [(0.9126, ".913"), (-0.0031, "-.003"), (1.0, "1.000"), (-1.25, "-1.250")]
)
def test_numbers_without_the_leading_zero(value, shown):
    assert bare(value, 3) == shown


def test_the_loss_is_that_of_definition_6_1():
    truth = np.repeat(["a", "b"], 50)
    right, half = truth.copy(), np.repeat(["a"], 100)
    row = loss_row(CLAIM, [half, half, right], unprotected=right, truth=truth)
    assert row.protected == pytest.approx(2 / 3)
    assert row.loss == pytest.approx(1 / 3)
    assert row.low < row.loss < row.high
    assert row.std == pytest.approx(np.std([0.5, 0.5, 1.0], ddof=1))
    assert (row.grade, row.draws) == ("published", 3)


def test_roots_have_unit_norm_row_by_row():
    rows = np.float32([[4.0, 0.0, 9.0], [0.0, 0.0, 0.0], [1e-8, 0.0, 0.0]])
    mapped = unit_root(rows)
    assert np.allclose(mapped[0], np.array([2.0, 0.0, 3.0]) / np.sqrt(13), atol=1e-6)
    assert np.array_equal(mapped[1], np.zeros(3))
    assert np.array_equal(mapped[:1], unit_root(rows[:1]))


def test_queries_are_never_private_records():
    found = task("digits", records=1400, seed=3)
    assert (len(found.private), len(found.queries)) == (1400, 397)
    private = {row.tobytes() for row in found.rows}
    twins = sum(row.tobytes() in private for row in found.queries)
    assert twins <= 5  # a few of scikit-learn's digits are there twice
    assert found.rows.min() == pytest.approx(-0.3, abs=1e-6)
    assert set(found.labels) == set(found.truth) == set("0123456789")


def test_cifar10_features_are_read_from_the_folder(tmp_path):
    (tmp_path / "features").mkdir()
    generator = np.random.default_rng(0)
    for part, size in (("train", 40), ("test", 20)):
        x = generator.random((size, 6)).astype(np.float32)
        np.savez(tmp_path / "features" / f"cifar10_{part}.npz", x=x, y=np.arange(size) % 10)
    found = task("cifar10", records=30, seed=0, folder=tmp_path)
    assert (len(found.private), found.queries.shape) == (30, (20, 6))
    assert found.private.public_classes
    assert np.linalg.norm(found.rows, axis=1) == pytest.approx(np.ones(30), abs=1e-6)


def test_a_record_names_all_that_is_needed_and_no_path():
    table = Table(title="t", columns=("a",), rows=(("1",),), notes=("n",))
    kept = record(Outcome(specifications=(CLAIM,), tables=(table,)), command="reticent reproduce x")
    assert json.loads(json.dumps(kept)) == kept
    assert set(kept) == {"command", "date", "versions", "specifications", "tables"}
    assert kept["specifications"][0]["epsilon"] == 1.0
    assert {"python", "reticent", "numpy"} <= set(kept["versions"])


def test_an_item_that_trains_is_not_run_as_an_exact_one():
    with pytest.raises(InputError, match="fig1 of alm must be run with trained"):
        study("alm", "fig1")
    assert trained("alm", "noise") is None
    with pytest.raises(InputError, match="item of alm must be one of noise, sampler, fig1"):
        trained("alm", "table9")


@pytest.mark.parametrize("name", [name for name in STUDIES if isinstance(STUDIES[name], Trained)])
def test_each_trained_item_says_what_it_is_and_on_what(name):
    found = STUDIES[name]
    assert found.what.endswith(".")
    assert found.chosen(None) == found.on[0]
    assert found.in_folder <= set(found.on)
    with pytest.raises(InputError, match="--on must be one of"):
        found.chosen("imagenet")
