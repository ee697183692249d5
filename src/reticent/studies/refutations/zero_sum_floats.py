"""Zero-sum noise on all C·d weights in floats: the exact column sums tell the data set."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from reticent.arrays import Floats, Integers
from reticent.attacks.released_weights import noise_of
from reticent.audit import function_runs, mechanism, release
from reticent.data import load
from reticent.guarantee import Grade, Relation
from reticent.mechanisms import AdditiveMechanism
from reticent.protect import Release, release_weights
from reticent.protect.published import zero_sum_floats
from reticent.randomness import seeded
from reticent.results.table import Table
from reticent.studies.refutations.rows import BETA, function_row, refutation_table, release_row
from reticent.training import SoftmaxHead, softmax

RECORDS: Final = 300
CLASSES: Final = 10
EPSILON, DELTA = 1.0, 1e-5
RUNS: Final = 5_000
_WHOLE: Final = 2.0**60
"""Sums of roundings become numbers of ordinary size; a power of 2 changes no bit."""


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """Heads of the first digits with the first record and without it, and a proven release."""

    rows: Floats
    labels: Integers
    absent: SoftmaxHead
    present: SoftmaxHead

    def released(self) -> Release:
        """The release on all records."""
        return release_weights(
            self.present, epsilon=EPSILON, delta=DELTA, relation=Relation.ADD_REMOVE
        )


def neighbours() -> Neighbours:
    """Two neighbouring data sets of real digits."""
    digits = load("digits")
    rows = digits.features.astype(np.float64)[:RECORDS]
    labels = np.asarray(digits.labels)[:RECORDS]
    absent, present = (_fitted(rows[first:], labels[first:]) for first in (1, 0))
    return Neighbours(rows=rows, labels=labels, absent=absent, present=present)


def _fitted(rows: Floats, labels: Integers) -> SoftmaxHead:
    head = SoftmaxHead(
        penalty=0.1, bound=1.0, classes=range(CLASSES), records=RECORDS, norms="scale"
    )
    return head.fit(rows, labels)


def audit_careless(worlds: Neighbours, noise: AdditiveMechanism) -> mechanism.FunctionAudit:
    """W + projected noise, looked at through its exact column sums."""

    def sums(weights: Floats, runs: int) -> Floats:
        return (
            zero_sum_floats.exact_column_sums(
                zero_sum_floats.careless_releases(weights, noise, runs)
            )
            * _WHOLE
        )

    return _audit(worlds.absent.weights_, worlds.present.weights_, sums)


def audit_basis(worlds: Neighbours, noise: AdditiveMechanism) -> mechanism.FunctionAudit:
    """The same sums of W = U·V, where V is what was noised."""
    basis = softmax.zero_sum_basis(CLASSES)

    def sums(coordinates: Floats, runs: int) -> Floats:
        released = noise.release(np.tile(coordinates, (runs, 1, 1)))
        return zero_sum_floats.exact_column_sums(basis @ released) * _WHOLE

    return _audit(worlds.absent.coordinates_, worlds.present.coordinates_, sums)


def _audit(one: Floats, other: Floats, sums: function_runs.Many) -> mechanism.FunctionAudit:
    return mechanism.audit_function(
        None, one, other, epsilon=EPSILON, delta=DELTA, many=sums, runs=RUNS, beta=BETA
    )


def nonzero_share(noise: AdditiveMechanism, *, columns: int = 20_000) -> float:
    """Of columns of projected float noise, those whose exact sum is not 0."""
    floats = noise.with_float_noise(seeded("projected noise"))
    return float(
        (
            zero_sum_floats.exact_column_sums(
                zero_sum_floats.projected_noise(floats, (CLASSES, columns))
            )
            != 0
        ).mean()
    )


def refutation() -> Table:
    """Zero-sum noise on all weights of a head, in floats: exact column sums leak.

    All C·d weights in floats beside coordinates in a basis, at the same scale.
    """
    worlds = neighbours()
    released = worlds.released()
    noise = noise_of(released)
    audit = release.audit_release(released, worlds.rows, worlds.labels, beta=BETA, runs=2_000)
    return refutation_table(
        "zero-sum noise on C·d floats",
        [
            function_row(
                "gaussian noise projected to zero column sums, added to W",
                Grade.DECLARED,
                audit_careless(worlds, noise),
            ),
            function_row(
                "release_weights, the same event", Grade.PROVEN, audit_basis(worlds, noise)
            ),
            release_row("release_weights, the released coordinates", audit),
        ],
        "Grade declared: in real numbers the claim is that of release_weights. In floats"
        f" {100 * nonzero_share(noise):.0f} % of the columns of projected noise (95 % by theory)"
        " have an exact sum other than 0, and so has W itself: the sums of released columns are W's"
        " own, without noise, plus roundings. The event looks at exact sums (math.fsum) of 65"
        " columns; the noise is correctly rounded before it is projected, so nothing else leaks.",
        "The counterpart noises coordinates in a fixed basis and computes W from them.",
    )
