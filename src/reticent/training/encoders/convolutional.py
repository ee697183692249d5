"""The small convolutional encoder of the Keras SimCLR example: four convolutions and one layer.

The example pads nothing and so needs images of at least 31 pixels; here one pixel is padded, and
images from 8 pixels on work. There is no batch normalisation: each image is encoded for itself.
"""

from dataclasses import dataclass
from typing import Final

from reticent.training.encoders.image_shape import ImageShape
from reticent.training.encoders.torch_extra import functional, nn, torch
from reticent.validation import count

_CONVOLUTIONS: Final = 4


@dataclass(frozen=True, kw_only=True)
class ConvolutionalConfig(ImageShape):
    """Shape of the images, filters of each convolution, number of features."""

    filters: int = 128
    dimension: int = 128

    def __post_init__(self) -> None:
        """Check every field."""
        super().__post_init__()
        count("filters", self.filters)
        count("dimension", self.dimension)


class ConvolutionalEncoder(nn.Module):
    """Four times [convolution 3×3, stride 2, ReLU], then a dense layer with ReLU."""

    def __init__(self, config: ConvolutionalConfig) -> None:
        super().__init__()
        self.config = config
        inputs = [config.channels, *[config.filters] * (_CONVOLUTIONS - 1)]
        self.convolutions = nn.ModuleList(
            nn.Conv2d(channels, config.filters, kernel_size=3, stride=2, padding=1)
            for channels in inputs
        )
        pixels = _after_strides(config.height) * _after_strides(config.width)
        self.dense = nn.Linear(config.filters * pixels, config.dimension)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Features (n, dimension) of images (n, channels, height, width)."""
        for convolution in self.convolutions:
            images = functional.relu(convolution(images))
        return functional.relu(self.dense(images.flatten(1)))


def _after_strides(side: int) -> int:
    for _ in range(_CONVOLUTIONS):
        side = (side + 1) // 2
    return side
