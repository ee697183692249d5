"""What releases print before a record is seen: sensitivities, scales, ε reached, advice."""

import math
from functools import partial
from itertools import product

from reticent.guarantee import GaussianEvent, Relation, Sensitivity
from reticent.mechanisms import Laplace
from reticent.protect import (
    AdaSSPHead,
    AdaSSPRegressor,
    ClassMeansHead,
    LDAHead,
    NoisyGradientHead,
    PublicNumbers,
    calibrated_answers,
    mean_share,
    public_penalty,
)
from reticent.protect.budget import MECHANISMS, calibrated, event_of, part, together
from reticent.protect.learners.recipe import event_of_plan, planned, reached
from reticent.protect.mean import mean_noise
from reticent.protect.plan import Situation, plan, records_needed
from reticent.protect.plan_queries import plan_queries
from reticent.protect.published.single_neuron import SingleNeuron
from reticent.training.linear_head import HeadNumbers

HEADS = (AdaSSPHead, ClassMeansHead, LDAHead, NoisyGradientHead)
RELATIONS = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
BUDGETS = ((0.4, 1e-7), (3.0, 0.0), (3.0, 1e-4))
BOTH = Sensitivity(l1=6.0, l2=1.0)


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
    parts = [
        or_refused(lambda s=s: part(kind, BOTH, share=s, **whole).scale) for s in (0.02, 0.5, 1)
    ]
    before = kind(scale=50.0, sensitivity=BOTH)
    rest = or_refused(lambda: calibrated(kind, BOTH, before=before, **whole).scale)
    noises = [kind(scale=scale, sensitivity=BOTH) for scale in (9.0, 30.0)]
    costs = [plain(together(noises[:many], delta=delta)) for many in (1, 2)]
    return {"parts": parts, "rest": rest, "together": costs}


def events():
    little = Laplace(scale=3.0, sensitivity=Sensitivity(l1=1.0, l2=1.0))
    noises = [little, *(kind(scale=9.0, sensitivity=BOTH) for kind in MECHANISMS.values())]
    return [event_of(noise, delta=delta).to_dict() for noise in noises for delta in (0.0, 1e-6)]


def penalties(mechanism, relation, epsilon, delta):
    common = {"epsilon": epsilon, "delta": delta, "relation": relation, "mechanism": mechanism}
    return [
        [
            or_refused(
                public_penalty, records=900, radius=1.3, coordinates=44, records_each=each, **common
            ),
            or_refused(lambda each=each: mean_scale(each, common)),
        ]
        for each in (1, 5)
    ]


def mean_scale(each, common):
    return mean_noise(features=9, bound=0.6, share=0.15, records_each=each, **common).scale


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
    return PublicNumbers.of(head, records_each=each, mean=None)


def head_moves(outputs, intercept, each):
    public = numbers(outputs, intercept, each)
    found = [public.sensitivity(relation) for relation in RELATIONS]
    sizes = [public.classes, public.features, public.least_tolerance()]
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
        "reached": found.reached,
        "method": found.method,
        "event": found.event.to_dict(),
    }


# --- learners -------------------------------------------------------------------------------------


def learner(kind, sizes, public):
    """Each step's sensitivity, scale and number, and what all of them cost."""
    head = kind(**public)
    recipe = head._recipe(*sizes)
    names = ("epsilon", "delta", "relation", "mechanism")
    found = planned(recipe, **{name: public[name] for name in names})
    return {
        "recipe": recipe.to_dict(),
        "unit": recipe.unit,
        "steps": {
            name: [
                step.noise.sensitivity.l1,
                step.noise.sensitivity.l2,
                step.noise.scale,
                step.times,
            ]
            for name, step in found.items()
        },
        "reached": reached(found, delta=public["delta"]),
        "event": event_of_plan(found, delta=public["delta"]).to_dict(),
    }


def learners():
    ways = (
        (600, RELATIONS[0], "gaussian", 1),
        (20_000, RELATIONS[1], "gaussian", 2),
        (10**6, RELATIONS[0], "logistic", 1),
        (400, RELATIONS[1], "laplace", 3),
    )
    for (records, relation, mechanism, each), (epsilon, delta) in product(ways, BUDGETS):
        if delta == 0 and mechanism == "gaussian":
            continue
        public = {
            "records": records,
            "epsilon": epsilon,
            "delta": delta,
            "relation": relation,
            "mechanism": mechanism,
            "records_each": each,
        }
        at = f"{records}, {relation}, {mechanism}, {each}, {epsilon}, {delta}"
        for kind, classes in product(HEADS, (2, 6)):
            given = public | {"classes": range(classes)}
            yield f"{kind.name}, {classes}, {at}", partial(learner, kind, (15, classes), given)
        given = public | {"bound": 3.0, "target_bound": 2.0}
        yield f"regression, {at}", partial(learner, AdaSSPRegressor, (15,), given)


# --- advice ---------------------------------------------------------------------------------------


def advice(records, classes, epsilon, delta, *, prototypes=False):
    situation = Situation(
        records=records,
        features=70,
        classes=classes,
        epsilon=epsilon,
        delta=delta,
        relation=RELATIONS[records < 1000],
        records_each=2,
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
    return [found.part, found.score_change, found.guarantee(delta=1e-6).epsilon, *scales]


CASES = {
    **{
        f"shares of {name}, {epsilon}, {delta}": partial(shares, kind, epsilon, delta)
        for (name, kind), (epsilon, delta) in product(MECHANISMS.items(), BUDGETS)
    },
    "events": events,
    **{
        f"penalties of {name}, {relation}, {epsilon}, {delta}": partial(
            penalties, name, relation, epsilon, delta
        )
        for name, relation, (epsilon, delta) in product(MECHANISMS, RELATIONS, BUDGETS)
    },
    "shares of means": mean_shares,
    **{
        f"head {outputs}, {intercept}, {each}": partial(head_moves, outputs, intercept, each)
        for outputs, intercept, each in product(("softmax", "sigmoid"), (0.0, 0.5), (1, 4))
    },
    **{f"answers {list(chosen.values())}": partial(answers, chosen) for chosen in ASKED},
    **dict(learners()),
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
