"""What an audit could have found stands in the document beside its verdict."""

import dataclasses

import numpy as np
import pytest

from reticent import Guarantee, Sensitivity
from reticent.audit.error_counts import clopper_pearson_epsilon
from reticent.audit.pairs import WorstPair, audit_pair
from reticent.audit.release_audit import TranscriptAudit
from reticent.mechanisms import Gaussian
from reticent.results.conversions import audit_of
from reticent.run.auditing import FEWEST, MOST, transcripts_for

NOISE = Gaussian.calibrate(Sensitivity(l2=1.0), epsilon=1.0, delta=1e-5)
PAIR = WorstPair(absent=np.zeros(2), present=np.array([1.0, 0.0]), kind="at the bound")


def audited(runs):
    return audit_pair(NOISE, PAIR, NOISE.guarantee(delta=1e-5), runs=runs)


def test_a_learner_is_run_as_often_as_its_claim_can_be_refuted():
    """Where every run is told right; where that would take long, the few runs are said to be."""
    for epsilon, beta in ((0.5, 0.05), (1.0, 0.005), (2.0, 0.01)):
        claim = Guarantee(epsilon=epsilon, delta=1e-5, relation="add-remove")
        runs = transcripts_for(claim, 1_280, beta)
        assert FEWEST <= runs <= MOST
        counted = runs - round(0.2 * runs)
        best = clopper_pearson_epsilon(0, counted, 0, counted, delta=1e-5, beta=beta)
        assert best.epsilon > epsilon
    far = Guarantee(epsilon=8.0, delta=1e-5, relation="add-remove")
    assert transcripts_for(far, 1_280, 0.05) == FEWEST
    assert transcripts_for(claim, 10**6, 0.05) == FEWEST


@pytest.mark.parametrize("finds", [False, True])
def test_a_head_says_whether_half_the_noise_would_be_found(finds):
    found = audit_of(dataclasses.replace(audited(20), finds_half=finds), pair="built")
    assert found.finds_half == finds
    assert (found.reach is None) == finds
    assert found.could_refute is None


@pytest.mark.parametrize("needed", [10, 21, None])
def test_a_learner_says_so_too_and_whether_it_could_refute_at_all(needed):
    own = audited(20)
    shared = ("claim", "mechanism", "tightness", "analytic", "exact", "measured", "runs")
    audit = TranscriptAudit(
        **{name: getattr(own, name) for name in shared},
        queries=3,
        mu=None,
        sealed=True,
        conditional=None,
        needed=(needed, None),
    )
    found = audit_of(audit, pair="built")
    assert found.finds_half == (needed == 10)
    assert found.could_refute == audit.could_refute
