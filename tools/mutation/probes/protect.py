"""Plans from public numbers: shares of a budget, penalties, answers, learners, advice."""

from __future__ import annotations

from itertools import product
from typing import Any

from reticent.guarantee import GaussianEvent, Relation, Sensitivity
from reticent.mechanisms import Laplace
from reticent.mechanisms.registry import MECHANISMS, for_any_vector
from reticent.protect import (
    RECIPES,
    AdaSSPHead,
    ClassMeansHead,
    LDAHead,
    NoisyGradientHead,
    Terms,
    calibrated_answers,
    mean_share,
    public_penalty,
)
from reticent.protect.budget import noise_for_budget_share, spent_share
from reticent.protect.head_numbers import PublicNumbers, fields_of
from reticent.protect.noise_scales import (
    composed_epsilon,
    composed_epsilon_of,
    event_of,
    noise_plan,
    scales_of,
    with_scales,
)
from reticent.protect.plan import CURVE, Situation, plan, predicted_loss, records_needed
from reticent.protect.plan_queries import plan_queries
from reticent.protect.published.single_neuron import SingleNeuron
from reticent.protect.recipe import PlannedStep
from reticent.protect.recipes.mean import MeanRecipe, mean_noise
from reticent.protect.recipes.weights import WeightsRecipe
from reticent.training.linear_head import HeadNumbers
from tools.mutation.probes.record import Figures

HEADS = (AdaSSPHead, ClassMeansHead, LDAHead, NoisyGradientHead)
RELATIONS = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
BUDGETS = ((0.3, 1e-6), (4.0, 0.0), (4.0, 1e-3))
_KINDS = {name: MECHANISMS[name] for name in for_any_vector()}


def fill(figures: Figures) -> None:
    """All figures that need no records."""
    _budget(figures)
    _penalties(figures)
    _public(figures)
    _answers(figures)
    _recipes(figures)
    _advice(figures)
    _published(figures)


def _budget(figures: Figures) -> None:
    both = Sensitivity(l1=5.0, l2=1.0, relation=RELATIONS[0])
    for (name, kind), (epsilon, delta) in product(_KINDS.items(), BUDGETS):
        at = f"{name}, {epsilon}, {delta}"
        whole: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
        before = kind(scale=40.0, sensitivity=both)
        figures.add(f"spent_share of another, {at}", spent_share, before, **whole)
        for share in (0.01, 0.5, 1.0, 1.5):
            at_share = f"noise_for_budget_share {share}, {at}"
            figures.add(at_share, noise_for_budget_share, kind, both, share=share, **whole)
    for (name, kind), delta in product(_KINDS.items(), (0.0, 1e-6)):
        noises = [kind(scale=scale, sensitivity=both) for scale in (8.0, 20.0)]
        common: dict[str, Any] = {"relation": RELATIONS[0], "delta": delta}
        for many in (1, 2):
            at = f"composed_epsilon_of {name}, {delta}, {many}"
            figures.add(at, composed_epsilon_of, noises[:many], **common)
        one = {"one": PlannedStep(noise=noises[0])}
        figures.add(f"event_of {name}, {delta}", event_of, one, **common)
    little = {"one": PlannedStep(noise=Laplace(scale=2.0, sensitivity=Sensitivity(l1=1.0, l2=1.0)))}
    figures.add("event_of l1", event_of, little, relation=RELATIONS[0], delta=1e-9)


def _penalties(figures: Figures) -> None:
    for name, relation, (epsilon, delta), each in product(_KINDS, RELATIONS, BUDGETS, (None, 4)):
        common: dict[str, Any] = {
            "epsilon": epsilon,
            "delta": delta,
            "relation": relation,
            "mechanism": name,
            "max_records_per_person": each,
        }
        at = f"{list(common.values())}"
        head: dict[str, Any] = {"records": 2000, "radius": 1.5, "coordinates": 30}
        figures.add(f"public_penalty {at}", public_penalty, **head, **common)
        figures.add(f"mean_noise {at}", _mean_noise, name, relation, (epsilon, delta), each)
    for records, (epsilon, delta) in product((50, 5000, 10**6), BUDGETS):
        public: dict[str, Any] = {"records": records, "epsilon": epsilon, "delta": delta}
        figures.add(f"mean_share {list(public.values())}", mean_share, features=20, **public)


def _mean_noise(
    mechanism: str, relation: Relation, budget: tuple[float, float], each: int | None
) -> object:
    terms = Terms(
        epsilon=budget[0], delta=budget[1], relation=relation, max_records_per_person=each
    )
    recipe = MeanRecipe.planned(terms, records=2000, features=6, mechanism=mechanism, bound=2.0)
    return mean_noise(recipe, terms, share=0.3)


def numbers(
    outputs: Any = "softmax", *, intercept: float = 1.0, each: int | None = 2
) -> PublicNumbers:
    """The public numbers of a small head."""
    head = HeadNumbers(
        outputs=outputs,
        penalty=0.02,
        records=3000,
        bound=1.2,
        intercept=intercept,
        norms="clip",
        tolerance=1e-6,
        largest_weight=1.5,
        shape=(4, 9),
    )
    return PublicNumbers.of(head, max_records_per_person=each, mean=None)


def _public(figures: Figures) -> None:
    for outputs, intercept, each in product(("softmax", "sigmoid"), (0.0, 1.0), (None, 3)):
        public = numbers(outputs, intercept=intercept, each=each)
        at = f"PublicNumbers {outputs}, {intercept}, {each}"
        figures.add(at, _sizes, public)
        figures.add(f"{at}, tolerance", public.least_tolerance)
        figures.add(f"{at}, read", _read, weights(public).to_dict())
        for relation in RELATIONS:
            figures.add(f"{at}, {relation}", public.sensitivity, relation)
            figures.add(f"{at}, answers, {relation}", _answer_moves, public, relation)
    mean = {"centred": True, "mean_bound": 1.0, "mean_share": 0.1}
    changes: dict[str, dict[str, Any]] = {
        "shape": {"shape": [4]},
        "large shape": {"shape": [2**27, 2**27]},
        "records": {"records": 2**53 + 1},
        "most records": {"records": 2**53},
        "mean": mean,
        "bad mean": mean | {"mean_bound": 0.0},
        "outputs": {"outputs": "linear"},
        "more": {"other": 1.0},
    }
    for name, change in changes.items():
        figures.add(f"WeightsRecipe read, {name}", _read, weights(numbers()).to_dict() | change)


def _sizes(public: PublicNumbers) -> object:
    return public.classes, public.features, public.unit


def weights(public: PublicNumbers) -> WeightsRecipe:
    """The recipe of the same head."""
    return WeightsRecipe(**fields_of(public), mechanism="gaussian")


def _read(values: dict[str, object]) -> object:
    recipe = WeightsRecipe.from_dict(values)
    terms = Terms(epsilon=1.0, delta=1e-5, relation=RELATIONS[0])
    return recipe.to_dict(), recipe.misfits(terms), recipe.steps(terms)


def _answer_moves(public: PublicNumbers, relation: Relation) -> object:
    return public.answers(relation).logits()


def _answers(figures: Figures) -> None:
    kinds = ("gaussian", "logistic", "l2-laplace", "exponential", "permute-and-flip")
    before = GaussianEvent(noise_multiplier=9.0)
    cases: list[dict[str, Any]] = [
        {"mechanism": name, "queries": queries} for name, queries in product(kinds, (1, 20))
    ]
    cases += [
        {"mechanism": "laplace", "queries": 9, "space": "logits"},
        {"mechanism": "gaussian", "queries": 9, "relation": "replace-one"},
        {"mechanism": "gaussian", "queries": 9, "space": "logits", "filter": "gdp"},
        {"mechanism": "exponential", "queries": 9, "delta": 0.0},
        {"mechanism": "l2-laplace", "queries": 9, "filter": "zcdp"},
        {"mechanism": "logistic", "queries": 4, "filter": "basic", "delta": 0.0},
        {"mechanism": "gaussian", "queries": 4, "filter": "rdp"},
        {"mechanism": "gaussian", "queries": 4, "delta": 0.0},
        {"mechanism": "gaussian", "queries": 10**7},
        {"mechanism": "exponential", "queries": 3 * 10**6},
        {"mechanism": "gaussian", "queries": 5, "before": before},
        {"mechanism": "laplace", "queries": 5, "before": before},
    ]
    for chosen in cases:
        asked = {"epsilon": 1.5, "delta": 1e-5, "relation": "add-remove"} | chosen
        figures.add(f"answers {list(chosen.values())}", _plan_of_answers, asked)


def _plan_of_answers(asked: dict[str, Any]) -> object:
    found = calibrated_answers(numbers(each=1), **asked)
    return {
        "scale": found.scale,
        "sensitivity": found.sensitivity,
        "logit_noise": found.logit_noise,
        "event": found.event,
        "reached": found.composed_epsilon,
        "method": found.method,
        "each": found.noise.guarantee(delta=found.delta),
    }


def _recipes(figures: Figures) -> None:
    ways = ((RELATIONS[0], "gaussian", 800), (RELATIONS[1], "logistic", 10**6))
    for (epsilon, delta), each, (relation, mechanism, records) in product(
        BUDGETS, (None, 3), (*ways, (RELATIONS[0], "laplace", 300))
    ):
        budget: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "relation": relation}
        public: dict[str, Any] = {"records": records, "mechanism": mechanism, "features": 12}
        at = f"{list(budget.values())}, {records}, {mechanism}, {each}"
        terms = Terms(**budget, max_records_per_person=each)
        for kind, classes in product(HEADS, (2, 5)):
            name, given = kind.recipe.name, public | {"classes": classes}
            figures.add(f"{name}, {classes}, {at}", _planned, name, terms, given)
        given = public | {"classes": 1, "bound": 2.0, "target_bound": 3.0}
        figures.add(f"regression, {at}", _planned, "adassp-regression", terms, given)


def _planned(name: str, terms: Terms, public: dict[str, Any]) -> object:
    """What a recipe will release, from its public numbers."""
    recipe = RECIPES[name].planned(terms, **public)
    found = noise_plan(recipe, terms)
    common: dict[str, Any] = {"relation": terms.relation, "delta": terms.delta}
    again = with_scales(recipe, scales_of(found), terms)
    return {
        "recipe": recipe.to_dict(),
        "unit": terms.unit,
        "scales": scales_of(found),
        "times": {name: step.times for name, step in found.items()},
        "sensitivities": {name: step.noise.sensitivity for name, step in found.items()},
        "reached": composed_epsilon(found, **common),
        "read again": composed_epsilon(again, **common),
        "event": event_of(found, **common),
    }


def _advice(figures: Figures) -> None:
    for records, features, classes, (epsilon, delta), prototypes in product(
        (200, 50_000), (4, 300), (2, 10), BUDGETS, (False, True)
    ):
        situation = Situation(
            records=records,
            features=features,
            classes=classes,
            epsilon=epsilon,
            delta=delta,
            relation=RELATIONS[records > 1000],
            max_records_per_person=2,
            prototypes=prototypes,
        )
        at = f"{records}, {features}, {classes}, {epsilon}, {delta}, {prototypes}"
        figures.add(f"plan {at}", _advised, situation)
        figures.add(f"records_needed {at}", records_needed, situation, 0.1)
        if delta > 0:
            figures.add(f"predicted_loss {at}", predicted_loss, situation)
    for delta, queries in ((0.0, 3), (0.0, 60), (1e-6, 4)):
        situation = Situation(
            records=4000, features=30, classes=4, epsilon=1.0, delta=delta, relation=RELATIONS[0]
        )
        figures.add(f"plan_queries {delta}, {queries}", _queries_planned, situation, queries)
    figures.add("signals", lambda: [CURVE.signals(loss) for loss in (0.01, 0.1, 0.5)])


def _advised(situation: Situation) -> object:
    advice = plan(situation)
    return advice.learner, advice.mechanism, advice.logit_noise, advice.loss, situation.signal


def _queries_planned(situation: Situation, queries: int) -> object:
    return plan_queries(situation, queries).to_dict()


def _published(figures: Figures) -> None:
    for classes, noise, scores in product((2, 4), ("laplace", "gaussian"), ("algorithm", "proof")):
        chosen: dict[str, Any] = {"classes": classes, "noise": noise, "scores": scores}
        figures.add(f"SingleNeuron {list(chosen.values())}", _single_neuron, chosen)


def _single_neuron(chosen: dict[str, Any]) -> object:
    mechanism = SingleNeuron(budget=1.5, neuron=0.3, **chosen)
    claim = mechanism.guarantee(delta=1e-5)
    scales = mechanism._choice().scale, mechanism._added().scale
    return mechanism.step_budget, mechanism.score_change, claim, scales
