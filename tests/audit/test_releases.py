"""Claims audited together: true ones fall together no more often than one alone may."""

import json
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from reticent.attacks.released_weights import noise_of
from reticent.audit.many_runs import many_runs
from reticent.audit.release import audit_release, audit_releases, audit_together
from reticent.protect import release_weights
from reticent.randomness import seeded
from reticent.training import SoftmaxHead
from reticent.validation import InputError
from tests.audit.auditing import wrong_too_often

CLAIMS, REPORTS, BETA = 30, 40, 0.4
TERMS = {"epsilon": 1.0, "delta": 0.0, "relation": "add-remove", "mechanism": "laplace"}
HARD = {"runs": 100, "candidates": 1}


@dataclass(frozen=True)
class ClaimOfOne:
    """A claim of ε = 1 against a bound."""

    bound: object

    @property
    def refuted(self):
        return self.bound.refutes(epsilon=1.0, delta=0.0)

    def to_dict(self):
        return {}


def tight_audits(rng):
    """Audits of Laplace noise of ε = 1: a tail is e^ε times as likely, whatever the threshold.

    So the audit of this true claim errs as often as an audit can.
    """

    def audit(beta):
        scores = rng.laplace(size=(2, 200))
        return ClaimOfOne(many_runs(scores[0], scores[1] + 1, delta=0.0, beta=beta))

    return {str(number): audit for number in range(CLAIMS)}


def without_correction(claims, *, beta):
    return SimpleNamespace(refuted=[name for name, audit in claims.items() if audit(beta).refuted])


def reports_with_a_refuted_claim(audited):
    rng = seeded("reports")
    return sum(bool(audited(tight_audits(rng), beta=BETA).refuted) for _ in range(REPORTS))


def test_true_claims_fall_together_no_more_often_than_beta():
    assert not wrong_too_often(reports_with_a_refuted_claim(audit_together), REPORTS, BETA)


def test_the_same_test_catches_audits_that_do_not_divide_beta():
    assert wrong_too_often(reports_with_a_refuted_claim(without_correction), REPORTS, BETA)


@pytest.fixture(scope="module")
def small():
    """A head of one number."""
    X, y = np.repeat([[1.0], [-1.0]], 10, axis=0), np.repeat([0, 1], 10)
    head = SoftmaxHead(penalty=0.5, bound=1.0, classes=range(2), records=20, intercept=0.0)
    return X, y, release_weights(head.fit(X, y), **TERMS)


def test_one_false_claim_among_true_ones_is_named(small):
    X, y, released = small
    scale, rng = noise_of(released).scale, seeded("half")

    def draw(value):
        return value + rng.laplace(scale=scale / 20, size=value.shape)

    false = audit_together(
        {
            "sound": lambda beta: audit_release(released, X, y, beta=beta, runs=500),
            "careless": lambda beta: audit_release(released, X, y, draw=draw, beta=beta, runs=500),
        },
        beta=2e-6,
    )
    assert (false.fallen, false.refuted) == (("careless",), True)
    assert "1 of 2 claims refuted (careless), each at β = 2e-6/2" in str(false)
    found = json.loads(json.dumps(false.to_dict()))
    assert (found["beta_each"], found["refuted"]) == (1e-6, ["careless"])


def test_each_bound_has_its_share_of_the_risk(small):
    X, y, released = small
    found = audit_releases([released] * 4, X, y, beta=0.04, **HARD)
    assert [audit.measured.confidence for audit in found.audits.values()] == [0.99] * 4
    assert list(found.audits) == ["1", "2", "3", "4"]
    named = audit_releases({"a": released}, X, y, beta=0.04, **HARD)
    assert named.audits["a"].measured.confidence == 0.96


def test_bad_input_gets_one_line(small):
    X, y, released = small
    with pytest.raises(InputError, match="claims must be one or more"):
        audit_releases([], X, y)
    with pytest.raises(InputError, match="beta must be"):
        audit_releases([released], X, y, beta=0.7)
