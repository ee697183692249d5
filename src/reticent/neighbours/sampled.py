"""The sensitivity sampler of Rubinstein & Aldà (2017): i.i.d. pairs from a population pool.

A pair shares n − 1 records and has one fresh record on each side. The pairs must be independent of
each other, so every pair draws its own n − 1 records: m pairs cost m fits and m factorisations
(or 2m refits), which one data set's n neighbours do not. Derivations: docs/theory.md, section B.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from reticent.arrays import ArrayLike, Floats, Integers
from reticent.guarantee import Grade, Relation, Sensitivity
from reticent.neighbours import head_sensitivity, leave_one_out, random_dp
from reticent.parallel import map_tasks
from reticent.randomness import seeded
from reticent.training.softmax_head import SoftmaxHead
from reticent.validation import InputError, count, float_array, float_rows

Refit = Callable[[Integers], Floats]
"""From positions in the pool to the trained weights, as one vector."""
Sizes = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Draws:
    """How many pairs of which size, and which of the sorted norms is delivered; fixed beforehand.

    Args:
        size: n, the records of a data set.
        pairs: m; without it the fewest for ``gamma``.
        gamma: The share of pairs that may be missed (Rubinstein & Aldà); it chooses m, or k for
            a given m.
        k: The k-th smallest of m norms; the largest without it.
        seed: Of the draws.
        beta: The chance that the γ of the delivered value does not hold.
    """

    size: int
    pairs: int | None = None
    gamma: float | None = None
    k: int | None = None
    seed: int = 0
    beta: float = 0.05

    def __post_init__(self) -> None:
        """Everything is checked before the first fit."""
        count("size", self.size, at_least=2)
        count("seed", self.seed, at_least=0)
        if self.pairs is None and self.gamma is None:
            raise InputError("pairs or gamma must be given, got neither")
        if self.k is not None and self.gamma is not None:
            raise InputError("k must be None where gamma is given, which chooses it, got both")
        random_dp.delivered_gamma(self.total, self.chosen, beta=self.beta)

    @property
    def total(self) -> int:
        """m, the number of pairs that are drawn."""
        if self.pairs is not None:
            return count("pairs", self.pairs)
        assert self.gamma is not None
        return random_dp.pairs_for(self.gamma).pairs

    @property
    def chosen(self) -> int:
        """k, the rank of the order statistic that is taken."""
        if self.k is not None:
            return count("k", self.k)
        if self.gamma is None or self.pairs is None:
            return self.total
        rho = random_dp.gamma_of(self.total).rho  # it minimises ρ + √(ln(1/ρ)/2m), so k too
        return random_dp.order_statistic(self.total, gamma=self.gamma, rho=rho)


@dataclass(frozen=True, kw_only=True)
class SampledPairs:
    """The norms of m pairs, and from what they were drawn."""

    draws: Draws
    l1: tuple[float, ...]
    l2: tuple[float, ...]
    population: str

    @property
    def delivered(self) -> float:
        """γ of the value that was delivered, with probability 1 − β."""
        return random_dp.delivered_gamma(self.draws.total, self.draws.chosen, beta=self.draws.beta)

    @property
    def exchangeable(self) -> float:
        """γ over sampler and one more pair together."""
        return random_dp.exchangeable_gamma(self.draws.total, self.draws.chosen)

    @property
    def sensitivity(self) -> Sensitivity:
        """The k-th smallest norms, with the γ of what was delivered; each norm has it alone."""
        l1, l2 = (sorted(norms)[self.draws.chosen - 1] for norms in (self.l1, self.l2))
        if not l2 > 0:
            raise InputError(
                "weights must differ for enough pairs, got equal ones: a sensitivity of 0 would "
                "add no noise, and pairs that were not drawn can change the weights"
            )
        return Sensitivity(
            l1=max(l1, l2),
            l2=l2,
            grade=Grade.SAMPLED,
            relation=Relation.REPLACE_ONE,
            gamma=self.delivered,
            source=(
                f"number {self.draws.chosen} of {self.draws.total} sorted changes over pairs of "
                f"{self.draws.size} records, {self.population}"
            ),
        )


def sampled_pairs(
    refit: Refit, pool: int, draws: Draws, *, jobs: int | None = None
) -> SampledPairs:
    """Refit any learner on both sides of each pair, drawn from ``pool`` public records.

    Cost: 2m refits. ``refit`` must be a function of the positions alone.
    """

    def sizes(drawn: Integers) -> Sizes:
        one, other = (float_array("weights", refit(side)).ravel() for side in sides(drawn))
        change = one - other
        return float(np.abs(change).sum()), float(np.linalg.norm(change))

    return _measured(sizes, count("pool", pool), draws, jobs)


def sampled_sensitivity(
    refit: Refit, pool: int, draws: Draws, *, jobs: int | None = None
) -> Sensitivity:
    """The k-th smallest change over i.i.d. pairs, graded sampled.

    >>> records = np.linspace(0, 1, 50)
    >>> found = sampled_sensitivity(lambda rows: records[rows].sum(), 50, Draws(size=5, pairs=200))
    >>> str(found.grade), 0.8 < found.l1 < 1.01, round(found.gamma, 4)
    ('sampled', True, 0.0149)
    """
    return sampled_pairs(refit, pool, draws, jobs=jobs).sensitivity


def sampled_head_pairs(  # noqa: PLR0913 - a pool and the private records are two arguments each
    head: SoftmaxHead,
    X: ArrayLike,
    y: ArrayLike,
    draws: Draws,
    *,
    private: ArrayLike | None = None,
    measured: head_sensitivity.Measured = "weights",
    jobs: int | None = None,
) -> SampledPairs:
    """Both heads of each pair by the leave-one-out solver, from one fit on their union.

    ``head`` is a specification with ``classes`` and ``records``; (X, y) is the population pool.
    ``private`` are the rows to be protected: the pool must share none of them. Without it, that
    they are independent rests on the caller's word. Cost: m fits and factorisations.
    """
    rows, labels = float_rows("pool", X), np.asarray(y)
    if private is not None:
        refuse_overlap(rows, float_rows("private", private))
    if head.classes is None or head.records is None:
        raise InputError("classes and records of the head must be given, got neither or one")
    head_sensitivity.enough_records(draws.size, len(head.classes))
    head_sensitivity.as_measured(measured)

    def sizes(drawn: Integers) -> Sizes:
        solver = leave_one_out.LeaveOneOut(
            clone(head).fit(rows[drawn], labels[drawn]), rows[drawn], labels[drawn], threads=1
        )
        norms = solver.distances([[draws.size - 1, draws.size]])
        return float(head_sensitivity.l1_of(norms, measured)[0]), float(norms.l2[0])

    return _measured(sizes, len(rows), draws, jobs)


def refuse_overlap(pool: Floats, private: Floats) -> None:
    """The pool must be independent of the private records; a row in both shows that it is not."""
    if pool.shape[1] != private.shape[1]:
        raise InputError(
            f"private must have the pool's {pool.shape[1]} columns, got {private.shape[1]}"
        )
    known = {row.tobytes() for row in pool + 0.0}  # −0.0 is 0.0
    if any(row.tobytes() in known for row in private + 0.0):
        raise InputError("pool must share no row with the private records, got shared rows")


def sides(drawn: Integers) -> tuple[Integers, Integers]:
    """n − 1 shared records and one fresh record each, from n + 1 positions."""
    return drawn[:-1], np.append(drawn[:-2], drawn[-1])


def _measured(
    sizes: Callable[[Integers], Sizes], pool: int, draws: Draws, jobs: int | None
) -> SampledPairs:
    drawn, population = drawn_from(pool, draws)
    norms = map_tasks(sizes, drawn, jobs=jobs)
    return SampledPairs(
        draws=draws,
        l1=tuple(l1 for l1, _ in norms),
        l2=tuple(l2 for _, l2 in norms),
        population=population,
    )


def drawn_from(pool: int, draws: Draws) -> tuple[list[Integers], str]:
    """n + 1 positions for each pair, and of which population the pairs are i.i.d.

    A pool that is large enough is dealt out without repetition: its records are i.i.d. from P, so
    the pairs are. From a smaller one records are drawn with replacement: the pairs are i.i.d. from
    the distribution of the pool, and γ is about that.
    """
    each, total = draws.size + 1, draws.total
    rng = seeded("pairs from a pool", draws.seed)
    if pool >= each * total:
        dealt = rng.permutation(pool)[: each * total].reshape(total, each)
        return list(dealt), "all different, from the population of the pool"
    return list(rng.integers(pool, size=(total, each))), "drawn with replacement from the pool"
