"""The releases of a run: a grid of mechanisms and grades, and the learner that public numbers name.

Every release is drawn several times to show its spread. Each draw is a release by itself: whoever
publishes more than one has spent more than the printed ε.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.audit import UtilityLoss, utility_loss
from reticent.guarantee import Grade, Guarantee
from reticent.pipeline.attack_recipes import Stage
from reticent.pipeline.learning import WEIGHTS, protect_with
from reticent.pipeline.protecting import Wanted, fit_head
from reticent.pipeline.running.heads import Sensitivities
from reticent.pipeline.running.spec import RunData, RunSpec
from reticent.pipeline.running.values import accuracy_of
from reticent.protect import ReleasedHead, ReleasedLinear, release_weights
from reticent.protect.estimated import release_estimated
from reticent.protect.plan import Advice, Situation, plan
from reticent.randomness import seeded
from reticent.results import Interval

Released = ReleasedHead | ReleasedLinear
Draw = Callable[[], Released]
PURE = ("laplace", "logistic", "l2-laplace")
"""Shown at δ = 0, where they are at home."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """Several draws of one kind of release, and what they are worth on the test records."""

    name: str
    learner: str
    draws: list[Released]
    accuracy: Interval
    first_accuracy: Interval
    """Of the first draw alone."""
    loss: UtilityLoss

    @property
    def first(self) -> Released:
        """The draw that is attacked, audited, and handed over where it is the recommended one."""
        return self.draws[0]

    @property
    def claim(self) -> Guarantee:
        """What it promises."""
        return self.first.guarantee

    @property
    def scales(self) -> dict[str, float]:
        """Of the noise, by the names of what is noised."""
        if isinstance(self.first, ReleasedHead):
            return {"weights": self.first.scale}
        return dict(self.first.scales)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of release before it is drawn."""

    name: str
    learner: str
    draw: Draw


def advised(data: RunData, spec: RunSpec, epsilon: float) -> Advice:
    """What public numbers recommend."""
    return plan(
        Situation(
            records=spec.records,
            features=data.features,
            classes=len(data.private.classes),
            epsilon=epsilon,
            delta=spec.delta,
            relation=spec.neighbours,
            bound=spec.bound,
            records_each=spec.records_each,
        )
    )


def recommended_kind(data: RunData, spec: RunSpec, epsilon: float | None = None) -> Kind:
    """What public numbers recommend at this ε, by default at the one that is asked for."""
    asked = spec.epsilon if epsilon is None else epsilon
    advice = advised(data, spec, asked)
    wanted = _wanted(spec, advice.mechanism, asked)
    if advice.learner == WEIGHTS:
        return Kind(
            name=named(advice.mechanism, best_grade(spec), asked),
            learner=WEIGHTS,
            draw=_weights(data, wanted),
        )
    return Kind(
        name=named(advice.learner, best_grade(spec), asked),
        learner=advice.learner,
        draw=partial(protect_with, data.private, wanted, learner=advice.learner),
    )


def kinds(data: RunData, spec: RunSpec, estimates: Sensitivities) -> Iterator[Kind]:
    """The recommended learner over the grid, then weights by mechanism, ε and grade."""
    for epsilon in spec.epsilons:
        recommended = recommended_kind(data, spec, epsilon)
        if recommended.learner != WEIGHTS:
            yield recommended
    for mechanism in spec.mechanisms:
        for epsilon in spec.epsilons:
            wanted = _wanted(spec, mechanism, epsilon)
            name = named(mechanism, best_grade(spec), epsilon)
            yield Kind(name=name, learner=WEIGHTS, draw=_weights(data, wanted))
            for grade in (Grade.SAMPLED, Grade.PUBLISHED):
                if grade in estimates.found:
                    yield Kind(
                        name=named(mechanism, grade, epsilon),
                        learner=WEIGHTS,
                        draw=_estimated(estimates, grade, wanted),
                    )


def best_grade(spec: RunSpec) -> Grade:
    """Of what rests on a theorem: proven, unless public numbers were read off the data."""
    return Grade.DECLARED if spec.read_off else Grade.PROVEN


def named(what: str, grade: Grade, epsilon: float) -> str:
    """The name of a release in the document."""
    return f"{what}, ε = {epsilon:g} ({grade})"


def drawn(
    asked: list[Kind], data: RunData, spec: RunSpec, unprotected: Any, tell: Stage
) -> list[Drawn]:
    """All kinds, drawn and judged on the test records."""
    rows, labels = data.rows("test")
    found = []
    for number, kind in enumerate(asked):
        draws = [_graded(kind.draw(), spec) for _ in range(spec.draws)]
        hits = [draw.predict(rows) == labels for draw in draws]
        loss = utility_loss(
            draws, unprotected, rows, labels, rng=seeded(spec.seed, "utility", kind.name)
        )
        found.append(
            Drawn(
                name=kind.name,
                learner=kind.learner,
                draws=draws,
                accuracy=accuracy_of(hits),
                first_accuracy=accuracy_of(hits[:1]),
                loss=loss,
            )
        )
        tell("releases", number + 1, len(asked))
    return found


def _graded(released: Released, spec: RunSpec) -> Released:
    """With public numbers that were read off the data, a release is at most declared."""
    claim = released.guarantee
    if not spec.read_off or claim.grade is not Grade.PROVEN:
        return released
    noted = tuple(f"{name}: read from the private data, not declared" for name in spec.read_off)
    lower = dataclasses.replace(claim, grade=Grade.DECLARED, stated=(*noted, *claim.stated))
    return dataclasses.replace(released, guarantee=lower)


def _wanted(spec: RunSpec, mechanism: str, epsilon: float) -> Wanted:
    return Wanted(
        epsilon=epsilon,
        delta=0.0 if mechanism in PURE else spec.delta,
        relation=spec.neighbours,
        records=spec.records,
        bound=spec.bound,
        mechanism=mechanism,
        intercept=spec.intercept,
        norms=spec.norms,
        records_each=spec.records_each,
    )


def _weights(data: RunData, wanted: Wanted) -> Draw:
    """One fit, noised anew with each draw."""
    spec = wanted.head(data.features, len(data.private.classes))
    head = fit_head(data.private, spec)
    return partial(release_weights, head, **wanted.budget)


def _estimated(estimates: Sensitivities, grade: Grade, wanted: Wanted) -> Draw:
    return partial(
        release_estimated,
        estimates.head,
        estimates.found[grade],
        epsilon=wanted.epsilon,
        delta=wanted.delta,
        mechanism=wanted.mechanism,
        records_each=1 if wanted.records_each == 1 else None,  # an estimate is about one record
    )


def right(model: Any, rows: Any, labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Which records a model classifies as they are labelled."""
    return np.asarray(np.asarray(model.predict(rows)) == labels)
