"""Masked patches: tell what stood in blocks of an image from the rest of it.

Nothing is compared with another image, so the loss of a record is a function of that record alone
and its clipped gradient is all that it moves: DP-SGD as it stands (docs/theory.md E.5). It is what
contrastive losses are to be measured against (after He et al. 2022, on convolutions).
"""

from typing import Final

from reticent.training.encoders.torch_extra import nn, torch

Tensor = torch.Tensor
_BLOCK: Final = 4
_SMALL: Final = 16
"""Pixels: images with a shorter side have blocks of half the size."""
KEPT: Final = 0.5
"""The part of the blocks that the encoder sees."""


def blocks_of(height: int, width: int) -> tuple[int, int, int]:
    """The side of a block, and how many there are down and across.

    >>> blocks_of(28, 28), blocks_of(8, 8)
    ((4, 7, 7), (2, 4, 4))
    """
    side = _BLOCK if min(height, width) >= _SMALL else _BLOCK // 2
    return side, -(-height // side), -(-width // side)


def kept_parts(uniforms: Tensor) -> Tensor:
    """Ones where a part of a record is kept, by one number in [0, 1) for each part.

    The part with the largest number is always hidden: without any there is nothing to learn.

    >>> kept_parts(torch.tensor([[0.1, 0.7, 0.3], [0.1, 0.2, 0.4]])).tolist()
    [[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    below = uniforms < uniforms.amax(dim=1, keepdim=True)
    return ((uniforms < KEPT) & below).to(uniforms.dtype)


def block_mask(uniforms: Tensor, height: int, width: int) -> Tensor:
    """(n, 1, height, width) of ones where a block is kept, by one number in [0, 1) for each."""
    side, down, across = blocks_of(height, width)
    kept = kept_parts(uniforms).reshape(-1, 1, down, across)
    whole = kept.repeat_interleave(side, dim=2).repeat_interleave(side, dim=3)
    return whole[:, :, :height, :width]


def masked_patch_terms(predicted: Tensor, truth: Tensor, kept: Tensor) -> Tensor:
    """Σ of squared errors over all that was hidden, one number a record.

    >>> hidden = torch.zeros(1, 1, 2, 2)
    >>> masked_patch_terms(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 2, 2), hidden).tolist()
    [4.0]
    """
    return ((predicted - truth).square() * (1 - kept)).flatten(1).sum(dim=1)


class PatchDecoder(nn.Module):
    """From the maps of an encoder to an image: each place of them tells a patch of pixels."""

    def __init__(self, maps: tuple[int, int, int], shape: tuple[int, int, int]) -> None:
        super().__init__()
        channels, self.height, self.width = shape
        self.maps = maps
        side = max(-(-self.height // maps[1]), -(-self.width // maps[2]))
        self.pixels = nn.Conv2d(maps[0], channels * side**2, 1)
        self.shuffle = nn.PixelShuffle(side)

    def forward(self, features: Tensor) -> Tensor:
        """(n, channels, height, width) from features (n, maps)."""
        images: Tensor = self.shuffle(self.pixels(features.reshape(-1, *self.maps)))
        return images[:, :, : self.height, : self.width]
