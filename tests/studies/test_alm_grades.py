"""ALM's figures by grade: each sensitivity has its rows, and the claims are what the rows say."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from reticent.attacks import Records
from reticent.protect import release_weights
from reticent.studies import Run, alm_grades
from reticent.studies.alm_grades import BY_GRADE, SPECS, claims
from reticent.studies.tasks import task
from reticent.studies.trained import Cells

ROWS = [f"{grade}/{kind.name}" for grade, kinds in BY_GRADE.items() for kind in kinds]


def cells(attack, loss):
    """Two seeds with these figures in every row at the one ε."""
    return [
        {name: [[attack + jitter, 0.5, loss + jitter]] for name in (*ROWS, "declared/matrix-lda")}
        for jitter in (0.0, 0.0001)
    ]


@pytest.mark.parametrize(
    ("attack", "loss", "near", "below"),
    [(0.5, 0.05, True, True), (0.6, 0.05, False, True), (0.5, 0.2, True, False)],
)
def test_claims_are_what_the_rows_say(attack, loss, near, below):
    spec = replace(SPECS["digits"], epsilons=(0.5,))
    found = claims(spec, cells(attack, loss))
    assert [note.partition(":")[0] for note in found[::2]] == [
        "published logistic",
        "sampled logistic",
        "proven logistic",
        "declared matrix-lda",
    ]
    assert all(("holds at every ε" in note) == near for note in found[::2])
    assert all(("holds at every ε" in note) == below for note in found[1::2])


@pytest.mark.slow
def test_a_small_table_runs():
    spec = replace(
        SPECS["digits"], members=100, pairs=5, sampled=2, draws=1, seeds=2, epsilons=(0.01, 1e6)
    )
    (table,) = alm_grades.study(spec, Run()).tables
    rows = {row[:3]: row[3:] for row in table.rows}
    free = accuracy(rows["–", "none", "–"])
    for grade, kinds in BY_GRADE.items():
        for kind in kinds:
            assert accuracy(rows[str(grade), kind.name, "1e+06"]) == pytest.approx(free, abs=0.011)
            assert accuracy(rows[str(grade), kind.name, "0.01"]) < 0.6 * free
    assert accuracy(rows["declared", "matrix-lda", "1e+06"]) > 0.8 * free


def accuracy(figures):
    return float(figures[1].split()[0])


def test_noise_grows_with_what_a_grade_covers():
    """At one ε: more for the theorem than for what pairs of records showed."""
    spec = replace(SPECS["digits"], members=100, pairs=20, sampled=2)
    head, sensitivities = fitted(spec)
    published, sampled = sensitivities
    assert str(published.grade) == "published"
    assert str(sampled.grade) == "sampled"
    proven = release_weights(
        head, epsilon=1.0, delta=1e-5, relation="add-remove", mechanism="gaussian"
    )
    (noise,) = proven.noises.values()
    assert noise.sensitivity.l2 > max(published.l2, sampled.l2) > 0


def fitted(spec):
    data = task("digits", records=3 * spec.members, seed=0)
    records = Records(data.rows, data.labels)
    inside, outside = (
        records.take(places) for places in np.split(np.arange(len(records)), [spec.members])
    )
    unfitted = alm_grades.head_of(spec, data.private.classes)
    head = clone(unfitted).fit(inside.inputs, inside.labels)
    return head, alm_grades.sensitivities(spec, unfitted, head, (inside, outside), 0, Run())


def test_more_seeds_go_on_from_the_cells_that_are_kept(monkeypatch, tmp_path):
    taken = []

    def cell(_spec, seed, _run):
        taken.append(seed)
        return cells(0.5, seed / 1000)[0] | {"none": [[0.5, 0.5, 0.0]]}

    monkeypatch.setattr(alm_grades, "_cell", cell)
    spec = replace(SPECS["digits"], epsilons=(1.0,))
    for seeds in (2, 3):
        run = Run(cells=Cells(tmp_path / "table.json.part"))
        alm_grades.study(replace(spec, seeds=seeds), run)
    assert taken == [10, 11, 12]
