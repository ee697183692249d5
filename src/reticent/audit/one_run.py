"""ε from one run: canaries that were in or out by independent fair coins, and guesses at the coins.

Steinke, Nasr & Jagielski (2023): of r guesses on m canaries of an (ε, δ)-private run, v or more are
right with probability at most

    p(ε) = P[B ≥ v] + 2mδ·max_i P[v − i ≤ B < v]/i,    B ~ Bin(r, 1/(1 + e^{−ε})),

for 1 ≤ i ≤ v. The bound is inf{ε: p(ε) > β}. It is found by bisection, because for β < ½ the set
where p ≤ β is an interval: with c = 2mδ, each g_i = P[B ≥ v] + (c/i)·P[v − i ≤ B < v] rises in q at
the rate r·((1 − c/i)·b(v − 1) + (c/i)·b(v − i − 1)), b the weights of Bin(r − 1, q). For i ≥ c that
is no less than 0. For i < c, g_i ≥ P[B ≥ v − i], so g_i < ½ puts the median of B, hence the mode of
b, below v − i; then b(v − 1) ≤ b(v − i − 1), and the rate is no less than 0 either.

Mahloujifar, Melis & Chaudhuri (2024) do the same for a trade-off curve instead of (ε, δ); here for
that of Gaussian noise, labelled as conditional on it.

Coins are about single records that are there or not, so all of this is about add-remove neighbours.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Final

import numpy as np
from scipy import special, stats

from reticent import validation
from reticent.arrays import ArrayLike, Flags
from reticent.audit import lower_bound
from reticent.guarantee import Relation
from reticent.mechanisms.profiles.conversions import largest_below
from reticent.randomness import seeded

_NORMAL: Final = NormalDist()
_UNFAIR: Final = 1e-9
"""Coins are refused where fair ones would be so uneven with this probability."""


GuessedBound = Callable[..., lower_bound.LowerBound]
"""A bound from canaries, guesses, right guesses, δ and β of one run, such as the two below."""


def one_run_epsilon(
    canaries: int, guesses: int, correct: int, *, delta: float, beta: float
) -> lower_bound.LowerBound:
    """The bound of Steinke, Nasr & Jagielski (2023), for every mechanism.

    >>> print(one_run_epsilon(1000, 100, 90, delta=1e-5, beta=0.05))
    ε ≥ 1.6261 at δ = 1e-5 with 95 % confidence (one run; neighbours: add-remove)
    """
    counts = lower_bound.GuessCounts(canaries=canaries, guesses=guesses, correct=correct)
    validation.probability("delta", delta)
    lower_bound.checked_beta(beta)

    def is_rejected(epsilon: float) -> bool:
        return p_value(counts, epsilon, delta) <= beta

    return lower_bound.LowerBound(
        epsilon=_largest(is_rejected),
        delta=delta,
        confidence=1 - beta,
        method="one run",
        evidence=counts,
        relation=Relation.ADD_REMOVE,
    )


def one_run_gdp_epsilon(
    canaries: int, guesses: int, correct: int, *, delta: float, beta: float
) -> lower_bound.LowerBound:
    """The bound of Mahloujifar, Melis & Chaudhuri (2024), if the trade-off curve is Gaussian.

    >>> bound = one_run_gdp_epsilon(1000, 100, 90, delta=1e-5, beta=0.05)
    >>> round(bound.mu, 4), round(bound.epsilon, 4), bound.conditional
    (0.6025, 2.4564, 'Gaussian DP')
    """
    counts = lower_bound.GuessCounts(canaries=canaries, guesses=guesses, correct=correct)
    validation.open_probability("delta", delta)
    lower_bound.checked_beta(beta)
    mu = _largest(lambda mu: excludes_mu(counts, mu, beta))
    return lower_bound.LowerBound(
        epsilon=lower_bound.epsilon_of_mu(mu, delta),
        delta=delta,
        confidence=1 - beta,
        method="one run, f-DP",
        evidence=counts,
        conditional=lower_bound.GAUSSIAN_DP,
        mu=mu,
        relation=Relation.ADD_REMOVE,
    )


def one_run(
    scores: ArrayLike,
    inside: ArrayLike,
    *,
    guesses: tuple[int, int] | Sequence[tuple[int, int]],
    delta: float,
    beta: float,
    bound: GuessedBound = one_run_epsilon,
) -> lower_bound.LowerBound:
    """A lower bound on ε from the scores of canaries, of one model or release.

    Canaries of the highest scores are guessed to be in, those of the lowest to be out; equal scores
    are ordered at random, so that the order of the canaries tells nothing.

    Args:
        scores: One for each canary; higher where it seems to have been in.
        inside: The coins: True for the canaries that were in.
        guesses: (how many in, how many out), fixed before the scores were seen; or several such
            pairs, of which the best is taken at β divided by their number.
        delta: The δ at which ε is bounded.
        beta: The probability with which the bound may be wrong.
        bound: For every mechanism, or on a condition.
    """
    values = validation.float_array("scores", scores)
    if values.ndim != 1:
        raise validation.InputError(
            f"scores must be one number for each canary, got shape {values.shape}"
        )
    coins = _coins(inside, len(values))
    pairs = _pairs(guesses, len(values))
    share = lower_bound.divided(beta, len(pairs))
    ranked = coins[np.lexsort((seeded("equal scores").random(len(coins)), values))]
    bounds = [
        bound(len(coins), ins + outs, _correct(ranked, ins, outs), delta=delta, beta=share)
        for ins, outs in pairs
    ]
    best = max(range(len(bounds)), key=lambda pair: bounds[pair].epsilon)
    ins, outs = pairs[best]
    chosen = f", the best of {len(pairs)} choices, each at β/{len(pairs)}" * (len(pairs) > 1)
    note = f"{ins:,} guessed in and {outs:,} out{chosen}"
    return dataclasses.replace(bounds[best], confidence=1 - beta, notes=(note,))


def halving_guesses(canaries: int, levels: int = 4) -> tuple[tuple[int, int], ...]:
    """Guesses on all canaries, on half, on a quarter …: a grid that is fixed beforehand.

    >>> halving_guesses(1000)
    ((500, 500), (250, 250), (125, 125), (62, 62))
    """
    total = validation.count("canaries", canaries, at_least=2)
    sides = [total // 2 ** (level + 1) for level in range(validation.count("levels", levels))]
    return tuple((side, side) for side in sides if side)


def p_value(counts: lower_bound.GuessCounts, epsilon: float, delta: float) -> float:
    """How likely so many right guesses are at most, if the run is (ε, δ)-private."""
    guesses, correct = counts.guesses, counts.correct
    if correct == 0:
        return 1.0
    chance = float(special.expit(epsilon))
    tail = float(special.betainc(correct, guesses - correct + 1, chance))
    if delta == 0:
        return tail
    weights = stats.binom.pmf(np.arange(correct - 1, -1, -1), guesses, chance)
    steepest = float((np.cumsum(weights) / np.arange(1, correct + 1)).max())
    return min(1.0, tail + 2 * counts.canaries * delta * steepest)


def excludes_mu(counts: lower_bound.GuessCounts, mu: float, beta: float) -> bool:
    """Whether so many right guesses have probability below β in every run that is μ-GDP.

    If v or more right guesses had probability β, a canary would be guessed rightly in that event
    with probability βv/m, wrongly with β(r − v)/m. From right guesses when at least i + 1 are right
    the curve forces wrong ones when at least i are, for i down to 0, until there would be more
    guesses than were made (their Algorithm 3).
    """
    canaries, guesses, correct = counts.canaries, counts.guesses, counts.correct
    correct_rate, wrong = beta * correct / canaries, beta * (guesses - correct) / canaries
    made = guesses / canaries
    for fewest in range(correct - 1, -1, -1):
        if correct_rate + wrong > made:
            return True
        forced = max(wrong, _below(_NORMAL.inv_cdf(correct_rate) - mu)) if correct_rate < 1 else 1.0
        correct_rate = min(1.0, correct_rate + fewest / (guesses - fewest) * (forced - wrong))
        wrong = forced
    return correct_rate + wrong > made


def _below(x: float) -> float:
    """Φ(x), to full relative accuracy."""
    return math.erfc(-x / math.sqrt(2)) / 2


def _largest(is_rejected: Callable[[float], bool]) -> float:
    """The largest value up to which all are rejected; 0 where 0 is not."""
    if not is_rejected(0.0):
        return 0.0
    high = 1.0
    while is_rejected(high):
        high *= 2
    return largest_below(is_rejected, 0.0, high)


def _coins(inside: ArrayLike, canaries: int) -> Flags:
    coins = np.asarray(inside)
    if coins.dtype != np.bool_ or coins.shape != (canaries,):
        raise validation.InputError(
            f"inside must be true or false for each of {canaries} scored canaries, got"
            f" {coins.dtype} of shape {coins.shape}"
        )
    fewer = min(int(coins.sum()), int((~coins).sum()))
    if 2 * special.bdtr(fewer, canaries, 0.5) < _UNFAIR:
        raise validation.InputError(
            f"inside must come from fair coins, got {int(coins.sum()):,} of {canaries:,} inside"
        )
    return coins


def _pairs(guesses: object, canaries: int) -> list[tuple[int, int]]:
    pairs = np.atleast_2d(validation.integer_array("guesses", guesses))  # type: ignore[arg-type]
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise validation.InputError(f"guesses must be pairs (in, out), got shape {pairs.shape}")
    for ins, outs in pairs.tolist():
        if min(ins, outs) < 0 or not 1 <= ins + outs <= canaries:
            raise validation.InputError(
                f"guesses must be pairs of numbers >= 0 of sum 1 to {canaries:,}, the canaries, got"
                f" ({ins:,}, {outs:,})"
            )
    return [(ins, outs) for ins, outs in pairs.tolist()]


def _correct(ranked: Flags, ins: int, outs: int) -> int:
    """Right guesses, of coins in the order of rising scores."""
    return int(ranked[len(ranked) - ins :].sum() + (~ranked[:outs]).sum())
