"""Where persons are named the person is the unit, at one row each too.

Keeping each person's first row is no function of single rows: without that row the person's next
one stands in its place. So a claim about *one record* would be false, and these tests compute by
how much; that of *one person* is kept.
"""

import dataclasses

import numpy as np
import pytest

from reticent.attacks.released_weights import noise_of
from reticent.audit.end_to_end.adversarial import held_records
from reticent.audit.pairs import WorstPair, pair_epsilon
from reticent.audit.transcript_replay import run_pair
from reticent.data import Dataset
from reticent.guarantee import Grade, Relation
from reticent.protect import load, release_table, save, verify
from reticent.protect.noise_scales import with_scales
from reticent.protect.recipe import replay
from reticent.protect.registry import classifiers
from reticent.protect.table import HeadSpec, ReleaseRequest, fit_head, private_rows
from reticent.protect.terms import Terms, unit_of
from reticent.training.records import indices_of
from reticent.validation import InputError

EPSILON, DELTA = 1.0, 1e-5
ONE_PERSON = "one person with at most 1 record"
TERMS = Terms(epsilon=EPSILON, delta=DELTA, relation=Relation.ADD_REMOVE)
REQUEST = ReleaseRequest(
    terms=TERMS, records=2_000, options={"bound": 1.0, "intercept": 0.0, "penalty": 1e-3}
)


def asked(learner, each=None):
    """A release by this recipe, with so many rows of a person, where that is said."""
    terms = dataclasses.replace(TERMS, max_records_per_person=each)
    return dataclasses.replace(REQUEST.by(learner), terms=terms)


def table(learner):
    """The last two rows are one person's, alike in their label and opposed in their features."""
    if learner == "weights":
        X, y = held_records(directions=200, each=10)
    else:
        X, y = np.eye(4)[[3, 0, 0]] * [[1.0], [1.0], [-1.0]], np.zeros(3, dtype=int)
    persons = np.minimum(np.arange(len(y)), len(y) - 2)
    return Dataset(
        name="toy", source="made here", inputs=X.astype(np.float32), labels=y,
        classes=("a", "b"), persons=persons,
    )  # fmt: skip


def without(data, *gone):
    return data.take(np.setdiff1d(np.arange(len(data)), [row % len(data) for row in gone]))


def exact_epsilon(released, learner, one, other):
    """Of what a release tells of two tables, by its own noise; the answers are zeros."""
    if learner == "weights":
        spec = HeadSpec.of(released.recipe, released.terms)
        heads = [fit_head(part, spec) for part in (one, other)]
        absent, present = (head.coordinates_.ravel() for head in heads)
        pair = WorstPair(absent=absent, present=present, kind="built")
        return pair_epsilon(noise_of(released), pair, DELTA)
    plan = with_scales(released.recipe, released.scales, released.terms)
    worlds = []
    for part in (one, other):
        rows, labels = private_rows(part, 1)
        worlds.append(replay(released.recipe, plan, rows, indices_of(labels, released.classes_)))
    found = run_pair(*worlds, lambda _noise, value: np.zeros_like(value))
    return found.epsilon(Relation.ADD_REMOVE, DELTA)


EXACT = {"weights": 2.0, "class-means": 2.1, "noisy-gradient": 2.0, "lda": 1.8, "adassp": 1.8}
"""At least, for an ε of 1: a row less in the table is two rows' difference in what is kept."""


@pytest.mark.parametrize("learner", sorted(EXACT))
def test_one_row_of_each_person_protects_the_person(learner):
    data = table(learner)
    released = release_table(data, asked(learner))
    moved = exact_epsilon(released, learner, data, without(data, -2))
    assert EXACT[learner] < moved < 2.3  # what "one record" would have promised to be within 1
    assert exact_epsilon(released, learner, data, without(data, -2, -1)) <= EPSILON
    assert released.guarantee.grade is Grade.PROVEN
    assert released.guarantee.unit == ONE_PERSON


@pytest.mark.parametrize("learner", classifiers())
def test_the_certificate_names_the_person_and_what_is_stated_of_persons(learner, tmp_path):
    released = release_table(table(learner), asked(learner))
    (stated,) = (line for line in released.guarantee.stated if "no person owns" in line)
    assert stated.startswith("no person owns more than 1 of the rows fitted on; which rows of a")
    assert "depends on that person's rows alone" in stated
    save(released, tmp_path / "released")
    assert verify(tmp_path / "released").holds
    assert load(tmp_path / "released").guarantee.unit == ONE_PERSON
    nobody = dataclasses.replace(table(learner), persons=None)
    plain = release_table(nobody, asked(learner))
    assert plain.guarantee.unit == "one record"
    assert not any("person" in line for line in plain.guarantee.stated)
    assert plain.recipe == released.recipe
    assert plain.scales == released.scales  # the noise is that of one row


@pytest.mark.parametrize("each", [1, 2])
def test_as_many_rows_as_are_kept_are_named(each):
    for learner in classifiers():
        released = release_table(table(learner), asked(learner, each))
        assert released.guarantee.unit == unit_of(each)


def test_persons_without_a_cap_are_refused():
    """Whoever fits on a table of persons by hand says how many rows of each are kept."""
    data = table("weights")
    with pytest.raises(
        InputError, match="max_records_per_person must be said where the data name persons"
    ):
        private_rows(data, None)
    with pytest.raises(
        InputError, match="max_records_per_person must be said where the data name persons"
    ):
        fit_head(data, HeadSpec(records=2_000, bound=1.0, penalty=1e-3))
    with pytest.raises(InputError, match="max_records_per_person must be >= 1"):
        release_table(data, asked("weights", 0))
