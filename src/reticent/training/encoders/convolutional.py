"""Three convolutional encoders, and the projection head that contrastive training puts on one.

The small one is that of the Keras SimCLR example: four convolutions and one layer. It pads nothing
and so needs images of at least 31 pixels; here one pixel is padded, and images from 8 pixels on
work. There is no batch normalisation: each image is encoded for itself.

The one for private training has three strided convolutions with group normalisation and no dense
layer: few weights, each of which gets its noise.

The large one is ResNet-18 (He et al. 2016) with group instead of batch normalisation. Group
normalisation (Wu and He 2018) treats each image for itself, so that per-example gradients
exist and a feature depends on no other record. Images of at most 64 pixels get the stem usual for
CIFAR: one 3×3 convolution, no pooling; larger ones 7×7 with stride 2 and pooling.
"""

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

from reticent.training.encoders.base import ImageShape
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


_STRIDED: Final = 3


@dataclass(frozen=True, kw_only=True)
class StridedConfig(ImageShape):
    """Shape of the images, and the filters of the first convolution; each next has twice as many.

    The features are the maps of the last one: ``dimension`` of them.
    """

    filters: int = 16

    def __post_init__(self) -> None:
        """Check every field."""
        super().__post_init__()
        count("filters", self.filters)

    @property
    def maps(self) -> tuple[int, int, int]:
        """Channels, height and width of what comes out, before it is flattened."""
        height, width = self.height, self.width
        for _ in range(_STRIDED):
            height, width = (height + 1) // 2, (width + 1) // 2
        return self.filters << (_STRIDED - 1), height, width

    @property
    def dimension(self) -> int:
        """The number of features that the encoder gives."""
        return math.prod(self.maps)


class Pixels(NamedTuple):
    """About the mean and the deviation of a kind of images: public numbers."""

    mean: float
    deviation: float


class StridedEncoder(nn.Module):
    """Three times [convolution, stride 2, group normalisation, ReLU]; the first kernel is 5×5.

    With ``pixels`` images are standardised first: where most of them are 0, the first convolution
    sees nothing but its bias otherwise.
    """

    pixels: Pixels | None = None

    def __init__(self, config: StridedConfig) -> None:
        super().__init__()
        self.config = config
        widths = [config.filters << layer for layer in range(_STRIDED)]
        layers: list[nn.Module] = []
        for inputs, outputs in zip([config.channels, *widths], widths, strict=False):
            kernel = 3 if layers else 5
            layers += [
                nn.Conv2d(inputs, outputs, kernel, stride=2, padding=kernel // 2),
                nn.GroupNorm(math.gcd(8 if layers else 4, outputs), outputs),
                nn.ReLU(),
            ]
        self.layers = nn.Sequential(*layers)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Features (n, dimension) of images (n, channels, height, width)."""
        if self.pixels is not None:
            images = (images - self.pixels.mean) / self.pixels.deviation
        maps: torch.Tensor = self.layers(images)
        return maps.flatten(1)


_GROUPS: Final = 32
_STAGES: Final = 4
_BLOCKS: Final = 2
_SMALL: Final = 64  # pixels


@dataclass(frozen=True, kw_only=True)
class ResNet18Config(ImageShape):
    """Shape of the images, and the filters of the first stage; each next one has twice as many."""

    filters: int = 64

    def __post_init__(self) -> None:
        """Check every field."""
        super().__post_init__()
        count("filters", self.filters)

    @property
    def dimension(self) -> int:
        """The number of features that the encoder gives."""
        return self.filters << (_STAGES - 1)


class ResNet18Encoder(nn.Module):
    """A stem, four stages of two residual blocks, and the mean over the remaining pixels."""

    def __init__(self, config: ResNet18Config) -> None:
        super().__init__()
        self.config = config
        self.stem = _stem(config)
        widths = [config.filters << stage for stage in range(_STAGES)]
        inputs = [config.filters, *widths]
        self.blocks = nn.Sequential(
            *(
                ResidualBlock(
                    inputs[stage] if first else width, width, stride=2 if first and stage else 1
                )
                for stage, width in enumerate(widths)
                for first in (True, *[False] * (_BLOCKS - 1))
            )
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Features (n, dimension) of images (n, channels, height, width)."""
        features: torch.Tensor = self.blocks(self.stem(images))
        return features.mean(dim=(2, 3))


class ResidualBlock(nn.Module):
    """Two 3×3 convolutions beside the input itself, or beside its 1×1 convolution."""

    def __init__(self, inputs: int, outputs: int, *, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.first_norm = _norm(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.second_norm = _norm(outputs)
        self.shortcut: nn.Module = nn.Identity()
        if stride > 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), _norm(outputs)
            )

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """ReLU(residual + shortcut) of a batch."""
        inner = functional.relu(self.first_norm(self.first(inputs)))
        return functional.relu(self.second_norm(self.second(inner)) + self.shortcut(inputs))


def _stem(config: ResNet18Config) -> nn.Sequential:
    if max(config.height, config.width) <= _SMALL:
        convolution = nn.Conv2d(config.channels, config.filters, 3, padding=1, bias=False)
        return nn.Sequential(convolution, _norm(config.filters), nn.ReLU())
    convolution = nn.Conv2d(config.channels, config.filters, 7, stride=2, padding=3, bias=False)
    pooling = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
    return nn.Sequential(convolution, _norm(config.filters), nn.ReLU(), pooling)


def _norm(channels: int) -> nn.GroupNorm:
    """At most 32 groups of at least two channels: of one pixel and one channel nothing remains."""
    groups = math.gcd(_GROUPS, channels)
    return nn.GroupNorm(groups if groups < channels else max(1, groups // 2), channels)


class StandardisedLinear(nn.Linear):
    """A dense layer whose weights are centred and scaled for each unit before use.

    Weight standardisation (Qiao et al. 2019) does what batch normalisation would do, without
    mixing the records of a batch: the DP contrastive learning paper needs that.
    """

    tiny: Final = 1e-5

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """W' x + b, where each row of W' has mean 0 and variance 1/inputs."""
        deviation, mean = torch.std_mean(self.weight, dim=1, keepdim=True, correction=0)
        scale = (deviation + self.tiny) * self.in_features**0.5
        return functional.linear(inputs, (self.weight - mean) / scale, self.bias)


def projection_head(
    features: int, *, hidden: int = 128, outputs: int = 128, standardised: bool = False
) -> nn.Sequential:
    """Dense ``hidden`` with ReLU, then dense ``outputs``.

    The Keras SimCLR example has 128 and 128; DP contrastive learning 512 and 128, standardised.
    """
    layer = StandardisedLinear if standardised else nn.Linear
    return nn.Sequential(
        layer(count("features", features), count("hidden", hidden)),
        nn.ReLU(),
        layer(hidden, count("outputs", outputs)),
    )
