"""Releases are run again by their certificates alone, and audited on neighbouring data."""

import dataclasses
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reticent.audit.one_training import margin_scores
from reticent.audit.pairs import refuse_others
from reticent.audit.release import audit_together
from reticent.audit.release_files import (
    Effort,
    TrainingPlan,
    audit_files,
    audit_named_training,
    neighbour_of,
)
from reticent.data import Dataset
from reticent.guarantee import Relation
from reticent.protect import AdaSSPRegressor, load, release_mean, release_weights, save
from reticent.protect.estimators import ESTIMATORS
from reticent.protect.noise_scales import noise_plan, scales_of
from reticent.protect.registry import classifiers
from reticent.protect.table import cap_rows_per_person
from reticent.protect.terms import unit_of
from reticent.training import SoftmaxHead
from reticent.validation import InputError

NAMES = [f"d{digit}" for digit in range(10)]
TERMS = {"epsilon": 1.0, "delta": 1e-5}
LEARNERS = {kind.recipe.name: kind for kind in ESTIMATORS if kind.recipe.name in classifiers()}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:200] / 16 - 0.3, np.array(NAMES)[y[:200]]


def released(learner, data, **changed):
    terms = {"classes": NAMES, "records": 200, "relation": "add-remove"} | TERMS | changed
    return LEARNERS[learner](**terms).fit(*data).released_


@pytest.mark.parametrize("mechanism", ["gaussian", "logistic"])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_follows_from_its_certificate(digits, name, mechanism, tmp_path):
    if LEARNERS[name].recipe.noises:
        mechanism = "gaussian"  # stands for its own
    found = released(name, digits, mechanism=mechanism)
    save(found, tmp_path / "found")
    again = load(tmp_path / "found")
    assert again.recipe == LEARNERS[name].recipe.from_dict(found.recipe.to_dict()) == found.recipe
    assert scales_of(noise_plan(again.recipe, again.terms)) == found.scales


def test_noise_that_is_not_that_of_the_claim_is_refused_or_refuted(digits, tmp_path):
    """The file is not opened; and an audit of the object looks at the noise that it names."""
    found = released("class-means", digits)
    less = dataclasses.replace(
        found, scales={name: scale / 50 for name, scale in found.scales.items()}
    )
    save(less, tmp_path / "less")
    with pytest.raises(InputError, match="must match its certificate, got: the noise gives eps"):
        load(tmp_path / "less")
    audited = audit_files({"a": less}, reader(*digits), beta=1e-3, effort=Effort(runs=100))
    assert audited.audits["a"].refuted_by == "measured bound, for every mechanism"
    assert audited.audits["a"].analytic > 50


def test_a_claim_about_other_persons_than_the_noise_is_refused(digits):
    found = released("class-means", digits)
    person = dataclasses.replace(
        found.guarantee, unit="one person with at most 2 records", grade="declared"
    )
    forged = dataclasses.replace(found, guarantee=person)
    with pytest.raises(InputError, match="unit must be that of the terms, one record, got one per"):
        audit_files({"a": forged}, reader(*digits), beta=0.02, effort=Effort(runs=10))


@pytest.mark.parametrize("relation", [Relation.ADD_REMOVE, Relation.REPLACE_ONE])
def test_the_neighbour_is_one(digits, relation):
    found = released("class-means", digits, relation=relation)
    other = neighbour_of(found, *digits)
    refuse_others(digits, other, relation)
    assert len(other[0]) == 200 - (relation is Relation.ADD_REMOVE)


def test_the_record_believed_least_is_removed(digits):
    found = released("class-means", digits)
    own = found.predict_proba(digits[0])[np.arange(200), [NAMES.index(name) for name in digits[1]]]
    rows, labels = neighbour_of(found, *digits)
    assert (rows == np.delete(digits[0], own.argmin(), axis=0)).all()
    assert (labels == np.delete(digits[1], own.argmin())).all()
    with pytest.raises(InputError, match="private must hold a record"):
        neighbour_of(found, digits[0][:0], digits[1][:0])


@pytest.mark.parametrize("relation", [Relation.ADD_REMOVE, Relation.REPLACE_ONE])
def test_the_neighbour_of_a_person_has_all_its_rows_changed(digits, relation):
    """Of those with the most rows, the one believed least."""
    found = released("class-means", digits, relation=relation, max_records_per_person=3)
    persons = np.append(np.arange(198) // 3, [66, 67])  # the last two own one row each
    rows, labels = neighbour_of(found, *digits, persons=persons)
    refuse_others(digits, (rows, labels), relation, 3)
    sums = margin_scores(found, *digits)[:198].reshape(-1, 3).sum(axis=1)
    own = persons == sums.argmin()
    if relation is Relation.ADD_REMOVE:
        assert np.array_equal(rows, digits[0][~own])
        assert np.array_equal(labels, digits[1][~own])
    else:
        assert np.array_equal(rows, np.where(own[:, None], -digits[0], digits[0]))
        assert np.array_equal(labels != digits[1], own)


def reader(X, y, persons=None):
    """The records as a file gives them: the names of classes are texts."""

    def read(classes):
        labels = np.array([classes.index(str(name)) for name in y])
        inputs = X.astype(np.float32)
        return Dataset(
            name="digits",
            source="a test",
            inputs=inputs,
            labels=labels,
            classes=tuple(classes),
            persons=persons,
        )

    return read


def test_classes_may_be_numbers(digits):
    X, y = digits[0], np.array([int(name[1:]) for name in digits[1]])
    head = SoftmaxHead(penalty=1e-2, bound=1.0, classes=range(10), records=200).fit(X, y)
    weights = release_weights(head, relation="add-remove", **TERMS)
    means = released("class-means", (X, y), classes=range(10))
    found = audit_files(
        {"weights": weights, "means": means},
        reader(X, y),
        beta=1e-6,
        effort=Effort(runs=10, candidates=1),
    )
    assert found.fallen == ()


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_persons_keep_the_rows_that_were_fitted_on(digits, relation):
    """Each owns three rows, of which the releases were made of two."""
    X, y, persons = digits[0], digits[1], np.arange(200) % 67
    kept = cap_rows_per_person(persons, 2)
    head = SoftmaxHead(penalty=1e-2, bound=1.0, classes=NAMES, records=200).fit(X[kept], y[kept])
    terms = {"relation": relation, "max_records_per_person": 2} | TERMS
    releases = {
        "weights": release_weights(head, **terms),
        "means": released("class-means", (X[kept], y[kept]), **terms),
    }
    effort = Effort(runs=10, candidates=4)
    found = audit_files(releases, reader(X, y, persons), beta=1e-6, effort=effort)
    assert found.fallen == ()
    assert "person" in found.audits["weights"].pair
    for audit in found.audits.values():
        assert audit.claim.unit == "one person with at most 2 records"
        assert 0.2 < audit.tightness <= 1


def test_releases_for_persons_need_to_know_whose_rows_they_are(digits):
    found = released("class-means", digits, max_records_per_person=2)
    with pytest.raises(InputError, match="--person must be said, the column that says whose"):
        audit_files({"a": found}, reader(*digits), beta=0.02, effort=Effort())


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("named", [True, False])
def test_one_row_of_each_person_is_audited_as_that_person(digits, relation, named):
    """With persons the table is capped as for the release; without, it is the rows that were kept.

    Table rows that were not fitted on would be neighbours that the claim is not about.
    """
    X, y, persons = digits[0], digits[1], np.arange(200) % 67
    kept = cap_rows_per_person(persons, 1)
    head = SoftmaxHead(penalty=1e-2, bound=1.0, classes=NAMES, records=67).fit(X[kept], y[kept])
    terms = {"relation": relation, "max_records_per_person": 1} | TERMS
    releases = {
        "weights": release_weights(head, **terms),
        "means": released("class-means", (X[kept], y[kept]), records=67, **terms),
    }
    read = reader(X, y, persons) if named else reader(X[kept], y[kept])
    found = audit_files(releases, read, beta=1e-6, effort=Effort(runs=10, candidates=4))
    assert found.fallen == ()
    assert "the one record of a person" in found.audits["weights"].pair
    for audit in found.audits.values():
        assert audit.claim.unit == "one person with at most 1 record"
        assert 0.2 < audit.tightness <= 1


def test_releases_for_records_are_not_audited_by_person(digits):
    """All rows were fitted on: capped ones would be other data."""
    found, persons = released("class-means", digits), np.arange(200) // 2
    with pytest.raises(InputError, match="--person must not be said: a protects one record, who"):
        audit_files({"a": found}, reader(*digits, persons), beta=0.02, effort=Effort())


def test_a_training_on_a_row_of_each_person_claims_to_protect_persons(digits):
    numbers = {"bound": 1.0, "epsilon": 1.0, "delta": 1e-5, "records": 100, "canaries": 20}
    learner, own = (TrainingPlan(train=train, **numbers) for train in ("class-means", "own:train"))
    for persons, each in ((None, None), (np.arange(200) // 2, 1)):
        data = reader(*digits, persons)(NAMES)
        found = audit_named_training(data, learner, beta=1e-6)
        assert found.claim.unit == own.claim(each).unit == unit_of(each)


def test_releases_of_one_report_share_beta(digits):
    learner, read = released("lda", digits), reader(*digits)
    told = []
    effort = Effort(runs=10, progress=lambda done, whole: told.append((done, whole)))
    both = audit_files({"a": learner, "b": learner}, read, beta=0.02, effort=effort)
    assert {audit.measured.confidence for audit in both.audits.values()} == {0.99}
    assert told[-1] == (10, 10)
    regression = AdaSSPRegressor(
        records=200, relation="add-remove", bound=1.0, target_bound=1.0, **TERMS
    ).fit(digits[0], np.zeros(200))
    numbers = Dataset(name="n", source="a test", inputs=digits[0], labels=np.zeros(200))
    (found,) = audit_files(
        {"c": regression.released_}, lambda _: numbers, beta=1e-6, effort=effort
    ).audits.values()
    assert not found.refuted
    assert found.tightness == pytest.approx(1.0, abs=0.02)
    mean = release_mean(digits[0], bound=1.0, records=200, relation="add-remove", **TERMS)
    with pytest.raises(InputError, match="a classifier, a regression or an encoder, got a stat"):
        audit_files({"d": mean}, lambda _: numbers, beta=0.02, effort=effort)


def test_several_claims_are_audited_at_a_time_in_their_order():
    seen = []
    claims = {"one": partial(_told, "one"), "two": partial(_told, "two")}
    found = audit_together(
        claims, beta=0.1, jobs=2, progress=lambda done, whole: seen.append((done, whole))
    )
    assert dict(found.audits) == {"one": ("one", 0.05), "two": ("two", 0.05)}
    assert seen == [(1, 2), (2, 2)]


def _told(name, beta):
    return name, beta
