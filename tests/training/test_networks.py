"""Networks by name: a convolution sees the same image, whichever way its channels lie."""

import pytest
import torch

from reticent.training.networks import network
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
