"""Where a fine-tuned network starts: a head that noisy gradients learn on its frozen features.

DP-SGD spends much of its budget on the head of a network when that starts from random weights. Here
a share of the same budget goes to ``noisy-gradient`` on the features that the public weights make,
the head starts as that learner's affine layer and adapters have no effect yet: before the first
step the network answers as the head does. All queries of both are steps of one release, composed by
the accountants; what DP-SGD starts from is computed from earlier answers (docs/theory.md E.5).

A head that was released before serves as well: it is public, and its guarantee stands in the terms
of the network's release (``Terms.start``), which composes both.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from reticent.arrays import Floats, Integers
from reticent.mechanisms.profiles import gaussian
from reticent.protect.recipe import Affine, Plan, Step
from reticent.protect.recipes.noisy_gradient import MOMENT, GradientRecipe, intercept_of
from reticent.protect.recipes.sampled_gradients import GRADIENTS
from reticent.protect.terms import Terms
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.protect.network_run import NetworkRun
    from reticent.protect.recipes.network import NetworkRecipe
    from reticent.protect.used_encoder import UsedStart

_PREFIX: Final = "head "
HEAD_WEIGHTS: Final = "head.weight"
HEAD_OFFSETS: Final = "head.bias"


def check_start(recipe: NetworkRecipe) -> None:
    """Refuse numbers of a start that do not go together."""
    if not 0 <= recipe.head_share < 1:
        raise InputError(f"head_share must be in [0, 1), got {recipe.head_share}")
    if bool(recipe.start) != bool(recipe.start_sha256):
        raise InputError("start must be named in the terms and in the recipe, got one of both")
    if recipe.head_share and recipe.start:
        raise InputError("head_share must be 0 beside a start, got both: the head is there")
    asked = "head_share" if recipe.head_share else "start" if recipe.start else None
    if asked and not recipe.public_weights:
        raise InputError(
            f"{asked} must not be given to {recipe.architecture}, which has no public weights that"
            " make frozen features"
        )


def steps_with_head(recipe: NetworkRecipe, terms: Terms, descent: Step) -> dict[str, Step]:
    """The queries of the head, then those of DP-SGD, each with its part of the budget.

    Gaussian noise spends μ². DP-SGD with rate q, T steps and noise multiplier σ spends about
    q²·T·(e^{1/σ²} − 1) of it (Bu et al. 2020), which says what σ its share buys. The split alone
    rests on this; what is claimed is the accountants' ε of all queries together.
    """
    whole = gaussian.shift(terms.epsilon, terms.delta) ** 2
    if not whole > 0:
        raise InputError("delta must be > 0 for a head_share, got 0")
    head = whole * recipe.head_share
    rest, q = whole - head, descent.sampling_rate
    times = descent.times
    network = rest if q == 1 else times * math.log1p(rest / (q * q * times))
    learner = GradientRecipe.planned(
        replace(terms, epsilon=recipe.head_share * terms.epsilon),
        records=recipe.records,
        features=recipe.shapes()[HEAD_WEIGHTS][1],
        classes=recipe.classes,
        mechanism=recipe.mechanism,
    )
    steps = {
        _PREFIX + name: replace(step, share=step.share * head / (head + network))
        for name, step in learner.steps(terms).items()
    }
    return steps | {GRADIENTS: replace(descent, share=network / (head + network))}


def learnt_head(recipe: NetworkRecipe, rows: Floats, labels: Integers, plan: Plan) -> Affine:
    """The affine layer on unit rows that noisy gradients give, by the head's steps of the plan."""
    own = {
        name.removeprefix(_PREFIX): step for name, step in plan.items() if name.startswith(_PREFIX)
    }
    learner = GradientRecipe(
        records=recipe.records,
        features=rows.shape[1],
        classes=recipe.classes,
        mechanism=recipe.mechanism,
        preconditioned=MOMENT in own,
        intercept=intercept_of(recipe.classes),
    )
    return learner.layer(learner.learn(rows, labels, own))


def released_head(path: str, sha256: str) -> Affine:
    """The affine layer of a release on disk, if it is the one that was planned with."""
    from reticent.protect.certificate import load
    from reticent.protect.released_encoder import fingerprint_of

    head = load(path)
    if fingerprint_of(head) != sha256:
        raise InputError(f"start must stay what it was when it was planned with, got other {path}")
    layer = head.recipe.layer(head.tensors)
    assert layer is not None  # of a LinearRecipe: ``checked_start.start_misfits``
    return layer


def refuse_other_start(path: str, start: UsedStart) -> None:
    """Raise where the release on disk is not the one whose certificate the terms hold."""
    from reticent.protect.certificate import document_of, load

    released_head(path, start.fingerprint)
    on_disk, in_terms = document_of(load(path)), start.document
    for one in (on_disk, in_terms):
        one["version"], one["guarantee"]["grade"] = None, None
    if on_disk != in_terms:
        raise InputError(f"start must have the certificate of {path}, got another's in the terms")


def start_from(run: NetworkRun, layer: Affine) -> None:
    """Put an affine layer into the head of a network, and into the average of its weights."""
    from reticent.training.encoders.torch_extra import torch

    values = {HEAD_WEIGHTS: layer.weights, HEAD_OFFSETS: layer.offsets}
    weights = dict(run.model.named_parameters())
    with torch.no_grad():
        for name, value in values.items():
            weights[name].copy_(torch.from_numpy(np.array(value)))
            run.averages[name].copy_(weights[name])
