"""EfficientNet-Lite0 with its last block trained: images in, one score for each class out."""

from __future__ import annotations

from typing import Any

from reticent.training.encoders.base import channels_last
from reticent.training.encoders.pretrained import (
    EFFICIENTNET_FILE,
    IMAGE_FEATURES,
    EfficientNetLite0,
    prepared_pixels,
)
from reticent.training.encoders.torch_extra import nn, torch
from reticent.training.fine_tuning.partly import PartlyTrained
from reticent.validation import InputError

Tensor = torch.Tensor


class Affine(nn.Module):
    """A batch norm with its public statistics: a fixed scale and shift of each channel."""

    scale: Tensor
    shift: Tensor

    def __init__(self, norm: Any) -> None:
        super().__init__()
        scale = norm.weight.detach() * (norm.running_var + norm.eps).rsqrt()
        self.register_buffer("scale", scale[:, None, None])
        shift = norm.bias.detach() - norm.running_mean * scale
        self.register_buffer("shift", shift[:, None, None])

    def forward(self, maps: Tensor) -> Tensor:
        """scale·x + shift of each channel: what batch normalisation is with public statistics."""
        return maps * self.scale + self.shift


class EfficientNetLast(PartlyTrained):
    """The last inverted residual block and a linear head; all before it is computed once.

    Records are pixels in [0, 1] of one channel or three: channels first, as 3×32×32, or last, as
    tables of images have them, 32×32×3.
    """

    public_weights = EFFICIENTNET_FILE

    def __init__(self, shape: tuple[int, ...], classes: int) -> None:
        super().__init__()
        if len(shape) != 3 or not {shape[0], shape[2]} & {1, 3}:
            raise InputError(
                "shape must be channels×height×width or height×width×channels with 1 or 3"
                f" channels, got {shape}"
            )
        self.shape, self.channels_last = shape, channels_last(shape)
        network = EfficientNetLite0().network().requires_grad_(False)
        last = network._blocks[-1]
        self.before = nn.Sequential(
            network._conv_stem, network._bn0, nn.ReLU6(), *network._blocks[:-1]
        )
        self.block = nn.Sequential(
            _plain(last._expand_conv),
            Affine(last._bn0),
            nn.ReLU6(),
            _plain(last._depthwise_conv),
            Affine(last._bn1),
            nn.ReLU6(),
            _plain(last._project_conv),
            Affine(last._bn2),
        )
        self.after = nn.Sequential(
            _plain(network._conv_head).requires_grad_(False), Affine(network._bn1), nn.ReLU6()
        )
        self.head = nn.Linear(IMAGE_FEATURES, classes)

    def public_part(self, record: Tensor) -> Tensor:
        """What the last block is given of one image."""
        image = record.permute(0, 3, 1, 2) if self.channels_last else record
        pixels = image.nan_to_num(0.0, 0.0, 0.0).clamp(0, 1)
        maps: Tensor = self.before(prepared_pixels(255 * pixels))
        return maps

    def examples(self, records: int) -> list[Tensor]:
        """Of images of random pixels, from dark to light."""
        generator = torch.Generator().manual_seed(0)
        pixels = torch.rand(records, *self.shape, generator=generator)
        light = torch.rand(records, 1, 1, 1, generator=generator)
        with torch.no_grad():
            return [torch.cat([self.public_part(one[None]) for one in pixels * light])]

    def forward(self, maps: Tensor) -> Tensor:
        """The scores of what ``public_part`` gave."""
        scores: Tensor = self.head(self.after(self.block(maps)).mean(dim=(2, 3)))
        return scores


def _plain(convolution: Any) -> nn.Conv2d:
    """The same convolution as torch has it: at stride 1 the package's padding is on all sides."""
    kernel = convolution.kernel_size[0]
    layer = nn.Conv2d(
        convolution.in_channels,
        convolution.out_channels,
        kernel,
        padding=kernel // 2,
        groups=convolution.groups,
        bias=False,
    )
    with torch.no_grad():
        layer.weight.copy_(convolution.weight)
    return layer
