"""The records of a private loop: a tuple of tensors, or anything with a length and items."""

from typing import Any

import numpy as np

from reticent.arrays import Integers
from reticent.protect.noisy_query import record_uniforms
from reticent.training.encoders.torch_extra import torch
from reticent.training.gradients import batches
from reticent.validation import InputError

Tensor = torch.Tensor


def number_of_records(data: Any) -> int:
    """Of a tuple of tensors its rows, of a data set its length."""
    return len(data[0]) if isinstance(data, tuple) else len(data)


def sample_of(data: Any, places: Integers) -> batches.Held | batches.Drawn:
    """The records at these places; of a data set they are read as they are needed."""
    if isinstance(data, tuple):
        rows = torch.from_numpy(places)
        return batches.Held(tuple(torch.as_tensor(one)[rows] for one in data))
    return batches.Drawn(places, lambda some: _read(data, some))


def with_uniforms(sample: batches.Held | batches.Drawn, draws: int) -> batches.Drawn:
    """The same records, each behind so many numbers in [0, 1) of its own from secret bits."""

    def read(which: Integers) -> batches.Rows:
        rows = sample.rows(which)
        images = np.asarray(rows[0].numpy(), dtype=np.float64)
        drawn = record_uniforms(images, np.zeros(len(images)), draws)
        return (torch.from_numpy(drawn), *rows)

    return batches.Drawn(np.arange(len(sample)), read)


def first_shapes(data: Any) -> tuple[Tensor, ...]:
    """Tensors of the shapes and types of one record: its contents are not used."""
    if number_of_records(data) == 0:
        raise InputError("example must be given where the data have no record, got none")
    first = tuple(one[0] for one in data) if isinstance(data, tuple) else _parts(data[0])
    return tuple(torch.zeros_like(torch.as_tensor(one)) for one in first)


def _read(data: Any, places: Integers) -> batches.Rows:
    items = [_parts(data[int(place)]) for place in places]
    return tuple(
        torch.stack([torch.as_tensor(part) for part in parts]) for parts in zip(*items, strict=True)
    )


def _parts(item: Any) -> tuple[Any, ...]:
    return tuple(item) if isinstance(item, (tuple, list)) else (item,)
