"""Sampled claims fall by the share of fresh pairs beyond them, and by nothing else."""

import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import pytest

from reticent.audit.release_audit import audit_sampled
from reticent.guarantee import Guarantee, Sensitivity
from reticent.mechanisms import Gaussian, L2Laplace, Laplace, Logistic
from reticent.neighbours.sampled import Draws, sampled_head_pairs
from reticent.randomness import seeded
from reticent.training import SoftmaxHead
from reticent.validation import InputError, NotCoveredError
from tests.audit.auditing import BETA, DELTA, wrong_too_often

GAMMA = 0.1
AUDITS, PAIRS = 300, 200


def norms_of(values):
    return SimpleNamespace(l1=values, l2=values)


def claimed(kind, *, sensitivity, delta, gamma=GAMMA):
    """Noise and claim of ε = 1 for a sensitivity that a share γ of pairs exceeds."""
    sampled = Sensitivity(
        l1=sensitivity, l2=sensitivity, grade="sampled", relation="replace-one", gamma=gamma
    )
    noise = kind.calibrate(sampled, epsilon=1.0, delta=delta)
    return noise.guarantee(epsilon=1.0, delta=delta), noise


def refuted_of(claim, noise, *, audits=AUDITS):
    """How many audits refute, each on its own pairs: norms are uniform in (0, 1)."""
    rng = seeded("fresh pairs")
    drawn = (norms_of(rng.random(PAIRS)) for _ in range(audits))
    return sum(audit_sampled(claim, noise, pairs, beta=BETA).refuted for pairs in drawn)


@pytest.mark.parametrize(
    ("kind", "delta"), [(Gaussian, DELTA), (Laplace, 0.0), (Logistic, 0.0), (L2Laplace, 0.0)]
)
def test_true_claims_fall_no_more_often_than_beta(kind, delta):
    """The share beyond the claim is γ exactly: the hardest of the true ones."""
    claim, noise = claimed(kind, sensitivity=1 - GAMMA, delta=delta)
    assert not wrong_too_often(refuted_of(claim, noise), AUDITS)


def test_a_claim_of_less_than_the_true_share_falls_too_often_for_a_true_one():
    """The same test rejects: 15 % of the pairs are beyond a claim that allows 10 %."""
    claim, noise = claimed(Gaussian, sensitivity=1 - 1.5 * GAMMA, delta=DELTA)
    assert wrong_too_often(refuted_of(claim, noise), AUDITS)


def test_half_the_sensitivity_is_refuted():
    claim, noise = claimed(Gaussian, sensitivity=(1 - GAMMA) / 2, delta=DELTA)
    assert refuted_of(claim, noise, audits=50) == 50


def test_the_worst_pair_alone_refutes_nothing():
    claim, noise = claimed(Gaussian, sensitivity=1.0, delta=DELTA)
    pairs = np.append(np.full(PAIRS - 1, 0.5), 1e3)
    found = audit_sampled(claim, noise, norms_of(pairs))
    assert (found.exceeding, found.verdict) == (1, "not refuted")
    assert found.worst > 1e3
    assert found.rate < GAMMA
    assert "which alone refutes nothing" in str(found)


def test_the_limit_is_clopper_and_pearsons():
    """All of m pairs are beyond: the share is above β^(1/m)."""
    claim, noise = claimed(Gaussian, sensitivity=1.0, delta=DELTA)
    found = audit_sampled(claim, noise, norms_of(np.full(10, 2.0)), beta=0.01)
    assert found.rate == pytest.approx(0.01**0.1)
    none = audit_sampled(claim, noise, norms_of(np.zeros(10)), beta=0.01)
    assert (none.rate, none.worst) == (0.0, 0.0)


def test_a_pair_as_far_as_the_claim_allows_does_not_exceed_it():
    claim, noise = claimed(Gaussian, sensitivity=0.7, delta=DELTA)
    assert audit_sampled(claim, noise, norms_of(np.full(50, 0.7))).exceeding == 0
    assert audit_sampled(claim, noise, norms_of(np.full(50, 0.7001))).exceeding == 50


def test_a_heads_own_sampler_is_audited_by_fresh_pairs():
    """Fit, claim and audit from three parts of one population."""
    rng = seeded("a population")
    labels = rng.integers(2, size=4_000)
    rows = rng.normal(size=(4_000, 3)) + labels[:, None]
    head = SoftmaxHead(penalty=0.1, bound=2.0, classes=range(2), records=20)
    found, fresh = (
        sampled_head_pairs(head, rows[part], labels[part], Draws(size=20, pairs=60), jobs=1)
        for part in (slice(0, 2_000), slice(2_000, 4_000))
    )
    noise = Gaussian.calibrate(found.sensitivity, epsilon=1.0, delta=DELTA)
    claim = noise.guarantee(epsilon=1.0, delta=DELTA)
    assert audit_sampled(claim, noise, fresh, beta=1e-6).verdict == "not refuted"
    half = dataclasses.replace(noise, scale=noise.scale / 3)
    assert audit_sampled(claim, half, fresh, beta=1e-6).verdict == "refuted"


def test_plain_values_say_what_was_counted():
    claim, noise = claimed(Laplace, sensitivity=1.0, delta=0.0)
    found = json.loads(json.dumps(audit_sampled(claim, noise, norms_of([0.5, 2.0])).to_dict()))
    assert (found["pairs"], found["exceeding"], found["mechanism"]) == (2, 1, "laplace")
    assert found["claim"]["gamma"] == GAMMA


def test_bad_input_gets_one_line():
    claim, noise = claimed(Gaussian, sensitivity=1.0, delta=DELTA)
    for wrong in ([-1.0], [np.nan], [], [[1.0]]):
        with pytest.raises(InputError, match="l2 of the pairs must"):
            audit_sampled(claim, noise, norms_of(wrong))
    with pytest.raises(InputError, match="beta must be"):
        audit_sampled(claim, noise, norms_of([1.0]), beta=0.9)
    every = Guarantee(epsilon=1.0, delta=DELTA, relation="replace-one")
    with pytest.raises(InputError, match="claim must be a guarantee graded sampled"):
        audit_sampled(every, noise, norms_of([1.0]))
    loose, laplace = claimed(Laplace, sensitivity=1.0, delta=DELTA)
    with pytest.raises(NotCoveredError, match="mechanism must be gaussian at delta > 0"):
        audit_sampled(loose, laplace, norms_of([1.0]))
