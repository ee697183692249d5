"""The neighbours of a table that a printed claim is about: its relation and its unit decide."""

from numpy.random import Generator

from reticent.audit.end_to_end.adversarial import PERSON, Case
from reticent.audit.end_to_end.table import Row, Table
from reticent.guarantee import Relation
from reticent.guarantee.guarantee import ONE_RECORD


def neighbour(case: Case, relation: Relation, unit: str, rng: Generator) -> Table:
    """A table with one unit more, less, or another in its place.

    Where the unit is a record, it is a row of the file, whoever owns it: that is what "one record"
    says. Where it is a person, all rows of that person come and go.
    """
    by_person = unit != ONE_RECORD and case.shape.persons
    if relation is Relation.REPLACE_ONE:
        return _replaced(case, by_person, rng)
    if len(case.table) and rng.random() < 0.5:
        return case.table.without(_some_unit(case, by_person, rng))
    return _added(case.table, _newcomer(case, by_person, rng), rng)


def _replaced(case: Case, by_person: bool, rng: Generator) -> Table:
    """As many rows of the newcomer at the places of those that leave, the rest anywhere."""
    leaving = sorted(_some_unit(case, by_person, rng))
    table = case.table.without(leaving)
    coming = _newcomer(case, by_person, rng)
    for row, place in zip(coming, leaving, strict=False):
        table = table.with_row(min(place, len(table)), row)
    return _added(table, coming[len(leaving) :], rng)


def _some_unit(case: Case, by_person: bool, rng: Generator) -> list[int]:
    """The rows of one unit; that of the pivot more often than others."""
    table = case.table
    place = int(rng.integers(len(table)))
    if case.pivot is not None and rng.random() < 0.7:
        place = case.pivot
    if PERSON not in table.columns:
        return [place]
    owners = list(table.columns[PERSON])
    rows = [i for i, owner in enumerate(owners) if owner == owners[place]]
    return rows if by_person else rows[:1]  # the first: another of that owner may follow it


def _newcomer(case: Case, by_person: bool, rng: Generator) -> list[Row]:
    size = int(rng.integers(1, len(case.newcomers) + 1)) if by_person else 1
    rows = [case.newcomers.row(i) for i in rng.permutation(len(case.newcomers))[:size]]
    return [row | {PERSON: "newcomer"} if case.shape.persons else row for row in rows]


def _added(table: Table, rows: list[Row], rng: Generator) -> Table:
    for row in rows:
        table = table.with_row(int(rng.integers(len(table) + 1)), row)
    return table
