"""A network of which a part is trained: what is public below it is computed once for each record.

The public part is a fixed function of one record, so what it gives is a record as well: caching it
changes no neighbouring data sets. It is computed one record at a time. Records of several shapes
(texts of several lengths) are kept apart, each shape with batches of its own: what a record is
computed with depends on the record alone, never on how long its neighbours are.
"""

import hashlib
from abc import ABC, abstractmethod
from typing import Final, NamedTuple, Self

import numpy as np

from reticent.arrays import Floats
from reticent.training.encoders.torch_extra import functional, nn, torch

Tensor = torch.Tensor


class PartlyTrained(nn.Module, ABC):
    """Public weights, of which the parameters that take a gradient are trained and released.

    It is never in training mode: no dropout, and batch norms are fixed affine maps. ``forward``
    reads what ``public_part`` gives: ``head`` on ``features``.
    """

    public_weights: str = ""
    """The files that everything but the seed is read from, each with its SHA-256."""
    unit_rows: bool = False
    """Whether the head reads features at norm 1, as heads on frozen features are learnt."""
    head: nn.Linear

    def train(self, mode: bool = True) -> Self:  # noqa: ARG002 - of no effect by design
        """Stay in evaluation mode, whatever ``mode`` is: no dropout, no batch statistics."""
        return super().train(False)

    @abstractmethod
    def public_part(self, record: Tensor) -> Tensor:
        """What the trained part sees of one record (1, …)."""

    @abstractmethod
    def features(self, inputs: Tensor) -> Tensor:
        """What the head reads of inputs that ``public_part`` gave, a row each."""

    def forward(self, inputs: Tensor) -> Tensor:
        """The scores of inputs that ``public_part`` gave."""
        features = self.features(inputs)
        rows = functional.normalize(features, dim=1) if self.unit_rows else features
        scores: Tensor = self.head(rows)
        return scores

    @abstractmethod
    def examples(self, records: int) -> list[Tensor]:
        """Random records as the trained part sees them: a batch for each shape there may be."""


class Group(NamedTuple):
    """Records of one shape: their places among all, and what the trained part sees of them."""

    places: Tensor
    inputs: Tensor


_KEPT: dict[str, list[Group]] = {}
"""What was computed of the last rows: a release that is drawn again reads the same."""
_MOST_KEPT: Final = 2
"""Records and queries."""


def grouped(model: nn.Module, rows: Tensor) -> list[Group]:
    """All records as the trained part sees them, those of one shape together."""
    if not isinstance(model, PartlyTrained):
        return [Group(torch.arange(len(rows)), rows)]
    digest = hashlib.sha256(f"{model.public_weights}; {model!r}; {tuple(rows.shape)}".encode())
    digest.update(rows.contiguous().numpy().data)
    key = digest.hexdigest()
    if key not in _KEPT:
        while len(_KEPT) >= _MOST_KEPT:
            del _KEPT[next(iter(_KEPT))]
        _KEPT[key] = _computed(model, rows)
    return _KEPT[key]


def frozen_features(model: PartlyTrained, rows: Tensor) -> Floats:
    """What the head reads of each record with the weights as they are, one record at a time."""
    features = np.zeros((len(rows), model.head.in_features))
    with torch.no_grad():
        for places, inputs in grouped(model, rows):
            for at, place in enumerate(places.tolist()):
                features[place] = model.features(inputs[at : at + 1].clone())[0].numpy()
    return features


def example_batches(model: PartlyTrained, records: int) -> dict[tuple[int, ...], Tensor]:
    """The random batches by the shape of a record."""
    return {tuple(one.shape[1:]): one for one in model.examples(records)}


def _computed(model: PartlyTrained, rows: Tensor) -> list[Group]:
    by_shape: dict[tuple[int, ...], tuple[list[int], list[Tensor]]] = {}
    with torch.no_grad():
        for place in range(len(rows)):
            seen = model.public_part(rows[place : place + 1].clone())  # at an address of its own
            places, parts = by_shape.setdefault(tuple(seen.shape[1:]), ([], []))
            places.append(place)
            parts.append(seen)
    return [Group(torch.tensor(places), torch.cat(parts)) for places, parts in by_shape.values()]
