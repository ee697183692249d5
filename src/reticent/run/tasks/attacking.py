"""A release that tells numbers, or several labels, attacked by name; figures hold all together."""

from typing import Final

import numpy as np

from reticent.arrays import Array
from reticent.attacks import Records, Scores, context
from reticent.attacks.output_likelihood import LIRA, LOSS, OutputRecords, OutputShadows, loss_scores
from reticent.audit import attack_plan, blind_check, measured_attack
from reticent.audit.attack_run import Attacked, corrected, notes_on_copies, refuse_same
from reticent.data import Dataset
from reticent.protect import Release
from reticent.run.tasks.models import shadow_of
from reticent.validation import InputError

MADE: Final = (LOSS, LIRA)
"""Attacks on residuals and on the logits of labels."""


def attack_outputs(
    released: Release,
    members: Dataset,
    others: Dataset,
    *,
    plan: attack_plan.AttackPlan,
    stage: context.ProgressCallback | None = None,
) -> Attacked:
    """Attack a regression or a sigmoid head: by its squared error or loss, and by LiRA.

    Args:
        released: The release; its shadows are made as it was, with noise of its scales.
        members: Records that it was trained on.
        others: Records of the same kind that it was not trained on.
        plan: Which attacks, how many shadows, the seed; "all" are those that are made.
        stage: Told how far it is.
    """
    progress = stage or (lambda *_: None)
    names, scored = _asked(plan), _scored(released, members, others)
    sides = _named(members), _named(others)
    refuse_same(*sides)
    inside = np.arange(len(scored)) < len(members)
    scores = {LOSS: loss_scores(released, scored)} if LOSS in names else {}
    if LIRA in names:
        progress("shadow models", 0, 1)
        shadows = OutputShadows.trained(
            shadow_of(released), scored, count=plan.shadow_count, seed=plan.seed, jobs=plan.jobs
        )
        scores[LIRA] = shadows.scores(released, scored)[LIRA]
        progress("shadow models", 1, 1)
    return _measured(scores, sides[0].joined(sides[1]), inside, plan, scored)


def _asked(plan: attack_plan.AttackPlan) -> tuple[str, ...]:
    if plan.attacks == attack_plan.ALL:
        return MADE
    for name in plan.names:
        if name not in MADE:
            raise InputError(
                f"attacks must be among {', '.join(MADE)} for numbers and several labels, got"
                f" {name}"
            )
    return plan.names


def _scored(released: Release, members: Dataset, others: Dataset) -> OutputRecords:
    """Members first, then the others; residuals are measured by the half of the public range."""
    target = released.recipe.target
    for role, data in (("members", members), ("others", others)):
        if len(data) == 0:
            raise InputError(f"{role} must be records, got none")
        if data.features.shape[1] != released.features:
            raise InputError(
                f"{role} must have the {released.features} features of the release, got"
                f" {data.features.shape[1]}"
            )
    return OutputRecords(
        rows=np.concatenate([side.features.astype(np.float64) for side in (members, others)]),
        labels=np.concatenate([_labels(members), _labels(others)]),
        scale=1.0 if target is None else target.half,
    )


def _labels(data: Dataset) -> Array:
    if data.labels is None:
        raise InputError(f"{data.name} must have labels to be attacked, got none")
    return data.labels


def _named(data: Dataset) -> Records:
    """Records with one label each: a number, or which of several hold, in words."""
    labels = _labels(data)
    if labels.ndim == 1:
        return Records(data.features.astype(np.float64), labels)
    names = np.asarray(data.classes, dtype=np.str_)
    texts = ["+".join(names[row == 1]) or "none" for row in labels]
    return Records(data.features.astype(np.float64), texts)


def _measured(
    scores: dict[str, Scores],
    records: Records,
    inside: Array,
    plan: attack_plan.AttackPlan,
    scored: OutputRecords,
) -> Attacked:
    """Then, and only then, who was a member."""
    each = corrected(plan.confidence, len(scores))
    blind = blind_check.blind_check_rows(scored.rows, scored.labels, inside, seed=plan.seed)
    notes = notes_on_copies(records, inside)
    return Attacked(
        reports={
            name: measured_attack(one, inside, confidence=each, seed=plan.seed)
            for name, one in scores.items()
        },
        scores=scores,
        records=records,
        inside=inside,
        confidences=None,
        skipped={},
        notes=notes if blind is None else (str(blind), *notes),
        confidence=plan.confidence,
        blind=blind,
    )
