"""Views of photographs by resized crops within the image, and by colours that keep their planes.

``augmentations.natural`` mixes channels by a random matrix and may look beyond the border. Fixed
filters lose more by that than a trained network does: here a crop stays inside, brightness,
contrast and saturation change, and one view of five is grey.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from reticent.training.encoders.torch_extra import functional, torch

Tensor = torch.Tensor
_EDGE: Final = 1e-6
"""Uniform numbers that become Gaussian ones keep so far from 0 and 1."""
_PLACED, _COLOURED = 7, 2


class UniformViews(Protocol):
    """Views that are functions of an image and of uniform numbers, whatever stands beside it."""

    def draws(self, channels: int) -> int:
        """How many numbers one view takes."""
        ...

    def of_uniforms(self, images: Tensor, uniforms: Tensor) -> Tensor:
        """One view of each image from numbers in [0, 1)."""
        ...


@dataclass(frozen=True, kw_only=True)
class CroppedViews:
    """A resized crop, mirrored or not, with other brightness, contrast and saturation.

    Args:
        least_area: The smallest part of the image that a view shows; its logarithm is uniform.
        ratio: Largest logarithm of width over height, beside the image's own.
        brightness: Largest number that is added to all pixels.
        contrast: Largest change of the factor of the distance to the mean.
        saturation: The same of the distance to grey.
        grey: The part of the views without colours.
        tint: Standard deviation of a Gaussian number that is added to each channel.
    """

    least_area: float = 0.3
    ratio: float = 0.28
    brightness: float = 0.1
    contrast: float = 0.4
    saturation: float = 0.6
    grey: float = 0.2
    tint: float = 0.0375

    def draws(self, channels: int) -> int:
        """How many numbers one view of an image with so many channels takes."""
        return _PLACED + (_COLOURED + channels if channels > 1 else 0)

    def of_uniforms(self, images: Tensor, uniforms: Tensor) -> Tensor:
        """One view of each image (n, channels, height, width) from ``draws`` numbers in [0, 1)."""
        columns = iter(uniforms.T)

        def drawn(low: float, high: float) -> Tensor:
            numbers: Tensor = low + (high - low) * next(columns)
            return numbers

        views = self._cropped(images, drawn)
        centre = views.mean((1, 2, 3), keepdim=True)
        bright = _wide(drawn(-self.brightness, self.brightness))
        views = (views - centre) * _wide(drawn(1 - self.contrast, 1 + self.contrast))
        views = views + centre + bright
        channels = images.shape[1]
        if channels == 1:
            return views
        grey = views.mean(1, keepdim=True)
        coloured = (drawn(0, 1) >= self.grey).to(views.dtype)
        amount = coloured * drawn(1 - self.saturation, 1 + self.saturation)
        tints = torch.stack([next(columns) for _ in range(channels)], dim=1)
        tints = torch.special.ndtri(tints.clamp(_EDGE, 1 - _EDGE)) * self.tint * coloured[:, None]
        recoloured: Tensor = grey + (views - grey) * _wide(amount) + tints[:, :, None, None]
        return recoloured

    def _cropped(self, images: Tensor, drawn: Callable[[float, float], Tensor]) -> Tensor:
        """The crop at the size of the image, by one bilinear interpolation."""
        side = torch.exp(drawn(math.log(self.least_area), 0) / 2)
        stretch = torch.exp(drawn(-self.ratio, self.ratio) / 2)
        wide, high = (side * stretch).clamp(max=1), (side / stretch).clamp(max=1)
        mirrored = torch.where(drawn(0, 1) < 0.5, -1.0, 1.0)
        across, down = drawn(-1, 1) * (1 - wide), drawn(-1, 1) * (1 - high)
        none = torch.zeros_like(wide)
        first = torch.stack([wide * mirrored, none, across], dim=1)
        maps = torch.stack([first, torch.stack([none, high, down], dim=1)], dim=1)
        grid = functional.affine_grid(maps, list(images.shape), align_corners=False)
        return functional.grid_sample(images, grid, padding_mode="reflection", align_corners=False)


def _wide(column: Tensor) -> Tensor:
    return column.reshape(-1, 1, 1, 1)
