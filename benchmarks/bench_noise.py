"""What a draw of noise costs: ours, numpy's that leak, a plain loop, and OpenDP's."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import opendp.prelude as dp

from benchmarks.harness import Result, best_of
from reticent.mechanisms.integer_noise import discrete_gaussian, discrete_laplace, discrete_logistic
from reticent.mechanisms.rounded import (
    noisy_argmax_exponential,
    noisy_argmax_gumbel,
    rounded_gaussian,
    rounded_l2_laplace,
    rounded_laplace,
    rounded_logistic,
)
from reticent.randomness import seeded

NAME = "noise"
TITLE = "Noise: nanoseconds per draw"

LENGTH = 100_000
CLASSES = 10
REFERENCE = "numpy logistic"
RIVAL = "OpenDP Laplace"

Draw = Callable[[], object]


def run(quick: bool) -> Result:
    """Every sampler on vectors of 100,000 values; medians, interleaved in one run."""
    length = LENGTH // 20 if quick else LENGTH
    rounds = 1 if quick else 7
    draws = {name: (draw, repeats) for name, draw, repeats in samplers(length)}
    seconds: dict[str, list[float]] = {name: [] for name in draws}
    for _ in range(rounds):  # all of them in each round: the machine's mood changes
        for name, (draw, repeats) in draws.items():
            seconds[name].append(best_of(draw, repeats).median)
    cost = {name: 1e9 * float(np.median(found)) / length for name, found in seconds.items()}
    return Result(
        columns=["sampler", "ns per draw", f"÷ {REFERENCE}", f"{RIVAL} ÷ this"],
        rows=[[name, ns, ns / cost[REFERENCE], cost[RIVAL] / ns] for name, ns in cost.items()],
        note=(
            f"Vectors of {length:,} values. numpy's samplers and the loop are seeded and leak "
            "through floating point; all others take the system's randomness. A selection counts "
            f"each of its {CLASSES} candidates as a draw."
        ),
    )


def samplers(length: int) -> list[tuple[str, Draw, int]]:
    """Name, one vector of draws, and how often to repeat it in a round."""
    zeros = np.zeros(length)
    rows = zeros.reshape(-1, CLASSES)
    rng = seeded("benchmark of noise")
    return [
        (REFERENCE, lambda: rng.logistic(size=length), 15),
        ("numpy Laplace", lambda: rng.laplace(size=length), 15),
        ("numpy Gaussian", lambda: rng.normal(size=length), 15),
        ("plain Python loop, logistic", lambda: plain_loop(rng, length), 2),
        (RIVAL, open_dp_laplace(length), 1),
        ("rounded logistic", lambda: rounded_logistic(zeros, scale=1.0), 15),
        ("rounded Laplace", lambda: rounded_laplace(zeros, scale=1.0), 15),
        ("rounded Gaussian", lambda: rounded_gaussian(zeros, scale=1.0), 15),
        ("rounded L2-Laplace", lambda: rounded_l2_laplace(zeros, scale=1.0), 15),
        ("exponential mechanism", lambda: noisy_argmax_gumbel(rows, scale=1.0), 15),
        ("permute-and-flip", lambda: noisy_argmax_exponential(rows, scale=1.0), 15),
        ("discrete Laplace", lambda: discrete_laplace(length, scale=Fraction(10)), 3),
        ("discrete logistic", lambda: discrete_logistic(length, scale=Fraction(10)), 3),
        ("discrete Gaussian", lambda: discrete_gaussian(length, variance=Fraction(100)), 3),
    ]


def plain_loop(rng: np.random.Generator, length: int) -> list[float]:
    """What a script would do, number by number."""
    uniforms = (rng.random() for _ in range(length))
    return [math.log(u / (1 - u)) for u in uniforms]


def open_dp_laplace(length: int) -> Draw:
    """OpenDP's vector Laplace mechanism over floats."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    mechanism = dp.m.make_laplace(*space, scale=1.0)
    zeros = [0.0] * length
    return lambda: mechanism(zeros)
