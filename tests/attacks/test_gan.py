"""The small GAN: a function of records and spec; its samples, its losses and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from reticent.attacks.generative import GANSpec, train_gan
from reticent.validation import InputError

IMAGES = load_digits().images[:60] / 16
SPEC = GANSpec(width=16, latent=3, steps=20, batch=10, seed=5)


@pytest.fixture(scope="module")
def gan():
    return train_gan(IMAGES, SPEC)


def weights(found):
    parts = [*found.generator.parameters(), *found.discriminator.parameters()]
    return np.concatenate([part.detach().numpy().ravel() for part in parts])


def test_equal_arguments_equal_weights(gan):
    torch.rand(1)  # so that not even the state that the first training would have left is the same
    before = torch.random.get_rng_state()
    again = train_gan(IMAGES, SPEC)
    assert np.array_equal(weights(again), weights(gan))
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 6},
        {"steps": 21},
        {"batch": 11},
        {"generator_rate": 1e-3},
        {"discriminator_rate": 3e-3},
    ],
)
def test_every_setting_counts(gan, change):
    assert not np.array_equal(weights(train_gan(IMAGES, replace(SPEC, **change))), weights(gan))


def test_width_and_latent_are_those_of_the_networks(gan):
    wide = train_gan(IMAGES, replace(SPEC, width=17, latent=4, steps=1))
    shapes = [tuple(part.shape) for part in wide.generator.parameters()]
    assert shapes == [(17, 4), (17,), (17, 17), (17,), (64, 17), (64,)]
    shapes = [tuple(part.shape) for part in wide.discriminator.parameters()]
    assert shapes == [(17, 64), (17,), (17, 17), (17,), (1, 17), (1,)]


def test_progress_is_told_after_each_step(gan):
    seen = []
    watched = train_gan(IMAGES, SPEC, progress=seen.append)
    assert [record.step for record in seen] == list(range(1, 21))
    assert np.array_equal(weights(watched), weights(gan))
    # An untrained discriminator answers all with about one small number: its loss is 2 log 2, the
    # generator's log 2.
    assert seen[0].discriminator_loss == pytest.approx(2 * np.log(2), abs=0.1)
    assert seen[0].generator_loss == pytest.approx(np.log(2), abs=0.4)


def test_samples_are_records(gan):
    samples = gan.sample(30, seed=1)
    assert samples.shape == (30, 8, 8)
    assert samples.dtype == np.float32
    assert 0 <= samples.min() <= samples.max() <= 1
    assert np.array_equal(samples, gan.sample(30, seed=1))
    assert not np.isclose(samples, gan.sample(30, seed=2)).all(axis=(1, 2)).any()


def test_bytes_are_divided_by_255(gan):
    as_bytes = (IMAGES * 255).astype(np.uint8)
    assert np.array_equal(gan.log_odds(as_bytes), gan.log_odds(as_bytes.astype(float) / 255))


def test_log_odds_against_a_loop(gan):
    """Two layers with slopes of 1 and 0.2, and one number at the end."""
    layers = [part.detach().numpy().astype(float) for part in gan.discriminator.parameters()]
    rows = IMAGES[:5].reshape(5, -1)
    for weight, bias in (layers[0:2], layers[2:4]):
        rows = rows @ weight.T + bias
        rows = np.where(rows > 0, rows, 0.2 * rows)
    wanted = (rows @ layers[4].T + layers[5])[:, 0]
    assert gan.log_odds(IMAGES[:5]) == pytest.approx(wanted, abs=1e-5)


@pytest.mark.slow
def test_samples_come_to_look_like_records():
    """One bright corner in every record: it is found, and the discriminator knows it."""
    records = np.zeros((40, 9))
    records[:, 0] = np.linspace(0.8, 1.0, 40)
    found = train_gan(records, GANSpec(width=32, latent=2, steps=800, batch=20))
    average = found.sample(200, seed=0).mean(axis=0)
    assert average[0] > 0.6
    assert average[1:].max() < 0.2
    turned = records[:, ::-1]
    assert found.log_odds(records).min() > found.log_odds(turned).max()


def test_what_is_refused(gan):
    for name in ("width", "latent", "steps", "batch"):
        with pytest.raises(InputError, match=f"{name} must be >= 1, got 0"):
            GANSpec(**{name: 0})
    for name in ("generator_rate", "discriminator_rate"):
        with pytest.raises(InputError, match=rf"{name} must be in \(0, 1\], got nan"):
            GANSpec(**{name: float("nan")})
    with pytest.raises(InputError, match="seed must be >= 0, got -1"):
        GANSpec(seed=-1)
    for wrong in (IMAGES * 2, IMAGES - 0.1, IMAGES[0, 0]):
        with pytest.raises(InputError, match=r"records must be rows or images with values in \[0"):
            train_gan(wrong, SPEC)
    with pytest.raises(InputError, match="records must be finite, got NaN"):
        train_gan(np.full((2, 2), np.nan), SPEC)
    with pytest.raises(InputError, match=r"records must have shape \(8, 8\) each, got \(64,\)"):
        gan.log_odds(IMAGES.reshape(60, 64))
    with pytest.raises(InputError, match="size must be >= 1, got 0"):
        gan.sample(0, seed=0)
    with pytest.raises(InputError, match="seed must be >= 0, got -1"):
        gan.sample(1, seed=-1)


def test_losses_that_are_no_numbers_are_refused(monkeypatch):
    monkeypatch.setattr(torch, "randn", lambda *shape, generator: torch.full(shape, torch.nan))
    with pytest.raises(InputError, match="losses must stay finite, got others in step 1: lower"):
        train_gan(IMAGES, SPEC)
