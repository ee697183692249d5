"""ε from the scores of many runs without a record and many with it.

Each run trains or releases anew and gives one score; runs are independent. A test calls a run one
with the record where the score is above a threshold, or where it is below. The best threshold and
direction on the same runs that are counted would find an ε in noise. So there are three ways:

- ``SeparateRuns``, the default: a random part of the runs chooses, the others are counted.
- ``ThresholdGrid``: thresholds at ranks of the scores without the record. The ranks follow from
  numbers of runs alone, and β is divided by all thresholds and both directions.
- A number: the threshold was fixed before any run; above it means with the record.

How many runs an audit needs before a claim that is false by so much is refuted.
"""

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from scipy import special, stats

from reticent import validation
from reticent.arrays import ArrayLike, Floats, Integers
from reticent.audit import error_counts
from reticent.audit.lower_bound import ErrorCounts, LowerBound, checked_beta, divided
from reticent.guarantee import Guarantee, Relation
from reticent.randomness import seeded


@dataclass(frozen=True, kw_only=True)
class SeparateRuns:
    """A random ``share`` of the runs of either kind chooses threshold and direction."""

    share: float = 0.3
    seed: int = 0

    def __post_init__(self) -> None:
        """A part of the runs, not all."""
        validation.open_probability("share", self.share)
        validation.count("seed", self.seed, at_least=0)


@dataclass(frozen=True, kw_only=True)
class ThresholdGrid:
    """At most ``size`` thresholds, each tried in both directions."""

    size: int

    def __post_init__(self) -> None:
        """One at least."""
        validation.count("size", self.size)


ThresholdRule = SeparateRuns | ThresholdGrid | float

_SEPARATE: Final = SeparateRuns()


def many_runs(  # noqa: PLR0913 - two sets of scores, δ, β and the three choices of an audit
    scores_without: ArrayLike,
    scores_with: ArrayLike,
    *,
    delta: float,
    beta: float,
    threshold: ThresholdRule = _SEPARATE,
    reading: error_counts.Reading = error_counts.CLOPPER_PEARSON,
    relation: Relation | None = None,
) -> LowerBound:
    """A lower bound on ε that is wrong with probability β at most, choices included.

    Args:
        scores_without: One score for each independent run without the record.
        scores_with: One for each run with it.
        delta: The δ at which ε is bounded.
        beta: The probability with which the bound may be wrong.
        threshold: Where the threshold comes from.
        reading: How errors become an ε: for every mechanism, or on a condition.
        relation: Which neighbours the runs compared; it is printed with the bound.

    >>> rng = np.random.default_rng(0)
    >>> laplace = rng.laplace(size=(2, 2000))
    >>> bound = many_runs(laplace[0], laplace[1] + 1, delta=0.0, beta=0.05)
    >>> 0.5 < bound.epsilon < 1
    True
    """
    arms = _Arms.of(scores_without, scores_with)
    checked_beta(beta)
    if isinstance(threshold, SeparateRuns):
        bound = _separately(arms, threshold, reading, delta, beta)
    elif isinstance(threshold, ThresholdGrid):
        bound = _best_of_grid(arms, threshold, reading, delta, beta)
    else:
        bound = _read(arms.above(validation.finite("threshold", threshold)), reading, delta, beta)
    return replace(bound, relation=relation)


class _Counts(NamedTuple):
    """False positives, runs without, false negatives, runs with."""

    false_positives: int
    runs_without: int
    false_negatives: int
    runs_with: int


class _Arms(NamedTuple):
    """Scores without and with the record."""

    without: Floats
    present: Floats

    @classmethod
    def of(cls, scores_without: ArrayLike, scores_with: ArrayLike) -> "_Arms":
        return cls(_scores("scores_without", scores_without), _scores("scores_with", scores_with))

    def turned(self) -> "_Arms":
        """Scores below a threshold mean with the record."""
        return _Arms(-self.without, -self.present)

    def above(self, threshold: float) -> _Counts:
        """Errors of the test that calls scores above the threshold runs with the record."""
        return _Counts(
            int((self.without > threshold).sum()),
            len(self.without),
            int((self.present <= threshold).sum()),
            len(self.present),
        )


def _scores(name: str, value: ArrayLike) -> Floats:
    scores = validation.float_array(name, value)
    if scores.ndim != 1:
        raise validation.InputError(
            f"{name} must be one number for each run, got shape {scores.shape}"
        )
    return scores


def _read(counts: _Counts, reading: error_counts.Reading, delta: float, beta: float) -> LowerBound:
    return reading.bound(*counts, delta=delta, beta=beta)


def _separately(
    arms: _Arms, rule: SeparateRuns, reading: error_counts.Reading, delta: float, beta: float
) -> LowerBound:
    rng = seeded("separate runs", rule.seed)
    choosing, counted = zip(
        *(_parts(name, scores, rule.share, rng) for name, scores in arms._asdict().items()),
        strict=True,
    )
    sides = [(_Arms(*choosing), _Arms(*counted))]
    sides.append((sides[0][0].turned(), sides[0][1].turned()))
    best = [_best_threshold(choose, reading, delta, beta) for choose, _ in sides]
    turned = best[1][0] > best[0][0]
    threshold = best[turned][1]
    bound = _read(sides[turned][1].above(threshold), reading, delta, beta)
    note = (
        f"{_direction(turned)} a threshold that {len(choosing[0]):,} + {len(choosing[1]):,}"
        f" separate runs chose (seed {rule.seed})"
    )
    return replace(bound, notes=(note,))


def _parts(
    name: str, scores: Floats, share: float, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Those that choose and those that are counted."""
    if len(scores) < 2:
        raise validation.InputError(
            f"scores of runs {_KIND[name]} the record must be at least 2 to choose a threshold on"
            f" separate ones, got {len(scores)}"
        )
    chosen = min(max(round(share * len(scores)), 1), len(scores) - 1)
    order = rng.permutation(scores)
    return order[:chosen], order[chosen:]


_KIND: Final = {"without": "without", "present": "with"}


def _best_threshold(
    arms: _Arms, reading: error_counts.Reading, delta: float, beta: float
) -> tuple[float, float]:
    """The merit and the threshold of the test whose bound on these runs would be highest."""
    without, present = np.sort(arms.without), np.sort(arms.present)
    thresholds = np.unique(np.concatenate(arms))
    false_positives = len(without) - np.searchsorted(without, thresholds, side="right")
    false_negatives = np.searchsorted(present, thresholds, side="right")
    merits = reading.merit(
        error_counts.highest_rate(false_positives, len(without), beta / 2),
        error_counts.highest_rate(false_negatives, len(present), beta / 2),
        delta,
    )
    best = int(np.argmax(merits))
    return float(merits[best]), float(thresholds[best])


def _best_of_grid(
    arms: _Arms, rule: ThresholdGrid, reading: error_counts.Reading, delta: float, beta: float
) -> LowerBound:
    ranks = _ranks(len(arms.without), rule.size)
    share = divided(beta, 2 * len(ranks))
    bounds = [
        (turned, _read(_at_rank(side, rank), reading, delta, share))
        for turned, side in enumerate((arms, arms.turned()))
        for rank in ranks.tolist()
    ]
    turned, best = max(bounds, key=lambda pair: pair[1].epsilon)
    if best.credible:
        raise validation.InputError(
            "reading must be a confidence bound for a grid of thresholds, got a credible one; use"
            " separate runs"
        )
    note = (
        f"{_direction(bool(turned))} the best of {len(ranks)} thresholds in 2 directions, each at"
        f" β/{2 * len(ranks)}"
    )
    return replace(best, confidence=1 - beta, notes=(note,))


def _ranks(runs: int, size: int) -> Integers:
    """Ranks evenly spaced in log odds: as dense next to either end as FPR and FNR need."""
    places = (2 * np.arange(size) + 1) / size - 1
    shares = special.expit(np.log(runs) * places)
    return np.unique(np.clip(np.rint(shares * (runs + 1)), 1, runs).astype(np.int64))


def _at_rank(arms: _Arms, rank: int) -> _Counts:
    """Errors at the score of this rank from the top among those without the record.

    The share of such runs above it is distributed as Beta(rank, runs − rank + 1), or lies below
    where scores tie: that is Clopper's and Pearson's limit of rank − 1 errors, exactly. Given the
    threshold, in which the runs with the record had no part, their errors are binomial.
    """
    threshold = float(np.partition(arms.without, -rank)[-rank])
    return arms.above(threshold)._replace(false_positives=rank - 1)


def _direction(turned: bool) -> str:
    return "scores below" if turned else "scores above"


MOST_RUNS: Final = 1_000_000
POWER: Final = 0.95
_FEWEST_RUNS: Final = 20
_STEP: Final = 1.15


def runs_to_refute(mu: float, claim: Guarantee, *, beta: float, counted: float = 0.8) -> int | None:
    """Runs in each world after which Gaussian worlds at distance μ refute ε with power 0.95.

    ``counted`` is the share of the runs that is left after others chose the threshold. The bound is
    Clopper's and Pearson's, for every mechanism; None stands for more than a million runs, or for a
    μ that allows the claim.

    >>> claim = Guarantee(epsilon=2.0, delta=1e-5, relation="add-remove")
    >>> [runs_to_refute(share * 0.502, claim, beta=0.05) for share in (1, 2, 4)]
    [None, 24578, 565]
    """
    distance, share = (
        validation.non_negative("mu", mu),
        validation.open_probability("counted", counted),
    )
    tail = checked_beta(beta) / 2
    thresholds = np.linspace(-4.0, distance + 4.0, 400)
    rates = stats.norm.sf(thresholds), stats.norm.cdf(thresholds - distance)
    runs = _FEWEST_RUNS
    while runs <= MOST_RUNS:
        left = round(share * runs)
        # Errors above these happen with probability (1 − power)/2 each.
        errors = [stats.binom.ppf((1 + POWER) / 2, left, rate) for rate in rates]
        fpr, fnr = (error_counts.highest_rate(count_of, left, tail) for count_of in errors)
        if float(error_counts.log_ratio(fpr, fnr, claim.delta).max()) > claim.epsilon:
            return runs
        runs = round(_STEP * runs)
    return None


def could_refute(measured: LowerBound, claim: Guarantee) -> bool:
    """Whether so many counted runs can refute the claim at all: without a single error.

    Where they cannot, that a claim was not refuted says nothing.

    >>> claim = Guarantee(epsilon=2.0, delta=1e-5, relation="add-remove")
    >>> bounds = [
    ...     error_counts.clopper_pearson_epsilon(9, runs, 9, runs, delta=1e-5, beta=0.05)
    ...     for runs in (24, 48)
    ... ]
    >>> [could_refute(bound, claim) for bound in bounds]
    [False, True]
    """
    counts = measured.evidence
    if not isinstance(counts, ErrorCounts):
        raise validation.InputError("measured must be a bound from many runs, got one from guesses")
    best = error_counts.clopper_pearson_epsilon(
        0,
        counts.runs_without,
        0,
        counts.runs_with,
        delta=measured.delta,
        beta=1 - measured.confidence,
    )
    return best.epsilon > claim.epsilon


def fewest_runs(claim: Guarantee, *, beta: float, counted: float, most: int) -> int | None:
    """Runs in each world with which the claim can be refuted at all; None where ``most`` cannot.

    ``counted`` is their share that does not choose the threshold.

    >>> claim = Guarantee(epsilon=1.0, delta=1e-5, relation="add-remove")
    >>> fewest_runs(claim, beta=0.05, counted=0.8, most=100)
    15
    """
    for runs in range(1, most + 1):
        left = runs - round((1 - counted) * runs)
        best = error_counts.clopper_pearson_epsilon(0, left, 0, left, delta=claim.delta, beta=beta)
        if best.epsilon > claim.epsilon:
            return runs
    return None
