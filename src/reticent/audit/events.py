"""Events that tell runs on one input from runs on another, learnt from a part of the runs.

A scorer gives each output a number that is higher the more the output looks like one of the other
input. Which numbers are high enough, and which scorer is best, is decided on runs that no scorer
has learnt from. (DP-Sniper, Bichsel et al. 2021, learns one classifier on the values.)

- ``repeated``: how often the very output came from either input; any outputs that can be compared.
- ``linear``: logistic regression on all numbers of an output.
- ``trees``: gradient boosting on numbers of an output and on summaries of all of them.
- ``bits``: the same with the lowest bits of floats beside them.
- ``laplace``, ``logistic``: whether textbook noise in floats could have led to the output at all.

What textbook noise in floating point tells beside its value: the privacy of noise is proven for
real numbers. A float v + noise carries more (Mironov 2012):

- The lowest bit. Noise near −v is a coarser float the larger v is, so v + noise next to 0 is a
  multiple of a power of 2 that depends on v, and other outputs cannot come from v at all.
- The sampler's uniform number. Laplace noise b·log(k/2⁵³) and logistic noise b·log(k/(2⁵³ − k))
  leave gaps between whole k. Where a gap is wider than the rounding of the output, the k that an
  output asks for is next to a whole number if v was the answer, and anywhere else if not.

The second needs the scale b; the textbook's Δ₁/ε is tried.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import special

from reticent.arrays import Flags, Floats, Integers
from reticent.audit.outputs import Answers, Outputs

_BITS: Final = 53
"""Of a float, and of the uniform numbers that samplers begin with."""
_ROUNDINGS: Final = 1.5
"""Relative roundings, of half a unit at most, between a uniform number and its noise."""
_NEARBY: Final = 16
"""Whole k next to the one that exact arithmetic asks for: rounding moves it by a few."""
_RESOLVED: Final = 0.25
"""Of the distance between whole numbers: an error below it leaves something to see."""


def lowest_bits(values: Floats) -> Floats:
    """The exponent of the lowest bit of each float: the largest power of 2 that divides it.

    >>> lowest_bits(np.array([1.0, 6.0, 0.375, 0.0]))  # 2⁰, 2¹, 2⁻³; everything divides 0
    array([ 0.,  1., -3., nan])
    """
    mantissas, exponents = np.frexp(np.where(np.isfinite(values), values, 0.0))
    whole = np.abs(mantissas * 2.0**_BITS).astype(np.int64)
    _, places = np.frexp((whole & -whole).astype(np.float64))
    return np.where(whole > 0, exponents - _BITS + places - 1.0, np.nan)


def laplace_misfits(outputs: Floats, answer: Floats, scale: float) -> Floats:
    """How far from a whole number the k of each output is, in multiples of its rounding error.

    At most about 1 if the output is ``answer`` plus Laplace noise of this scale from 53 random
    bits, any number otherwise; 0 where rounding hides it.
    """
    return _misfits(outputs, answer, scale, lambda size: np.exp(-size))


def logistic_misfits(outputs: Floats, answer: Floats, scale: float) -> Floats:
    """The same for logistic noise."""
    return _misfits(outputs, answer, scale, lambda size: special.expit(-size))


def _misfits(
    outputs: Floats, answer: Floats, scale: float, tail: Callable[[Floats], Floats]
) -> Floats:
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.abs(outputs - answer) / scale
        asked = 2.0**_BITS * tail(size)
        rounding = np.spacing(np.abs(outputs)) / 2 / scale
        error = asked * (rounding + _ROUNDINGS * 2.0**-_BITS * (1 + size))
        misfits = np.abs(asked - np.rint(asked)) / error
    return np.where((asked >= 1) & (error < _RESOLVED), misfits, 0.0)


def reached_by_logistic(outputs: Floats, answer: float, scale: float) -> Flags:
    """Whether answer + scale·log(u/(1 − u)) in floats is the very output for some u = k/2⁵³.

    >>> rng = np.random.default_rng(0)
    >>> u = rng.integers(1, 2**53, size=1000) / 2**53
    >>> outputs = 0.0 + np.log(u / (1 - u))
    >>> bool(reached_by_logistic(outputs, 0.0, 1.0).all())
    True
    >>> bool(reached_by_logistic(outputs, 1.0, 1.0).mean() < 0.3)
    True
    """
    asked = np.rint(2.0**_BITS * special.expit((outputs - answer) / scale))
    nearby = asked[:, None] + np.arange(-_NEARBY, _NEARBY + 1)
    u = np.clip(nearby, 1.0, 2.0**_BITS - 1) / 2.0**_BITS
    matches = answer + scale * np.log(u / (1 - u)) == outputs[:, None]
    return np.asarray(matches.any(axis=1))


_COORDINATES: Final = 8
"""So many numbers of an output are looked at one by one, those that differ most."""
_FARTHEST: Final = 30.0
"""In interquartile ranges: beyond it, outliers would rule a linear score."""
_MISFIT: Final = 10.0


@dataclass(frozen=True, kw_only=True)
class Scorer:
    """A name, what it looks at, and a number for each output."""

    name: str
    looks_at: str
    scores: Callable[[Outputs], Floats]


def scorers(
    on_one: Outputs, on_other: Outputs, answers: Answers | None, seed: int
) -> Iterator[Scorer]:
    """All that make sense for such outputs.

    Args:
        on_one: Outputs to learn from, on one input.
        on_other: On the other.
        answers: The outputs without noise, where they are known.
        seed: Of the boosting.
    """
    learnt = on_one.joined(on_other)
    other = np.repeat([False, True], [len(on_one), len(on_other)])
    if len(np.unique(learnt.codes)) < len(learnt):
        yield _repeated(learnt, other)
    if learnt.values is not None and not np.isnan(learnt.values).all():
        yield _linear(learnt.values, other)
        shown = _differing(learnt.values, other)
        yield _trees(learnt, other, shown, seed)
        if (np.isfinite(learnt.values) & (np.rint(learnt.values) != learnt.values)).any():
            yield _bits(learnt, other, shown, answers, seed)
            if answers is not None and answers.scale is not None:
                yield from _samplers(answers, answers.scale)


def _repeated(learnt: Outputs, other: Flags) -> Scorer:
    size = int(learnt.codes.max()) + 1
    seen = [np.bincount(learnt.codes[side], minlength=size) for side in (~other, other)]
    ratios = np.log((seen[1] + 0.5) / (seen[0] + 0.5))

    def scores(outputs: Outputs) -> Floats:
        known = outputs.codes < size
        return np.where(known, ratios[np.where(known, outputs.codes, 0)], 0.0)

    return Scorer(name="repeated", looks_at="how often the very output occurs", scores=scores)


def _linear(values: Floats, other: Flags) -> Scorer:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    low, middle, high = np.nanpercentile(values, (25, 50, 75), axis=0)
    spread = np.where(high > low, high - low, 1.0)

    def standard(rows: Floats) -> Floats:
        scaled = np.clip((rows - middle) / spread, -_FARTHEST, _FARTHEST)
        return np.asarray(np.nan_to_num(scaled, copy=False))

    with warnings.catch_warnings():
        # A direction that is nearly the best one serves as well.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression().fit(standard(values), other)
    return Scorer(
        name="linear",
        looks_at="a weighted sum of the output's numbers",
        scores=lambda outputs: np.asarray(model.decision_function(standard(_rows(outputs)))),
    )


def _trees(learnt: Outputs, other: Flags, shown: Integers, seed: int) -> Scorer:
    def features(outputs: Outputs) -> Floats:
        rows = _rows(outputs)
        return np.concatenate([rows[:, shown], *_summaries(rows)], axis=1)

    return Scorer(
        name="trees",
        looks_at="the output's numbers",
        scores=_boosted(learnt, other, features, seed),
    )


def _bits(
    learnt: Outputs, other: Flags, shown: Integers, answers: Answers | None, seed: int
) -> Scorer:
    def features(outputs: Outputs) -> Floats:
        rows = _rows(outputs)
        known = () if answers is None else (answers.one, answers.other)
        # A residual is exact next to the answer (Sterbenz), and has the noise's own lowest bit.
        bits = [lowest_bits(rows), *(lowest_bits(rows - answer) for answer in known)]
        shown_bits = [part[:, shown] for part in bits]
        return np.concatenate([rows[:, shown], *shown_bits, *map(_least, bits)], axis=1)

    return Scorer(
        name="bits",
        looks_at="the output's numbers and their lowest bits",
        scores=_boosted(learnt, other, features, seed),
    )


def _samplers(answers: Answers, scale: float) -> Iterator[Scorer]:
    def scorer(name: str, misfits: Callable[[Floats, Floats, float], Floats]) -> Scorer:
        def scores(outputs: Outputs) -> Floats:
            rows = _rows(outputs)
            worst = [
                np.minimum(misfits(rows, answer, scale).max(axis=1), _MISFIT)
                for answer in (answers.one, answers.other)
            ]
            return np.asarray(worst[0] - worst[1])

        return Scorer(
            name=name,
            looks_at=f"whether {name} noise from 53 random bits leads to the very float",
            scores=scores,
        )

    yield scorer("laplace", laplace_misfits)
    yield scorer("logistic", logistic_misfits)


def _boosted(
    learnt: Outputs, other: Flags, features: Callable[[Outputs], Floats], seed: int
) -> Callable[[Outputs], Floats]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=50, max_leaf_nodes=15, min_samples_leaf=20, early_stopping=False, random_state=seed
    )
    rows = features(learnt)
    informative = ~np.isnan(rows).all(axis=0)  # a number that is always zero has no lowest bit
    model.fit(rows[:, informative], other)
    return lambda outputs: np.asarray(model.decision_function(features(outputs)[:, informative]))


def _differing(values: Floats, other: Flags) -> Integers:
    """The coordinates whose mean or spread differs most between the inputs."""
    one, two = (np.nan_to_num(values[side]) for side in (~other, other))
    spreads = one.std(axis=0), two.std(axis=0)
    scale = np.maximum(*spreads)
    shift = np.maximum(np.abs(two.mean(axis=0) - one.mean(axis=0)), np.abs(np.subtract(*spreads)))
    distance = shift / np.where(scale > 0, scale, 1.0)
    return np.sort(np.argsort(-distance, kind="stable")[:_COORDINATES])


def _summaries(rows: Floats) -> list[Floats]:
    """Of all numbers of an output; nothing new where there is one."""
    if rows.shape[1] == 1:
        return []
    columns: list[Any] = [rows.sum(axis=1), np.abs(rows).sum(axis=1), rows.min(axis=1)]
    columns += [rows.max(axis=1), (rows == 0).sum(axis=1), (rows**2).sum(axis=1)]
    return [np.stack(columns, axis=1)]


def _least(bits: Floats) -> Floats:
    """The lowest of all numbers of an output."""
    return np.asarray(np.where(np.isnan(bits), np.inf, bits).min(axis=1, keepdims=True))


def _rows(outputs: Outputs) -> Floats:
    if outputs.values is None:
        raise TypeError("these outputs have no numbers")
    return outputs.values
