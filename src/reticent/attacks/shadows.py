"""Shadow models: what an adversary trains on its own data to learn how a target would answer.

One set serves LiRA, RMIA, reference attacks and attack networks alike. Which shadow saw which
record is found by the records' content, so a record that no shadow saw is outside of all of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from reticent.arrays import Array, ArrayLike, Flags, Floats
from reticent.attacks.records import Records
from reticent.attacks.targets import Target
from reticent.validation import InputError


@dataclass(frozen=True, kw_only=True, eq=False)
class Shadows:
    """k models, and for each of them the records of the pool that it was trained on."""

    pool: Records
    inside: Flags
    """k × n: whether this shadow saw this record of the pool."""
    models: Sequence[Target]

    def __post_init__(self) -> None:
        """One row for each model, one column for each record of the pool; the same classes."""
        if not self.models:
            raise InputError("models must be at least one shadow, got none")
        if np.asarray(self.inside).dtype != np.bool_:
            raise InputError("inside must be true or false for each record, got other values")
        if self.inside.shape != (len(self.models), len(self.pool)):
            raise InputError(
                f"inside must be {len(self.models)} models × {len(self.pool)} records,"
                f" got {self.inside.shape}"
            )
        if any(model.classes.tolist() != self.classes.tolist() for model in self.models):
            raise InputError("models must have the same classes in the same order, got others")

    def __len__(self) -> int:
        return len(self.models)

    @property
    def classes(self) -> Array:
        """The classes of every model, in the order of their columns."""
        return self.models[0].classes

    def saw(self, records: Records) -> Flags:
        """k × records: whether a shadow was trained on an equal record."""
        seen = np.zeros((len(self), len(records)), dtype=bool)
        for column, key in enumerate(records.keys):
            # More than one place where the pool holds equal records.
            for place in self._places.get(key, ()):
                seen[:, column] |= self.inside[:, place]
        return seen

    def chosen(self, places: Iterable[int]) -> "Shadows":
        """Some of them, in this order."""
        rows = list(places)
        return replace(self, inside=self.inside[rows], models=[self.models[row] for row in rows])

    def logits(self, inputs: ArrayLike) -> Floats:
        """k × records × classes."""
        return np.stack([model.logits(inputs) for model in self.models])

    @cached_property
    def _places(self) -> dict[bytes, list[int]]:
        places: dict[bytes, list[int]] = {}
        for row, key in enumerate(self.pool.keys):
            places.setdefault(key, []).append(row)
        return places
