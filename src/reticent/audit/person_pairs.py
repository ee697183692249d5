"""Neighbours of a claim about persons: all rows of one, or a person who is built.

A claim about one person with at most k records is about data with and without all of that person's
rows, or, under replace-one, about as many rows of another person in their place (theory F.4). With
one record each every row that was kept is a person, and nothing need say whose it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from reticent.arrays import Floats, Integers
from reticent.data.dataset import persons_array
from reticent.neighbours import LeaveOneOut
from reticent.neighbours.differences import Differences
from reticent.neighbours.search import most_influential, most_influential_groups, worst_built
from reticent.protect.terms import records_touched, unit_of
from reticent.validation import InputError


class Changed(NamedTuple):
    """Heads that one change each leads to, less the full head's coordinates: changes × p."""

    done: str
    undone: str
    instead: str
    moved: Floats
    sizes: Integers
    """The records that each change adds or leaves out."""

    @classmethod
    def of(cls, heads: Differences, sizes: Integers, words: tuple[str, str, str]) -> Changed:
        """By what was done, how it reads undone, and what stands instead under replace-one."""
        done, undone, instead = words
        moved = heads.coordinates.reshape(len(heads), -1)
        return cls(done=done, undone=undone, instead=instead, moved=moved, sizes=sizes)


def rows_of_units(
    persons: ArrayLike | None, records: int, max_records_per_person: int | None
) -> list[Integers]:
    """The rows of each unit of a claim: of each person, or every row by itself.

    Refused where they are not those that the claim is about.
    """
    unit, most_rows = unit_of(max_records_per_person), records_touched(max_records_per_person)
    if max_records_per_person is None and persons is not None:
        raise InputError(f"persons must not be given: the claim is about {unit}, whoever owns it")
    if persons is None and most_rows > 1:
        raise InputError(f"persons must be given, one for each row: the claim is about {unit}")
    named = np.arange(records) if persons is None else persons_array(persons, records)
    order = np.argsort(named, kind="stable")
    starts = np.flatnonzero(named[order][1:] != named[order][:-1]) + 1
    groups = np.split(order, starts)
    most = max(len(group) for group in groups)
    if most == 0:
        raise InputError("persons must be at least one, got none")
    if most > most_rows:
        raise InputError(
            f"persons must have at most {most_rows} of the rows each, as the claim says, got"
            f" {most}: give the rows that were fitted on"
        )
    return groups


def changed_by_records(solver: LeaveOneOut, most: int, *, owned: bool) -> list[Changed]:
    """Removed records by influence, and records that are built; ``owned`` by a person each."""
    removed, built = most_influential(solver, most), worst_built(solver, most)
    record, instead = "a record", "another in its place"
    if owned:
        record, instead = "the one record of a person", "another's in its place"
    added = f"with {record} built within the bound"
    return [
        Changed.of(removed, _all(removed, 1), (f"without {record}", "with it", instead)),
        Changed.of(built, _all(built, 1), (added, "without it", instead)),
    ]


def changed_by_persons(
    solver: LeaveOneOut, groups: list[Integers], most: int, *, copies: int
) -> list[Changed]:
    """Removed persons by influence, and persons who own equal copies of a built record."""
    chosen, removed = most_influential_groups(solver, groups, most)
    built = worst_built(solver, most, copies=copies)
    sizes = np.array([len(groups[place]) for place in chosen], dtype=np.int64)
    instead = "another's in their place"
    owned = f"with {copies} equal records of a person built within the bound"
    return [
        Changed.of(removed, sizes, ("without all records of a person", "with them", instead)),
        Changed.of(built, _all(built, copies), (owned, "without them", instead)),
    ]


def _all(heads: Differences, records: int) -> Integers:
    return np.full(len(heads), records, dtype=np.int64)
