"""Views: what each amount does, that ranges are kept, that the generator decides everything."""

import math

import numpy as np
import pytest
import torch

from reticent.training.contrastive import Augmentation, digits, natural, turned_digits
from reticent.validation import InputError


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def pictures(number=6, channels=3, height=12, width=10):
    return torch.rand(number, channels, height, width, generator=generator(99))


PRESETS = [natural(), natural("classification"), digits()]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("channels", [1, 3])
def test_the_generator_decides_everything(preset, channels):
    images = pictures(channels=channels)
    state = torch.get_rng_state()
    first, again, other = (preset(images, generator(seed)) for seed in (1, 1, 2))
    assert first.shape == images.shape
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), state)


def test_nothing_asked_nothing_done():
    images = pictures()
    assert torch.equal(Augmentation()(images, generator()), images)


def test_a_flip_mirrors_about_half_of_the_images():
    images = pictures(number=400)
    views = Augmentation(flip=True)(images, generator())
    flipped = [
        torch.allclose(view, image.flip(-1), atol=1e-5)
        for view, image in zip(views, images, strict=True)
    ]
    kept = [
        torch.allclose(view, image, atol=1e-5) for view, image in zip(views, images, strict=True)
    ]
    assert all(a != b for a, b in zip(flipped, kept, strict=True))
    assert 150 <= sum(flipped) <= 250  # beyond five standard deviations: p < 1e-6


def centre_of(view):
    rows, columns = torch.meshgrid(*(torch.arange(float(s)) for s in view.shape), indexing="ij")
    return [float((view * axis).sum() / view.sum()) for axis in (rows, columns)]


def test_translations_reach_their_limit_and_not_beyond():
    image = torch.zeros(1, 1, 40, 20)
    image[:, :, 18:22, 8:12] = 1
    views = Augmentation(translate=0.1, outside="zeros")(image.expand(300, 1, 40, 20), generator())
    moved = np.array([centre_of(view[0]) for view in views]) - np.array(centre_of(image[0, 0]))
    assert np.abs(moved[:, 0]).max() == pytest.approx(4, abs=0.3)  # a tenth of 40 pixels
    assert np.abs(moved[:, 1]).max() == pytest.approx(2, abs=0.15)
    assert np.abs(moved[:, 0]).max() <= 4.001
    assert np.abs(moved[:, 1]).max() <= 2.001


@pytest.mark.parametrize(("part", "area"), [(0.5, 4.0), (2.0, 0.25)])
def test_zoom_is_the_part_that_is_shown(part, area):
    image = torch.zeros(1, 1, 64, 64)
    image[:, :, 24:40, 24:40] = 1
    view = Augmentation(zoom=(part, part), outside="zeros")(image, generator())
    assert float(view.sum() / image.sum()) == pytest.approx(area, rel=0.02)


def test_rotations_turn_and_stay_within_their_limit():
    image = torch.zeros(1, 1, 65, 65)
    image[:, :, 32, 40:60] = 1  # a bar to the right of the centre
    views = Augmentation(rotate=0.5, outside="zeros")(image.expand(300, 1, 65, 65), generator())
    centres = np.array([centre_of(view[0]) for view in views]) - 32
    angles = np.arctan2(centres[:, 0], centres[:, 1])
    assert np.abs(angles).max() == pytest.approx(0.5, abs=0.03)
    np.testing.assert_allclose(np.hypot(*centres.T), 17.5, rtol=0.05)  # a turn keeps lengths


def test_a_shear_moves_rows_against_each_other():
    image = torch.zeros(1, 1, 65, 65)
    image[:, :, 10, 32] = image[:, :, 54, 32] = 1
    view = Augmentation(shear=0.4, outside="zeros")(image, generator(3))[0, 0]
    top, bottom = centre_of(view[:32])[1] - 32, centre_of(view[32:])[1] - 32
    assert top == pytest.approx(-bottom, abs=0.1)
    assert 1 < abs(top) <= 0.4 * 22 + 0.1


def test_brightness_multiplies_and_stays_within_its_limit():
    images = torch.full((500, 3, 2, 2), 0.5)
    factors = Augmentation(brightness=0.6)(images, generator())[:, 0, 0, 0] / 0.5
    assert 0.4 - 1e-6 <= float(factors.min()) < 0.42
    assert 1.58 < float(factors.max()) <= 1.6 + 1e-6


def test_jitter_mixes_the_channels():
    images = torch.zeros(500, 3, 2, 2)
    images[:, 1] = 0.5  # green only
    views = Augmentation(jitter=0.2)(images, generator())
    red = views[:, 0, 0, 0]
    assert 0.09 < float(red.max()) <= 0.1 + 1e-6  # 0.2 times 0.5
    assert float(red.min()) == 0.0  # a negative amount is clipped
    assert 0.4 - 1e-6 <= float(views[:, 1].min()) < 0.41


def test_noise_has_its_standard_deviation():
    views = Augmentation(noise=0.1)(torch.zeros(100, 1, 30, 30), generator())
    assert float(views.std()) == pytest.approx(0.1, abs=0.003)  # thirteen standard deviations


@pytest.mark.parametrize("strength", ["contrastive", "classification"])
def test_natural_views_are_colours_and_constant_images_stay_constant(strength):
    images = pictures(number=300)
    views = natural(strength)(images, generator())
    assert float(views.min()) >= 0
    assert float(views.max()) <= 1
    # Beyond the border lies its reflection, never black.
    flat = natural(strength)(torch.full((50, 1, 9, 9), 0.5), generator())
    assert float((flat.amax(dim=(1, 2, 3)) - flat.amin(dim=(1, 2, 3))).max()) < 1e-6


def test_the_published_amounts():
    strong, weak = natural(), natural("classification")
    assert strong.zoom == (0.5, 1.0)  # an area of .25
    assert (strong.translate, strong.brightness, strong.jitter) == (0.25, 0.6, 0.2)
    assert weak.zoom == (pytest.approx(math.sqrt(0.75)), 1.0)
    assert (weak.brightness, weak.jitter) == (0.3, 0.1)
    assert strong.flip
    assert not digits().flip


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"zoom": (1.2, 0.8)}, "zoom must be"),
        ({"zoom": (0.0, 1.0)}, "zoom must be > 0"),
        ({"rotate": -1.0}, "rotate must be >= 0"),
        ({"noise": math.nan}, "noise must be >= 0"),
        ({"brightness": 1.0}, r"brightness must be in \[0, 1\)"),
        ({"outside": "black"}, "outside must be reflection or zeros"),
    ],
)
def test_wrong_amounts_are_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        Augmentation(**wrong)


def test_another_strength_is_refused():
    with pytest.raises(InputError, match="strength must be one of contrastive, classification"):
        natural("weak")


@pytest.mark.parametrize("preset", [natural(), turned_digits(), Augmentation(brightness=0.4)])
@pytest.mark.parametrize("channels", [1, 3])
def test_given_numbers_are_used_as_drawn_ones_would_be(preset, channels):
    images = pictures(channels=channels)
    uniforms = torch.rand(len(images), preset.draws(channels), generator=generator(5))
    views = preset.of_uniforms(images, uniforms)
    alone = [preset.of_uniforms(images[i : i + 1], uniforms[i : i + 1]) for i in range(len(images))]
    assert torch.allclose(views, torch.cat(alone), atol=1e-6)
    middle = preset.of_uniforms(images, torch.full_like(uniforms, 0.5))
    neutral = Augmentation(zoom=(sum(preset.zoom) / 2,) * 2)(images, generator())
    if preset.outside == "reflection":
        assert torch.allclose(middle, neutral, atol=1e-5)
    with pytest.raises(RuntimeError):
        preset.of_uniforms(images, uniforms[:, 1:])


def test_noise_has_too_many_numbers_to_be_given():
    with pytest.raises(InputError, match="noise must be 0"):
        digits().of_uniforms(pictures(channels=1), torch.zeros(6, 6))
