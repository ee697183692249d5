"""Transcripts of the learners at δ = 0: what is claimed stands, a tenth of the noise falls."""

import dataclasses

import pytest

from reticent.audit.transcripts import audit_learner
from reticent.protect import MatrixLDAHead, PureClassMeansHead
from reticent.studies.audit_trials import learner_worlds

BETA = 1e-6
"""Of each bound, so that a sound learner is refuted in one run of a million."""


def audit(kind, relation, share):
    def draw(noise, value):
        return dataclasses.replace(noise, scale=noise.scale * share).release(value)

    worlds = learner_worlds(1, built=True, replaced=relation == "replace-one", targets=False)
    learner = kind(classes=range(3), records=9, epsilon=2.0, delta=0.0, relation=relation)
    return audit_learner(learner, *worlds, runs=600, beta=BETA, draw=draw)


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("kind", [PureClassMeansHead, MatrixLDAHead])
def test_the_claim_stands_and_a_tenth_of_the_noise_falls(kind, relation):
    sound = audit(kind, relation, 1.0)
    assert sound.verdict == "not refuted"
    assert sound.sealed
    assert 0.5 < sound.tightness <= 1 + 1e-9
    assert sound.analytic <= 2.0
    assert audit(kind, relation, 0.1).verdict == "refuted"
