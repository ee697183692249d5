"""EfficientNet-Lite0 with its last block trained: images in, one score for each class out."""

from typing import Any

from reticent.training.encoders import pretrained
from reticent.training.encoders.base import channels_last
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


class ImageNetwork(PartlyTrained):
    """Of images: pixels in [0, 1] of one channel or three.

    They have their channels first, as 3×32×32, or last, as tables of images have them, 32×32×3.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        if len(shape) != 3 or not {shape[0], shape[2]} & {1, 3}:
            raise InputError(
                "shape must be channels×height×width or height×width×channels with 1 or 3"
                f" channels, got {shape}"
            )
        self.shape, self.channels_last = shape, channels_last(shape)
        self.channels = shape[2 if self.channels_last else 0]

    def pixels(self, record: Tensor) -> Tensor:
        """One record as an image (1, channels, height, width) in [0, 1], whatever was in it."""
        image = record.permute(0, 3, 1, 2) if self.channels_last else record
        return image.nan_to_num(0.0, 0.0, 0.0).clamp(0, 1)

    def examples(self, records: int) -> list[Tensor]:
        """Of images of random pixels, from dark to light."""
        generator = torch.Generator().manual_seed(0)
        pixels = torch.rand(records, *self.shape, generator=generator)
        light = torch.rand(records, 1, 1, 1, generator=generator)
        with torch.no_grad():
            return [torch.cat([self.public_part(one[None]) for one in pixels * light])]


class EfficientNetLast(ImageNetwork):
    """The last inverted residual block and a linear head; all before it is computed once."""

    public_weights = pretrained.EFFICIENTNET_FILE

    def __init__(self, shape: tuple[int, ...], classes: int) -> None:
        super().__init__(shape)
        network = pretrained.EfficientNetLite0().network().requires_grad_(False)
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
        self.head = nn.Linear(pretrained.IMAGE_FEATURES, classes)

    def public_part(self, record: Tensor) -> Tensor:
        """What the last block is given of one image."""
        maps: Tensor = self.before(pretrained.prepared_pixels(255 * self.pixels(record)))
        return maps

    def features(self, inputs: Tensor) -> Tensor:
        """Of maps that ``public_part`` gave: through the trained block, and their mean."""
        means: Tensor = self.after(self.block(inputs)).mean(dim=(2, 3))
        return means


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
