"""The paper's encoder: trained on its own images alone, once; a stopped training goes on."""

import numpy as np
import pytest

from reticent.data import load
from reticent.studies import alm_encoder, tasks
from reticent.studies.alm_encoder import AlmEncoder, simclr_features
from reticent.studies.trained import Run, Steps
from reticent.training.contrastive import SimCLRSpec

SMALL = AlmEncoder(images=60, head=100, spec=SimCLRSpec(width=4, epochs=2, batch=30, threads=1))


@pytest.fixture
def loaded(tmp_path, monkeypatch):
    """Digits in the place of both parts of CIFAR-10; the names that were asked for."""
    asked = []

    def digits(name, _folder):
        asked.append(name)
        return load("digits")

    monkeypatch.setenv("RETICENT_CACHE", str(tmp_path))
    monkeypatch.setattr(alm_encoder, "load", digits)
    return asked


def test_the_heads_images_are_not_the_encoders(loaded):
    data = simclr_features("train", None, SMALL)
    assert loaded == ["cifar10-train"]
    assert len(data) == 100
    np.testing.assert_array_equal(data.labels, load("digits").labels[-100:])
    test = simclr_features("test", None, SMALL)
    assert loaded[1:] == ["cifar10-train", "cifar10-test"]
    assert len(test) == 1797
    np.testing.assert_allclose(test.features[-100:], data.features, atol=1e-5)


def test_it_is_trained_once_and_anew_for_other_images(loaded, tmp_path, monkeypatch):
    one = simclr_features("train", None, SMALL)
    states = list((tmp_path / "encoders").iterdir())
    assert len(states) == 1
    before = states[0].stat().st_mtime_ns
    again = simclr_features("train", None, SMALL)
    np.testing.assert_array_equal(one.features, again.features)
    assert states[0].stat().st_mtime_ns == before
    simclr_features("train", None, AlmEncoder(images=61, head=100, spec=SMALL.spec))
    assert len(list((tmp_path / "encoders").iterdir())) == 2


@pytest.mark.parametrize(
    ("task", "images", "head"),
    [("cifar10-simclr", 40_000, 10_000), ("cifar10-simclr-10k", 10_000, 40_000)],
)
def test_the_encoder_of_a_task_leaves_the_images_that_it_needs(task, images, head, monkeypatch):
    asked = []

    def features(_part, _folder, how=None):
        asked.append(how or AlmEncoder())
        return load("digits")

    monkeypatch.setattr(alm_encoder, "simclr_features", features)
    tasks.task(task, records=100, seed=0)
    assert {(how.images, how.head) for how in asked} == {(images, head)}


def test_its_epochs_are_steps_of_the_study_and_a_kept_one_takes_none_of_the_time(
    loaded, monkeypatch
):
    monkeypatch.setattr(alm_encoder, "ENCODERS", {"small": SMALL})
    for expected in ([1, 2, 2], [2]):  # after each epoch and at the end; then from the cache
        told = []
        run = Run(steps=Steps(advance=lambda done, _: told.append(done)))  # noqa: B023
        run.steps.plan(alm_encoder.epochs_before("small") + 5)
        alm_encoder.train_encoder("small", run)
        assert (told, run.steps.whole) == (expected, 7)
    assert loaded == ["cifar10-train"] * 2
    assert alm_encoder.epochs_before("cifar10") == 0


def test_every_task_with_an_encoder_of_its_own_is_known():
    assert set(alm_encoder.ENCODERS) == {n for n in tasks._WITH_TEST if "simclr" in n}
