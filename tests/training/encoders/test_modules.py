"""The architectures: shapes, sizes, and that each image is encoded for itself."""

import numpy as np
import pytest
import torch
from torch import nn

from reticent.training.encoders.convolutional import (
    ConvolutionalConfig,
    ConvolutionalEncoder,
    ResNet18Config,
    ResNet18Encoder,
    StandardisedLinear,
    projection_head,
)
from reticent.validation import InputError

KINDS = [(ConvolutionalConfig, ConvolutionalEncoder), (ResNet18Config, ResNet18Encoder)]


def parameters(module):
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(("config", "module"), KINDS)
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("height", "width"), [(8, 8), (8, 13), (31, 17), (96, 65)])
def test_every_image_size_from_eight_pixels_on(config, module, channels, height, width):
    chosen = config(channels=channels, height=height, width=width, filters=6)
    with torch.no_grad():
        features = module(chosen)(torch.rand(2, channels, height, width))
    assert features.shape == (2, chosen.dimension)
    assert float(features.min()) >= 0  # ReLU is the last step of both


@pytest.mark.parametrize(("config", "module"), KINDS)
def test_each_image_is_encoded_for_itself(config, module):
    encoder = module(config(channels=3, height=16, width=16, filters=8)).train()
    batch = torch.rand(3, 3, 16, 16)
    with torch.no_grad():
        alone, together = encoder(batch[:1]), encoder(batch)[:1]
    np.testing.assert_allclose(alone, together, rtol=1e-4, atol=1e-6)


def test_the_size_of_the_convolutional_encoder():
    # 96 pixels become 6: (9·3·128 + 128) + 3·(9·128·128 + 128) + (36·128·128 + 128)
    encoder = ConvolutionalEncoder(ConvolutionalConfig(channels=3, height=96, width=96))
    assert parameters(encoder) == 3584 + 3 * 147584 + 589952


@pytest.mark.parametrize(("side", "stem"), [(32, 9), (64, 9), (65, 49), (224, 49)])
def test_the_size_of_resnet18(side, stem):
    # torchvision's ResNet-18 without its classifier has 11,176,512 weights with a 7×7 stem.
    encoder = ResNet18Encoder(ResNet18Config(channels=3, height=side, width=side))
    assert parameters(encoder) == 11_176_512 - 49 * 3 * 64 + stem * 3 * 64
    assert any(isinstance(part, nn.MaxPool2d) for part in encoder.modules()) == (stem == 49)
    assert not any(isinstance(part, nn.BatchNorm2d) for part in encoder.modules())


def test_images_of_eight_pixels_and_few_filters_are_still_told_apart():
    encoder = ResNet18Encoder(ResNet18Config(channels=1, height=8, width=8, filters=4))
    images = torch.stack([torch.eye(8), torch.ones(8, 8).tril()])[:, None]
    with torch.no_grad():
        features = encoder(images)  # the last stage has a single pixel
    assert float((features[0] - features[1]).abs().max()) > 0.01  # beyond rounding


@pytest.mark.parametrize("side", [32, 96])
def test_resnet18_shrinks_small_images_eightfold_and_large_ones_thirtytwofold(side):
    encoder = ResNet18Encoder(ResNet18Config(channels=1, height=side, width=side, filters=2))
    with torch.no_grad():
        last = encoder.blocks(encoder.stem(torch.rand(1, 1, side, side)))
    assert last.shape == (1, 16, *({32: (4, 4), 96: (3, 3)}[side]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"channels": 2}, "channels must be 1 or 3, got 2"),
        ({"height": 7}, "height must be >= 8, got 7"),
        ({"width": 8.0}, "width must be a whole number"),
        ({"filters": 0}, "filters must be >= 1"),
    ],
)
@pytest.mark.parametrize("config", [ConvolutionalConfig, ResNet18Config])
def test_wrong_configurations_are_refused(config, change, message):
    with pytest.raises(InputError, match=message):
        config(**{"channels": 1, "height": 8, "width": 8} | change)


class TestProjection:
    def test_its_layers(self):
        first, relu, second = projection_head(30)
        assert (first.in_features, first.out_features) == (30, 128)
        assert isinstance(relu, nn.ReLU)
        assert (second.in_features, second.out_features) == (128, 128)
        assert type(first) is nn.Linear

    def test_standardised_layers_ignore_scale_and_offset_of_their_weights(self):
        layer = projection_head(20, hidden=512, standardised=True)[0]
        assert isinstance(layer, StandardisedLinear)
        inputs = torch.rand(4, 20)
        with torch.no_grad():
            before = layer(inputs)
            layer.weight.mul_(50).add_(3)
            np.testing.assert_allclose(layer(inputs), before, rtol=1e-2, atol=1e-3)

    def test_a_standardised_layer_keeps_the_variance_of_its_inputs(self):
        layer = StandardisedLinear(400, 50, bias=False)
        generator = torch.Generator().manual_seed(0)
        with torch.no_grad():
            layer.weight.normal_(generator=generator)
            answers = layer(torch.randn(1000, 400, generator=generator))
        assert float(answers.var()) == pytest.approx(1, abs=0.05)  # sd about 0.007
