"""Encoders by name for private contrastive training, each with its projection head.

No batch normalisation, and no random numbers but those of the public seed of the first weights.
Rows come as they stand in a table: images flattened, channels last.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from reticent.training.contrastive.augmentations import Augmentation, natural, turned_digits
from reticent.training.contrastive.masked_patches import PatchDecoder
from reticent.training.encoders import convolutional
from reticent.training.encoders.torch_extra import nn, torch
from reticent.validation import InputError

Shape = tuple[int, int, int]
"""Channels, height and width of an image."""
HIDDEN: Final = 64
"""Units of the encoder of rows that are no images."""
KEPT: Final = 0.5
"""The part of a row's entries that a masked view keeps."""


PIXELS: Final[dict[str, convolutional.Pixels]] = {
    "digits": convolutional.Pixels(0.15, 0.35),
    "natural": convolutional.Pixels(0.46, 0.25),
}
"""By augmentation. Digits: those of scikit-learn, drawn large; natural: those of synthetic images
(``filter_banks``)."""


class NetworkChoice(NamedTuple):
    """What is trained: all of it public."""

    architecture: str
    shape: str
    """Height, width and channels of an image, as 28x28x1; empty where rows are no images."""
    augmentation: str
    seed: int = 0


class ContrastiveNetwork(nn.Module):
    """An encoder, which is released, and a projection head, which is thrown away."""

    def __init__(self, encoder: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """The embeddings that the loss compares."""
        embeddings: torch.Tensor = self.head(self.encoder(rows))
        return embeddings


def _mlp(features: int, width: int) -> ContrastiveNetwork:
    encoder = nn.Sequential(nn.Linear(features, HIDDEN), nn.Tanh())
    return ContrastiveNetwork(encoder, nn.Linear(HIDDEN, width))


def _strided_config(shape: Shape) -> convolutional.StridedConfig:
    channels, high, wide = shape
    filters = 16 if channels == 1 else 32
    return convolutional.StridedConfig(channels=channels, height=high, width=wide, filters=filters)


def _strided(shape: Shape, width: int) -> ContrastiveNetwork:
    config = _strided_config(shape)
    return ContrastiveNetwork(
        convolutional.StridedEncoder(config), nn.Linear(config.dimension, width)
    )


def _resnet18_config(shape: Shape) -> convolutional.ResNet18Config:
    channels, high, wide = shape
    return convolutional.ResNet18Config(channels=channels, height=high, width=wide)


def _resnet18(shape: Shape, width: int) -> ContrastiveNetwork:
    config = _resnet18_config(shape)
    head = convolutional.projection_head(
        config.dimension, hidden=512, outputs=width, standardised=True
    )
    return ContrastiveNetwork(convolutional.ResNet18Encoder(config), head)


_OF_IMAGES: Final[dict[str, Callable[[Shape, int], ContrastiveNetwork]]] = {
    "strided": _strided,
    "resnet18": _resnet18,
}
_CONFIGS: Final[
    dict[str, Callable[[Shape], convolutional.StridedConfig | convolutional.ResNet18Config]]
] = {
    "strided": _strided_config,
    "resnet18": _resnet18_config,
}
ARCHITECTURES: Final = ("mlp", *_OF_IMAGES)


def image_shape(shape: str, features: int) -> Shape | None:
    """Channels, height and width of images written as 28x28x1; None where rows are no images."""
    if not shape:
        return None
    try:
        high, wide, channels = (int(part) for part in shape.split("x"))
    except ValueError:
        raise InputError(
            f"shape must be height, width and channels as 28x28x1, got {shape!r}"
        ) from None
    if min(high, wide, channels) < 1 or high * wide * channels != features:
        raise InputError(f"shape must hold {features} numbers, got {shape!r}")
    return channels, high, wide


def contrastive_network(
    architecture: str, features: int, shape: Shape | None, *, width: int, seed: int | None
) -> ContrastiveNetwork:
    """A network with its first weights drawn from a public seed.

    Without a seed it has shapes and no memory for weights: numbers of a file that lies about its
    size cost nothing.
    """
    return _seeded(architecture, shape, seed, lambda: _built(architecture, features, shape, width))


def with_fixed_head(network: ContrastiveNetwork) -> ContrastiveNetwork:
    """The same network, whose head keeps its first weights: public random directions.

    The head is thrown away after training. Fixed, it takes no part of a clipped gradient, and noise
    goes to the weights of the encoder alone.
    """
    network.head.requires_grad_(False)
    return network


def with_pixels(network: ContrastiveNetwork, pixels: convolutional.Pixels) -> ContrastiveNetwork:
    """The same weights on standardised images; of three strided convolutions alone."""
    if not isinstance(network.encoder, convolutional.StridedEncoder):
        raise InputError("standardised must be for the architecture strided, got another")
    network.encoder.pixels = pixels
    return network


def masking_network(
    architecture: str, features: int, shape: Shape | None, *, seed: int | None
) -> ContrastiveNetwork:
    """The same encoder with a head that tells the hidden parts of a record from its features."""

    def built() -> ContrastiveNetwork:
        network = _built(architecture, features, shape, 1)
        if architecture == "strided" and shape is not None:
            network.head = PatchDecoder(_strided_config(shape).maps, shape)
            return network
        network.head = nn.Linear(feature_width(architecture, shape), features)
        if shape is not None:
            network.head = nn.Sequential(network.head, nn.Unflatten(1, shape))
        return network

    return _seeded(architecture, shape, seed, built)


def _seeded(
    architecture: str,
    shape: Shape | None,
    seed: int | None,
    built: Callable[[], ContrastiveNetwork],
) -> ContrastiveNetwork:
    if architecture not in ARCHITECTURES:
        raise InputError(
            f"architecture must be one of {', '.join(ARCHITECTURES)}, got {architecture!r}"
        )
    if architecture != "mlp" and shape is None:
        raise InputError(f"shape must be said for {architecture}, as 28x28x1, got none")
    if seed is None:
        with torch.device("meta"):
            return built()
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return built()


def _built(architecture: str, features: int, shape: Shape | None, width: int) -> ContrastiveNetwork:
    if architecture == "mlp" or shape is None:
        return _mlp(features, width).train()
    return _OF_IMAGES[architecture](shape, width).train()


class ImageViews:
    """Views of images by an augmentation without noise."""

    def __init__(self, augmentation: Augmentation, shape: Shape) -> None:
        self.augmentation, self.shape = augmentation, shape
        self.draws = augmentation.draws(shape[0])

    def inputs(self, rows: torch.Tensor) -> torch.Tensor:
        """Rows of a table as the network reads them: channels first."""
        channels, high, wide = self.shape
        return rows.reshape(-1, high, wide, channels).permute(0, 3, 1, 2).contiguous()

    def view(self, inputs: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
        """One augmented view of each image, drawn by its own secret uniforms."""
        return self.augmentation.of_uniforms(inputs, uniforms)


class MaskedViews:
    """Views of rows that are no images: each entry is kept, or set to zero, by a coin."""

    def __init__(self, features: int) -> None:
        self.draws = features

    def inputs(self, rows: torch.Tensor) -> torch.Tensor:
        """The rows unchanged: a network of rows reads them as they are."""
        return rows

    def view(self, inputs: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
        """Each row with the entries whose uniform is large set to zero."""
        return torch.where(uniforms < KEPT, inputs, torch.zeros_like(inputs))


AUGMENTATIONS: Final[dict[str, Callable[[], Augmentation]]] = {
    "natural": natural,
    "digits": turned_digits,
}


def views_of(augmentation: str, features: int, shape: Shape | None) -> ImageViews | MaskedViews:
    """How views are made: natural or digits for images, mask for other rows."""
    if (augmentation == "mask") != (shape is None):
        raise InputError(
            f"augmentation must be mask for rows without a shape, and {' or '.join(AUGMENTATIONS)}"
            f" for images, got {augmentation!r}"
        )
    if shape is None:
        return MaskedViews(features)
    if augmentation not in AUGMENTATIONS:
        raise InputError(
            f"augmentation must be one of {', '.join(AUGMENTATIONS)}, got {augmentation!r}"
        )
    return ImageViews(AUGMENTATIONS[augmentation](), shape)


def pairs_of_views(views: ImageViews | MaskedViews) -> Callable[..., torch.Tensor]:
    """``outputs(model, inputs, uniforms)``: (n, 2, k) embeddings of two views of each record."""

    def outputs(model: nn.Module, inputs: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
        drawn = uniforms[:, : views.draws], uniforms[:, views.draws :]
        both = torch.cat([views.view(inputs, one) for one in drawn])
        return torch.stack(model(both).chunk(2), dim=1)

    return outputs


def example_rows(features: int, draws: int, records: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Random rows of many sizes, and so many numbers in [0, 1) for each: for the checks."""
    generator = torch.Generator().manual_seed(0)
    sizes = 2.0 ** torch.randint(-3, 4, (records, 1), generator=generator)
    rows = torch.randn(records, features, generator=generator) * sizes
    return rows, torch.rand(records, draws, generator=generator)


def feature_width(architecture: str, shape: Shape | None) -> int:
    """How many features the named encoder gives."""
    if architecture == "mlp" or shape is None:
        return HIDDEN
    return _CONFIGS[architecture](shape).dimension
