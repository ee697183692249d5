"""PATE: teachers by a hash of the record, charged checks, a student of public records."""

import numpy as np
import pytest

from reticent import bounds
from reticent.audit.end_to_end.pairs import audit_pair, combinations
from reticent.audit.transcripts import audit_release_queries
from reticent.guarantee import Grade
from reticent.protect import RECIPES, Terms, noisy_query, release_records, save, verify
from reticent.protect.noise_scales import composed_epsilon, noise_plan, with_scales
from reticent.protect.recipe import replay
from reticent.protect.recipes import pate
from reticent.run.every_release import every_release
from reticent.validation import InputError

RNG = np.random.default_rng(0)


def terms(**changes):
    return Terms(**({"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove"} | changes))


def data(n=600, classes=2):
    labels = np.arange(n) % classes
    return RNG.normal(size=(n, 4)) + 3 * np.eye(4)[labels], labels


def planned(said, **options):
    given = {"records": 600, "features": 4, "classes": 2} | options
    return RECIPES["pate"].planned(said, **given)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("mechanism", "delta"), [("gaussian", 1e-5), ("laplace", 0.0)])
def test_a_proven_release_that_spends_its_budget(tmp_path, relation, mechanism, delta):
    rows, labels = data()
    said = terms(relation=relation, delta=delta)
    public = pate.public_text(data(40)[0])
    recipe = planned(said, mechanism=mechanism, public=public, teachers=20)
    found = release_records(recipe, said, rows, labels, classes=range(2))
    assert found.guarantee.grade is Grade.PROVEN
    plan = with_scales(found.recipe, found.scales, said)
    assert 0.98 < composed_epsilon(plan, relation=said.relation, delta=delta) <= 1.0
    assert plan["confidence"].times == 40  # charged also where it refuses
    assert plan["votes"].times == 20
    save(found, tmp_path / "model")
    assert verify(tmp_path / "model").holds


def test_a_student_learns_from_votes():
    rows, labels = data(30_000)
    said = terms(epsilon=4.0)
    recipe = planned(said, records=30_000, public=pate.public_text(data(100)[0]))
    assert recipe.teachers == 234
    found = release_records(recipe, said, rows, labels, classes=range(2))
    assert np.mean(found.predict(rows[:2000]) == labels[:2000]) > 0.9


@pytest.mark.parametrize("classes", [2, 3])
def test_one_record_moves_one_vote(classes):
    rows, labels = data(300, classes)
    recipe = planned(terms(), classes=classes, teachers=30)
    asked = recipe._asked()
    votes = recipe._votes(rows, labels, asked)
    for gone in range(0, 60, 7):
        left = np.delete(np.arange(300), gone)
        moved = recipe._votes(rows[left], labels[left], asked) - votes
        assert np.abs(moved).sum(axis=1).max() <= bounds.teacher_votes(relation="add-remove").l1
        assert np.linalg.norm(moved, axis=1).max() <= np.sqrt(2)


def test_by_order_one_record_would_move_many(monkeypatch):
    """What the hash is for: teachers by place in the table, on labels that decide nothing."""
    rng = np.random.default_rng(1)
    rows, labels = rng.normal(size=(300, 4)), rng.integers(2, size=300)
    recipe = planned(terms(), teachers=30)
    asked = recipe._asked()
    by_place = lambda rows, labels, teachers: np.arange(len(rows)) % teachers  # noqa: E731
    monkeypatch.setattr(pate, "teacher_of", by_place)
    left = np.delete(np.arange(300), 150)  # all behind it move on to another teacher
    moved = recipe._votes(rows[left], labels[left], asked) - recipe._votes(rows, labels, asked)
    assert np.abs(moved).sum(axis=1).max() > 2


def test_a_refused_query_is_checked_and_not_answered():
    rows, labels = data()
    said = terms()
    recipe = planned(said, teachers=20, queries=12, answers=3, threshold=1e9)
    seen = []

    def answer(noise, value):
        seen.append(value.size)
        return noise.release(value)

    replay(recipe, noise_plan(recipe, said), rows, labels)(answer)
    assert seen == [1] * 12  # the threshold is out of reach: twelve checks, no vote
    willing = planned(said, teachers=20, queries=12, answers=3, threshold=1e-9)
    seen.clear()
    with noisy_query.with_noise_function(lambda noise, value: (seen.append(value.size), value)[1]):
        willing.learn(rows, labels, noise_plan(willing, said))
    assert seen == [1, 2] * 3


def test_the_empty_table_and_equal_records():
    said = terms()
    for rows in (np.zeros((0, 4)), np.ones((50, 4))):
        labels = np.zeros(len(rows), dtype=int)
        found = release_records(planned(said), said, rows, labels, classes=range(2))
        assert np.isfinite(found.predict_proba(np.eye(4))).all()


def test_what_is_refused():
    public = pate.public_text(np.ones((5, 4)))
    for wrong in (
        {"public": "no base64!"},
        {"public": pate.public_text(np.ones((5, 3)))},
        {"public": public, "queries": 6},
        {"queries": 5, "answers": 6},
        {"threshold": -1.0},
    ):
        with pytest.raises(InputError):
            planned(terms(), **wrong)
    with pytest.raises(InputError):
        pate.public_text(np.full((2, 2), np.nan))


def test_transcripts_of_neighbours():
    rows, labels = data(60)
    said = terms()
    recipe = planned(said, records=60, teachers=10, queries=8)
    found = release_records(recipe, said, rows, labels, classes=range(2))
    fewer = rows[1:], labels[1:]
    audit = audit_release_queries(found, (rows, labels), fewer, runs=80, beta=1e-6)
    assert audit.verdict == "not refuted"
    assert audit.sealed
    assert audit.tightness <= 1


@pytest.mark.slow
def test_end_to_end_and_teachers_by_order_are_found(monkeypatch):
    audited = {"pate": every_release()["pate"]}

    def holds():
        return all(
            audit_pair(audited["pate"], one, number).outcome.holds
            for one in combinations(audited)
            for number in range(4)
        )

    assert holds()
    monkeypatch.setattr(
        pate, "teacher_of", lambda rows, labels, teachers: np.arange(len(rows)) % teachers
    )
    monkeypatch.setattr(pate, "_RECORDS_A_TEACHER", 2)
    assert not holds()
