"""The whole job on a number, and on several labels: its document, page, card and gate."""

import dataclasses
import json
import re

import numpy as np
import pytest

from reticent.data import Dataset
from reticent.guarantee import Grade
from reticent.protect import load, verify
from reticent.report.task_page import task_page, task_utility, write_task_report
from reticent.results import Interval
from reticent.results.gate import exceeded_by_task, limits_of, refuse_other_limits
from reticent.results.task_results import TaskResults, read_any_results, read_task_results
from reticent.run.spec import RunData, RunSpec
from reticent.run.tasks.job import TaskSpec, run_task
from reticent.validation import InputError

SPEC = RunSpec(
    epsilon=2.0, delta=1e-5, relation="add-remove", records=200, bound=2.0, shadows=12, draws=2,
    epsilons=(2.0, 8.0), audit_runs=10,
)  # fmt: skip


def roles(labels_of, **more):
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, size=(320, 3))
    data = Dataset(name="t", source="s", inputs=rows, labels=labels_of(rows, rng), **more)
    return RunData.of(data.take(np.arange(200)), data.take(np.arange(200, 320)))


@pytest.fixture(scope="module")
def number():
    data = roles(lambda rows, rng: 50 + 30 * rows[:, 0] + rng.normal(0, 2, len(rows)))
    charged = []
    asked = TaskSpec(labels=("y",), target=(0.0, 100.0), unit="mm")
    finished = run_task(data, SPEC, asked, charge=lambda *told: charged.append(told))
    return finished, charged


@pytest.fixture(scope="module")
def several():
    data = roles(
        lambda rows, _: np.column_stack([rows[:, 0] > 0, rows[:, 1] > 0.5]).astype(int),
        classes=("right", "high"),
    )
    return run_task(data, SPEC, TaskSpec(labels=("right", "high")))


def test_a_number(number, tmp_path):
    finished, charged = number
    found = finished.results
    assert [one.words for one in found.unprotected.measures] == ["RMSE (mm)", "MAE (mm)", "R²"]
    assert found.unprotected.measures[0].figure.value < 3
    assert [one.claim.epsilon for one in found.releases] == [2.0, 8.0]
    assert found.recommended.claim.grade is Grade.PROVEN
    assert found.recommended.audit.verdict == "not refuted"
    assert {one.name for one in found.recommended.attacks} == {"loss", "lira-online"}
    assert len(charged) == 1  # of all draws the one that is handed over
    finished.save(tmp_path)
    assert verify(tmp_path / "released").holds
    told = load(tmp_path / "released").predict(np.array([[0.5, 0, 0], [99.0, 0, 0]]))
    assert ((told >= 0) & (told <= 100)).all()
    again = read_any_results(tmp_path / "results.json")
    assert isinstance(again, TaskResults)
    assert again.recommended.claim.grade is Grade.DECLARED  # of a file nobody knows who wrote it


def test_several_labels(several):
    found = several.results
    names = {one.words for one in found.unprotected.measures}
    assert {"accuracy of right", "F1 of high", "F1, mean of all labels"} <= names
    assert several.released.classes_.tolist() == ["right", "high"]
    assert any("Most is lost on one label" in line for line in found.conclusion.sentences)


def test_pages_use_the_words_of_their_task(number, several, tmp_path):
    page = task_page(number[0].results)
    own = re.sub(r"(?s)<section id=\"guarantee\".*?</section>", "", page)
    assert "RMSE (mm)" in own
    assert not re.search(r"(?i)(?<!balanced )accurac", own)
    assert "accuracy of right" in task_page(several.results)
    written = {path.name for path in write_task_report(number[0].results, tmp_path)}
    assert {"report.html", "epsilon-measure.svg", "measures.csv"} <= written
    utility = task_utility(number[0].results)
    assert "R²" in utility
    assert "accuracy" not in utility


def test_names_are_escaped(number):
    found = number[0].results
    facts = found.facts.model_copy(update={"labels": ("<script>alert(1)</script>",)})
    assert "<script>" not in task_page(found.model_copy(update={"facts": facts}))


def test_a_refuted_claim_is_not_to_be_published(number):
    from reticent.run.tasks.conclusion import concluded

    found = number[0].results
    audit = found.recommended.audit.model_copy(update={"verdict": "refuted"})
    fallen = found.recommended.model_copy(update={"audit": audit})
    verdict = concluded(found.unprotected, fallen, {"loss": 0.6})
    assert verdict.headline.startswith("Do not publish")
    assert verdict.forbids


def test_the_gate_looks_at_the_change_of_the_first_measure(number):
    found = number[0].results
    change = Interval(value=0.3, low=0.2, high=0.4, confidence=0.95)
    row = found.recommended.model_copy(update={"change": change})
    found = found.model_copy(update={"releases": (row,)})
    assert exceeded_by_task(found, limits_of(["loss=0.19"]))
    assert not exceeded_by_task(found, limits_of(["loss=0.21"]))
    assert exceeded_by_task(found, limits_of(["epsilon=1"]))
    assert not exceeded_by_task(found, limits_of(["epsilon=2"]))
    odd = dataclasses.replace(limits_of(["auc=0.5"])[0], figure="recall")
    with pytest.raises(InputError, match="must be of auc"):
        refuse_other_limits([odd])


def test_a_damaged_document_is_refused(number, tmp_path):
    path = tmp_path / "results.json"
    values = json.loads(number[0].results.model_dump_json())
    values["unprotected"]["measures"] = values["unprotected"]["measures"][:1]
    path.write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(InputError, match="measures of the model without protection"):
        read_task_results(path)


def test_a_number_without_a_range_is_refused():
    data = roles(lambda rows, _: rows[:, 0].copy())
    with pytest.raises(InputError, match="public range of the label"):
        run_task(data, SPEC, TaskSpec(labels=("y",)))
