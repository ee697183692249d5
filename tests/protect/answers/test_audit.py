"""Auditors try to refute the answers: the sound ones stand, noise on one logit alone falls.

β = 1e-7: a sound claim is refuted with that probability at most, in each of the audits.
"""

import numpy as np
import pytest

from reticent.audit import audit_function
from reticent.protect.answers import private_answers
from reticent.protect.noisy_query import noisy_rows
from reticent.training.row_kernels import products
from reticent.training.softmax import zero_sum_basis
from tests.protect.answers.asked_head import fitted, planned, records
from tests.protect.answers.test_plan import SPACED

CLASSES, BETA, RUNS = 4, 1e-7, 20_000


def worst_pair(plan):
    """Two answers without noise that are as far apart as one record can move them.

    The noise sees the change alone; for labels, one class that is seldom chosen shows most.
    """
    moved, classes = plan.sensitivity, CLASSES
    if plan.space == "label":
        base = np.array([0.0, -2.0, -40.0, -40.0]) * plan.scale
        step = np.array([-0.5, 0.5, 0.0, 0.0]) * moved.range_bound
    elif plan.mechanism in ("laplace", "logistic"):
        base = np.zeros(classes if plan.space == "logits" else classes - 1)
        step = np.zeros_like(base)
        step[0] = moved.l1  # no head moves so far on one number, but the noise has to cover it
    else:
        base = np.zeros(classes if plan.space == "logits" else classes - 1)
        step = np.zeros_like(base)
        step[:2] = np.array([1.0, -1.0]) * moved.l2 / np.sqrt(2)
    return base, base + step


def audited(plan, epsilon, delta):
    one, other = worst_pair(plan)
    runs = RUNS // 3 if plan.mechanism == "l2-laplace" else RUNS  # drawn row by row
    return audit_function(
        None, one, other, epsilon=epsilon, delta=delta, beta=BETA, runs=runs,
        many=lambda values, runs: noisy_rows(plan.noise, np.tile(values, (runs, 1))),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "space"), SPACED)
def test_one_answer_keeps_its_claim_and_would_not_keep_a_tenth_of_it(mechanism, space):
    delta = 1e-5 if mechanism == "gaussian" else 0.0
    plan = planned(CLASSES, mechanism=mechanism, space=space, epsilon=2.0, delta=delta, queries=1)
    assert not audited(plan, 2.0, delta).refuted
    assert audited(plan, 0.2, delta).refuted


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["gaussian", "permute-and-flip"])
def test_all_answers_together_keep_theirs(mechanism):
    """Four answers to one query, two neighbouring heads: the transcript is one output."""
    X, y = records(CLASSES)
    plan = planned(CLASSES, mechanism=mechanism, epsilon=2.0, queries=4)
    without = type(fitted(CLASSES))(**fitted(CLASSES).get_params()).fit(X[1:], y[1:])
    worlds = [private_answers(head, plan) for head in (fitted(CLASSES), without)]

    def transcripts(world, runs):
        values = world._values(X[:1])
        drawn = noisy_rows(plan.noise, np.repeat(values, 4 * runs, axis=0))
        return np.asarray(drawn, dtype=float).reshape(runs, -1)

    found = audit_function(
        None, *worlds, epsilon=2.0, delta=1e-5, beta=BETA, runs=RUNS, many=transcripts
    )
    assert not found.refuted


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace", "logistic"])
def test_noise_on_one_logit_alone_is_refuted(mechanism):
    """The same noise, but the other logits are released as they are: no ε covers that."""
    X, y = records(CLASSES)
    delta = 1e-5 if mechanism == "gaussian" else 0.0
    plan = planned(
        CLASSES, mechanism=mechanism, space="logits", epsilon=2.0, delta=delta, queries=1
    )
    without = type(fitted(CLASSES))(**fitted(CLASSES).get_params()).fit(X[1:], y[1:])
    one, other = (head.logits(X[:1])[0] for head in (fitted(CLASSES), without))

    def careless(logits, runs):
        drawn = np.tile(logits, (runs, 1))
        drawn[:, 0] = plan.noise.release(drawn[:, 0])
        return drawn

    arguments = {"epsilon": 2.0, "delta": delta, "beta": BETA, "runs": 2_000}
    assert audit_function(None, one, other, many=careless, **arguments).refuted
    sound = lambda logits, runs: plan.noise.release(np.tile(logits, (runs, 1)))  # noqa: E731
    assert not audit_function(None, one, other, many=sound, **arguments).refuted


def test_zero_sum_logits_are_computed_from_noisy_coordinates_alone():
    """Whatever the sum of the logits says was in the noisy coordinates: it is their rounding."""
    answers = private_answers(fitted(CLASSES), planned(CLASSES))
    answered = answers.ask(records(CLASSES)[0][:3])
    assert np.array_equal(answered.logits, products(answered.released, zero_sum_basis(CLASSES).T))
    steps = answered.released / np.ldexp(1.0, -60)
    assert np.array_equal(steps, np.round(steps))  # on a public grid, not on the head's floats
