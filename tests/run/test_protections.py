"""Every protection on one data set: a row each, the same attacks, one page, one command."""

import dataclasses
import json

import numpy as np
import pytest

from reticent.cli.main import BAD_INPUT, run
from reticent.data import Dataset
from reticent.protect.recipes.lda import LDARecipe
from reticent.protect.registry import classifiers
from reticent.report import write_report
from reticent.report.protections import protections_page, write_protections
from reticent.results import read_results
from reticent.results.protections import read_protections
from reticent.results.recalls import by_class_of, with_losses
from reticent.run import RunData, RunSpec, duration, run_job
from reticent.run.bounded import bounded
from reticent.run.protections import (
    LONGEST,
    PLACES,
    UNPROVEN,
    ProtectionsSpec,
    compare_protections,
    compared,
)
from reticent.run.stages import OTHER_PLACES
from reticent.validation import InputError


def data(n, seed):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    rows = rng.normal(size=(n, 3)) + np.outer(2 * labels - 1, [1.5, 0.5, 0.0])
    return Dataset(
        name="toy", source="made here", inputs=rows.astype(np.float32), labels=labels,
        classes=("no", "yes"),
    )  # fmt: skip


def spec(**changes):
    asked = {"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove", "records": 400, "draws": 2}
    return ProtectionsSpec(**(asked | {"attacked": 100} | changes))


@pytest.fixture(scope="module")
def found():
    return compare_protections(data(400, 0), data(200, 1), spec())


def test_every_protection_of_the_registry_has_a_row(found):
    assert {row.recipe for row in found.rows} == set(classifiers()) - set(LONGEST)
    assert found.skipped == {}
    assert set(PLACES) <= set(classifiers())
    for row in found.rows:
        assert row.claim.grade == "proven"
        assert row.claim.epsilon == 1.0
        assert row.accuracy.low <= row.accuracy.value <= row.accuracy.high
        assert [attack.name for attack in row.attacks] == ["loss", "confidence"]
        assert (row.attacks[0].members, row.attacks[0].others) == (100, 100)
    best = found.by_accuracy[0]
    assert best.accuracy.value > 0.75
    assert found.unprotected.value > 0.8


def test_at_delta_zero_beside_and_what_cannot_be_asked_is_said():
    chosen = ("class-means", "objective")
    both = compare_protections(
        data(200, 0), data(100, 1), spec(protections=chosen, pure=True, draws=1)
    )
    deltas = {(row.recipe, row.claim.delta) for row in both.rows}
    assert deltas == {("class-means", 1e-5), ("class-means", 0.0), ("objective", 1e-5)}
    assert "mechanism must be gaussian" in both.skipped["objective, δ = 0"]


def test_smoothing_and_algorithm_5_2_stand_beside_by_name(tmp_path):
    """One promises nothing about records and certifies queries, the other is as it was printed."""
    assert not set(UNPROVEN) & set(spec().names)
    found = compare_protections(
        data(200, 0), data(120, 1), spec(protections=(*UNPROVEN, "lda"), pure=True, draws=2)
    )
    assert found.skipped == {}
    smooth, printed = (next(r for r in found.rows if r.recipe == name) for name in UNPROVEN)
    assert len(found.rows) == 4  # neither stands twice, at either δ
    assert smooth.claim is None
    assert 0.5 < smooth.certified.accuracy.value <= smooth.accuracy.value + 1e-9
    assert smooth.certified.confidence == 0.999
    assert (printed.claim.grade, printed.claim.relation) == ("published", "replace-one")
    assert printed.claim.delta == 0
    assert printed.accuracy.value > 0.4
    shown = {row[0]: row for row in found.table().rows}
    assert shown["smoothing"][1:3] == ("none", "")
    assert f"certified within 0.25: {smooth.certified.accuracy.value:.3f}" in shown["smoothing"][3]
    write_protections(found, tmp_path)
    page = (tmp_path / "protections.html").read_text(encoding="utf-8")
    assert "no claim about records" in page
    again = read_protections(tmp_path / "protections.json")
    assert next(row for row in again.rows if row.recipe == "smoothing").claim is None
    three, others = (
        dataclasses.replace(data(60, seed), classes=("a", "b", "c"), labels=np.arange(60) % 3)
        for seed in range(2)
    )
    left = compare_protections(three, others, spec(protections=("algorithm-5.2",), draws=1))
    assert "classes must be 2 for algorithm-5.2, got 3" in left.skipped["algorithm-5.2"]


def test_attacks_on_shadows_train_them_as_each_protection_was_made(monkeypatch):
    """The shadows of a release go its own way: its recipe's learn is called for each of them."""
    learned, honest = [], LDARecipe.learn

    def learn(self, *arguments):
        learned.append(len(arguments[0]))
        return honest(self, *arguments)

    monkeypatch.setattr(LDARecipe, "learn", learn)
    asked = spec(protections=("lda",), attacks=("loss", "lira-offline"), shadows=4, draws=1)
    found = compare_protections(data(200, 0), data(200, 1), asked)
    assert found.skipped == {}
    assert [attack.name for attack in found.rows[0].attacks] == ["loss", "lira-offline"]
    assert learned[0] == 200
    assert learned[1:] == [50] * 4  # half of the adversary's own, which are half of the test


@pytest.mark.slow
def test_a_run_has_them_as_a_section_of_its_page_and_of_its_document(tmp_path):
    roles = RunData.of(data(150, 0), data(120, 1))
    asked = RunSpec(
        epsilon=1.0, delta=1e-5, relation="add-remove", records=150, bound=3.0, epsilons=(1.0,),
        mechanisms=(), penalties=(1e-4,), pairs=10, sampled=5, draws=2, shadows=10, beta=1e-7,
        audit_runs=2000, compare_protections=True,
    )  # fmt: skip
    told = []
    finished = run_job(roles, asked, stage=lambda *stage: told.append(stage))
    compared = finished.results.protections
    assert {row.recipe for row in compared.rows} == set(classifiers()) - set(LONGEST)
    assert (compared.epsilon, compared.delta, compared.private) == (1.0, 1e-5, 150)
    assert (OTHER_PLACES, 1, len(compared.rows)) in told
    (document, *_) = finished.save(tmp_path)
    again = read_results(document)
    assert len(again.protections.rows) == len(compared.rows)
    page = next(path for path in write_report(again, tmp_path) if path.name == "report.html")
    text = page.read_text(encoding="utf-8")
    assert '<section id="protections"' in text
    assert 'href="#protections"' in text
    assert 'id="figure-protections"' in text
    assert (tmp_path / "tables" / "protections.csv").exists()
    work = duration.Work.of(roles, bounded(roles, asked))
    assert "to compare protections" in duration.line_of(work, jobs=1)
    without = dataclasses.replace(work, compared=0)
    assert "to compare" not in duration.line_of(without, jobs=1)


def test_a_comparison_within_a_run_keeps_its_grade():
    """Numbers that were read off the private records leave no other place proven either."""
    roles = RunData.of(data(60, 0), data(40, 1))
    asked = RunSpec(
        epsilon=1.0, delta=1e-5, relation="add-remove", records=60, bound=3.0, draws=2,
        inferred_from_data=("records",),
    )  # fmt: skip
    found = compared(roles, asked, lambda *_: None)
    assert {row.claim.grade for row in found.rows} == {"declared"}


def test_a_pure_learner_stands_at_delta_zero_with_its_own_noise():
    chosen = ("pure-class-means", "matrix-lda", "class-means")
    found = compare_protections(
        data(200, 0), data(100, 1), spec(protections=chosen, delta=0.0, draws=1)
    )
    assert found.skipped == {}
    assert {row.recipe: (row.mechanism, row.claim.delta) for row in found.rows} == {
        "pure-class-means": ("block-l2-laplace", 0.0),
        "matrix-lda": ("matrix-laplace", 0.0),
        "class-means": ("laplace", 0.0),
    }


def test_the_page_holds_the_plot_the_table_and_nothing_that_runs(found, tmp_path):
    page = protections_page(found)
    assert page.count("<svg") == 1
    assert "<script" not in page
    assert all(row.recipe in page for row in found.rows)
    paths = write_protections(found, tmp_path)
    again = read_protections(tmp_path / "protections.json")
    assert {row.claim.grade for row in again.rows} == {"declared"}  # whoever can write a file
    assert again.unprotected == found.unprotected
    assert all(path.stat().st_mode & 0o077 == 0 for path in paths)


def test_bad_numbers_are_refused():
    for wrong in ({"protections": ("hope",)}, {"protections": ("lda", "lda")}, {"draws": 0},
                  {"epsilon": float("nan")}, {"attacks": ("none",)}):  # fmt: skip
        with pytest.raises(InputError):
            spec(**wrong)
    with pytest.raises(InputError, match="at least 2 records"):
        compare_protections(data(20, 0), data(1, 1), spec())


def test_recalls_stand_beside_the_accuracy(found):
    for row in found.rows:
        assert [recall.label for recall in row.by_class.recalls] == ["no", "yes"]
        recalls = [recall.recall.value for recall in row.by_class.recalls]
        assert row.by_class.balanced_accuracy.value == pytest.approx(np.mean(recalls))
        before = found.unprotected_by_class.balanced_accuracy.value
        lost = 1 - row.by_class.balanced_accuracy.value / before
        assert row.by_class.balanced_loss.value == pytest.approx(lost)
    best, table = found.by_accuracy[0], found.table()
    worst = best.by_class.lowest
    shown = dict(zip(table.columns, table.rows[1], strict=True))
    assert shown["lowest recall"] == f"{worst.label}: {worst.recall.value:.3f}"
    assert shown["balanced"] == f"{best.by_class.balanced_accuracy.value:.3f}"


def test_a_protection_that_loses_a_class_is_named_with_it(found):
    labels = np.where(np.arange(100) < 5, "rare", "most")
    before = by_class_of([np.ones(100, dtype=bool)], labels, ("most", "rare"))
    after = by_class_of([labels == "most"], labels, ("most", "rare"))
    rows = tuple(
        row.model_copy(update={"by_class": with_losses(after if place == 0 else before, before)})
        for place, row in enumerate(found.rows)
    )
    lost = found.model_copy(update={"rows": rows, "unprotected_by_class": before})
    assert lost.warnings == (
        f"{rows[0].name}: Protection costs more than half of the recall of class rare"
        " (1.000 → 0.000).",
    )
    assert lost.warnings[0] in protections_page(lost)


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")  # no heading is broken
    files = []
    for name, table in (("train", data(200, 0)), ("test", data(100, 1))):
        path = tmp_path / f"{name}.csv"
        lines = [",".join(map(repr, map(float, row))) + f",{table.classes[label]}"
                 for row, label in zip(table.inputs, table.labels, strict=True)]  # fmt: skip
        path.write_text("a,b,c,y\n" + "\n".join(lines) + "\n", encoding="utf-8")
        files.append(str(path))
    asked = ["compare-protections", "--private", files[0], "--test", files[1], "--label", "y",
             "--classes", "no,yes", "--records", "200", "--epsilon", "1", "--delta", "1e-5",
             "--relation", "add-remove", "--draws", "1"]  # fmt: skip
    assert run([*asked, "--protections", "lda,functional", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["recipe"] for row in document["rows"]] == ["lda", "functional"]
    assert run([*asked, "--protections", "lda"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "balanced" in printed
    assert "lowest recall" in printed
    assert run([*asked, "--protections", "hope"]) == BAD_INPUT
    assert "protections must be among" in capsys.readouterr().err
