"""Each place for noise keeps its promise, and a check that is given a broken one fails."""

import pytest

from reticent.bounds.published import functional
from reticent.protect import smoothing
from reticent.studies.index import lecture_places
from reticent.training import gradients

PLACES = lecture_places.PLACES


@pytest.mark.parametrize("name", PLACES)
def test_each_item_is_carried_out_and_holds(name):
    found = PLACES[name]()
    assert found.holds, found.why


@pytest.mark.parametrize("check", ["inputs", "gradients", "loss"])
def test_a_release_that_is_not_verified_fails_its_place(check, monkeypatch):
    monkeypatch.setattr(lecture_places, "kept_promise", lambda learner, **options: False)
    assert not getattr(lecture_places, check)().holds


def test_a_certificate_that_is_verified_at_half_of_its_epsilon_is_no_promise(monkeypatch):
    from reticent.protect import certificate

    verified = certificate.verify_release
    monkeypatch.setattr(certificate, "verify_release", lambda _: verified_once)
    from reticent.protect import Terms, release_mean

    rows = [[0.1, 0.2]] * 20
    terms = Terms(epsilon=1.0, delta=1e-5, relation="add-remove")
    mean = release_mean(
        rows, records=20, bound=1.0, epsilon=terms.epsilon, delta=terms.delta, relation="add-remove"
    )
    verified_once = verified(mean)
    assert verified_once.holds
    assert not lecture_places.kept_promise("input")


def test_a_sum_that_is_not_clipped_is_found(monkeypatch):
    clipped = gradients.Clipper.clipped_sums
    loose = lambda self, losses, clip: clipped(self, losses, clip=10 * clip)  # noqa: E731
    monkeypatch.setattr(gradients.Clipper, "clipped_sums", loose)
    assert not lecture_places.gradients().holds


def test_a_constant_that_a_record_exceeds_is_found(monkeypatch):
    monkeypatch.setattr(functional, "logistic", lambda features: 2.0)
    assert not lecture_places.loss().holds


def test_a_radius_beyond_the_boundary_is_found(monkeypatch):
    monkeypatch.setattr(smoothing.SmoothedClassifier, "radius", lambda self, p, features: 1.1)
    assert not lecture_places.smoothing().holds
