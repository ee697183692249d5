"""A large table: what is measured is bounded, said, and the release is made from all records."""

import dataclasses

import numpy as np
import pytest

from reticent.data import Dataset
from reticent.run import RunData, RunSpec, bounded, run_job

RECORDS, WIDTH, CLASSES = 240, 6, 4
SPEC = RunSpec(
    epsilon=4.0,
    delta=1e-5,
    relation="add-remove",
    records=RECORDS,
    bound=2.0,
    mechanisms=("gaussian",),
    penalties=(1e-2,),
    audit_runs=200,
    beta=1e-7,
)


def table(records, seed, persons=None):
    rng = np.random.default_rng(seed)
    labels = rng.integers(CLASSES, size=records)
    rows = 0.5 * np.eye(CLASSES, WIDTH)[labels] + 0.3 * rng.standard_normal((records, WIDTH))
    names = tuple(map(str, range(CLASSES)))
    return Dataset(
        name="clusters", source="a generator", inputs=rows, labels=labels, classes=names,
        persons=persons,
    )  # fmt: skip


def roles(persons=None):
    return RunData.of(table(RECORDS, 0, persons), table(180, 1))


@pytest.fixture
def small_limits(monkeypatch):
    """Limits that a table of 240 records is beyond."""
    width = WIDTH * 10
    for name, value in (
        ("MEASURED", 120 * width),
        ("REPEATED", 200 * width),
        ("FEWEST", 20),
        ("SHADOWS", 10),
    ):
        monkeypatch.setattr(bounded, name, value)


def test_a_small_run_is_measured_whole():
    data = roles()
    plan = bounded.bounded(data, SPEC)
    assert plan.measured is data
    assert plan.spec is SPEC
    assert plan.exact
    assert plan.published
    assert plan.notes == ()


def test_what_is_measured_of_a_large_table_does_not_grow_with_it(small_limits):
    plan = bounded.bounded(roles(), SPEC)
    measured = plan.measured
    assert (len(measured.private), len(measured.others), len(measured.own)) == (60, 60, 60)
    assert len(measured.test) <= 60  # it goes to every worker process
    assert (plan.spec.draws, plan.spec.shadows, plan.spec.epsilons) == (2, 10, (4.0,))
    assert not plan.exact
    assert not plan.published
    said = " ".join(plan.notes)
    for words in (
        "60 of the private records",
        "2 draws",
        "10 shadow",
        "Algorithm 2",
        "most exposed",
    ):
        assert words in said
    assert "--unbounded" in said


def test_what_was_asked_for_is_not_made_fewer(small_limits):
    asked = dataclasses.replace(SPEC, draws=3, shadows=12, epsilons=(4.0, 9.0))
    assert bounded.bounded(roles(), asked).spec == asked
    whole = dataclasses.replace(SPEC, unbounded=True)
    plan = bounded.bounded(roles(), whole)
    assert plan.notes == ()
    assert len(plan.measured.private) == RECORDS


def test_the_sample_hangs_on_the_seed_and_sizes_alone(small_limits):
    data = roles()
    first = bounded.bounded(data, SPEC).measured
    assert np.array_equal(first.kept, bounded.bounded(data, SPEC).measured.kept)
    other = dataclasses.replace(SPEC, seed=1)
    assert not np.array_equal(first.kept, bounded.bounded(data, other).measured.kept)
    assert np.array_equal(first.private.features, data.private.features[first.kept])


def test_a_person_is_measured_with_all_rows_or_not_at_all(small_limits):
    data = roles(np.arange(RECORDS) // 3)
    spec = dataclasses.replace(SPEC, max_records_per_person=3)
    measured = bounded.bounded(data, spec).measured.private
    assert 40 <= len(measured) <= 60
    assert set(np.bincount(measured.persons)) <= {0, 3}


@pytest.mark.slow
def test_a_large_run_releases_from_all_records_and_says_what_it_measured(small_limits):
    found = run_job(roles(), SPEC).results
    assert found.facts.private == RECORDS
    assert {attack.members for attack in found.unprotected.attacks} == {60}
    assert found.recommended.draws == 2
    assert found.recommended.audit is not None
    assert found.exposure is None
    assert all(row.grade != "published" for row in found.sensitivities)
    notes = bounded.bounded(roles(), SPEC).notes
    assert set(notes) <= set(found.conclusion.sentences)
    assert all("released-weights" != a.name for row in found.releases for a in row.attacks)
