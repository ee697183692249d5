"""Membership attacks on models of other outputs: a number, or several labels at once.

What is seen of a model at a record is φ, one number for each output:

- regression: the residual (y − f(x))/s, s a public scale;
- several labels: ±z, the logit of each label being what it is (as LiRA's φ for two classes).

*Loss* scores a record by log p of its outcome: of a residual under a normal of fixed variance,
which is minus half its square up to a constant, and of labels by Σ log σ(φ). *LiRA* (Carlini et al.
2022, online) takes φ over shadow models that saw the record, and over those that did not, as normal
and scores by the log likelihood ratio at the target's φ. A residual keeps its sign: the squared
error alone would not tell a model that was pulled towards y from one that lies on the other side of
it. Ratios of several outputs add up, as if these were independent; their correlation is not used,
so an attack that knows it may find more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import special

from reticent.arrays import Array, Flags, Floats
from reticent.attacks import attack, lira, shadow_models
from reticent.attacks.targets import Access, Threat
from reticent.parallel import map_tasks
from reticent.validation import InputError

Train = Callable[[Floats, Array, int], Any]
"""From rows, labels and a seed to a model made as the target was."""
LOSS: Final = "loss"
LIRA: Final = "lira-online"
_SHADOW_TARGETS: Final = 4
_FEWEST: Final = 2 * _SHADOW_TARGETS + 4
"""Shadows: two of a pair leave for each target, and four or more on either side are left."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OutputRecords:
    """Rows with what a model is to say of them: a number each, or 0 and 1, a column per label.

    ``scale`` is that of residuals: public, such as the half of the label's range.
    """

    rows: Floats
    labels: Array
    scale: float = 1.0

    def __len__(self) -> int:
        return len(self.rows)

    def outcomes(self, model: Any) -> Floats:
        """φ of each record, a column for each output."""
        if self.labels.ndim == 1:
            residuals: Floats = (self.labels - np.asarray(model.predict(self.rows))) / self.scale
            return residuals[:, None]
        signed: Floats = (2.0 * self.labels - 1.0) * np.asarray(model.logits(self.rows))
        return signed

    def log_likelihoods(self, outcomes: Floats) -> Floats:
        """Of what each record's outcome is, up to a constant: the score of the loss attack."""
        if self.labels.ndim == 1:
            return np.asarray(-0.5 * np.einsum("nk,nk->n", outcomes, outcomes))
        return np.asarray(special.log_expit(outcomes).sum(axis=1))

    def take(self, chosen: Flags) -> tuple[Floats, Array]:
        """Rows and labels of some records."""
        return self.rows[chosen], self.labels[chosen]


@dataclass(frozen=True, kw_only=True, eq=False)
class OutputShadows:
    """φ of shadow models at all scored records, and which of them saw which record."""

    outcomes: Floats
    """shadows × records × outputs."""
    inside: Flags

    @classmethod
    def trained(
        cls, train: Train, records: OutputRecords, *, count: int, seed: int = 0, jobs: int = 1
    ) -> "OutputShadows":
        """``count`` models, each on a random half of the scored records; pairs divide them."""
        if count < _FEWEST:
            raise InputError(f"shadows must be at least {_FEWEST}, got {count}")
        inside = shadow_models.memberships(len(records), count, seed=seed)
        tasks = [(train, records, flags, place + 1) for place, flags in enumerate(inside)]
        return cls(outcomes=np.stack(map_tasks(_asked, tasks, jobs=jobs)), inside=inside)

    def ratios(self, own: Floats, left_out: Sequence[int] = ()) -> Floats:
        """LiRA's score of each record: log likelihood ratios, added over the outputs."""
        kept = [place for place in range(len(self.inside)) if place not in left_out]
        saw, fixed = self.inside[kept], len(kept) < lira.ENOUGH_SHADOWS
        each = [
            lira.online_scores(own[:, k], self.outcomes[kept, :, k], saw, fixed=fixed)
            for k in range(own.shape[1])
        ]
        return np.asarray(np.sum(each, axis=0))

    def scores(self, model: Any, records: OutputRecords) -> dict[str, attack.Scores]:
        """What both attacks say of a model."""
        own = records.outcomes(model)
        few = "one σ for all records" if len(self.inside) < lira.ENOUGH_SHADOWS else "a σ each"
        return {
            LOSS: loss_scores(model, records),
            LIRA: attack.Scores(
                attack="LiRA, online",
                threat=Threat(
                    access=_access(records), knows=lira.shadow_threat("online", False).knows
                ),
                values=self.ratios(own),
                notes=(f"{len(self.inside)} shadows, {few}",),
            ),
        }

    def before_shadows(self, records: OutputRecords) -> list[tuple[dict[str, Floats], Flags]]:
        """Both attacks on some of the shadows themselves, which the adversary knows all about.

        The shadow that saw the other half would give the answer away: both leave.
        """
        shadow_scores = []
        for place in range(0, 2 * _SHADOW_TARGETS, 2):
            own = self.outcomes[place]
            values = {
                LOSS: records.log_likelihoods(own),
                LIRA: self.ratios(own, left_out=(place, place + 1)),
            }
            shadow_scores.append((values, self.inside[place]))
        return shadow_scores


def loss_scores(model: Any, records: OutputRecords) -> attack.Scores:
    """The loss attack, which needs no shadows: squared errors, or the loss of all labels."""
    return attack.Scores(
        attack="loss",
        threat=Threat(access=_access(records)),
        values=records.log_likelihoods(records.outcomes(model)),
    )


def _asked(task: tuple[Train, OutputRecords, Flags, int]) -> Floats:
    train, records, inside, seed = task
    return records.outcomes(train(*records.take(inside), seed))


def _access(records: OutputRecords) -> Access:
    return Access.NUMBERS if records.labels.ndim == 1 else Access.LABEL_SCORES
