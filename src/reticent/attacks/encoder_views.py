"""Views of records as attacks on encoders show them: drawn anew, or those of the training itself.

What an attack reads of an encoder is how alike its features of a record's views are, pair by pair.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, Final

import numpy as np

from reticent.arrays import Array, Floats, Floats32
from reticent.attacks.records import Records
from reticent.randomness import seeded
from reticent.training.contrastive.augmentations import Augmentation
from reticent.training.contrastive.networks import KEPT
from reticent.training.encoders.base import Encoder
from reticent.training.encoders.torch_encoder import checked_images, prepared
from reticent.training.encoders.torch_extra import torch
from reticent.validation import InputError, count, describe, float_array

VIEWS: Final = 10
_CHUNK: Final = 512  # records whose views are held at once
_SMALLEST: Final = 1e-12


@dataclass(frozen=True, kw_only=True)
class _DrawnViews(ABC):
    """Views drawn by public numbers: a function of the record, whichever others stand beside it."""

    number: int = VIEWS
    seed: int = 0
    known: ClassVar[str]

    def __post_init__(self) -> None:
        """Two views at least: one has nothing to be compared with."""
        count("number", self.number, at_least=2)
        count("seed", self.seed, at_least=0)

    @abstractmethod
    def of(self, records: Records) -> Array:
        """(records, number, …): the views of each record, as the encoder reads them."""

    def cosines(self, encoder: Encoder, records: Records) -> Floats:
        """(records, pairs of views): what the attacks read."""
        if len(records) == 0:
            raise InputError("records must be at least one, got none")
        starts = range(0, len(records), _CHUNK)
        parts = (records.take(np.arange(len(records))[at : at + _CHUNK]) for at in starts)
        return np.concatenate([pairwise_cosines(self._features(encoder, part)) for part in parts])

    def _features(self, encoder: Encoder, records: Records) -> Floats:
        views = self.of(records)
        return _encoded(encoder, views.reshape(-1, *views.shape[2:]), len(records))

    def _generator(self, key: bytes) -> np.random.Generator:
        return seeded("views of a record", self.seed, key.hex())


@dataclass(frozen=True, kw_only=True)
class Views(_DrawnViews):
    """Several views of each image, by an augmentation."""

    augmentation: Augmentation
    known: ClassVar[str] = "augmentations of the inputs"

    def __post_init__(self) -> None:
        """An augmentation, and two views at least."""
        if not isinstance(self.augmentation, Augmentation):
            raise InputError(f"augmentation must be one, got {describe(self.augmentation)}")
        super().__post_init__()

    def of(self, records: Records) -> Floats32:
        """(records, number, height, width, channels)."""
        images = prepared(checked_images(records.inputs))
        keys = unlabelled(records).keys
        views = [self._of_one(image, key) for image, key in zip(images, keys, strict=True)]
        return np.stack(views)

    def _of_one(self, image: torch.Tensor, key: bytes) -> Floats32:
        word = int(self._generator(key).integers(2**63))
        repeated = image.expand(self.number, *image.shape)
        views = self.augmentation(repeated, torch.Generator().manual_seed(word))
        return np.asarray(views.numpy().transpose(0, 2, 3, 1), dtype=np.float32)


@dataclass(frozen=True, kw_only=True)
class MaskedViews(_DrawnViews):
    """Views of rows that are no images: a coin for each entry of each view keeps it, or not."""

    known: ClassVar[str] = "masks of the inputs"

    def of(self, records: Records) -> Floats:
        """Views of each row, as (records, number, features)."""
        rows = float_array("records", records.inputs)
        if rows.ndim != 2:
            raise InputError(f"records must be rows of numbers, got shape {rows.shape}")
        size = (self.number, rows.shape[1])
        coins = (self._generator(key).random(size) for key in unlabelled(records).keys)
        views = [np.where(kept < KEPT, row, 0.0) for row, kept in zip(rows, coins, strict=True)]
        return np.stack(views)


@dataclass(frozen=True, kw_only=True)
class StackedViews:
    """Views that stand in the records: each is ``number`` rows of one length, one after another.

    So an adversary attacks who knows the very views of the training: those of ``FilterViews`` are a
    public function of the image. The encoder is shown one row at a time, (records·number, d).
    """

    number: int
    known: ClassVar[str] = "the views of each record, as they stand in it"

    def __post_init__(self) -> None:
        """Two views at least: one has nothing to be compared with."""
        count("number", self.number, at_least=2)

    def cosines(self, encoder: Encoder, records: Records) -> Floats:
        """(records, pairs of views): what the attacks read."""
        if len(records) == 0:
            raise InputError("records must be at least one, got none")
        rows = records.inputs
        if rows.ndim != 2 or rows.shape[1] % self.number:
            raise InputError(
                f"records must be rows of {self.number} views of one length, got {rows.shape}"
            )
        views = rows.reshape(len(rows) * self.number, -1)
        return pairwise_cosines(_encoded(encoder, views, len(rows)))


@dataclass(frozen=True, kw_only=True, eq=False)
class KeptCosines:
    """Views whose cosines are found once, however many attacks read them of the same records."""

    views: Views | MaskedViews | StackedViews
    _kept: dict[tuple[int, int], tuple[Encoder, Records, Floats]] = field(default_factory=dict)

    @property
    def known(self) -> str:
        """What the adversary knows of them."""
        return self.views.known

    def cosines(self, encoder: Encoder, records: Records) -> Floats:
        """(records, pairs of views): what the attacks read."""
        key = id(encoder), id(records)
        if key not in self._kept:  # which keeps both, so that no other object has these numbers
            self._kept[key] = encoder, records, self.views.cosines(encoder, records)
        return self._kept[key][2]


AnyViews = Views | MaskedViews | StackedViews | KeptCosines


def pairwise_cosines(features: Floats) -> Floats:
    """(records, views, d) to (records, pairs): first (0, 1), (0, 2), then (1, 2) and on.

    Features of 0 have no direction: their cosines are 0.

    >>> pairwise_cosines(np.array([[[1.0, 0.0], [3.0, 0.0], [0.0, 2.0]]])).tolist()
    [[1.0, 0.0, 0.0]]
    """
    lengths = np.linalg.norm(features, axis=2, keepdims=True)
    directions = features / np.maximum(lengths, _SMALLEST)
    first, second = np.triu_indices(features.shape[1], k=1)
    cosines: Floats = (directions @ directions.transpose(0, 2, 1))[:, first, second]
    return cosines


def _encoded(encoder: Encoder, views: Array, records: int) -> Floats:
    """(records, views of each, d): what the encoder makes of views, those of a record together."""
    features = float_array("features of the encoder", encoder.encode(views))
    if features.ndim != 2 or len(features) != len(views):
        raise InputError(
            f"encoder must answer {len(views)} images with one row each, got {features.shape}"
        )
    return features.reshape(records, len(views) // records, -1)


def unlabelled(records: Records) -> Records:
    """An encoder is trained without labels: equal images are equal records."""
    return Records(records.inputs, np.zeros(len(records), dtype=np.int64))
