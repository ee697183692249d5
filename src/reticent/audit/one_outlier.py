"""Algorithm 2 of the ALM paper on records of which one is unlike the others.

Pairs d∖i, d∖j are drawn from the data themselves. 500 pairs out of 10,000 records touch any one
record with probability .095, so the noise is calibrated to records that resemble each other, and
the one that does not is not protected. Its owner is whom a guarantee is for.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from reticent.arrays import Array, Floats
from reticent.audit.pairs import WorstPair, audit_pair
from reticent.audit.release_audit import ReleaseAudit
from reticent.data import load
from reticent.guarantee import Guarantee, Sensitivity, rounding
from reticent.mechanisms import AdditiveMechanism, registry
from reticent.neighbours import LeaveOneOut, published_of
from reticent.randomness import seeded
from reticent.training import SoftmaxHead
from reticent.validation import InputError, count

RECORDS: Final = 10_000
PAIRS: Final = 500
"""Of the paper."""
LARGEST_NORM: Final = 8.0
"""Of 64 pixels in [0, 1]: public, and no digit is clipped."""
PENALTY: Final = 1e-3
_TREMBLE: Final = 0.05


@dataclass(frozen=True, kw_only=True)
class Outlier:
    """Digits, the last of which is a photographic negative of one, and their head."""

    rows: Floats
    labels: Array
    head: SoftmaxHead

    @property
    def place(self) -> int:
        """The row of the outlier among the records."""
        return len(self.rows) - 1


@dataclass(frozen=True, kw_only=True)
class OneOutlier:
    """What Algorithm 2 found, what it claims with that, and the audit of the claim."""

    records: int
    pairs: int
    sensitivity: Sensitivity
    audit: ReleaseAudit

    @property
    def chance_to_miss(self) -> float:
        """(1 − 1/n)^2m: no pair touches the outlier."""
        return (1 - 1 / self.records) ** (2 * self.pairs)

    @property
    def words(self) -> tuple[str, ...]:
        """What happened, a sentence each, for a page."""
        claim = self.audit.claim
        sign = "=" if self.audit.exact else "≤"
        return (
            f"{self.pairs} pairs were drawn out of {self.records:,} records; none touched the one"
            f" outlier, which happens with probability {self.chance_to_miss:.3f}.",
            f"The outlier moves the head {self.audit.tightness:.2f} times as far as the sensitivity"
            " that was found.",
            f"Claimed ({claim.grade}): ε = {claim.epsilon:.3g} at δ ="
            f" {rounding.upper_text(claim.delta)}. For the outlier ε {sign}"
            f" {self.audit.analytic:.3g};"
            f" measured: {self.audit.measured}.",
            f"The claim is {self.audit.verdict}.",
        )


def one_outlier(  # noqa: PLR0913 - the size of the data, the claim, and how hard to look
    *,
    records: int = RECORDS,
    pairs: int = PAIRS,
    mechanism: str = "gaussian",
    epsilon: float = 1.0,
    delta: float = 1e-5,
    beta: float = 1e-6,
    runs: int = 10_000,
    seed: int = 0,
) -> OneOutlier:
    """Calibrate noise with Algorithm 2 where no pair touches the outlier, and audit the claim.

    Args:
        records: n, digits with a trembling hand and one negative among them.
        pairs: m of Algorithm 2.
        mechanism: gaussian, logistic, laplace or l2-laplace.
        epsilon: Claimed.
        delta: Claimed; 0 for noise that is pure.
        beta: The probability with which the measured bound may be wrong.
        runs: Releases of either head.
        seed: Of the data and of the pairs.
    """
    data = outlier_data(records, seed=seed)
    solver = LeaveOneOut(data.head, data.rows, data.labels)
    drawn = _missing_seed(data.place, pairs, seed)
    sensitivity = published_of(solver, pairs=pairs, seed=drawn, measured="coordinates")
    noise: AdditiveMechanism = registry.MECHANISMS.named(mechanism).calibrate(
        sensitivity, epsilon=epsilon, delta=delta
    )
    claim: Guarantee = noise.guarantee(delta=delta)
    audit = audit_pair(noise, _worlds(solver, data.place), claim, beta=beta, runs=runs)
    return OneOutlier(records=records, pairs=pairs, sensitivity=sensitivity, audit=audit)


def outlier_data(records: int = RECORDS, *, seed: int = 0) -> Outlier:
    """Digits drawn again and again with noise on their ink, and one negative of a 0."""
    total = count("records", records, at_least=100)
    digits = load("digits")
    pixels, labels = digits.features.astype(np.float64), np.asarray(digits.labels)
    rng = seeded("one outlier", count("seed", seed, at_least=0))
    chosen = rng.integers(len(pixels), size=total - 1)
    inked = pixels.max(axis=0) > 0
    trembling = pixels[chosen] + _TREMBLE * rng.normal(size=(total - 1, len(inked))) * inked
    zero = int(np.flatnonzero(labels == 0)[0])
    rows = np.vstack([np.clip(trembling, 0.0, 1.0), 1 - pixels[zero]])
    names = np.append(labels[chosen], 0)
    head = SoftmaxHead(
        penalty=PENALTY, bound=LARGEST_NORM, classes=range(10), records=total, intercept=0.1
    )
    return Outlier(rows=rows, labels=names, head=head.fit(rows, names))


def _missing_seed(place: int, pairs: int, seed: int) -> int:
    """The first seed of Algorithm 2 from this one on whose pairs do not touch the outlier."""
    chance = math.exp(-2 * count("pairs", pairs) / (place + 1))
    if chance < 0.01:
        raise InputError(f"pairs must leave a chance to miss one record, got {pairs}")
    while (seeded("Algorithm 2", seed).integers(place + 1, size=(pairs, 2)) == place).any():
        seed += 1
    return seed


def _worlds(solver: LeaveOneOut, outlier: int) -> WorstPair:
    """The data without an ordinary record, and without the outlier: neighbours by replacement."""
    full = solver.coordinates.ravel()
    shifts = solver.without([0, outlier]).coordinates.reshape(2, -1)
    return WorstPair(
        absent=full + shifts[1],
        present=full + shifts[0],
        kind="without the outlier, and without another record",
    )
