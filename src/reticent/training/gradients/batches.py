"""The records of one step in physical batches: which of them stands where, read as it is needed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from reticent.arrays import Integers
from reticent.randomness import secret_order
from reticent.training.encoders.torch_extra import torch

Tensor = torch.Tensor
Rows = tuple[Tensor, ...]
"""Of some records: a tensor for each part of a record, whose rows are records."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """The records of a sample that are read only when a physical batch needs them.

    ``read`` takes places in the data set, and gives what stands there.
    """

    places: Integers
    read: Callable[[Integers], Rows]

    def __len__(self) -> int:
        """The number of records."""
        return len(self.places)

    def rows(self, which: slice | Integers) -> Rows:
        """Some of the sample."""
        return self.read(self.places[which])


@dataclass(frozen=True, eq=False)
class Held:
    """A sample that is in memory."""

    parts: tuple[Any, ...]

    def __len__(self) -> int:
        """The number of records."""
        return len(self.parts[0])

    def rows(self, which: slice | Integers) -> Rows:
        """Some of the sample; of a slice no copy."""
        if isinstance(which, slice) and which == slice(0, len(self)):
            return self.parts
        return tuple(one[which] for one in self.parts)


Batch = tuple[Any, ...] | Drawn | Held


class Part(NamedTuple):
    """What one forward pass sees of a sample."""

    rows: Rows
    which: slice | Integers
    """The places in the sample of these rows."""
    slots: Integers | None = None
    """Where each of them stands in the physical batch; None where they are all of it."""


def as_sample(batch: Batch) -> Drawn | Held:
    """Tensors in memory are a sample as well."""
    return Held(batch) if isinstance(batch, tuple) else batch


def in_order(batch: Batch, physical: int) -> Iterator[Part]:
    """One slice after the other, the last one smaller: fast mode."""
    sample = as_sample(batch)
    for start in range(0, len(sample), physical):
        which = slice(start, min(start + physical, len(sample)))
        yield Part(sample.rows(which), which)


def in_secret_slots(batch: Batch, physical: int) -> Iterator[Part]:
    """Each record in a slot of a physical batch of one size (``secret_slots``): exact mode."""
    sample = as_sample(batch)
    for which, slots in secret_slots(len(sample), physical):
        yield Part(sample.rows(which), which, slots)


def secret_slots(records: int, slots: int) -> Iterator[tuple[Integers, Integers]]:
    """Of each physical batch which records of a sample stand in it, and in which slots.

    The ⌈records/slots⌉ batches have slots for all. Which record stands where, and which slots are
    filled up with public rows, follows from one order of all slots, each order as likely as any
    other, by secret bits, drawn for each call: a uniformly random injection (docs/theory.md E.5).
    """
    batches = -(-records // slots)
    for standing in secret_order(batches * slots).reshape(batches, slots):
        filled = np.flatnonzero(standing < records)
        yield standing[filled], filled
