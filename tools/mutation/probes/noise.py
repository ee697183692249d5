"""Samplers as functions of fixed random words: noise, its error bounds, releases, choices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent import randomness
from reticent.guarantee import Sensitivity
from reticent.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteLogistic,
    Exponential,
    Gaussian,
    L2Laplace,
    Laplace,
    Logistic,
    PermuteAndFlip,
    integer_noise,
)
from reticent.mechanisms.rounded import grid, kernels, l2_laplace, release
from tools.mutation.probes.record import Figures, each

Words = NDArray[np.uint64]
PATTERN = 0x9E3779B97F4A7C15
EDGES = (0, 1, 2, 3, 2**12, 2**40 + 1, 2**62, 2**63 - 1, 2**63, 2**63 + 2**61, 2**64 - 2, 2**64 - 1)
FILLS = ("logistic_noise", "exponential_noise", "laplace_noise", "gumbel_noise", "gaussian_noise")
SENSITIVITY = Sensitivity(l1=1.0, l2=1.0, linf=1.0)


@contextmanager
def fixed_key() -> Iterator[None]:
    """Every stream of secure bits from one key: releases become functions of their values."""
    kept = vars(randomness)["os"]
    vars(randomness)["os"] = _FixedKey()
    try:
        yield
    finally:
        vars(randomness)["os"] = kept


class _FixedKey:
    """What ``randomness`` needs of the operating system."""

    def urandom(self, size: int) -> bytes:
        return bytes(range(size))

    def getpid(self) -> int:
        return 1


def fill(figures: Figures) -> None:
    """All figures of the samplers."""
    words = _words(64)
    for name in FILLS:
        figures.add(name, _drawn, getattr(kernels, name), words)
    numbers = [1.0, 3.0, 2.0**30 + 1, 2.0**52 - 1, 2.0**53 - 1]
    for m in numbers:
        figures.add(f"log_ratio {m}", each, partial(kernels.log_ratio, m), numbers)
    figures.add("midpoint", each, kernels.midpoint, words)
    figures.add("quarter_turn", each, kernels.quarter_turn, numbers)
    _grids(figures)
    _blocks(figures)
    _rows(figures)
    _integers(figures)
    with fixed_key():
        _discrete(figures)
        _releases(figures)


def _words(count: int) -> Words:
    rng = np.random.default_rng(11)
    drawn = rng.integers(2**64, size=count - len(EDGES), dtype=np.uint64)
    return np.concatenate([np.array(EDGES, dtype=np.uint64), drawn])


def _drawn(kernel: Callable[..., None], words: Words) -> object:
    noise, error = np.empty(words.size), np.empty(words.size)
    kernel(words, noise, error)
    return noise, error


def _extra(count: int) -> int:
    """Bits that follow, always the same."""
    return PATTERN >> (64 - count) if count < 64 else PATTERN


def _grids(figures: Figures) -> None:
    scales = (2.0**-931, 2.0**-930, 1e-9, 0.75, 1.0, 4096.0, 2.0**969, 2.0**970)
    steps = (None, 2.0**-961, 2.0**-12, 1.0, 3.0, 2.0**40, 2.0**961)
    for scale in scales:
        figures.add(f"default_grid {scale}", grid.default_grid, scale)
        for step in steps:
            figures.add(f"frame {scale}, {step}", grid.frame, scale, step)
            figures.add(f"saturation {scale}, {step}", grid.saturation, scale, step)
        for size in (0, 1, 9):
            figures.add(f"l2 grid {scale}, {size}", l2_laplace.l2_laplace_grid, scale, size)


def _blocks(figures: Figures) -> None:
    values = np.random.default_rng(12).normal(size=40) * np.repeat([0.0, 1.0, 1e3, 1e17], 10)
    words = _words(40)
    for step, caution in product((1.0, 2.0**-12, 2.0**-44), (1.0, np.inf)):
        frame = grid.frame(1.0, step)._replace(caution=caution)
        for name in ("LOGISTIC", "LAPLACE", "GAUSSIAN"):
            noise = getattr(release, name)
            at = f"release_block {name}, {step}, {caution}"
            figures.add(at, release.release_block, values, words, _extra, noise, frame)
        for size in (1, 2, 3, 8):
            pair = words[20 : 20 + size], words[30 : 30 + size + size % 2]
            part = values[10 : 10 + size]
            at = f"release_vector {size}, {step}, {caution}"
            figures.add(at, l2_laplace.release_vector, part, pair, _extra, frame)


def _rows(figures: Figures) -> None:
    rng = np.random.default_rng(13)
    scores = rng.normal(size=(12, 5))
    words = rng.integers(2**64, size=60, dtype=np.uint64)
    equal = np.full(10, 0x7123456789ABCDEF, dtype=np.uint64)
    far = np.array([[1e308, -1e308, 1e308]])
    select = release.select_rows
    for name in ("GUMBEL", "EXPONENTIAL"):
        noise = getattr(release, name)
        for scale in (1e-3, 0.3, 10.0):
            figures.add(f"rows {name}, {scale}", select, scores, words, _extra, noise, scale)
        figures.add(f"rows {name}, ties", select, np.zeros((2, 5)), equal, _counted(), noise, 1.0)
        figures.add(f"rows {name}, far", select, far, words[:3], _extra, noise, 1e-300)


def _counted() -> Callable[[int], int]:
    """Bits that differ from call to call."""
    calls = iter(range(1, 10**6))
    return lambda count: (next(calls) * PATTERN) % 2**count


def _integers(figures: Figures) -> None:
    stream = np.random.default_rng(14).integers(2**64, size=200_000, dtype=np.uint64)
    parameters: dict[str, list[Any]] = {
        "_fill_laplace": [(3, 1), (1, 4), (10**6, 7), (2**54, 3)],
        "_fill_logistic": [(3, 1), (1, 4), (10**6, 7)],
        "_fill_gaussian": [(2, 3, 1), (1, 1, 9), (400, 160_000, 1), (5, 81, 4)],
    }
    for name, many in parameters.items():
        for given in many:
            figures.add(f"{name} {given}", _filled, getattr(integer_noise, name), given, stream)


def _filled(fill: Any, parameters: Any, stream: Words) -> object:
    """Sixty draws from tapes of 40 words and more."""
    place = iter(range(0, stream.size, 40))

    def words(count: int) -> Words:
        start = next(place) if count else 0
        return stream[start : start + min(count, 40)]

    out = np.empty(60, dtype=np.int64)
    integer_noise.fill_from(words, out, fill, parameters)
    return out


def _discrete(figures: Figures) -> None:
    for scale in (Fraction(7, 3), Fraction(1, 9), Fraction(2**54, 1), Fraction(2**54 + 1, 1)):
        for sampler in (integer_noise.discrete_laplace, integer_noise.discrete_logistic):
            figures.add(f"{sampler.__name__} {scale}", sampler, (2, 30), scale=scale)
    for variance in (Fraction(7, 3), Fraction(1, 9), Fraction(10**8), Fraction(2**61)):
        at = f"discrete_gaussian {variance}"
        figures.add(at, integer_noise.discrete_gaussian, 60, variance=variance)


def _releases(figures: Figures) -> None:
    values = np.linspace(-3.0, 3.0, 35).reshape(5, 7)
    counts = np.arange(12).reshape(3, 4)
    additive: tuple[Any, ...] = (Gaussian, Laplace, Logistic, L2Laplace)
    discrete: tuple[Any, ...] = (DiscreteLaplace, DiscreteLogistic, DiscreteGaussian)
    choices: tuple[Any, ...] = (Exponential, PermuteAndFlip)
    for scale in (0.5, 12.0):
        for kind in additive:
            noise = kind(scale=scale, sensitivity=SENSITIVITY)
            figures.add(f"{kind.name} {scale} releases", noise.release, values)
            figures.add(f"{kind.name} {scale} on a grid", noise.release, values, grid=0.25)
        for kind in discrete:
            noise = kind(scale=scale, sensitivity=SENSITIVITY)
            figures.add(f"{kind.name} {scale} releases", noise.release, counts)
        for kind in choices:
            noise = kind(scale=scale, sensitivity=SENSITIVITY)
            figures.add(f"{kind.name} {scale} chooses", noise.release, values)
            figures.add(f"{kind.name} {scale} chooses one", noise.release, values[0])
    many = Logistic(scale=1.0, sensitivity=SENSITIVITY).release(np.zeros(release.BLOCK + 3))
    figures.add("a release of more than a block", many[-40:].tolist)
