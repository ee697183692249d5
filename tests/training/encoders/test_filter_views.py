"""Fixed filters: a row is a function of its image, nothing is learnt, views are of the image."""

import numpy as np
import pytest
import torch

from reticent.data import load
from reticent.training.contrastive.cropped_views import CroppedViews
from reticent.training.encoders.base import ImageShape
from reticent.training.encoders.filter_banks import synthetic_images
from reticent.training.encoders.filter_views import FilterViews, whitened_bank
from reticent.training.encoders.named import encoder_of
from reticent.validation import InputError

IMAGES = load("digits").images[:6]


@pytest.mark.slow
@pytest.mark.parametrize("bank", ["gabor", "patches"])
def test_a_row_is_a_function_of_its_image_to_the_last_bit(bank):
    encoder = FilterViews(bank, augmentation="digits")
    whole = encoder.encode(IMAGES)
    shuffled = np.asfortranarray(IMAGES[::-1])
    assert np.array_equal(encoder.encode(shuffled), whole[::-1])
    for place in (0, 3):
        assert np.array_equal(encoder.encode(IMAGES[place : place + 1])[0], whole[place])
    blocks = whole.reshape(len(IMAGES), 4, -1)
    assert np.linalg.norm(blocks, axis=2) == pytest.approx(1.0, abs=1e-5)
    alone = FilterViews(bank, augmentation="digits", views=0).encode(IMAGES)
    assert blocks[:, 0] == pytest.approx(alone, abs=1e-5)
    across = np.einsum("ijk,ilk->ijl", blocks, blocks)[:, 0, 1:].mean()
    others = (blocks[:, 0] @ blocks[:, 0].T)[np.triu_indices(len(IMAGES), 1)].mean()
    assert 0.99 > across > others + 0.1  # views are of the image, and not the image


@pytest.mark.slow
def test_patches_see_an_image_and_its_mirror_alike():
    encoder = FilterViews("patches", augmentation="digits", views=0)
    assert encoder.encode(IMAGES[:, :, ::-1]) == pytest.approx(encoder.encode(IMAGES), abs=1e-4)


def test_whitening_is_of_synthetic_images_alone():
    shape = ImageShape(channels=1, height=8, width=8)
    one, other = (synthetic_images(50, shape, "whitening") for _ in range(2))
    assert one.equal(other)
    assert not one.equal(synthetic_images(50, shape, "patches"))
    bank = whitened_bank("gabor", shape, "digits")
    assert bank is whitened_bank("gabor", shape, "digits")
    images = synthetic_images(600, shape, "others")
    rows = bank(images).numpy()
    values = np.linalg.eigvalsh(np.cov(rows.T))
    fixed = np.linalg.eigvalsh(np.cov(bank.bank(images).numpy().T))
    assert values[-1] / values.mean() < 0.5 * fixed[-1] / fixed.mean()


def test_names_and_refusals():
    prints = {encoder_of(f"{n}-views").fingerprint() for n in ("gabor", "gabor-digit", "patch")}
    assert len(prints) == 3
    with pytest.raises(InputError, match="bank must be gabor or patches"):
        FilterViews("learnt")
    with pytest.raises(InputError, match="augmentation must be natural or digits"):
        FilterViews("gabor", augmentation="mask")
    with pytest.raises(InputError, match="height must be >= 8"):
        FilterViews("gabor").encode(np.zeros((1, 4, 8, 1)))
    with pytest.raises(InputError, match="images must be finite"):
        FilterViews("gabor").encode(np.full((1, 8, 8, 1), np.nan))


def test_crops_stay_inside_and_keep_planes_of_colour():
    """A view by the numbers that change nothing is the image; grey views have no colour."""
    views = CroppedViews()
    images = torch.rand(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    assert views.draws(3) == 12
    still = torch.full((2, 12), 0.5)
    still[:, 0] = 1.0 - 1e-7  # the whole area
    assert views.of_uniforms(images, still).numpy() == pytest.approx(images.numpy(), abs=1e-5)
    grey = still.clone()
    grey[:, 7] = 0.1
    found = views.of_uniforms(images, grey)
    assert float((found - found.mean(1, keepdim=True)).abs().max()) < 1e-6
    drawn = torch.rand(500, 12, generator=torch.Generator().manual_seed(1))
    drawn[:, 5], drawn[:, 6] = 0.5, 0.5  # neither brighter nor of other contrast
    ramp = torch.arange(8.0).expand(500, 1, 8, 8)
    slopes = views.of_uniforms(ramp, drawn[:, :7]).diff(dim=3).flatten(1)
    assert bool(((slopes >= -1e-4).all(dim=1) | (slopes <= 1e-4).all(dim=1)).all())  # no reflection
    steepest = slopes.abs().amax(dim=1)
    assert 0.3 < float(steepest.min()) < 0.6  # at least .3 of the area
    assert 0.2 < float((slopes.sum(dim=1) < 0).float().mean()) < 0.8  # mirrored; beyond 13σ
