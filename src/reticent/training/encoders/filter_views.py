"""Fixed filters of an image and of random views of it, with nothing learnt from any photograph.

A row of features is 1 + V blocks of d numbers: the image, and V views of it (``views``). Two banks:

* ``gabor``: moduli of Gabor filters at 8 orientations and 3 scales in opponent colours, their roots
  averaged over 3 × 3 cells, and a thumbnail of 4 × 4;
* ``patches``: as Coates and Ng (2011), responses to whitened patches of public synthetic images,
  both signs above a threshold, averaged over 2 × 2 cells; each image is seen with its mirror image,
  and the features of both are averaged.

Each block is centred, scaled to norm 1, whitened and scaled to norm 1 again by constants that were
computed from synthetic images (``synthetic_images``): whitening without anybody's data.

The numbers that views are drawn by are a function of the image's bytes, and images are filtered one
at a time: a row is a function of its image alone.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from reticent.arrays import Array, Floats32
from reticent.randomness import seeded
from reticent.training.encoders.base import ImageShape
from reticent.validation import InputError, count

if TYPE_CHECKING:
    import torch

    from reticent.training.contrastive.cropped_views import UniformViews
    from reticent.training.encoders.filter_banks import Bank

BankName = Literal["gabor", "patches"]
ViewsName = Literal["natural", "digits"]
VIEWS: Final = 3
_SYNTHETIC: Final[dict[ViewsName, int]] = {"natural": 6000, "digits": 4000}
"""Images that the whitening is computed from."""
_AT_ONCE: Final = 20
_RIDGE: Final = 0.5
"""Beside the eigenvalues of the second moment, in units of their mean."""
_VERSION: Final[dict[ViewsName, str]] = {
    "natural": "filter views 2",
    "digits": "filter views 1",
}


class FilterViews:
    """A frozen encoder of images: (1 + views)·d features of each, block by block.

    Images are uint8, which are divided by 255, or real numbers, which are taken as they are; one
    channel or three, sides of 8 pixels or more. ``augmentation`` says how views are made:
    photographs ("natural": ``CroppedViews``) or digits, which are never mirrored. With 0 views a
    row is the image's own block alone.

    >>> FilterViews("gabor", views=0).encode(np.zeros((2, 8, 8, 1), dtype=np.uint8)).shape
    (2, 232)
    """

    def __init__(
        self, bank: BankName, *, augmentation: ViewsName = "natural", views: int = VIEWS
    ) -> None:
        if bank not in ("gabor", "patches"):
            raise InputError(f"bank must be gabor or patches, got {bank!r}")
        if augmentation not in ("natural", "digits"):
            raise InputError(f"augmentation must be natural or digits, got {augmentation!r}")
        self.bank, self.augmentation = bank, augmentation
        self.views = count("views", views, at_least=0)

    def fingerprint(self) -> str:
        """SHA-256 of the definition of the map, which is all that it is made of."""
        named = (
            f"{_VERSION[self.augmentation]}; {self.bank}; {self.augmentation}; {self.views} views"
        )
        return hashlib.sha256(named.encode()).hexdigest()

    def encode(self, inputs: Array) -> Floats32:
        """Features (n, (1 + views)·d) of images (n, height, width, 1 or 3)."""
        from reticent.training.encoders import torch_encoder, torch_extra

        images = torch_encoder.checked_images(inputs)
        height, width, channels = images.shape[1:]
        shape = ImageShape(channels=channels, height=height, width=width)
        map_ = whitened_bank(self.bank, shape, self.augmentation)
        seen = self._views_of(map_.augmentation, channels)
        rows = np.empty((len(images), (1 + self.views) * map_.width), dtype=np.float32)
        with torch_extra.torch.inference_mode():
            for place in range(len(images)):
                rows[place] = (
                    map_(seen(torch_encoder.prepared(images[place : place + 1]))).flatten().numpy()
                )
        if not np.isfinite(rows).all():
            raise InputError("images must be small enough to be filtered in float32, got larger")
        return rows

    def _views_of(
        self, augmentation: UniformViews, channels: int
    ) -> Callable[[torch.Tensor], torch.Tensor]:
        """From an image (1, channels, height, width) to itself and its views."""
        from reticent.training.encoders.torch_extra import torch

        draws = augmentation.draws(channels)

        def seen(image: torch.Tensor) -> torch.Tensor:
            if not self.views:
                return image
            record = hashlib.sha256(image.numpy().tobytes()).hexdigest()
            drawn = seeded("views of an image", record).random((self.views, draws), np.float32)
            copies = image.expand(self.views, -1, -1, -1)
            views = augmentation.of_uniforms(copies, torch.from_numpy(drawn))
            return torch.cat([image, views])

        return seen


@dataclass(frozen=True, kw_only=True)
class WhitenedBank:
    """A bank of filters, and the centre and whitening of its features; all of it public."""

    bank: Bank
    augmentation: UniformViews
    centre: torch.Tensor
    whitening: torch.Tensor

    @property
    def width(self) -> int:
        """The number of features of one block, that is, of one view."""
        return len(self.centre)

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """Of images (n, channels, height, width), a row each of norm 1."""
        return _unit(_unit(self.bank(images) - self.centre) @ self.whitening)


@functools.lru_cache(maxsize=4)
def whitened_bank(name: BankName, shape: ImageShape, views: ViewsName) -> WhitenedBank:
    """The map for images of one shape; nothing but the names and the shape goes in."""
    from reticent.training.contrastive import augmentations, cropped_views
    from reticent.training.encoders.filter_banks import bank_of, synthetic_images
    from reticent.training.encoders.torch_extra import torch

    augmentation: UniformViews = (
        cropped_views.CroppedViews() if views == "natural" else augmentations.turned_digits()
    )
    rng, number = seeded("synthetic views", _VERSION[views]), _SYNTHETIC[views]
    draws = augmentation.draws(shape.channels)
    with torch.inference_mode():
        bank = bank_of(name, shape)
        images = synthetic_images(number, shape, "whitening")
        uniforms = torch.from_numpy(rng.random((number, draws), np.float32))
        rows = torch.cat(
            [
                bank(augmentation.of_uniforms(part, drawn))
                for part, drawn in zip(
                    torch.split(images, _AT_ONCE), torch.split(uniforms, _AT_ONCE), strict=True
                )
            ]
        ).double()
        centre = rows.mean(dim=0)
        unit = _unit(rows - centre)
        moment = unit.T @ unit / len(unit)
        values, vectors = torch.linalg.eigh(moment)
        values = values.clamp(min=0) + _RIDGE * values.clamp(min=0).mean()
        whitening = (vectors * values.rsqrt()) @ vectors.T
    return WhitenedBank(
        bank=bank,
        augmentation=augmentation,
        centre=centre.float(),
        whitening=whitening.float(),
    )


def _unit(rows: torch.Tensor) -> torch.Tensor:
    """Rows of norm 1; a row of zeros stays."""
    unit: torch.Tensor = rows / rows.norm(dim=1, keepdim=True).clamp(min=1e-30)
    return unit
