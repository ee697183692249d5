"""Weights released once beside an answer for each query: what ``plan --queries`` says, measured."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from reticent.arrays import Array
from reticent.guarantee import Relation
from reticent.protect import calibrated_answers, numbers_of, private_answers, release_weights
from reticent.protect.plan import Situation
from reticent.protect.plan_queries import EACH, ONCE, QueryAdvice, plan_queries
from reticent.studies.losses import bare
from reticent.studies.tasks import Task, task
from reticent.studies.trained import Outcome, Run, Table
from reticent.training import SoftmaxHead

_CLEAR = 1.25
"""Where the noises differ by more than this factor, the advice is expected to be borne out."""


@dataclass(frozen=True, kw_only=True)
class ServedQueries:
    """Every number is public and stood here before a query was asked."""

    on: str
    records: int
    epsilon: float
    delta: float
    queries: tuple[int, ...]
    weights: str
    """The noise of weights that are released once."""
    logits: str
    """The noise of answers with logits."""
    labels: str
    """The noise of answers with labels alone."""
    penalty: float = 0.03
    draws: int = 12
    seed: int = 0

    @property
    def budget(self) -> dict[str, Any]:
        """What every release is told."""
        return {"epsilon": self.epsilon, "delta": self.delta, "relation": Relation.ADD_REMOVE}

    def advice(self, data: Task, queries: int) -> QueryAdvice:
        """What ``plan --queries`` says, from public numbers alone."""
        situation = Situation(
            records=self.records,
            features=data.rows.shape[1],
            classes=len(data.private.classes),
            **self.budget,
        )
        return plan_queries(situation, queries)


SPECS: Mapping[str, tuple[ServedQueries, ...]] = {
    "digits": (
        ServedQueries(
            on="digits",
            records=1_400,
            epsilon=2.0,
            delta=0.0,
            queries=(1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 64),
            weights="l2-laplace",
            logits="l2-laplace",
            labels="permute-and-flip",
        ),
        ServedQueries(
            on="digits",
            records=1_400,
            epsilon=2.0,
            delta=1e-5,
            queries=(1, 2, 4, 8, 16, 64),
            weights="gaussian",
            logits="gaussian",
            labels="exponential",
        ),
    )
}
COLUMNS = (
    "k",
    "σ once",
    "σ logits",
    "σ labels",
    "once",
    "logits",
    "labels",
    "plan, logits",
    "seen",
    "plan, labels",
    "seen ",
)


def study(specs: tuple[ServedQueries, ...], run: Run) -> Outcome:
    """Weights once or an answer for each query: what `plan --queries` says, measured.

    One table for each budget.
    """
    run.steps.plan(sum(1 + 2 * len(spec.queries) for spec in specs))
    return Outcome(specifications=specs, tables=tuple(_table(spec, run) for spec in specs))


def _table(spec: ServedQueries, run: Run) -> Table:
    data = task(spec.on, records=spec.records, seed=spec.seed, folder=run.folder)
    head = _head(spec, data)
    free = float(np.mean(head.predict(data.queries) == data.truth))

    def cell(*key: object, draw: Callable[..., Array]) -> Any:
        drawn = partial(draw, spec, head, data, *key)
        return run.cell((spec, *(key or ("weights",))), _accuracies, spec, data, drawn)

    once = cell(draw=_released)
    rows = []
    for queries in spec.queries:
        each = [cell(queries, name, draw=_answered) for name in (spec.logits, spec.labels)]
        rows.append(_row(spec, data, queries, _stds(spec, head, queries), [once, *each]))
    return _shown(spec, data, rows, free)


def _head(spec: ServedQueries, data: Task) -> SoftmaxHead:
    head = SoftmaxHead(
        penalty=spec.penalty,
        classes=list(data.private.classes),
        records=spec.records,
        intercept=0.1,
        norms="scale",
    )
    return head.fit(data.rows, data.labels)


def _accuracies(spec: ServedQueries, data: Task, draw: Callable[[], Array]) -> list[float]:
    return [float(np.mean(draw() == data.truth)) for _ in range(spec.draws)]


def _released(spec: ServedQueries, head: SoftmaxHead, data: Task) -> Array:
    released = release_weights(head, mechanism=spec.weights, **spec.budget)
    return released.predict(data.queries)


def _answered(
    spec: ServedQueries, head: SoftmaxHead, data: Task, queries: int, mechanism: str
) -> Array:
    """Every query of the data once: so many of them share a budget, the next ones have another."""
    plan = calibrated_answers(numbers_of(head), queries=queries, mechanism=mechanism, **spec.budget)
    return np.concatenate(
        [
            private_answers(head, plan).ask(data.queries[start : start + queries]).labels
            for start in range(0, len(data.queries), queries)
        ]
    )


def _stds(spec: ServedQueries, head: SoftmaxHead, queries: int) -> list[float]:
    """On one logit of this head: by weights, by answers with logits, by labels."""
    public = numbers_of(head)
    released = release_weights(head, mechanism=spec.weights, **spec.budget)
    std_factor = math.sqrt(public.shape[0] * public.shape[1] + 1) if spec.delta == 0 else 1.0
    plans = (
        calibrated_answers(public, queries=queries, mechanism=name, **spec.budget)
        for name in (spec.logits, spec.labels)
    )
    return [
        released.scales["coordinates"] * std_factor * public.radius,
        *(plan.logit_noise for plan in plans),
    ]


def _row(
    spec: ServedQueries, data: Task, queries: int, stds: list[float], accuracies: list[list[float]]
) -> tuple[str, ...]:
    advice = spec.advice(data, queries)
    advised = [_said(spec, advice, name) for name in (spec.logits, spec.labels)]
    once, *each = accuracies
    verdicts = [
        _verdict(release == "each", once, answers, std / stds[0])
        for release, answers, std in zip(advised, each, stds[1:], strict=True)
    ]
    return (
        str(queries),
        *(bare(std, 2) for std in stds),
        *(_interval(values) for values in accuracies),
        *(cell for pair in zip(advised, verdicts, strict=True) for cell in pair),
    )


def _said(spec: ServedQueries, advice: QueryAdvice, mechanism: str) -> str:
    """Which of the two that are compared has less noise: the weights, or these answers."""
    compared = ((ONCE, spec.weights), (EACH, mechanism))
    way = next(way for way in advice.ways if (way.release, way.mechanism) in compared)
    return "each" if way.release == EACH else "once"


def _verdict(said_each: bool, once: list[float], each: list[float], ratio: float) -> str:
    """Whether the better of the two, by Welch's 95 % interval of the difference, is as said."""
    interval = stats.ttest_ind(each, once, equal_var=False).confidence_interval(0.95)
    if interval.low <= 0 <= interval.high:
        return "equal" if max(ratio, 1 / ratio) < _CLEAR else "unclear"
    return "yes" if (interval.low > 0) == said_each else "no"


def _interval(values: list[float]) -> str:
    """The mean and 1.96 standard errors."""
    error = 1.96 * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return f"{bare(float(np.mean(values)), 3)}±{bare(error, 3)}"


def _shown(spec: ServedQueries, data: Task, rows: list[tuple[str, ...]], free: float) -> Table:
    width, budget = data.rows.shape[1], f"ε = {spec.epsilon:g}, δ = {spec.delta:g}"
    return Table(
        title=f"Weights once or an answer each, {spec.on}, {budget}",
        columns=COLUMNS,
        rows=tuple(rows),
        notes=(
            f"{spec.records:,} private records, {width} features, {len(data.private.classes)} "
            f"classes; one softmax head, λ = {spec.penalty:g}, accuracy {bare(free, 3)} without "
            "noise. Proven; neighbours: add-remove; unit: one record.",
            f"Once: weights released once with {spec.weights} noise. Logits, labels: k queries "
            f"share the budget, each answered with logits ({spec.logits}) or a label alone "
            f"({spec.labels}). σ is the noise on one logit.",
            f"Accuracies: mean of {spec.draws} draws over {len(data.truth)} queries ± 1.96 "
            "standard errors. Plan is what `reticent plan --queries` says of the two, from public "
            "numbers; seen is yes or no where the 95 % interval of their difference excludes 0, "
            f"else equal where the noises are within {_CLEAR:g} of each other, and unclear where "
            "not.",
        ),
    )
