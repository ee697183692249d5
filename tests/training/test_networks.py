"""Networks by name: a convolution sees the same image, whichever way its channels lie."""

import pytest
import torch
from torch import nn

from reticent.training.networks import network, trained_shapes
from reticent.validation import InputError


def test_channels_first_and_last_are_one_network():
    first = network("conv", (3, 20, 22), 4, seed=0)
    last = network("conv", (20, 22, 3), 4, seed=0)
    images = torch.randn(5, 3, 20, 22, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.equal(first(images), last(images.permute(0, 2, 3, 1).contiguous()))
        scrambled = images.reshape(5, 20, 22, 3)
        assert not torch.allclose(first(images), last(scrambled))


@pytest.mark.parametrize("shape", [(400,), (20, 20), (1, 9, 9), (9, 9, 3)])
def test_what_is_no_image_is_refused(shape):
    with pytest.raises(InputError, match="shape must be"):
        network("conv", shape, 4, seed=0)


def test_wavelet_maps_have_one_shape_in_a_row_of_features():
    flat = network("scattering-conv", (243 * 4,), 4, seed=0)
    shaped = network("scattering-conv", (243, 2, 2), 4, seed=0)
    maps = torch.randn(5, 243, 2, 2, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.equal(flat(maps.flatten(1)), shaped(maps))
        assert torch.allclose(shaped(maps)[:1], shaped(maps[:1]), atol=1e-6)  # no batch norm


@pytest.mark.parametrize("shape", [(82,), (81 * 3 + 1,), (80, 2, 2), (81, 4)])
def test_what_is_no_wavelet_map_is_refused(shape):
    with pytest.raises(InputError, match="81 or 243 maps"):
        network("scattering-conv", shape, 4, seed=0)


def too_many(shape, classes):
    return nn.Linear(shape[0], classes + 1)


def of_other_rows(shape, classes):
    return nn.Linear(shape[0] + 1, classes)


class Answers(nn.Linear):
    def forward(self, rows):
        return {"logits": super().forward(rows)}


def named_answers(shape, classes):
    return Answers(shape[0], classes)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("too_many", r"must give 3 scores for each record of shape \(4,\), got \(2, 4\) for two"),
        ("of_other_rows", r"must give 3 scores .*, got RuntimeError: mat1 and mat2"),
        ("named_answers", r"must give 3 scores .*, got dict for two"),
    ],
)
def test_a_network_of_other_outputs_is_refused_before_it_is_planned(name, message):
    with pytest.raises(InputError, match=message):
        trained_shapes(f"{__name__}:{name}", (4,), 3, "")
