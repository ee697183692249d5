"""Rows sorted by which heads of a group see them: a product with them serves these heads alone.

Among eight heads in four pairs that divide the rows there are 16 patterns, each of four heads. So
nothing is computed and then masked, and the products stay large.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reticent.arrays import Flags, Integers

Places = Integers

HEADS = 8
"""Heads in one group, at most."""
FEWEST_ROWS = 64
"""With fewer rows per pattern on average a group is divided: products would be small."""
MOST_ROWS = 2048
"""Rows multiplied at a time."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """Neighbouring rows of the sorted order, and the heads that see all of them."""

    rows: slice
    heads: Places


@dataclass(frozen=True, kw_only=True)
class RowPatterns:
    """The rows that some head sees, sorted, in blocks of one pattern each."""

    order: Places
    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, inside: Flags) -> RowPatterns:
        """Of a group of heads: heads × rows."""
        codes = _codes(inside)
        order = np.argsort(codes, kind="stable")
        order = order[codes[order] > 0]
        starts = np.flatnonzero(np.diff(codes[order], prepend=0))
        stops = np.append(starts[1:], len(order))
        blocks = [
            Block(
                rows=slice(int(first), int(min(first + MOST_ROWS, stop))),
                heads=np.flatnonzero(inside[:, order[start]]),
            )
            for start, stop in zip(starts, stops, strict=True)
            for first in range(start, stop, MOST_ROWS)
        ]
        return cls(order=order, blocks=tuple(blocks))


def groups(inside: Flags) -> Iterator[slice]:
    """Heads in order, at most HEADS at a time, fewer where rows would be scattered."""
    start = 0
    while start < len(inside):
        size = min(HEADS, len(inside) - start)
        while size > 1 and _scattered(inside[start : start + size]):
            size = (size + 1) // 2
        yield slice(start, start + size)
        start += size


def _scattered(inside: Flags) -> bool:
    patterns = len(np.unique(_codes(inside)))
    return patterns > 2 and patterns * FEWEST_ROWS > inside.shape[1]


def _codes(inside: Flags) -> Integers:
    """Which heads see each row, as the bits of a number."""
    return np.asarray((1 << np.arange(len(inside), dtype=np.int64)) @ inside)
