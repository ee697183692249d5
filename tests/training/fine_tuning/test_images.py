"""EfficientNet-Lite0 with its last block trained."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from reticent.training.encoders.pretrained import EfficientNetLite0
from reticent.training.fine_tuning.images import EfficientNetLast
from reticent.training.fine_tuning.partly import grouped
from reticent.training.networks import network
from reticent.validation import InputError
from tests.training.fine_tuning.test_texts import assert_gradients_of_each_alone

SHAPE = (3, 12, 10)


@pytest.mark.slow
def test_the_last_block_is_trained_from_the_public_weights() -> None:
    model = network("efficientnet-lite0-last", SHAPE, 3, seed=0)
    assert isinstance(model, EfficientNetLast)
    trained = {name for name, one in model.named_parameters() if one.requires_grad}
    assert trained == {*(f"block.{i}.weight" for i in (0, 3, 6)), "head.weight", "head.bias"}
    assert not any(one.training for one in model.modules())  # fixed batch norms
    images = np.random.default_rng(0).integers(0, 256, (3, *SHAPE), dtype=np.uint8)
    rows = torch.from_numpy(images.astype(np.float32) / 255)
    assert_gradients_of_each_alone(model, rows, clip=0.1)
    expected = EfficientNetLite0().encode(images.transpose(0, 2, 3, 1))
    model.head = nn.Identity()
    last = EfficientNetLast((12, 10, 3), 3)  # channels last, as tables of images have them
    last.head = nn.Identity()
    for one, records in ((model, rows), (last, rows.permute(0, 2, 3, 1))):
        with torch.no_grad():
            ((_, inputs),) = grouped(one, records)
            np.testing.assert_allclose(one(inputs).numpy(), expected, atol=1e-3)


def test_shapes_that_are_no_images() -> None:
    with pytest.raises(InputError, match="with 1 or 3 channels, got"):
        network("efficientnet-lite0-last", (2, 8, 8), 3, seed=0)
