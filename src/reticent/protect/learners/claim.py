"""What a learner's release promises, if its plan's noise reaches it."""

from __future__ import annotations

from reticent.data.cells import SCHEMA_STATED
from reticent.guarantee import Guarantee
from reticent.guarantee.checks import checked_by
from reticent.mechanisms.base import FRESH_SECURE_NOISE
from reticent.protect.certified_head import NO_SEARCH
from reticent.protect.learners.recipe import Plan, Recipe, reached
from reticent.protect.public_numbers import stated_of_persons
from reticent.validation import InputError

CHECKED = (
    checked_by(
        "every look at the records is a noisy sum: what is released, and what a later sum depends "
        "on beside the records, is computed from earlier answers",
        "protect.noisy_query.noisy_query",
    ),
    checked_by(
        "the learner is the package's own class with its own methods, fitted by itself or behind "
        "public steps",
        "protect.learners.refusals.refuse_as_learner",
    ),
)
SPENT = checked_by("ε covers all of these sums together", "protect.learners.recipe.reached")
STATED = (
    "one record is one row of features and its label; the map from raw data to features is fixed "
    "and looks at one record at a time",
    "encoder, scaling, classes, normaliser, learner, mechanism and ε were chosen without looking "
    "at the private data: no step before the learner was fitted on it",
    NO_SEARCH,
    SCHEMA_STATED,
    "the data set has at most 2N records, N the public normaliser",
    "nothing else computed from the private data is published: no loss, accuracy or timing, nor"
    " that a job on them failed",
)
EXP = "exp of the mathematical library is accurate to 16 units in the last place"


def claim_of(
    recipe: Recipe, plan: Plan, *, epsilon: float, delta: float, stated: tuple[str, ...]
) -> Guarantee:
    """(ε, δ) with both lists of assumptions; declared, until it is minted."""
    spent = reached(plan, delta=delta)
    if not spent <= epsilon:
        raise InputError(f"epsilon must be >= {spent}, what the noise gives, got {epsilon}")
    first = next(iter(plan.values())).noise
    steps = recipe.steps(first.sensitivity.relation)
    theorems = tuple(
        checked_by(f"{name}: {step.sensitivity.source}", step.theorem)
        for name, step in steps.items()
    )
    return Guarantee(
        epsilon=epsilon,
        delta=delta,
        relation=first.sensitivity.relation,
        unit=recipe.unit,
        checked=(*theorems, SPENT, first.sampling, FRESH_SECURE_NOISE, recipe.rows, *CHECKED),
        stated=(*stated, *stated_of_persons(recipe.records_each)),
    )
