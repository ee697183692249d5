"""The sensitivity sampler as the ALM paper publishes it (Algorithm 2): a largest observed change.

Pairs d∖i, d∖j are drawn from the one private data set, so the result bounds nothing: f = mean on
records that are all 0 gives Δ = 0. What is calibrated with it is graded *published*.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from reticent.arrays import Floats, Integers
from reticent.guarantee import Grade, Relation, Sensitivity
from reticent.parallel import map_tasks
from reticent.randomness import seeded
from reticent.validation import InputError, count, float_array

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
