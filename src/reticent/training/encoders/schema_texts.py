"""Raw tables with columns of texts: each text goes through its encoder by itself.

One text at a time, so that what a record becomes is a function of that record to the last bit: a
batch would move the vectors of others by rounding errors.
"""

import os
from functools import cache, partial
from typing import Any, Literal

import numpy as np

from reticent.arrays import Floats
from reticent.data import cells, dataset
from reticent.data.schema import Schema, Text, prepare, read_by_schema
from reticent.training.encoders.cache import Progress, cached_features
from reticent.training.encoders.named import encoder_of
from reticent.validation import InputError


def read_with_schema(
    table: str | os.PathLike[str] | Any,
    schema: Schema,
    *,
    purpose: prepare.Purpose = "records",
    progress: Progress | None = None,
) -> dataset.Dataset:
    """``read_by_schema``, with the encoders that the schema names for its texts."""
    encode = partial(vectors, progress=progress)
    return read_by_schema(table, schema, purpose=purpose, encode=encode)


def vectors_not_kept(kind: Text, texts: list[str]) -> Floats:
    """The same vectors; nothing of the texts is written to a disk, since they are a client's."""
    return vectors(kind, texts, folder=False)


def vectors(
    kind: Text,
    texts: list[str],
    *,
    progress: Progress | None = None,
    folder: Literal[False] | None = None,
) -> Floats:
    """A vector for each text, by the encoder of its column; what was encoded before is kept."""
    if not texts:
        return np.zeros((0, kind.length))
    inputs = cells.text_array("the column of texts", texts)
    data = dataset.Dataset(name="texts", source="a column of texts", inputs=inputs)
    features = cached_features(
        data, _encoder(kind.encoder), folder=folder, progress=progress, record_by_record=True
    )
    made: Floats = features.inputs.astype(np.float64)
    if made.shape[1] != kind.length:
        raise InputError(
            f"length must be what {kind.encoder} makes of a text, {made.shape[1]} numbers, got"
            f" {kind.length}"
        )
    return made


_encoder = cache(encoder_of)
