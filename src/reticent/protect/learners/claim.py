"""What a learner's release promises, if its plan's noise reaches it."""

from __future__ import annotations

from reticent.guarantee import Guarantee
from reticent.mechanisms.base import FRESH_SECURE_NOISE
from reticent.protect.learners.recipe import Plan, Recipe, reached
from reticent.validation import InputError

CHECKED = (
    "every look at the records is a noisy sum, whose terms are bounded record by record",
    "what a later sum depends on beside the records was released before it",
)
STATED = (
    "one record is one row of features and its label; the map from raw data to features is fixed "
    "and looks at one record at a time",
    "encoder, scaling, classes, normaliser, learner, mechanism and ε were chosen without looking "
    "at the private data",
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
    theorems = tuple(f"{name}: {step.noise.sensitivity.source}" for name, step in plan.items())
    if recipe.records_each > 1:
        stated = (*stated, f"no person owns more than {recipe.records_each} of the rows")
    return Guarantee(
        epsilon=epsilon,
        delta=delta,
        relation=first.sensitivity.relation,
        unit=recipe.unit,
        checked=(*theorems, f"{first.name} noise: {first.sampler}", FRESH_SECURE_NOISE, *CHECKED),
        stated=stated,
    )
