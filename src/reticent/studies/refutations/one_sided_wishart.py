"""One Wishart matrix as noise: the support of what is released depends on the data."""

from typing import Final

import numpy as np

from reticent.arrays import Floats
from reticent.audit.function_runs import Many
from reticent.audit.mechanism import FunctionAudit, audit_function
from reticent.guarantee import Grade, Sensitivity
from reticent.mechanisms import MatrixLaplace, structured
from reticent.protect.published.one_sided_wishart import one_sided_releases
from reticent.randomness import seeded
from reticent.results.table import Table
from reticent.studies.refutations.rows import BETA, function_row, refutation_table

EPSILON: Final = 1.0
RUNS: Final = 2_000
RECORD: Final = np.array([2.0, 2.0, 1.0]) / 3
"""The one record of one world; the other has none."""


def excess(releases: Floats) -> Floats:
    """The smallest eigenvalue of what is left of releases without the record's x xᵀ."""
    left = np.linalg.eigvalsh(releases - np.outer(RECORD, RECORD))
    return np.asarray(left[:, :1])


def audit_one_sided() -> FunctionAudit:
    """T + W, looked at through the smallest eigenvalue: never below 0 where the record is."""
    generator = seeded("one-sided wishart")

    def many(moment: Floats, runs: int) -> Floats:
        return excess(one_sided_releases(moment, epsilon=EPSILON, runs=runs, generator=generator))

    return _audit(np.zeros((3, 3)), np.outer(RECORD, RECORD), many)


def audit_two_sided() -> FunctionAudit:
    """The same event of the matrix Laplace mechanism, as it releases."""
    noise = MatrixLaplace.calibrate(Sensitivity(nuclear=1.0), epsilon=EPSILON, delta=0.0)

    def many(moment: Floats, runs: int) -> Floats:
        entries = structured.upper_triangle(moment)
        return excess(
            structured.from_upper_triangle(np.stack([noise.release(entries) for _ in range(runs)]))
        )

    return _audit(np.zeros((3, 3)), np.outer(RECORD, RECORD), many)


def _audit(one: Floats, other: Floats, many: Many) -> FunctionAudit:
    return audit_function(
        None, one, other, epsilon=EPSILON, delta=0.0, many=many, runs=RUNS, beta=BETA
    )


def refutation() -> Table:
    """The Wishart mechanism: what can come out depends on the data.

    One Wishart matrix of noise beside the difference of two.
    """
    return refutation_table(
        "one Wishart matrix as noise",
        [
            function_row("T + W (Jiang et al. 2016)", Grade.PUBLISHED, audit_one_sided()),
            function_row("matrix-laplace, the same event", Grade.PROVEN, audit_two_sided()),
        ],
        "Grade published: T is the sum of x xᵀ over no record, or one. T + W ⪰ T: with the record"
        " the smallest eigenvalue of the output less x xᵀ is never negative, without it is with"
        " probability 1 − e^{−ε/3} = .28. So no ε holds, and the bound grows with the number of"
        " runs.",
        "The counterpart adds the difference of two such matrices: every output is possible in"
        " every world, and the density ratio is at most e^{ε·tr} (theory H.1).",
    )
