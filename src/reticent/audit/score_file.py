"""Scores of single records as a table for other tools, CSV or parquet.

Such a file says who may have been a member: it can be read by its owner alone.
"""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from reticent.attacks import Scores
from reticent.files import write_atomic
from reticent.validation import InputError


def write_scores(
    path: str | Path,
    scores: Scores | Sequence[Scores],
    *,
    labels: ArrayLike | None = None,
    members: ArrayLike | None = None,
) -> None:
    """One row for each attack and record: attack, row, score; label and member if they are given.

    ``row`` is the number of the record, from 0. The ending of the name, .csv or .parquet, decides.
    """
    file = Path(path)
    writers = {".csv": _csv, ".parquet": _parquet}
    if file.suffix.lower() not in writers:
        raise InputError(f"path must end in .csv or .parquet, got {file.name!r}")
    table = _table([scores] if isinstance(scores, Scores) else list(scores), labels, members)
    write_atomic(file, writers[file.suffix.lower()](table), private=True)


def _table(
    scores: list[Scores], labels: ArrayLike | None, members: ArrayLike | None
) -> dict[str, list[Any]]:
    if not scores or len({len(found) for found in scores}) > 1:
        raise InputError("scores must be of one or more attacks on the same records")
    records, attacks = len(scores[0]), len(scores)
    table = {
        "attack": [found.attack for found in scores for _ in range(records)],
        "row": list(range(records)) * attacks,
        "score": np.concatenate([found.values for found in scores]).tolist(),
    }
    for name, given in (("label", labels), ("member", members)):
        if given is not None:
            table[name] = _column(name, given, records) * attacks
    return table


def _column(name: str, given: ArrayLike, records: int) -> list[Any]:
    values = np.asarray(given)
    if values.shape != (records,):
        raise InputError(f"{name}s must be one for each of {records} records, got {values.shape}")
    if name == "member" and values.dtype != np.bool_:
        raise InputError(f"members must be true or false, got an array of {values.dtype}")
    found: list[Any] = values.tolist()
    return found


def _csv(table: dict[str, list[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))  # floats by repr: nothing is rounded
    return text.getvalue().encode()


def _parquet(table: dict[str, list[Any]]) -> bytes:
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise InputError(
            "pyarrow must be installed to write parquet: pip install 'reticent[tables]'"
        ) from None
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(table), sink)
    return bytes(sink.getvalue().to_pybytes())
