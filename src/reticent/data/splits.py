"""Disjoint parts of a data set: public, members, test, non-members, shadow, population."""

from collections.abc import Mapping
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.arrays import Array, Integers
from reticent.data.dataset import Dataset, persons_array
from reticent.randomness import seeded
from reticent.validation import InputError, count, real, text


class _Units(NamedTuple):
    """What is dealt out whole: a record, or all records of one person."""

    noun: str
    total: int
    of_record: Integers


def split(
    data: Dataset | int,
    *,
    sizes: Mapping[str, int | float],
    seed: int,
    stratify: ArrayLike | None = None,
    persons: ArrayLike | None = None,
) -> dict[str, Integers]:
    """Positions of the records of each part, in random order; no record is in two parts.

    A whole number counts records; a fraction is a share of all of them, so that shares that sum to
    1 leave nothing over. With persons (given here, or by the data set) both count persons, and all
    records of a person fall into one part. ``stratify`` holds a value for each record, whose shares
    every part keeps. Parts are filled in the order of ``sizes``: appending one leaves the earlier
    ones as they are. The outcome is a function of the arguments alone, on every platform.

    >>> parts = split(10, sizes={"members": 6, "test": 0.4}, seed=0)
    >>> {name: len(rows) for name, rows in parts.items()}
    {'members': 6, 'test': 4}
    """
    length = len(data) if isinstance(data, Dataset) else count("data", data)
    if persons is None and isinstance(data, Dataset):
        persons = data.persons
    units = _units(persons, length)
    ends = _ends(sizes, units)
    words = seeded("split", count("seed", seed, at_least=0)).bit_generator.random_raw(
        2 * units.total
    )
    order = _order(words, None if stratify is None else _strata(stratify, units))
    place = np.empty(units.total, dtype=np.int64)
    place[order] = np.arange(units.total)
    place_of_record = place[units.of_record]
    records = np.argsort(place_of_record, kind="stable")
    cuts = np.searchsorted(place_of_record[records], [0, *ends])
    return {
        name: records[start:stop].astype(np.int64)
        for name, start, stop in zip(sizes, cuts[:-1], cuts[1:], strict=True)
    }


def _units(persons: ArrayLike | None, length: int) -> _Units:
    if persons is None:
        return _Units("records", length, np.arange(length))
    names, of_record = np.unique(persons_array(persons, length), return_inverse=True)
    return _Units("persons", len(names), of_record.astype(np.int64))


def _ends(sizes: Mapping[str, int | float], units: _Units) -> list[int]:
    """Where each part ends in the order of units; shares are exact decimals, rounded as a sum."""
    if not isinstance(sizes, Mapping) or not sizes:
        raise InputError("sizes must map the name of each part to its size, got none")
    wanted = [_size(text("a part of sizes", name), size) for name, size in sizes.items()]
    counted = accumulate(int(size) if isinstance(size, int) else 0 for size in wanted)
    shared = accumulate(Fraction(0) if isinstance(size, int) else size for size in wanted)
    ends = [whole + int(share * units.total) for whole, share in zip(counted, shared, strict=True)]
    if ends[-1] > units.total:
        raise InputError(f"sizes must sum to at most {units.total} {units.noun}, got {ends[-1]}")
    for name, start, end in zip(sizes, [0, *ends], ends, strict=False):
        if start == end:
            raise InputError(
                f"sizes[{name!r}] must be at least one of {units.total} {units.noun},"
                f" got a share of {sizes[name]}"
            )
    return ends


def _size(name: str, size: object) -> int | Fraction:
    field = f"sizes[{name!r}]"
    if not isinstance(size, (float, np.floating)):
        return count(field, size)
    share = real(field, size)
    if not 0 < share <= 1:
        raise InputError(f"{field} must be a count or a share in (0, 1], got {share}")
    return Fraction(repr(share))


def _order(words: NDArray[np.uint64], strata: Integers | None) -> Integers:
    """The units in random order, by sorting words whose stream numpy keeps for ever.

    With strata each of them is spread evenly over the order from a random start, so that every
    stretch of it holds their shares, up to one or two units.
    """
    total = len(words) // 2
    shuffled = np.argsort(words[:total], kind="stable")
    if strata is None:
        return shuffled
    grouped = shuffled[np.argsort(strata[shuffled], kind="stable")]
    sizes = np.bincount(strata)
    rank = np.arange(total) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    starts = words[total : total + len(sizes)] / 2.0**64
    key = (rank + np.repeat(starts, sizes)) / np.repeat(sizes, sizes)
    return grouped[np.lexsort((words[:total][grouped], key))]


def _strata(value: ArrayLike, units: _Units) -> Integers:
    strata: Array = np.asarray(value)
    if strata.shape != units.of_record.shape:
        raise InputError(f"stratify must have shape {units.of_record.shape}, got {strata.shape}")
    if strata.dtype.kind not in "biuU":
        raise InputError(f"stratify must be whole numbers or texts, got {strata.dtype}")
    codes = np.unique(strata, return_inverse=True)[1].astype(np.int64)
    of_unit = np.empty(units.total, dtype=np.int64)
    of_unit[units.of_record] = codes
    if not np.array_equal(of_unit[units.of_record], codes):
        raise InputError(
            "stratify must be one value for each person, got several: leave stratify or persons out"
        )
    return of_unit
