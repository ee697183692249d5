"""The whole job around a network by DP-SGD: attacked before and after, audited, and reported."""

import dataclasses

import pytest

from reticent.cli.main import run as command
from reticent.protect import verify
from reticent.run import RunData
from reticent.run.attacking import CANDIDATES
from tests.run.test_job import PRIVATE_ROWS, QUICK, TEST_ROWS, brief_job

EPSILON = 8.0


@pytest.fixture(scope="module")
def finished():
    asked = dataclasses.replace(QUICK, learner="network", epsilon=EPSILON, epsilons=(EPSILON,))
    return brief_job(RunData.of(PRIVATE_ROWS, TEST_ROWS), asked)


@pytest.mark.slow
def test_a_network_is_released_proven_and_attacked(finished):
    results = finished.results
    (release,) = results.releases
    assert (release.learner, release.claim.grade) == ("network", "proven")
    assert release.claim.epsilon == EPSILON
    for attacked in (results.unprotected, release):
        assert len(attacked.attacks) == len(CANDIDATES)
        assert all(one.members == len(PRIVATE_ROWS) for one in attacked.attacks)


@pytest.mark.slow
def test_its_transcripts_are_audited(finished):
    """Of all steps, which see the record in every sample: by its ε alone, more than one step's."""
    (release,) = finished.results.releases
    assert release.audit.verdict == "not refuted"
    assert release.audit.runs > 0
    assert release.audit.analytic == pytest.approx(EPSILON, rel=1e-3)
    steps = finished.released.recipe.steps_taken
    assert f"all {steps} noisy sums" in release.audit.notes[0]


@pytest.mark.slow
def test_it_is_verified_and_reported_by_the_commands(finished, tmp_path, capsys):
    written = finished.save(tmp_path / "out")[0]
    assert verify(tmp_path / "out" / "released").problems == ()
    page = tmp_path / "page"
    assert command(["report", str(written), "--out", str(page)]) == 0
    capsys.readouterr()
    assert "network" in (page / "report.html").read_text(encoding="utf-8")
