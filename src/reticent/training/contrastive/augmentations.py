"""Random views of images, a whole batch at a time.

One affine map (flip, zoom, translation, rotation, shear) is drawn for each image and applied in
one interpolation; then the colours. All numbers come from the generator that is given.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from reticent.training.encoders.torch_extra import functional, torch
from reticent.validation import InputError, finite, non_negative, positive, probability

_Draw = Callable[..., torch.Tensor]
"""From a lower and an upper end and a shape to numbers between them, so many for each image."""
Strength = Literal["contrastive", "classification"]
_NATURAL: dict[Strength, tuple[float, float, float]] = {  # min area, brightness, jitter
    "contrastive": (0.25, 0.6, 0.2),
    "classification": (0.75, 0.3, 0.1),
}


@dataclass(frozen=True, kw_only=True)
class Augmentation:
    """How far a view may be from its image; each amount is drawn uniformly within its range.

    Args:
        flip: Whether half of the views are mirrored, left to right.
        zoom: Smallest and largest part of height and of width that a view shows, drawn for each.
        translate: Largest shift, as a part of height and width.
        rotate: Largest angle in radians.
        shear: Largest slant.
        brightness: Colours are multiplied by 1 ± at most this.
        jitter: Each entry of the matrix that mixes the channels moves by at most this.
        noise: Standard deviation of Gaussian noise on each pixel.
        outside: What is beyond the border: its "reflection" or "zeros".
    """

    flip: bool = False
    zoom: tuple[float, float] = (1.0, 1.0)
    translate: float = 0.0
    rotate: float = 0.0
    shear: float = 0.0
    brightness: float = 0.0
    jitter: float = 0.0
    noise: float = 0.0
    outside: Literal["reflection", "zeros"] = "reflection"

    def __post_init__(self) -> None:
        """Check every amount."""
        low, high = (positive("zoom", part) for part in self.zoom)
        if low > high:
            raise InputError(f"zoom must be (smallest, largest), got {self.zoom}")
        for name in ("translate", "rotate", "shear", "jitter", "noise"):
            non_negative(name, getattr(self, name))
        probability("brightness", self.brightness)
        if self.outside not in ("reflection", "zeros"):
            raise InputError(f"outside must be reflection or zeros, got {self.outside!r}")

    def __call__(self, images: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """One view of each image (n, channels, height, width) with values in [0, 1]."""

        def drawn(low: float, high: float, *shape: int) -> torch.Tensor:
            return _uniform((len(images), *shape), low, high, generator)

        views = self._view(images, drawn)
        if self.noise:
            views = views + self.noise * torch.randn(views.shape, generator=generator)
        return views

    def of_uniforms(self, images: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
        """One view of each image from numbers in [0, 1), ``draws`` of them for each image.

        So a view is a function of its image and its numbers, whatever stands beside it.
        """
        if self.noise:
            raise InputError(
                f"noise must be 0 where draws are given, got {self.noise}: it has one a pixel"
            )
        place = 0

        def drawn(low: float, high: float, *shape: int) -> torch.Tensor:
            nonlocal place
            start, place = place, place + math.prod(shape)
            return low + (high - low) * uniforms[:, start:place].reshape(-1, *shape)

        return self._view(images, drawn)

    def draws(self, channels: int) -> int:
        """How many numbers one view of an image with so many channels takes."""
        moved = 6 + self.flip if self._moves else 0
        return moved + (1 + channels**2 if self._recolours else 0)

    def _view(self, images: torch.Tensor, drawn: _Draw) -> torch.Tensor:
        views = images
        if self._moves:
            grid = functional.affine_grid(
                self._maps(len(images), drawn), list(images.shape), align_corners=False
            )
            views = functional.grid_sample(
                images, grid, padding_mode=self.outside, align_corners=False
            )
        return self._recoloured(views, drawn) if self._recolours else views

    @property
    def _recolours(self) -> bool:
        return bool(self.brightness or self.jitter)

    @property
    def _moves(self) -> bool:
        amounts = (self.flip, self.translate, self.rotate, self.shear, self.zoom != (1.0, 1.0))
        return any(amounts)

    def _maps(self, images: int, drawn: _Draw) -> torch.Tensor:
        """(n, 2, 3): where in the image, whose sides are [−1, 1], each point of the view lies."""
        angle, slant = drawn(-self.rotate, self.rotate), drawn(-self.shear, self.shear)
        zoom = drawn(*self.zoom, 2)
        mirrored = torch.where(drawn(-1, 1) < 0, -1.0, 1.0) if self.flip else torch.ones(images)
        shift = drawn(-2 * self.translate, 2 * self.translate, 2)
        wide, high = zoom[:, 0] * mirrored, zoom[:, 1]
        across = torch.stack([wide * angle.cos(), slant - high * angle.sin()], dim=1)
        down = torch.stack([wide * angle.sin(), high * angle.cos()], dim=1)
        return torch.cat([torch.stack([across, down], dim=1), shift[:, :, None]], dim=2)

    def _recoloured(self, images: torch.Tensor, drawn: _Draw) -> torch.Tensor:
        """Brightness and a mixing matrix for each image, as in the Keras SimCLR example."""
        channels = images.shape[1]
        factor = 1 + drawn(-self.brightness, self.brightness, 1, 1)
        moved = drawn(-self.jitter, self.jitter, channels, channels)
        mixing = factor * torch.eye(channels) + moved
        return torch.einsum("nchw,ncd->ndhw", images, mixing).clamp(0, 1)


def natural(strength: Strength = "contrastive") -> Augmentation:
    """Photographs: flip, translation, zoom to an area of at least .25, brightness ± .6, jitter .2.

    For classification the Keras example has .75, .3 and .1.
    """
    if strength not in _NATURAL:
        raise InputError(f"strength must be one of {', '.join(_NATURAL)}, got {strength!r}")
    area, brightness, jitter = _NATURAL[strength]
    side = math.sqrt(area)
    return Augmentation(
        flip=True, zoom=(side, 1.0), translate=(1 - side) / 2, brightness=brightness, jitter=jitter
    )


def digits() -> Augmentation:
    """Grey digits: small rotations, slants, shifts and zooms, and noise; never mirrored."""
    return Augmentation(
        zoom=(0.8, 1.25), translate=0.075, rotate=0.25, shear=0.2, noise=0.1, outside="zeros"
    )


def turned_digits() -> Augmentation:
    """Grey digits for private training: further turned, slanted and shifted, without noise."""
    return Augmentation(zoom=(0.8, 1.25), translate=0.125, rotate=0.35, shear=0.3, outside="zeros")


def _uniform(
    shape: tuple[int, ...], low: float, high: float, generator: torch.Generator
) -> torch.Tensor:
    return finite("low", low) + (high - low) * torch.rand(shape, generator=generator)
