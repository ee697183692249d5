"""Textbook noise in float64: the right law on the line, the wrong floats."""

from typing import Final

import numpy as np

from reticent.audit.events import reached_by_logistic
from reticent.audit.mechanism import FunctionAudit, audit_function
from reticent.guarantee import Grade, Sensitivity
from reticent.mechanisms import AdditiveMechanism, FloatNoise, Laplace, Logistic
from reticent.randomness import seeded
from reticent.results.table import Table
from reticent.studies.refutations.rows import BETA, function_row, refutation_table

EPSILON: Final = 1.0
RUNS: Final = 40_000
KINDS: Final[tuple[type[AdditiveMechanism], ...]] = (Logistic, Laplace)


def calibrated(kind: type[AdditiveMechanism]) -> AdditiveMechanism:
    """Noise for a count at ε = 1."""
    return kind.calibrate(Sensitivity(l1=1.0, source="a count"), epsilon=EPSILON, delta=0.0)


def naive(mechanism: AdditiveMechanism) -> FloatNoise:
    """x + s·log(u/(1 − u)), and its like for Laplace noise, as numpy computes them."""
    return mechanism.with_float_noise(seeded("noise in floats", mechanism.name))


def audit(noise: AdditiveMechanism | FloatNoise, *, runs: int = RUNS) -> FunctionAudit:
    """A count of 0 beside a count of 1."""
    return audit_function(
        None,
        0.0,
        1.0,
        epsilon=EPSILON,
        delta=0.0,
        many=lambda answer, runs: noise.release(np.full(runs, answer)),
        runs=runs,
        beta=BETA,
    )


def impossible_share(outputs: int = 20_000) -> float:
    """Of the floats that come out for 0, those that no random number leads to from 1."""
    noise = calibrated(Logistic)
    drawn = naive(noise).release(np.zeros(outputs))
    return float(1 - reached_by_logistic(drawn, 1.0, noise.scale).mean())


def refutation() -> Table:
    """Textbook noise in float64: which floats come out tells the answer.

    Logistic and Laplace noise, naive and correctly rounded.
    """
    rows = []
    for kind in KINDS:
        noise = calibrated(kind)
        rows.append(
            function_row(f"{noise.name} noise in float64", Grade.DECLARED, audit(naive(noise)))
        )
        rows.append(
            function_row(f"reticent {noise.name}, rounded exactly", Grade.DECLARED, audit(noise))
        )
    return refutation_table(
        "textbook noise in floating point",
        rows,
        "Grade declared: the sensitivity of a count is 1, and the proof is about real numbers."
        f" {100 * impossible_share():.0f} % of the floats that come out for 0 (79 % by theory)"
        " cannot come out for 1: u has 53 bits, which leave gaps, and floats near 0 have finer ones"
        " (Mironov 2012).",
        "The counterpart is the grid point nearest to value + noise in exact arithmetic:"
        " post-processing of ideal noise.",
    )
