"""Networks of timm with their last block trained: images in, one score for each class out."""

from typing import Final, Literal

from reticent.training.encoders.torch_extra import functional, nn, torch
from reticent.training.fine_tuning.cut import cut_below_last_block
from reticent.training.fine_tuning.images import ImageNetwork
from reticent.training.fine_tuning.timm_folder import ImageSource
from reticent.validation import InputError

Tensor = torch.Tensor
Part = Literal["last", "head"]
PARTS: Final[tuple[Part, ...]] = ("last", "head")


def image_network(
    source: ImageSource, part: str, shape: tuple[int, ...], classes: int
) -> ImageNetwork:
    """The network with what ``part`` names to be trained, and a new head."""
    kinds = {"last": TimmLast, "head": TimmHead}
    if part not in kinds:
        raise InputError(f"part must be one of {', '.join(PARTS)}, got {part!r}")
    return kinds[part](source, shape, classes)


class TimmNetwork(ImageNetwork):
    """Of images that are prepared as the public weights were trained: size, mean and spread.

    The whole image is resized, as PIL does it, and nothing is cropped. Grey images are taken three
    times where the network wants colours.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, source: ImageSource, shape: tuple[int, ...], classes: int) -> None:
        super().__init__(shape)
        self.public_weights, self.preparation = source.public_weights, source.preparation
        if self.channels > self.preparation.channels:
            raise InputError(f"shape must have 1 channel, as the network's input_size, got {shape}")
        self.register_buffer("mean", torch.tensor(self.preparation.mean)[:, None, None])
        self.register_buffer("std", torch.tensor(self.preparation.std)[:, None, None])
        self._build(source, self._prepared(torch.full((1, *shape), 0.5)))
        with torch.no_grad():
            seen = self.features(self.public_part(torch.full((1, *shape), 0.5)))
        if seen.dim() != 2:
            raise InputError(
                f"network must give a row of features, got {seen.dim() - 1} dimensions: save it"
                " with global pooling"
            )
        self.head = nn.Linear(seen.shape[1], classes)

    def _build(self, source: ImageSource, image: Tensor) -> None:
        """Take what is needed of the network."""
        raise NotImplementedError

    def _prepared(self, record: Tensor) -> Tensor:
        """One image as the network wants it."""
        wanted = self.preparation
        resized = functional.interpolate(
            self.pixels(record),
            size=(wanted.height, wanted.width),
            mode=wanted.interpolation,
            align_corners=False,
            antialias=True,
        )
        return ((resized.clamp(0, 1) - self.mean) / self.std).contiguous()


class TimmLast(TimmNetwork):
    """The last block and a head are trained; all below is computed once for each image."""

    def _build(self, source: ImageSource, image: Tensor) -> None:
        self.below, self.above, _ = cut_below_last_block(source.features, image)

    def public_part(self, record: Tensor) -> Tensor:
        """What the last block is given of one image."""
        maps: Tensor = self.below(self._prepared(record))
        return maps

    def features(self, inputs: Tensor) -> Tensor:
        """Through the trained block and what is public above it."""
        rows: Tensor = self.above(inputs)
        return rows


class TimmHead(TimmNetwork):
    """A head on the features of the network, which are computed once for each image."""

    def _build(self, source: ImageSource, image: Tensor) -> None:  # noqa: ARG002
        self.below = source.features

    def public_part(self, record: Tensor) -> Tensor:
        """What the network's own classifier would be given of one image."""
        rows: Tensor = self.below(self._prepared(record))
        return rows

    def features(self, inputs: Tensor) -> Tensor:
        """What the public part gave: nothing below the head is trained."""
        return inputs
