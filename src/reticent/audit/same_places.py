"""Samples of one size in two worlds, so that what both hold stands at the same place in both.

A step draws places without replacement in a fresh order. Its bounds are of neighbours in which one
place of the ordered sample differs: every order of the one table is as likely as the order of the
other that has all common records where they stood. An audit has to compare these two; table order,
or a place for each row of the file, is not what the theorem is about.
"""

from collections import Counter, defaultdict

import numpy as np

from reticent.arrays import Array, Floats, Integers
from reticent.protect.noisy_query import FixedSize, everyone


class SamePlaces:
    """Samplers of two worlds: ``first`` until a run ended, ``second`` for the other.

    What a rate other than a ``FixedSize`` sees is ``everyone``, in the order of the table.
    """

    def __init__(self) -> None:
        self._drawn: list[list[bytes]] = []
        """Of each sample of the first world all its records, those that it holds first."""
        self._again = 0
        self._changed: Counter[bytes] = Counter()
        self.is_missed = False
        """Whether a sample of the second world left out a record in which the worlds differ."""

    def start_again(self) -> None:
        """From here on samples hold the records in which the worlds were seen to differ."""
        self._drawn.clear()
        self._again, self.is_missed = 0, False

    def first(self, rows: Floats, labels: Array, rate: float) -> Integers:
        """The records that are known to be of this world alone, then as many others as go in."""
        if not isinstance(rate, FixedSize):
            return everyone(rows, labels, rate)
        keys, left = row_keys(rows, labels), self._changed.copy()
        own: list[int] = []
        common: list[int] = []
        for place, key in enumerate(keys):
            (own if left[key] > 0 else common).append(place)
            left[key] -= 1
        order = [*own, *common]
        self._drawn.append([keys[place] for place in order])
        return np.array(order[: rate.size], dtype=np.int64)

    def second(self, rows: Floats, labels: Array, rate: float) -> Integers:
        """What the first world had in the same sample; a record of this world alone elsewhere."""
        if not isinstance(rate, FixedSize) or self._again >= len(self._drawn):
            return everyone(rows, labels, rate)
        before = self._drawn[self._again]
        self._again += 1
        standing: defaultdict[bytes, list[int]] = defaultdict(list)
        for place, key in enumerate(row_keys(rows, labels)):
            standing[key].append(place)
        backwards = [standing[key].pop() if standing[key] else -1 for key in reversed(before)]
        order = backwards[::-1]  # of equal records the first is the one that is not there
        new = iter([place for places in standing.values() for place in places])
        gone = [slot for slot, place in enumerate(order) if place < 0]
        for slot in gone:
            order[slot] = next(new)
        self._changed = Counter(before[slot] for slot in gone)
        self.is_missed |= any(slot >= rate.size for slot in gone)
        return np.array(order[: rate.size], dtype=np.int64)


def row_keys(rows: Floats, labels: Array) -> list[bytes]:
    """The bytes of each row and of its label, by which records of two worlds are told apart."""
    return [
        row.tobytes() + np.asarray(label).tobytes() for row, label in zip(rows, labels, strict=True)
    ]
