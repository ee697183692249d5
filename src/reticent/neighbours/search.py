"""An active search for neighbours that are further away than a claimed sensitivity says.

What a sampler did not draw it cannot know. Two places to look: the records of the data whose
removal moves the head most, ranked by influence, and records that nobody has, built inside the
public domain: as long as the bound allows, where the data constrain the head least, with the label
that the head expects least.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reticent.arrays import Array, ArrayLike, Floats, Integers
from reticent.guarantee import Grade, Relation, Sensitivity
from reticent.neighbours.differences import Differences, Norms
from reticent.neighbours.head_sensitivity import Measured, as_measured, largest_of
from reticent.neighbours.leave_one_out import LeaveOneOut
from reticent.training.softmax_head import SoftmaxHead
from reticent.validation import count

EIGEN = 4096
"""Features up to which directions of little curvature are found by eigenvectors."""


@dataclass(frozen=True, kw_only=True)
class WorseNeighbours:
    """The furthest neighbours that a search found, beside what was claimed.

    ``l1`` and ``l2`` are the largest changes found; ``exceeded`` is by which factor the claim was
    missed, at least 1 where it was missed and below where it stands; ``sensitivity`` is what is
    left of the claim. ``kind`` says where the largest L2 change came from.
    """

    claimed: Sensitivity
    l1: float
    l2: float
    kind: str
    exceeded: float
    sensitivity: Sensitivity

    def __str__(self) -> str:
        if self.exceeded > 1:
            return (
                f"the claimed sensitivity ({self.claimed.grade}) is exceeded {self.exceeded:.3g} "
                f"times by {self.kind}: it is no bound"
            )
        return (
            f"no neighbour beyond the claimed sensitivity ({self.claimed.grade}) was found; the "
            f"furthest reaches {self.exceeded:.3g} of it. A search proves nothing"
        )


def search_worse_neighbours(  # noqa: PLR0913 - data, claim and how hard to look
    head: SoftmaxHead,
    X: ArrayLike,
    y: ArrayLike,
    claimed: Sensitivity,
    *,
    removals: int = 64,
    additions: int = 64,
    measured: Measured = "weights",
) -> WorseNeighbours:
    """Look for neighbours of (X, y) further apart than ``claimed``; each head found is solved.

    Under replace-one the heads without i and without j are compared, and the heads with one built
    record or another; under add-remove each of them with the full head.
    """
    return search_from(
        LeaveOneOut(head, X, y), claimed, removals=removals, additions=additions, measured=measured
    )


def search_from(
    solver: LeaveOneOut,
    claimed: Sensitivity,
    *,
    removals: int = 64,
    additions: int = 64,
    measured: Measured = "weights",
) -> WorseNeighbours:
    """The same, where a solver stands ready."""
    as_measured(measured)
    searched = {
        "a removed record": most_influential(solver, count("removals", removals)),
        "a record built within the bound": worst_built(solver, count("additions", additions)),
    }
    replace_one = claimed.relation is Relation.REPLACE_ONE
    sizes = {
        kind: largest_of(_compared(heads) if replace_one else heads.norms, measured)
        for kind, heads in searched.items()
    }
    kind = max(sizes, key=lambda name: sizes[name][1])
    l1, l2 = (max(size[norm] for size in sizes.values()) for norm in (0, 1))
    exceeded = max(
        searched / bound
        for searched, bound in ((l1, claimed.l1), (l2, claimed.l2_bound))
        if bound is not None
    )
    return WorseNeighbours(
        claimed=claimed,
        l1=l1,
        l2=l2,
        kind=kind,
        exceeded=exceeded,
        sensitivity=_left_of(claimed, l1, l2, kind, exceeded),
    )


def most_influential(solver: LeaveOneOut, most: int) -> Differences:
    """The heads without the records of the largest influence ‖H⁻¹∇loss‖."""
    ranked = np.argsort(-solver.removal_influence(), kind="stable")
    return solver.without(ranked[:most])


def most_influential_groups(
    solver: LeaveOneOut, groups: Sequence[Integers], most: int
) -> tuple[Integers, Differences]:
    """Which groups of records have the largest influence ‖H⁻¹Σ∇loss‖, and the heads without them.

    Influences add up to first order: two records of a group may cancel each other.
    """
    ranked = np.argsort(-solver.group_influence(groups), kind="stable")[:most]
    return ranked, solver.without_groups([groups[place] for place in ranked])


def worst_built(solver: LeaveOneOut, most: int, *, copies: int = 1) -> Differences:
    """The heads with one built record more, or equal copies, for those of the largest influence."""
    rows, labels = built_records(solver, most)
    ranked = np.argsort(-solver.influence(rows, labels), kind="stable")[:most]
    return solver.with_each(rows[ranked], labels[ranked], copies=copies)


def built_records(solver: LeaveOneOut, most: int) -> tuple[Floats, Array]:
    """Rows of the largest norm in the domain, along directions of little curvature and against W.

    Each takes the label that the head finds least likely there, and the second least.
    """
    head, width = solver.head, int(solver.head.n_features_in_)
    features = solver.objective.rows[:, :width]
    unlikely = head.weights_[:, :width]
    directions = [_weak_directions(features, most), unlikely]
    along = np.concatenate([sign * part for part in directions for sign in (1.0, -1.0)])
    lengths = np.linalg.norm(along, axis=1, keepdims=True)
    along = along[lengths[:, 0] > 0] / lengths[lengths[:, 0] > 0]
    centre = 0.0 if head.centre is None else np.asarray(head.centre, dtype=np.float64)
    rows = np.asarray(centre + head.bound * along)
    least = np.argsort(head.logits(rows), axis=1)[:, :2]
    return np.repeat(rows, 2, axis=0), head.classes_[least.ravel()]


def _weak_directions(features: Floats, most: int) -> Floats:
    """Eigenvectors of the second moment, smallest eigenvalues first; axes where there are many."""
    width = features.shape[1]
    if width > EIGEN:
        weakest = np.argsort(np.einsum("ij,ij->j", features, features))[:most]
        return np.asarray(np.arange(width) == weakest[:, None], dtype=np.float64)
    vectors = np.linalg.eigh(features.T @ features)[1]
    return np.asarray(vectors[:, :most].T)


def _compared(heads: Differences) -> Norms:
    """Distances of all pairs."""
    one, other = np.triu_indices(len(heads), 1)
    if not one.size:
        return heads.norms
    parts = [
        Norms.of(heads.relative[one[s : s + 256]] - heads.relative[other[s : s + 256]])
        for s in range(0, len(one), 256)
    ]
    return Norms.joined(parts)


def _left_of(claimed: Sensitivity, l1: float, l2: float, kind: str, by: float) -> Sensitivity:
    """The claim as it was, or the larger values found, which are worth no more than published."""
    if not by > 1:
        return claimed
    return Sensitivity(
        l1=max(l1, l2, claimed.l1 or 0.0),
        l2=max(l2, claimed.l2 or 0.0),
        grade=Grade.PUBLISHED,
        relation=claimed.relation,
        source=f"found by a search; {kind} exceeded the claimed value {by:.3g} times",
    )
