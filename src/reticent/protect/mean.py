"""``release_mean``: a noisy mean that a head may be centred by, one release by itself."""

import dataclasses
from collections.abc import Collection

import numpy as np
from numpy.typing import ArrayLike

from reticent.guarantee import Relation, grade
from reticent.protect import release, terms, used_encoder
from reticent.protect.noise_scales import composed_epsilon
from reticent.protect.recipe import PlannedStep
from reticent.protect.recipes.mean import MEAN, MeanRecipe, mean_noise
from reticent.validation import float_rows


def release_mean(  # noqa: PLR0913 - one argument for each public number
    X: ArrayLike,
    *,
    bound: float,
    records: int,
    epsilon: float,
    delta: float,
    relation: Relation | str,
    share: float = 1.0,
    mechanism: str = "gaussian",
    max_records_per_person: int | None = None,
    inferred: Collection[str] = (),
    charge: release.Charge | None = None,
    encoder: used_encoder.UsedEncoder | None = None,
) -> release.Release:
    """The sum of the rows, clipped to ``bound``, with noise, over the public ``records``.

    It spends ``share`` of the budget (ε, δ) (of μ² for Gaussian noise, of ρ or ε for other noise);
    ``release_weights(…, mean=…)`` spends the rest. ``inferred`` names the public numbers that were
    read off the private rows: with any of them the guarantee is declared. ``charge`` is called with
    the event before the noise is drawn; ``encoder`` is as for ``release_weights``. The mean is the
    tensor ``mean`` of the release.

    >>> rows = np.random.default_rng(0).normal(size=(5000, 3)) + [1.0, 0.0, 0.0]
    >>> mean = release_mean(
    ...     rows, bound=3.0, records=5000, epsilon=1.0, delta=1e-6, relation="add-remove"
    ... )
    >>> mean.guarantee.grade, bool(abs(mean.tensors["mean"][0] - 1.0) < 0.15)
    (<Grade.PROVEN: 'proven'>, True)
    """
    budget = terms.Terms(
        epsilon=epsilon,
        delta=delta,
        relation=grade.as_relation(relation),
        max_records_per_person=max_records_per_person,
        sources=terms.inferred_sources(inferred),
        encoder=encoder,
    )
    rows = float_rows("X", X)
    recipe = MeanRecipe.planned(
        budget, records=records, features=rows.shape[1], mechanism=mechanism, bound=bound
    )
    plan = {MEAN: PlannedStep(noise=mean_noise(recipe, budget, share=share))}
    spent = composed_epsilon(plan, relation=budget.relation, delta=budget.delta)
    return release.released_by(
        lambda: recipe.learn(rows, np.zeros(0), plan),
        recipe=recipe,
        terms=dataclasses.replace(budget, epsilon=spent),
        plan=plan,
        charge=charge,
    )
