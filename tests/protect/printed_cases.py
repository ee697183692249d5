"""What releases print before a record is seen: sensitivities, scales, ε reached, advice."""

import math
from functools import partial
from itertools import product

from reticent.guarantee import GaussianEvent, Relation, Sensitivity
from reticent.mechanisms import Laplace
from reticent.mechanisms.registry import MECHANISMS, for_any_vector
from reticent.protect import RECIPES, Terms, calibrated_answers, mean_share, public_penalty
from reticent.protect.budget import noise_for_budget_share, spent_share
from reticent.protect.head_numbers import PublicNumbers
from reticent.protect.noise_scales import (
    composed_epsilon,
    composed_epsilon_of,
    event_of,
    noise_plan,
)
from reticent.protect.plan import Situation, plan, records_needed
from reticent.protect.plan_queries import plan_queries
from reticent.protect.published.single_neuron import SingleNeuron
from reticent.protect.recipe import PlannedStep
from reticent.protect.recipes.mean import MeanRecipe, mean_noise
from reticent.training.linear_head import HeadNumbers

HEADS = ("adassp", "class-means", "lda", "noisy-gradient")
RELATIONS = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
BUDGETS = ((0.4, 1e-7), (3.0, 0.0), (3.0, 1e-4))
BOTH = Sensitivity(l1=6.0, l2=1.0)
KINDS = {name: MECHANISMS[name] for name in for_any_vector()}


def plain(value):
    """Without infinities, which JSON does not have."""
    return value if math.isfinite(value) else str(value)


def or_refused(function, *given, **named):
    """The figure, or that there is none."""
    try:
        return function(*given, **named)
    except ValueError:
        return "refused"


# --- one budget for several releases --------------------------------------------------------------


def shares(kind, epsilon, delta):
    whole = {"epsilon": epsilon, "delta": delta}
    parts = [or_refused(lambda s=s: scale_of_share(kind, s, whole)) for s in (0.02, 0.5, 1)]
    before = kind(scale=50.0, sensitivity=BOTH)
    rest = or_refused(lambda: scale_of_share(kind, 1 - spent_share(before, **whole), whole))
    noises = [kind(scale=scale, sensitivity=BOTH) for scale in (9.0, 30.0)]
    costs = [
        plain(composed_epsilon_of(noises[:many], relation=RELATIONS[0], delta=delta))
        for many in (1, 2)
    ]
    return {"parts": parts, "rest": rest, "together": costs}


def scale_of_share(kind, share, whole):
    return noise_for_budget_share(kind, BOTH, share=share, **whole).scale


def events():
    little = Laplace(scale=3.0, sensitivity=Sensitivity(l1=1.0, l2=1.0))
    noises = [little, *(kind(scale=9.0, sensitivity=BOTH) for kind in KINDS.values())]
    plans = [{"one": PlannedStep(noise=noise)} for noise in noises]
    return [
        event_of(one, relation=RELATIONS[0], delta=delta).to_dict()
        for one in plans
        for delta in (0.0, 1e-6)
    ]


def penalties(mechanism, relation, epsilon, delta):
    common = {"epsilon": epsilon, "delta": delta, "relation": relation, "mechanism": mechanism}
    return [
        [
            or_refused(
                public_penalty,
                records=900,
                radius=1.3,
                coordinates=44,
                max_records_per_person=each,
                **common,
            ),
            or_refused(lambda each=each: mean_scale(each, common)),
        ]
        for each in (None, 5)
    ]


def mean_scale(each, common):
    budget = {name: common[name] for name in ("epsilon", "delta", "relation")}
    terms = Terms(**budget, max_records_per_person=each)
    public = {"records": 900, "features": 9, "bound": 0.6, "mechanism": common["mechanism"]}
    return mean_noise(MeanRecipe.planned(terms, **public), terms, share=0.15).scale


def mean_shares():
    return [
        mean_share(records=records, features=33, epsilon=epsilon, delta=delta)
        for records, (epsilon, delta) in product((100, 3000, 10**6), BUDGETS)
    ]


# --- heads and their answers ----------------------------------------------------------------------


def numbers(outputs, intercept=0.5, each=1):
    head = HeadNumbers(
        outputs=outputs,
        penalty=0.03,
        records=2000,
        bound=0.9,
        intercept=intercept,
        norms="clip",
        tolerance=1e-7,
        largest_weight=1.4,
        shape=(3, 8),
    )
    return PublicNumbers.of(head, max_records_per_person=each, mean=None)


def head_moves(outputs, intercept, each):
    public = numbers(outputs, intercept, each)
    found = [public.sensitivity(relation) for relation in RELATIONS]
    sizes = [public.classes, public.features, public.unit, public.least_tolerance()]
    return [*sizes, *([moved.l1, moved.l2] for moved in found)]


ASKED = [
    *({"mechanism": name, "queries": k} for name, k in product(("gaussian", "laplace"), (1, 30))),
    *({"mechanism": name, "queries": 12} for name in ("logistic", "l2-laplace", "exponential")),
    {"mechanism": "permute-and-flip", "queries": 12},
    {"mechanism": "permute-and-flip", "queries": 12, "delta": 0.0},
    {"mechanism": "gaussian", "queries": 12, "space": "logits", "relation": "replace-one"},
    {"mechanism": "logistic", "queries": 12, "space": "logits"},
    {"mechanism": "gaussian", "queries": 12, "filter": "gdp"},
    {"mechanism": "gaussian", "queries": 12, "filter": "rdp"},
    {"mechanism": "laplace", "queries": 12, "filter": "zcdp"},
    {"mechanism": "laplace", "queries": 12, "filter": "basic"},
    {"mechanism": "l2-laplace", "queries": 2 * 10**6},
    {"mechanism": "gaussian", "queries": 12, "before": GaussianEvent(noise_multiplier=7.0)},
    {"mechanism": "logistic", "queries": 12, "before": GaussianEvent(noise_multiplier=7.0)},
]  # fmt: skip


def answers(chosen):
    asked = {"epsilon": 1.2, "delta": 1e-6, "relation": "add-remove"} | chosen
    found = calibrated_answers(numbers("softmax"), **asked)
    moved = found.sensitivity
    return {
        "Δ": [moved.l1, moved.l2, moved.linf],
        "scale": found.scale,
        "on a logit": found.logit_noise,
        "reached": [found.composed_epsilon, found.one_answer_epsilon],
        "method": found.method,
        "event": found.event.to_dict(),
    }


# --- recipes --------------------------------------------------------------------------------------


def recipe_figures(name, terms, public):
    """Each step's sensitivity, scale and number, and what all of them cost."""
    recipe = RECIPES[name].planned(terms, features=15, **public)
    found = noise_plan(recipe, terms)
    common = {"relation": terms.relation, "delta": terms.delta}
    return {
        "recipe": recipe.to_dict(),
        "unit": terms.unit,
        "steps": {
            name: [
                step.noise.sensitivity.l1,
                step.noise.sensitivity.l2,
                step.noise.scale,
                step.times,
            ]
            for name, step in found.items()
        },
        "reached": composed_epsilon(found, **common),
        "event": event_of(found, **common).to_dict(),
    }


def recipes():
    ways = (
        (600, RELATIONS[0], "gaussian", None),
        (20_000, RELATIONS[1], "gaussian", 2),
        (10**6, RELATIONS[0], "logistic", None),
        (400, RELATIONS[1], "laplace", 3),
    )
    for (records, relation, mechanism, each), (epsilon, delta) in product(ways, BUDGETS):
        if delta == 0 and mechanism == "gaussian":
            continue
        budget = {"epsilon": epsilon, "delta": delta, "relation": relation}
        terms = Terms(**budget, max_records_per_person=each)
        public = {"records": records, "mechanism": mechanism}
        at = f"{records}, {relation}, {mechanism}, {each}, {epsilon}, {delta}"
        for name, classes in product(HEADS, (2, 6)):
            given = public | {"classes": classes}
            yield f"{name}, {classes}, {at}", partial(recipe_figures, name, terms, given)
        given = public | {"classes": 1, "bound": 3.0, "target_bound": 2.0}
        yield f"regression, {at}", partial(recipe_figures, "adassp-regression", terms, given)


# --- advice ---------------------------------------------------------------------------------------


def advice(records, classes, epsilon, delta, *, prototypes=False):
    situation = Situation(
        records=records,
        features=70,
        classes=classes,
        epsilon=epsilon,
        delta=delta,
        relation=RELATIONS[records < 1000],
        max_records_per_person=2,
        prototypes=prototypes,
    )
    found = plan(situation)
    loss = found.loss and [found.loss.low, found.loss.likely, found.loss.high]
    needed = or_refused(records_needed, situation, 0.15)
    return [found.learner, found.mechanism, found.logit_noise, loss, situation.signal, needed]


def query_advice(delta, queries):
    situation = Situation(
        records=3000, features=20, classes=3, epsilon=0.8, delta=delta, relation="add-remove"
    )
    found = plan_queries(situation, queries)
    ways = [[way.release, way.mechanism, way.gives, way.logit_noise] for way in found.ways]
    return [*ways, found.most_by_logits, found.most_by_labels]


def single_neuron(classes, noise, scores):
    found = SingleNeuron(classes=classes, budget=0.9, neuron=0.2, noise=noise, scores=scores)
    scales = [found._choice().scale, found._added().scale]
    return [found.step_budget, found.score_change, found.guarantee(delta=1e-6).epsilon, *scales]


CASES = {
    **{
        f"shares of {name}, {epsilon}, {delta}": partial(shares, kind, epsilon, delta)
        for (name, kind), (epsilon, delta) in product(KINDS.items(), BUDGETS)
    },
    "events": events,
    **{
        f"penalties of {name}, {relation}, {epsilon}, {delta}": partial(
            penalties, name, relation, epsilon, delta
        )
        for name, relation, (epsilon, delta) in product(KINDS, RELATIONS, BUDGETS)
    },
    "shares of means": mean_shares,
    **{
        f"head {outputs}, {intercept}, {each}": partial(head_moves, outputs, intercept, each)
        for outputs, intercept, each in product(("softmax", "sigmoid"), (0.0, 0.5), (None, 1, 4))
    },
    **{f"answers {list(chosen.values())}": partial(answers, chosen) for chosen in ASKED},
    **dict(recipes()),
    **{
        f"advice {records}, {classes}, {epsilon}, {delta}": partial(
            advice, records, classes, epsilon, delta
        )
        for records, classes, (epsilon, delta) in product((300, 60_000), (2, 9), BUDGETS)
    },
    "advice on prototypes": partial(advice, 60_000, 2, 3.0, 1e-4, prototypes=True),
    **{
        f"queries {delta}, {queries}": partial(query_advice, delta, queries)
        for delta, queries in ((0.0, 2), (0.0, 40), (1e-5, 6))
    },
    **{
        f"single neuron {classes}, {noise}, {scores}": partial(
            single_neuron, classes, noise, scores
        )
        for classes, noise, scores in product(
            (2, 5), ("laplace", "gaussian"), ("algorithm", "proof")
        )
    },
}
