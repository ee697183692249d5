"""Records made to be remembered, put into the data by independent fair coins.

A canary is inside the public domain (a row within the bound, a label of the classes), so that a
guarantee covers it as it covers anybody. The trainer gets ``Canaries.data`` alone; the coins stay
with the auditor until all scores are there.

- *mislabelled*: a row of the data with a wrong label; the row itself leaves the data.
- *max-norm*: the same, stretched to the bound.
- *orthogonal*: a row as long as the bound, along a direction that the data use least, with a random
  label; canaries are orthogonal to each other as long as there are enough directions, then nearly.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from reticent.arrays import Array, ArrayLike, Flags, Floats, Integers
from reticent.training import features, records
from reticent.validation import InputError, describe, float_rows, positive
from reticent.validation import count as whole


class CanaryKind(StrEnum):
    """What makes a canary stand out."""

    MISLABELLED = "mislabelled"
    MAX_NORM = "max-norm"
    ORTHOGONAL = "orthogonal"


@dataclass(frozen=True, kw_only=True, eq=False)
class Canaries:
    """All canaries, the coins, and the data with those canaries whose coin says so."""

    rows: Floats
    labels: Array
    inside: Flags = field(repr=False)
    """The coins, for the audit; never for the trainer."""
    data: tuple[Floats, Array] = field(repr=False)
    """What to train on: rows and labels in random order."""
    kind: CanaryKind

    def __len__(self) -> int:
        return len(self.rows)


def insert_canaries(  # noqa: PLR0913 - the data, their public domain, and what to put in
    X: ArrayLike,
    y: ArrayLike,
    *,
    classes: Sequence[Any],
    bound: float,
    kind: CanaryKind | str,
    count: int,
    rng: np.random.Generator,
) -> Canaries:
    """Make ``count`` canaries, toss a coin for each, and put in those that come up.

    Args:
        X: Feature rows.
        y: Their labels.
        classes: All labels there can be, two or more.
        bound: The public bound on the norm of a row; the rows of canaries keep it.
        kind: ``mislabelled``, ``max-norm`` or ``orthogonal``.
        count: How many canaries.
        rng: The auditor's generator: who has its seed has the coins.

    >>> rng = np.random.default_rng(7)
    >>> X, y = rng.normal(size=(50, 8)), rng.integers(0, 3, 50)
    >>> canaries = insert_canaries(
    ...     X, y, classes=range(3), bound=2.0, kind="orthogonal", count=6, rng=rng
    ... )
    >>> len(canaries), len(canaries.data[0]) - int(canaries.inside.sum())
    (6, 50)
    """
    known = _classes(classes)
    rows, places = _records(X, y, known)
    positive("bound", bound)
    size, chosen = whole("count", count), _kind(kind)
    if not isinstance(rng, np.random.Generator):
        raise InputError(f"rng must be a numpy Generator, got {describe(rng)}")
    if chosen is CanaryKind.ORTHOGONAL:
        made, kept = _directions(rows, size, rng), np.ones(len(rows), dtype=bool)
        labels = rng.integers(len(known), size=size)
    else:
        made, labels, kept = _taken(rows, places, len(known), size, rng)
    fitted = features.clip_rows if chosen is CanaryKind.MISLABELLED else features.scale_rows
    return _with_coins(
        (fitted(made, bound), known[labels]), (rows[kept], known[places[kept]]), chosen, rng
    )


def _with_coins(
    canaries: tuple[Floats, Array],
    base: tuple[Floats, Array],
    kind: CanaryKind,
    rng: np.random.Generator,
) -> Canaries:
    inside = rng.integers(2, size=len(canaries[0])).astype(bool)
    order = rng.permutation(len(base[0]) + int(inside.sum()))
    # In random order, lest the place of a row tell the trainer what it is.
    rows, labels = (
        np.concatenate([part, made[inside]])[order]
        for part, made in zip(base, canaries, strict=True)
    )
    return Canaries(
        rows=canaries[0], labels=canaries[1], inside=inside, data=(rows, labels), kind=kind
    )


def _taken(
    rows: Floats, places: Integers, classes: int, count: int, rng: np.random.Generator
) -> tuple[Floats, Integers, Flags]:
    """Rows out of the data, wrong labels, and which rows stay."""
    usable = np.flatnonzero(rows.any(axis=1))  # a row of zeros cannot be stretched
    if count > len(usable):
        raise InputError(
            f"count must be at most the {len(usable):,} rows of X other than 0, got {count:,}"
        )
    taken = rng.choice(usable, size=count, replace=False)
    kept = np.ones(len(rows), dtype=bool)
    kept[taken] = False
    wrong = (places[taken] + rng.integers(1, classes, size=count)) % classes
    return rows[taken], wrong, kept


def _directions(rows: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Orthonormal directions in which the rows are shortest, then random frames."""
    width = rows.shape[1]
    weakest = np.linalg.eigh(rows.T @ rows)[1].T
    frames = [weakest[:count]]
    for _ in range(width, count, width):
        frames.append(np.linalg.qr(rng.normal(size=(width, width)))[0])
    signs = rng.choice([-1.0, 1.0], size=(count, 1))
    return np.asarray(signs * np.concatenate(frames)[:count])


def _records(X: ArrayLike, y: ArrayLike, classes: Array) -> tuple[Floats, Integers]:
    rows, labels = float_rows("X", X), np.asarray(y)
    if labels.shape != (len(rows),):
        raise InputError(
            f"y must be one label for each of {len(rows):,} rows, got shape {labels.shape}"
        )
    return rows, records.indices_of(labels, classes)


def _classes(classes: Sequence[Any]) -> Array:
    known = np.asarray(list(classes))
    if known.ndim != 1 or len(known) < 2 or len(np.unique(known)) < len(known):
        raise InputError(f"classes must be two or more different labels, got {describe(classes)}")
    return known


def _kind(value: object) -> CanaryKind:
    if isinstance(value, str) and value in set(CanaryKind):
        return CanaryKind(value)
    raise InputError(f"kind must be one of {', '.join(CanaryKind)}, got {describe(value)}")
