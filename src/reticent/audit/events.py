"""Events that tell runs on one input from runs on another, learnt from a part of the runs.

A scorer gives each output a number that is higher the more the output looks like one of the other
input. Which numbers are high enough, and which scorer is best, is decided on runs that no scorer
has learnt from. (DP-Sniper, Bichsel et al. 2021, learns one classifier on the values.)

- ``repeated``: how often the very output came from either input; any outputs that can be compared.
- ``linear``: logistic regression on all numbers of an output.
- ``trees``: gradient boosting on numbers of an output and on summaries of all of them.
- ``bits``: the same with the lowest bits of floats beside them (``reticent.audit.support``).
- ``laplace``, ``logistic``: whether textbook noise in floats could have led to the output at all.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from reticent.arrays import Flags, Floats, Integers
from reticent.audit.outputs import Answers, Outputs
from reticent.audit.support import laplace_misfits, logistic_misfits, lowest_bits

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
        found: Floats = np.where(known, ratios[np.where(known, outputs.codes, 0)], 0.0)
        return found

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
    told = ~np.isnan(rows).all(axis=0)  # a number that is always zero has no lowest bit
    model.fit(rows[:, told], other)
    return lambda outputs: np.asarray(model.decision_function(features(outputs)[:, told]))


def _differing(values: Floats, other: Flags) -> Integers:
    """The coordinates whose mean or spread differs most between the inputs."""
    one, two = (np.nan_to_num(values[side]) for side in (~other, other))
    spreads = one.std(axis=0), two.std(axis=0)
    scale = np.maximum(*spreads)
    moved = np.maximum(np.abs(two.mean(axis=0) - one.mean(axis=0)), np.abs(np.subtract(*spreads)))
    distance = moved / np.where(scale > 0, scale, 1.0)
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
