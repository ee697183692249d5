"""A torch module as a frozen encoder: preparation, batches, fingerprint, refusals."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from reticent.training.encoders.convolutional import ConvolutionalConfig, ConvolutionalEncoder
from reticent.training.encoders.torch_encoder import TorchEncoder
from reticent.validation import InputError


def images(number=5, shape=(8, 8, 1), seed=0):
    return np.random.default_rng(seed).integers(0, 256, (number, *shape), dtype=np.uint8)


def users_module():
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout(0.5), nn.Flatten(), nn.LazyLinear(6)
    )


@pytest.fixture
def users():
    with torch.random.fork_rng(devices=[]):
        module = users_module()
        module(torch.rand(4, 3, 9, 8))
    return module


class TestPreparation:
    def test_bytes_are_divided_by_255_and_channels_come_first(self):
        pixels = images(shape=(2, 3, 3))
        found = TorchEncoder(nn.Flatten(), name="pixels").encode(pixels)
        expected = pixels.transpose(0, 3, 1, 2).reshape(5, -1).astype(np.float32) / np.float32(255)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, expected)

    def test_real_numbers_stay_as_they_are_and_grey_stays_one_channel(self):
        pixels = np.linspace(-2, 2, 2 * 3 * 3).reshape(2, 3, 3, 1)
        found = TorchEncoder(nn.Flatten(), name="pixels").encode(pixels)
        np.testing.assert_array_equal(found, pixels.reshape(2, 9).astype(np.float32))

    @pytest.mark.parametrize("entry", [np.nan, np.inf, 1e39])
    def test_what_is_not_finite_is_refused(self, entry):
        pixels = np.zeros((2, 8, 8, 1))
        pixels[1, 2, 3, 0] = entry
        with pytest.raises(InputError, match="images must be finite as float32"):
            TorchEncoder(nn.Flatten(), name="pixels").encode(pixels)

    @pytest.mark.parametrize(
        "wrong",
        [np.zeros((4, 8, 8), np.uint8), np.zeros((0, 8, 8, 1)), np.zeros((2, 8, 8, 1), np.int64)],
    )
    def test_what_is_no_stack_of_images_is_refused(self, wrong):
        with pytest.raises(InputError, match="images must"):
            TorchEncoder(nn.Flatten(), name="pixels").encode(wrong)


class TestEncode:
    def test_features_are_those_of_the_module_in_evaluation_mode(self, users):
        pixels = images(number=7, shape=(9, 8, 3))
        found = TorchEncoder(users, name="mine").encode(pixels)
        users.eval()
        with torch.no_grad():
            expected = users(torch.from_numpy(pixels.transpose(0, 3, 1, 2) / np.float32(255)))
        np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5, atol=1e-6)

    def test_a_record_has_the_same_features_in_any_company(self):
        config = ConvolutionalConfig(channels=1, height=28, width=28, filters=32)
        encoder = TorchEncoder(ConvolutionalEncoder(config), name="small", batch=32)
        pixels = images(number=70, shape=(28, 28, 1))
        together = encoder.encode(pixels)
        for rows in (slice(1, None), slice(69, None), slice(3, 40)):
            np.testing.assert_array_equal(encoder.encode(pixels[rows]), together[rows])

    def test_every_batch_has_the_same_size(self):
        sizes = []

        class Counting(nn.Flatten):
            def forward(self, batch):
                sizes.append(len(batch))
                return super().forward(batch)

        assert TorchEncoder(Counting(), name="counting", batch=4).encode(images(9)).shape == (9, 64)
        assert sizes == [4, 4, 4]

    def test_it_is_a_copy_and_the_original_is_left_as_it_was(self, users):
        users.train()
        encoder = TorchEncoder(users, name="mine")
        before = encoder.encode(images(shape=(9, 8, 3)))
        assert users.training
        assert all(parameter.requires_grad for parameter in users.parameters())
        with torch.no_grad():
            users[0].weight.add_(1)
        np.testing.assert_array_equal(encoder.encode(images(shape=(9, 8, 3))), before)


class Answering(nn.Module):
    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def forward(self, batch):
        return self.answer(batch)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda batch: batch.flatten(1) / 0, "finite features, got NaN or infinity"),
        (lambda batch: batch, "features of shape"),
        (lambda batch: (batch.flatten(1),), "got no tensor"),
        (lambda batch: batch.flatten(1)[:1], "one row per image"),
        (lambda batch: batch.flatten(1) @ torch.ones(5, 5), "must accept images of shape"),
    ],
)
def test_wrong_answers_are_refused_in_one_line(answer, message):
    with pytest.raises(InputError, match=message) as caught:
        TorchEncoder(Answering(answer), name="odd").encode(images())
    assert "\n" not in str(caught.value)


def test_images_of_another_shape_are_refused():
    config = ConvolutionalConfig(channels=1, height=8, width=8, filters=4)
    encoder = TorchEncoder(ConvolutionalEncoder(config), name="small")
    with pytest.raises(InputError, match=r"images of shape \(8, 8, 1\), got \(9, 8, 1\)"):
        encoder.encode(images(shape=(9, 8, 1)))


@pytest.mark.parametrize(
    ("module", "more", "message"),
    [
        (print, {"name": "x"}, "module must be a torch.nn.Module"),
        (nn.Flatten(), {"name": "two\nlines"}, "name must be a text of one line"),
        (nn.Flatten(), {"name": "x", "batch": 0}, "batch must be >= 1"),
    ],
)
def test_wrong_arguments_are_refused(module, more, message):
    with pytest.raises(InputError, match=message):
        TorchEncoder(module, **more)


class TestFingerprint:
    def test_equal_maps_have_equal_fingerprints_whatever_their_name(self, users):
        first = TorchEncoder(users, name="one").fingerprint()
        assert first == TorchEncoder(copy.deepcopy(users), name="two", batch=3).fingerprint()
        assert len(bytes.fromhex(first)) == 32

    @pytest.mark.parametrize("tensor", ["0.weight", "1.running_mean", "1.num_batches_tracked"])
    def test_every_tensor_counts(self, users, tensor):
        before = TorchEncoder(users, name="mine").fingerprint()
        with torch.no_grad():
            users.state_dict()[tensor].view(-1)[-1:] += 1
        assert TorchEncoder(users, name="mine").fingerprint() != before

    def test_the_architecture_counts(self):
        texts = {
            TorchEncoder(module, name="same").fingerprint()
            for module in (nn.Flatten(), nn.Flatten(1, 2), nn.Identity(), nn.ReLU())
        }
        assert len(texts) == 4

    def test_type_and_shape_of_the_weights_count(self):
        prints = set()
        for zeros in (
            torch.zeros(4),
            torch.zeros(4).int(),
            torch.zeros(2, 2),
            torch.zeros(8).half(),
        ):
            module = nn.Flatten()
            module.register_buffer("zeros", zeros)  # sixteen zero bytes each, and one repr
            prints.add(TorchEncoder(module, name="same").fingerprint())
        assert len(prints) == 4

    def test_the_configuration_of_our_own_counts(self):
        prints = set()
        for width in (15, 16):  # as many weights for both
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(0)
                config = ConvolutionalConfig(channels=1, height=8, width=width, filters=2)
                module = ConvolutionalEncoder(config)
            prints.add(TorchEncoder(module, name="small").fingerprint())
        assert len(prints) == 2

    def test_a_state_that_is_no_tensor_is_refused(self):
        class Extra(nn.Flatten):
            def get_extra_state(self):
                return "text"

        with pytest.raises(InputError, match="must hold tensors only, got _extra_state"):
            TorchEncoder(Extra(), name="extra").fingerprint()
