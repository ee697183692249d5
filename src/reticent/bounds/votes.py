"""How far one record moves votes of teachers on disjoint parts, and a table of noisy records.

Proofs are in docs/theory.md I.3 and I.4.
"""

import math

from reticent.bounds.objective import touched_records
from reticent.guarantee import Relation, Sensitivity, grade, minting, rounding
from reticent.validation import count


def teacher_votes(*, relation: Relation | str, max_records_per_person: int = 1) -> Sensitivity:
    """Of the votes for each class: each touched teacher takes one vote away and gives another.

    >>> votes = teacher_votes(relation="add-remove")
    >>> votes.l1, round(votes.l2, 6)
    (2.0, 1.414214)
    """
    touched = touched_records(relation, max_records_per_person)
    return minting.proven(
        Sensitivity(
            l1=2.0 * touched,
            l2=rounding.up(math.sqrt(2) * touched),
            relation=grade.as_relation(relation),
            source=f"votes of teachers on disjoint parts, theory I.3: {touched} touched",
        )
    )


def largest_vote(*, relation: Relation | str, max_records_per_person: int = 1) -> Sensitivity:
    """Of the number of votes for the class that has most: one for each touched teacher."""
    touched = float(touched_records(relation, max_records_per_person))
    return minting.proven(
        Sensitivity(
            l1=touched,
            l2=touched,
            relation=grade.as_relation(relation),
            source=f"the largest vote of teachers, theory I.3: {touched:g} touched",
        )
    )


def record_lines(
    *, features: int, relation: Relation | str, max_records_per_person: int = 1
) -> Sensitivity:
    """Of a table of lines (x, e_y), ‖x‖ ≤ 1, in which each touched record changes one line.

    x moves by at most 2 and the one-hot label by √2: √6 in L2, 2√d + 2 in L1, for each of them. A
    line without a record is 0, which is nearer. Lines are different coordinates: squares add up.

    >>> round(record_lines(features=4, relation="add-remove").l2 ** 2, 6)
    6.0
    >>> round(record_lines(features=4, relation="replace-one").l2 ** 2, 6)
    12.0
    """
    touched = touched_records(relation, max_records_per_person)
    entries = math.sqrt(count("features", features))
    return minting.proven(
        Sensitivity(
            l1=rounding.up(touched * (2 * entries + 2)),
            l2=rounding.up(math.sqrt(6.0 * touched)),
            relation=grade.as_relation(relation),
            source=f"lines of noisy records, theory I.4: d = {features}, {touched} touched",
        )
    )


def row_lines(
    *, features: int, relation: Relation | str, max_records_per_person: int = 1
) -> Sensitivity:
    """Of the rows of these lines alone: 2 in L2 and 2√d in L1 for each touched record.

    >>> round(row_lines(features=4, relation="replace-one").l1, 6)
    8.0
    """
    touched = touched_records(relation, max_records_per_person)
    entries = math.sqrt(count("features", features))
    return minting.proven(
        Sensitivity(
            l1=rounding.up(touched * 2 * entries),
            l2=rounding.up(math.sqrt(4.0 * touched)),
            relation=grade.as_relation(relation),
            source=f"rows of noisy records, theory I.4: d = {features}, {touched} touched",
        )
    )


def label_lines(
    *, classes: int, relation: Relation | str, max_records_per_person: int = 1
) -> Sensitivity:
    """Of the one-hot labels of these lines, a block of entries for each class and one for none.

    A line that changes takes one 1 away and puts another: 2 in L1 and √2 in L2, for each of them,
    and no more in L21 than in L1.

    >>> label_lines(classes=3, relation="add-remove").l1
    2.0
    """
    touched = touched_records(relation, max_records_per_person)
    return minting.proven(
        Sensitivity(
            l1=2.0 * touched,
            l2=rounding.up(math.sqrt(2.0 * touched)),
            l21=2.0 * touched,
            blocks=count("classes", classes, at_least=2) + 1,
            relation=grade.as_relation(relation),
            source=f"labels of noisy records, theory I.4: {classes} classes, {touched} touched",
        )
    )
