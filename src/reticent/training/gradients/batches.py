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
        if not isinstance(which, slice):
            places = torch.from_numpy(which)
            return tuple(one.index_select(0, places) for one in self.parts)
        whole = which == slice(0, len(self))
        return self.parts if whole else tuple(one[which] for one in self.parts)


Sample = Drawn | Held
Batch = tuple[Any, ...] | Sample


Arrangement = list[tuple[slice | Integers, Integers | None]]
"""Of each physical batch which places of the sample stand in it, and in which slots of it: None
where they are all of it."""


class Part(NamedTuple):
    """What one forward pass sees of a sample."""

    rows: Rows
    which: slice | Integers
    slots: Integers | None


def as_sample(batch: Batch) -> Sample:
    """Tensors in memory are a sample as well."""
    return Held(batch) if isinstance(batch, tuple) else batch


def parts(sample: Sample, arrangement: Arrangement) -> Iterator[Part]:
    """One physical batch after the other, read when it is asked for."""
    for which, slots in arrangement:
        yield Part(sample.rows(which), which, slots)


def in_order(records: int, physical: int) -> Arrangement:
    """One slice after the other, the last one smaller: fast mode."""
    starts = range(0, records, physical)
    return [(slice(start, min(start + physical, records)), None) for start in starts]


def secret_slots(records: int, physical: int) -> Arrangement:
    """In batches of one size each record in a slot that nobody knows: exact mode.

    The ⌈records/physical⌉ batches have slots for all. Which record stands where, and which slots
    are filled up with public rows, follows from one order of all slots, each order as likely as any
    other, by secret bits: a uniformly random injection (docs/theory.md E.5).
    """
    batches = -(-records // physical)
    found: Arrangement = []
    for standing in secret_order(batches * physical).reshape(batches, physical):
        filled = np.flatnonzero(standing < records)
        found.append((standing[filled], filled))
    return found
