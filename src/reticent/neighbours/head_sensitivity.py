"""Sensitivities of a softmax head's weights that look at one data set: none of them is a bound.

Algorithm 2 of the ALM paper through the leave-one-out solver, and the local sensitivity. Both are
functions of the private records, so noise that is calibrated with them tells about these records,
and a neighbour that nobody drew can be further away. They are graded *published*.

The sensitivity sampler as the ALM paper publishes it (Algorithm 2): a largest observed change.

Pairs d∖i, d∖j are drawn from the one private data set, so the result bounds nothing: f = mean on
records that are all 0 gives Δ = 0. What is calibrated with it is graded *published*.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from reticent.arrays import ArrayLike, Floats, Integers
from reticent.guarantee import Grade, Relation, Sensitivity
from reticent.neighbours.differences import Norms
from reticent.neighbours.leave_one_out import LeaveOneOut
from reticent.parallel import map_tasks
from reticent.randomness import seeded
from reticent.training.softmax_head import SoftmaxHead
from reticent.validation import InputError, count, float_array

Measured = Literal["weights", "coordinates"]


def published_head_sensitivity(
    head: SoftmaxHead,
    X: ArrayLike,
    y: ArrayLike,
    *,
    pairs: int,
    seed: int,
    measured: Measured = "weights",
) -> Sensitivity:
    """Δ of Algorithm 2 over exact heads: the largest L1 and L2 distance of d∖i and d∖j.

    The pairs are those that ``published_sensitivity`` draws from the same seed. ``measured`` says
    of what the L1 norm is: the paper's weights W, one row a class, or the coordinates V that a
    proven release adds noise to. The L2 norm of both is the same.
    """
    return published_of(LeaveOneOut(head, X, y), pairs=pairs, seed=seed, measured=measured)


def published_of(
    solver: LeaveOneOut, *, pairs: int, seed: int, measured: Measured = "weights"
) -> Sensitivity:
    """The same, where a solver stands ready."""
    enough_records(solver.records, len(solver.objective.basis))
    drawn = seeded("Algorithm 2", count("seed", seed, at_least=0)).integers(
        solver.records, size=(count("pairs", pairs), 2)
    )
    largest = largest_of(solver.distances(drawn), measured)
    return observed(
        largest,
        relation=Relation.REPLACE_ONE,
        source=f"the largest change of {measured} over {pairs} pairs (Algorithm 2, ALM)",
    )


def local_sensitivity(
    head: SoftmaxHead, X: ArrayLike, y: ArrayLike, *, measured: Measured = "weights"
) -> Sensitivity:
    """max over D′ of ‖f(D) − f(D′)‖ for this D, over all n removals; each head is solved.

    Exact, to the solver's accuracy, for D′ = D without a record. Records that could be added are
    not enumerable: ``search_worse_neighbours`` looks for them. It is no bound for noise: it is a
    function of the private records, and a neighbour of D can have a far larger one.
    """
    solver = LeaveOneOut(head, X, y)
    parts = [part.norms for part in solver.each_without(np.arange(solver.records))]
    return observed(
        largest_of(Norms.joined(parts), measured),
        relation=Relation.ADD_REMOVE,
        source=f"local sensitivity of {measured} over all removals of one data set: no bound",
    )


def enough_records(records: int, classes: int) -> None:
    """The samplers speak of data sets that have two records and as many as classes."""
    least = max(2, classes)
    if records < least:
        raise InputError(f"records must be >= {least}, which this sampler needs, got {records}")


def as_measured(value: str) -> Measured:
    """What the L1 norm is taken of, by its name."""
    if value == "weights":
        return "weights"
    if value == "coordinates":
        return "coordinates"
    raise InputError(f"measured must be 'weights' or 'coordinates', got {value!r}")


def l1_of(norms: Norms, measured: Measured) -> Floats:
    """L1 norms of W or of V."""
    return norms.l1_weights if as_measured(measured) == "weights" else norms.l1


def largest_of(norms: Norms, measured: Measured) -> tuple[float, float]:
    """The largest L1 and the largest L2 norm."""
    return float(l1_of(norms, measured).max()), float(norms.l2.max())


def observed(largest: tuple[float, float], *, relation: Relation, source: str) -> Sensitivity:
    """A largest observed change, graded published; one of 0 is refused."""
    l1, l2 = largest
    if not l1 > 0:
        raise InputError(
            "weights must differ for some pair, got equal ones for all: a sensitivity of 0 would "
            "add no noise and is no bound, since records that were not drawn can change the weights"
        )
    return Sensitivity(
        l1=max(l1, l2), l2=l2, grade=Grade.PUBLISHED, relation=relation, source=source
    )


Refit = Callable[[Integers], Floats]
"""From the positions of the records to train on to the trained weights, as one vector."""


@dataclass(frozen=True, kw_only=True)
class RefittedPairs:
    """Pairs of records, and the weights after training without each of them."""

    pairs: tuple[tuple[int, int], ...]
    weights: Mapping[int, Floats]

    def sensitivity(self, coordinates: slice = slice(None)) -> Sensitivity:
        """The largest L1 and L2 distance of a pair's weights, of these coordinates."""
        changes = [(self.weights[i] - self.weights[j])[coordinates] for i, j in self.pairs]
        l1 = max(float(np.abs(change).sum()) for change in changes)
        l2 = max(float(np.linalg.norm(change)) for change in changes)
        if not l1 > 0:
            raise InputError(
                "weights must differ for some pair, got equal ones for all: Algorithm 2 would add "
                "no noise, though a record that was not drawn can change the weights"
            )
        return Sensitivity(
            l1=l1,
            l2=l2,
            grade=Grade.PUBLISHED,
            relation=Relation.REPLACE_ONE,
            source=f"the largest change over {len(self.pairs)} pairs of refits (Algorithm 2, ALM)",
        )


def published_sensitivity(
    refit: Refit,
    rows: int,
    pairs: int,
    seed: int,
    *,
    jobs: int | None = None,
    on_done: Callable[[int], None] | None = None,
) -> Sensitivity:
    """Δ of Algorithm 2, in L1 and in L2; graded published.

    >>> records = np.array([0.0, 1.0, 5.0, 2.0])
    >>> found = published_sensitivity(lambda kept: records[kept].mean(), 4, 50, seed=0)
    >>> round(found.l1, 6), str(found.grade)
    (1.666667, 'published')
    """
    return refitted_pairs(refit, rows, pairs, seed, jobs=jobs, on_done=on_done).sensitivity()


def refitted_pairs(
    refit: Refit,
    rows: int,
    pairs: int,
    seed: int,
    *,
    jobs: int | None = None,
    on_done: Callable[[int], None] | None = None,
) -> RefittedPairs:
    """Train without each record of ``pairs`` random pairs out of ``rows`` records.

    A record may come twice in a pair, as in the paper; each is left out once. One core and many
    give equal weights where ``refit`` is a function of its argument alone.
    """
    total = count("rows", rows, at_least=2)
    drawn = seeded("Algorithm 2", count("seed", seed, at_least=0)).integers(
        total, size=(count("pairs", pairs), 2)
    )
    removed = np.unique(drawn).tolist()

    def without(record: int) -> Floats:
        return float_array("weights", refit(np.delete(np.arange(total), record))).ravel()

    weights = map_tasks(without, removed, jobs=jobs, on_done=on_done)
    return RefittedPairs(
        pairs=tuple((int(i), int(j)) for i, j in drawn),
        weights=dict(zip(removed, weights, strict=True)),
    )
