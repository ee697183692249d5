"""A released encoder attacked: who was among the records that it was made of?

Its features of two views of a member are more alike than those of others (EncoderMI, Liu et al.
2021). Shadow encoders go the way of the release again, its noise included. Which views the
adversary shows decides: the very ones of the training, where these are a public function of the
record (``closed-form``); else images under an augmentation, and other rows under masks.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final, Literal

import numpy as np

from reticent.arrays import Array, Flags, Floats
from reticent.attacks import Attack, EncoderLira, EncoderMI, Records, Scores, ShadowEncoder
from reticent.attacks.context import ProgressCallback
from reticent.attacks.encoder_views import KeptCosines, MaskedViews, StackedViews, Views
from reticent.attacks.replayed_shadow import ReplayedShadow
from reticent.attacks.shadow_models import random_halves
from reticent.audit import attack_plan, attack_report, attack_run
from reticent.data import Dataset
from reticent.parallel import map_tasks
from reticent.protect import Release, ReleasedEncoder, released_encoder
from reticent.training.contrastive.networks import AUGMENTATIONS
from reticent.training.encoders.base import Encoder, FunctionEncoder
from reticent.training.encoders.cache import one_by_one
from reticent.validation import InputError

SHADOWS: Final = 4
"""Unless said: the fewest for which online LiRA has two shadows on either side of a record."""
_IMAGES: Final = 4  # axes: record, height, width, channel
_OTHERWISE: Final = "natural"
"""Views of images for an encoder that names no augmentation."""


def attack_encoder(
    released: Release,
    members: Dataset,
    others: Dataset,
    *,
    shadow: Dataset | None = None,
    plan: attack_plan.AttackPlan | None = None,
    stage: ProgressCallback | None = None,
) -> attack_run.Attacked:
    """Attack a released encoder by EncoderMI in three forms and by LiRA on views.

    Args:
        released: OUT of ``pretrain``, or of ``protect`` by a recipe that makes features.
        members: Records that it was made of: images, texts, or rows of the kind it reads.
        others: Records of the same kind that it was not made of.
        shadow: Records of the adversary's own, about twice as many as the members. Without them
            shadow encoders see random halves of the scored records, and LiRA is online.
        plan: How many shadow encoders, confidence and seed; all four attacks are made.
        stage: Told how far it is.
    """
    ReleasedEncoder(released)  # refuses what makes no features
    asked = attack_plan.AttackPlan(shadow_count=SHADOWS) if plan is None else plan
    if asked.attacks != attack_plan.ALL:
        raise InputError("attacks must be all for an encoder, which is attacked by its views alone")
    sides = [_records(data) for data in (members, others)]
    attack_run.refuse_same(*sides)
    scored = sides[0].joined(sides[1])
    pool = scored if shadow is None else _records(shadow)
    if len(pool) < 2:
        raise InputError(f"shadow must be at least 2 records, got {len(pool)}")
    sight = Sight(released, scored.inputs.ndim, asked.seed)
    shown = sight.shown(scored)
    pooled = (pool, shown if pool is scored else sight.shown(pool))
    shadows = _shadows(sight, pooled, asked, stage)
    mode: Literal["online", "offline"] = "online" if shadow is None else "offline"
    inside = np.arange(len(scored)) < len(sides[0])
    attacks = _attacks(sight, shadows, mode, asked.seed)
    scores, skipped = _scored(attacks, sight.encoder(released), shown, stage)
    each = attack_run.corrected(asked.confidence, len(scores))
    outcome = attack_run.Attacked(
        reports={
            name: attack_report.measured_attack(one, inside, confidence=each, seed=asked.seed)
            for name, one in scores.items()
        },
        scores=scores,
        records=scored,
        inside=inside,
        confidences=None,
        skipped=skipped,
        notes=(f"views: {sight.views.known}", *attack_run.notes_on_copies(scored, inside)),
        confidence=asked.confidence,
    )
    return attack_run.checked_blindly(outcome, seed=asked.seed)


@dataclass(frozen=True)
class Sight:
    """What the adversary shows an encoder of each record, and how the encoder reads it."""

    released: Release
    axes: int
    """Of an array of records."""
    seed: int

    @property
    def images(self) -> bool:
        """Whether views are views of images; an encoder of rows may be shown images too."""
        return self.axes == _IMAGES and self.augmentation in AUGMENTATIONS

    @property
    def augmentation(self) -> str:
        """Of the training, where the recipe names one."""
        return str(getattr(self.released.recipe, "augmentation", _OTHERWISE))

    @cached_property
    def known(self) -> int:
        """How many views of a record are a public function of it: 0 where they are secret."""
        views = self.released.recipe.training_views(np.zeros((1, self.released.recipe.features)))
        return 0 if views is None else views.shape[1]

    @cached_property
    def views(self) -> Views | MaskedViews | StackedViews:
        """Those of the training where they are known; else fresh ones."""
        if self.known:
            return StackedViews(number=self.known)
        if not self.images:
            return MaskedViews(seed=self.seed)
        return Views(augmentation=AUGMENTATIONS[self.augmentation](), seed=self.seed)

    def shown(self, records: Records) -> Records:
        """Records as the views read them: images as they are, else rows, or the views in a row."""
        if self.images and not self.known:
            return records
        rows = rows_below(self.released, records)
        views = self.released.recipe.training_views(rows)
        return Records(rows if views is None else views.reshape(len(rows), -1), records.labels)

    def encoder(self, released: Release) -> Encoder:
        """The features of these views, by the attacked encoder."""
        if self.known:
            return FunctionEncoder(partial(_encoded_views, released))
        return ReleasedEncoder(released) if self.images else FunctionEncoder(released.transform)


def rows_below(released: Release, records: Records) -> Floats:
    """What the recipe reads of records: features of the public encoder below it, or themselves."""
    below = ReleasedEncoder(released).below
    return released_encoder.rows_of(
        records.inputs if below is None else one_by_one(below)(records.inputs)
    )


def _encoded_views(released: Release, views: Array) -> Floats:
    """A view is encoded as a record is: the recipe reads the first block of a row alone."""
    return released.recipe.encoded(released.tensors, views.astype(np.float64))


def _records(data: Dataset) -> Records:
    """No labels: an encoder is made without them."""
    if len(data) == 0:
        raise InputError(f"{data.name} must be records, got none")
    return Records(data.inputs, np.zeros(len(data), dtype=np.int64))


def _shadows(
    sight: Sight,
    pooled: tuple[Records, Records],
    plan: attack_plan.AttackPlan,
    stage: ProgressCallback | None,
) -> list[ShadowEncoder]:
    """Each made of a half of the pool; ``pooled`` are its records, and what is shown of them."""
    tell = stage or (lambda *_: None)
    tell("shadow encoders", 0, plan.shadow_count)
    pool, shown = pooled
    rows, inside = rows_below(sight.released, pool), random_halves(pool, plan.shadows)
    made = map_tasks(
        partial(_shadow, sight.released, rows, plan.seed),
        enumerate(inside),
        jobs=plan.jobs,
        on_done=lambda done: tell("shadow encoders", done, plan.shadow_count),
    )
    return [
        ShadowEncoder(
            encoder=sight.encoder(one), members=shown.take(half), others=shown.take(~half)
        )
        for one, half in zip(made, inside, strict=True)
    ]


def _shadow(released: Release, rows: Floats, seed: int, task: tuple[int, Flags]) -> Release:
    number, half = task
    made_as_it_was = ReplayedShadow(released=released)
    return made_as_it_was(rows[half], np.zeros(int(half.sum())), seed + number)


def _attacks(
    sight: Sight,
    shadows: Sequence[ShadowEncoder],
    mode: Literal["online", "offline"],
    seed: int,
) -> Mapping[str, Callable[[], Attack[Encoder]]]:
    views = KeptCosines(views=sight.views)
    mi = partial(EncoderMI, shadows=shadows, views=views, seed=seed)
    return {
        "encoder-set": partial(mi, classifier="set"),
        "encoder-vector": partial(mi, classifier="vector"),
        "encoder-threshold": partial(mi, classifier="threshold"),
        f"encoder-lira-{mode}": partial(EncoderLira, shadows=shadows, views=views, mode=mode),
    }


def _scored(
    attacks: Mapping[str, Callable[[], Attack[Any]]],
    target: Encoder,
    shown: Records,
    stage: ProgressCallback | None,
) -> tuple[dict[str, Scores], dict[str, str]]:
    """Scores of the possible attacks, and why the others are not."""
    tell = stage or (lambda *_: None)
    scores: dict[str, Scores] = {}
    skipped: dict[str, str] = {}
    for place, (name, attack) in enumerate(attacks.items()):
        try:
            scores[name] = attack().scores(target, shown)
        except InputError as error:
            skipped[name] = str(error)
        tell("attacks", place + 1, len(attacks))
    if not scores:
        raise InputError(f"attacks must be possible, got none: {next(iter(skipped.values()))}")
    return scores, skipped
