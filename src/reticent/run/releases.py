"""The releases of a run: a grid of mechanisms and grades, and the learner that public numbers name.

Every release is drawn several times to show its spread. Each draw is a release by itself: whoever
publishes more than one has spent more than the printed ε.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from reticent.arrays import Array, Flags
from reticent.attacks.context import ProgressCallback
from reticent.audit import UtilityLoss, utility_loss
from reticent.guarantee import Event, Grade, Guarantee
from reticent.mechanisms.registry import DEFAULT_NOISE, MECHANISMS
from reticent.protect import RECIPES, Release, ReleaseRequest, Terms, release_table, release_weights
from reticent.protect.estimated import release_estimated
from reticent.protect.plan import Advice, Situation, plan
from reticent.protect.table import WEIGHTS, HeadSpec
from reticent.randomness import seeded
from reticent.results import ByClass, Interval, conversions
from reticent.results.recalls import by_class_of
from reticent.run import heads, kept_fits
from reticent.run.spec import PURE, RunData, RunSpec

Draw = Callable[..., Release]
"""Makes one release; what is handed over is made with ``charge``."""
RunCharge = Callable[[Terms, str, Event], object]
"""Charges a ledger, by what is promised, a public line and the event."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """Several draws of one kind of release, and what they are worth on the test records."""

    name: str
    learner: str
    draws: list[Release]
    accuracy: Interval
    first_accuracy: Interval
    """Of the first draw alone."""
    loss: UtilityLoss
    by_class: ByClass
    first_by_class: ByClass
    """Of the first draw alone."""

    @property
    def first(self) -> Release:
        """The draw that is attacked, audited, and handed over where it is the recommended one."""
        return self.draws[0]

    @property
    def claim(self) -> Guarantee:
        """The guarantee of each of the draws."""
        return self.first.guarantee


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of release before it is drawn."""

    name: str
    learner: str
    draw: Draw
    request: ReleaseRequest

    def charged(self, charge: RunCharge | None) -> Release:
        """The draw that is handed over: charged, where a ledger is kept, before it is made."""
        if charge is None:
            return self.draw()
        purpose = f"{self.request.recipe}, {self.request.mechanism} noise"
        return self.draw(charge=partial(charge, self.request.terms, purpose))


def situation_of(data: RunData, spec: RunSpec, epsilon: float) -> Situation:
    """The public numbers of the run, with what a schema says of its labels."""
    facts = None if data.private.schema is None else data.private.schema.label_facts
    return Situation(
        records=spec.records,
        features=data.features,
        classes=len(data.private.classes),
        epsilon=epsilon,
        delta=spec.delta,
        relation=spec.neighbours,
        bound=spec.bound,
        max_records_per_person=spec.max_records_per_person,
        prototypes=spec.prototypes or (facts is not None and facts.clusters),
        rarest_share=None if facts is None else facts.rarest_share,
    )


def advised(data: RunData, spec: RunSpec, epsilon: float) -> Advice:
    """What ``plan`` recommends for the public numbers of the run."""
    return plan(situation_of(data, spec, epsilon))


def recommended_kind(data: RunData, spec: RunSpec, epsilon: float | None = None) -> Kind:
    """What public numbers recommend at this ε, by default at the one that is asked for.

    A learner that was said is taken instead, with Gaussian noise unless it is the recommended one.
    """
    asked = spec.epsilon if epsilon is None else epsilon
    advice = advised(data, spec, asked)
    learner, mechanism = advice.learner, advice.mechanism
    if spec.learner not in (None, learner):
        assert spec.learner is not None
        learner, mechanism = spec.learner, noise_for(spec.learner, pure=spec.delta == 0)
    return _kind(data, spec, (learner, mechanism), asked)


def _kind(data: RunData, spec: RunSpec, noised: tuple[str, str], epsilon: float) -> Kind:
    """Of a recipe and its noise, by which noise on an optimum is named."""
    recipe, mechanism = noised
    request, on_optimum = _request(spec, recipe, mechanism, epsilon), RECIPES[recipe].on_optimum
    what = mechanism if on_optimum else recipe
    return Kind(
        name=named(what, best_grade(spec, recipe, mechanism), epsilon),
        learner=recipe,
        draw=_weights(data, request)
        if on_optimum
        else partial(release_table, data.private, request),
        request=request,
    )


def noise_for(learner: str, *, pure: bool) -> str:
    """Laplace noise at δ = 0, unless the recipe's theorem is about pure noise of its own."""
    own = RECIPES.named(learner).noises
    is_pure_alone = bool(own) and DEFAULT_NOISE not in own
    return "laplace" if pure and not is_pure_alone else DEFAULT_NOISE


def kinds(data: RunData, spec: RunSpec, estimates: heads.Sensitivities) -> Iterator[Kind]:
    """The recommended learner over the grid, then weights by mechanism, ε and grade."""
    for epsilon in spec.epsilons:
        recommended = recommended_kind(data, spec, epsilon)
        if not RECIPES[recommended.learner].on_optimum:
            yield recommended
    for mechanism in spec.mechanisms:
        for epsilon in spec.epsilons:
            noised = _kind(data, spec, (WEIGHTS, mechanism), epsilon)
            yield noised
            for grade in (Grade.SAMPLED, Grade.PUBLISHED):
                if grade in estimates.by_grade:
                    yield Kind(
                        name=named(mechanism, grade, epsilon),
                        learner=WEIGHTS,
                        draw=_estimated(estimates, grade, noised.request),
                        request=noised.request,
                    )


def best_grade(spec: RunSpec, recipe: str, mechanism: str) -> Grade:
    """Of what rests on a theorem: proven, unless numbers were inferred or a plug-in is used."""
    own = RECIPES.is_own(recipe) and MECHANISMS.is_own(mechanism)
    return Grade.PROVEN if own and not spec.terms().inferred else Grade.DECLARED


def named(what: str, grade: Grade, epsilon: float) -> str:
    """The name of a release in the document."""
    return f"{what}, ε = {epsilon:g} ({grade})"


def drawn(
    asked: list[Kind],
    data: RunData,
    spec: RunSpec,
    unprotected: Any,
    progress: ProgressCallback,
    first: Mapping[str, Release] | None = None,
) -> list[Drawn]:
    """All kinds, drawn and judged on the test records; ``first`` holds draws made before."""
    rows, labels = data.rows("test")
    recalls = partial(by_class_of, labels=labels, classes=data.private.classes)
    before = recalls([correct_predictions(unprotected, rows, labels)])
    released = []
    for number, kind in enumerate(asked):
        draws = [first[kind.name]] if first is not None and kind.name in first else []
        draws += [kind.draw() for _ in range(spec.draws - len(draws))]
        hits = [draw.predict(rows) == labels for draw in draws]
        loss = utility_loss(
            draws, unprotected, rows, labels, rng=seeded(spec.seed, "utility", kind.name)
        )
        released.append(
            Drawn(
                name=kind.name,
                learner=kind.learner,
                draws=draws,
                accuracy=conversions.accuracy_of(hits),
                first_accuracy=conversions.accuracy_of(hits[:1]),
                loss=loss,
                by_class=recalls(hits, before=before),
                first_by_class=recalls(hits[:1], before=before),
            )
        )
        progress("releases", number + 1, len(asked))
    return released


def _request(spec: RunSpec, recipe: str, mechanism: str, epsilon: float) -> ReleaseRequest:
    delta = 0.0 if mechanism in PURE else spec.delta
    options = {"bound": spec.bound, "intercept": spec.intercept, "norms": spec.norms}
    return ReleaseRequest(
        terms=spec.terms(epsilon=epsilon, delta=delta),
        records=spec.records,
        recipe=recipe,
        mechanism=mechanism,
        options={name: options[name] for name in options if name in RECIPES[recipe].options},
    )


def _weights(data: RunData, request: ReleaseRequest) -> Draw:
    """One fit, made with the first draw, and noised anew with each."""
    recipe = request.planned(data.features, len(data.private.classes))
    head = cache(lambda: kept_fits.fitted(data.private, HeadSpec.of(recipe, request.terms)))
    schema = data.private.schema
    return lambda **charged: release_weights(head(), **request.budget, schema=schema, **charged)


def _estimated(estimates: heads.Sensitivities, grade: Grade, request: ReleaseRequest) -> Draw:
    terms = request.terms
    return partial(
        release_estimated,
        estimates.head,
        estimates.by_grade[grade],
        epsilon=terms.epsilon,
        delta=terms.delta,
        mechanism=request.mechanism,
        # An estimate is about one record.
        max_records_per_person=1 if terms.max_records_per_person == 1 else None,
    )


def correct_predictions(model: Any, rows: Any, labels: Array) -> Flags:
    """Which records a model classifies as they are labelled."""
    return np.asarray(np.asarray(model.predict(rows)) == labels)
