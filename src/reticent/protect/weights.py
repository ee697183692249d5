"""``release_weights``: the weights of a fitted head, released once with noise on its optimum."""

import dataclasses
from collections.abc import Collection

import numpy as np
from sklearn.pipeline import Pipeline

from reticent.data.schema import Schema
from reticent.guarantee import Relation, grade
from reticent.protect import budget, certified_head, head_numbers, noise_scales, used_encoder
from reticent.protect.recipes.mean import MEAN
from reticent.protect.recipes.weights import COORDINATES, WeightsRecipe
from reticent.protect.release import Charge, Release, released_by, was_charged
from reticent.protect.terms import Terms, inferred_sources
from reticent.training import SigmoidHead, SoftmaxHead, linear_head
from reticent.validation import InputError


def release_weights(  # noqa: PLR0913 - one argument for each public choice
    head: SoftmaxHead | SigmoidHead | Pipeline,
    *,
    epsilon: float,
    delta: float,
    relation: Relation | str,
    mechanism: str = "gaussian",
    max_records_per_person: int | None = None,
    mean: Release | None = None,
    inferred: Collection[str] = (),
    charge: Charge | None = None,
    encoder: used_encoder.UsedEncoder | None = None,
    schema: Schema | None = None,
) -> Release:
    """Noise on a certified head's coordinates, (ε, δ)-DP, graded proven.

    With ``mean`` the head was centred by that released mean, and (ε, δ) covers both. ``inferred``
    names public numbers (records, classes, bound, penalty, …) that were read off the private data:
    with any of them the guarantee is declared. What else would make the claim unproven is refused
    in one line. ``charge`` is called with the event before the noise is drawn. ``encoder`` is the
    released encoder that made the features, where one did, and ``schema`` the one by which the rows
    were prepared. Each call is a new release and composes with all others on the same data.
    """
    terms = Terms(
        epsilon=epsilon,
        delta=delta,
        relation=grade.as_relation(relation),
        max_records_per_person=max_records_per_person,
        sources=inferred_sources(inferred),
        encoder=encoder,
    )
    final, steps = certified_head.head_of(head)
    certified_head.refuse_unproven(final, terms)
    fit, steps = certified_head.certified_fit(final, steps)
    certified_head.refuse_other_mean(final, mean, terms, mechanism)
    centre = None if final.centre is None else np.array(final.centre, dtype=np.float64)
    terms = dataclasses.replace(_with_mean_sources(terms, mean), public_steps=steps)
    recipe = weights_recipe(fit.numbers, terms, mechanism, mean=mean, centred=centre is not None)
    given = {} if mean is None else {MEAN: mean.noises[MEAN]}
    plan = noise_scales.noise_plan(recipe, terms, given=given)
    charged = None
    if mean is not None and was_charged(mean):  # else the ledger is told of both now
        own = {COORDINATES: plan[COORDINATES]}
        charged = noise_scales.event_of(own, relation=terms.relation, delta=terms.delta)
    return released_by(
        lambda: recipe.noised(fit, centre, plan),
        recipe=recipe,
        terms=terms,
        plan=plan,
        classes=np.asarray(fit.classes),
        charge=charge,
        charged=charged,
        context=fit.context,
        schema=schema,
    )


def weights_recipe(
    numbers: linear_head.HeadNumbers,
    terms: Terms,
    mechanism: str,
    *,
    mean: Release | None = None,
    centred: bool = False,
) -> WeightsRecipe:
    """The recipe of a head's numbers, and of the noisy mean that it was centred by."""
    if mean is None:
        return WeightsRecipe(
            **head_numbers.fields_of(numbers), mechanism=mechanism, centred=centred
        )
    share = budget.spent_share(mean.noises[MEAN], epsilon=terms.epsilon, delta=terms.delta)
    if not share < 1:
        raise InputError(
            f"epsilon must be more than the mean alone has spent, got {terms.epsilon} at delta ="
            f" {terms.delta}"
        )
    return WeightsRecipe(
        **head_numbers.fields_of(numbers),
        mechanism=mechanism,
        centred=True,
        mean_bound=float(mean.recipe.to_dict()["bound"]),
        mean_share=share,
    )


def _with_mean_sources(terms: Terms, mean: Release | None) -> Terms:
    """What was read off for the mean was read off for the head that it centres."""
    if mean is None:
        return terms
    return dataclasses.replace(
        terms, sources={**terms.sources, **inferred_sources(mean.terms.inferred)}
    )
