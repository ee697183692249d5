"""Few false positives on models that generalise well (Long et al. 2018, 2020).

A model that does not overfit still gives away single records: those with few others like them.
Reference models that did not see a record tell how small its loss is when it is NOT a member; the
p-value of the target's loss under them is the score. Records with many neighbours are left out
beforehand, since their loss is small in any case. Neither step uses membership in the target.

The p-value. The loss is a falling function of φ, so "a loss this small" is "a φ this large". The
references' empirical distribution of φ is smoothed twice, and the larger p-value counts:
- a Gaussian kernel of width 1.06·s·m^(−1/5) (Silverman) follows the shape of the m values;
- Student's t of (φ − mean)/(s·√(1 + 1/m)), m − 1 degrees of freedom, is exact for a normal φ, also
  for few references, where the kernel is too sure of its tail.
So p is at least as large as one that is exactly uniform for normal φ. Long tails towards large φ
still make it too small where m is below about 100: no smoothing knows a tail that it has not seen.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats

from reticent.arrays import Array, ArrayLike, Flags, Floats, Integers
from reticent.attacks.attack import Attack, Scores, with_shadows
from reticent.attacks.lira import require_shadows, shadow_margins, target_margins, views_of
from reticent.attacks.records import Records
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import Access, ModelTarget, Target, Threat, TorchTarget, target_of
from reticent.training.features import clip_rows
from reticent.training.mlp_head import MLPHead
from reticent.validation import count, float_array, open_probability, positive


def last_hidden(model: Target, inputs: ArrayLike) -> Floats:
    """The last hidden layer of an MLPHead or a torch module; centred logits of any other model.

    A torch module's last hidden layer is the input of the last ``Linear`` in it.
    """
    if isinstance(model, ModelTarget) and isinstance(model.model, MLPHead):
        head = model.model
        return _centred(model, inputs) if head.layers == 1 else _of_head(head, inputs)
    if isinstance(model, TorchTarget):
        return _of_module(model, inputs)
    return _centred(model, inputs)


def _centred(model: Target, inputs: ArrayLike) -> Floats:
    """Logits are known up to a constant in each row."""
    logits = model.logits(inputs)
    centred: Floats = logits - logits.mean(axis=1, keepdims=True)
    return centred


def _of_head(head: MLPHead, inputs: ArrayLike) -> Floats:
    outputs = np.asarray(inputs, dtype=np.float64)
    if head.bound is not None:
        outputs = clip_rows(outputs, head.bound)
    for weight, bias in head.weights_[:-1]:
        outputs = outputs @ weight.T + bias
        outputs = np.tanh(outputs) if head.activation == "tanh" else np.maximum(outputs, 0.0)
    return outputs


def _of_module(model: TorchTarget, inputs: ArrayLike) -> Floats:
    import torch

    linear = [part for part in model.module.modules() if isinstance(part, torch.nn.Linear)]
    if not linear:
        return _centred(model, inputs)
    seen: list[Any] = []
    hook = linear[-1].register_forward_pre_hook(
        lambda _, given: seen.append(given[0].detach().double().flatten(start_dim=1))
    )
    try:
        model.logits(inputs)
    finally:
        hook.remove()
    return np.asarray(torch.cat(seen).numpy())


Features = Callable[[Target, Any], ArrayLike]
"""A reference model and n inputs to n rows."""

NOT_KEPT = -2.0
"""The score of records that are left out: below −p of any other."""
FEWEST_REFERENCES = 4
_CHUNK = 1024
"""Records whose distances to the pool are held at a time."""
_SMALLEST_SPREAD = 1e-6
"""References that agree to the last bit do not make a p-value of 0/0."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ReferenceAttack(Attack[Any]):
    """The test of Long et al. on any target that shows probabilities; decides at p < ``level``.

    Two records are neighbours where the cosine distance of their features, averaged over the
    reference models that did not see the record, is below ``distance``. Neighbours are looked for
    in the shadows' pool: the adversary's picture of what the target may have been trained on.

    Args:
        shadows: The reference models; for each record only those count that did not see it, at
            least 4 of them. Below about 100, p < .01 rests on the smoothing.
        distance: How near a neighbour is. Its scale is that of the features: look at the number of
            records kept, which stands in the notes.
        neighbours: Records with more than so many neighbours in the pool are left out.
        features: From a reference model and inputs to rows; by default its last hidden layer, or
            its centred logits where it has none.
        level: The p-value below which the attack says "member".
    """

    shadows: Shadows
    distance: float = 0.05
    neighbours: int = 5
    features: Features = last_hidden
    level: float = 0.01

    threat = Threat(access=Access.SCORES, knows=("reference models without the record",))

    def __post_init__(self) -> None:
        """Numbers in range."""
        positive("distance", self.distance)
        count("neighbours", self.neighbours, at_least=0)
        open_probability("level", self.level)

    @property
    def name(self) -> str:
        """What stands in tables: the reference attack and its authors."""
        return "reference test (Long et al.)"

    def scores(self, target: Any, records: Records) -> Scores:
        """−p of the records that are kept, and −2 of the others."""
        attacked, saw = target_of(target), self.shadows.saw(records)
        require_shadows(~saw, at_least=FEWEST_REFERENCES, which="did not see it")
        kept = self.neighbour_counts(records) <= self.neighbours
        views = views_of(records, None)
        p = p_values(
            target_margins(attacked, records, views),
            shadow_margins(self.shadows, records, views),
            ~saw,
        )
        return Scores(
            attack=self.name,
            threat=Threat(access=attacked.access, knows=self.threat.knows),
            values=np.where(kept, -p, NOT_KEPT),
            decides_at=-self.level,
            notes=(
                f"kept {int(kept.sum())} of {len(records)} records, those with at most"
                f" {self.neighbours} neighbours: the selection used no membership",
            ),
        )

    def neighbour_counts(self, records: Records) -> Integers:
        """How many other records of the pool are nearer than ``distance``."""
        outside, pool = ~self.shadows.saw(records), self.shadows.pool
        known = [self._unit_rows(model, pool.inputs) for model in self.shadows.models]
        itself = {key: place for place, key in enumerate(pool.keys)}
        counts = np.zeros(len(records), dtype=np.int64)
        for start in range(0, len(records), _CHUNK):
            rows = slice(start, start + _CHUNK)
            near = self._similarities(records.inputs[rows], outside[:, rows], known)
            for row, key in enumerate(records.keys[rows]):
                if key in itself:  # a record is no neighbour of itself, an equal one is
                    near[row, itself[key]] = -np.inf
            counts[rows] = (1 - near < self.distance).sum(axis=1)
        return counts

    def _similarities(self, inputs: Array, outside: Flags, known: list[Floats]) -> Floats:
        """Mean cosine over the models that did not see the record, records × pool."""
        total = np.zeros((len(inputs), len(known[0])))
        for model, without, others in zip(self.shadows.models, outside, known, strict=True):
            total += (self._unit_rows(model, inputs) * without[:, None]) @ others.T
        mean: Floats = total / outside.sum(axis=0)[:, None]
        return mean

    def _unit_rows(self, model: Target, inputs: Array) -> Floats:
        """Features of length 1; those of length 0 are near nothing."""
        rows = float_array("features", self.features(model, inputs)).reshape(len(inputs), -1)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.where(lengths > 0, lengths, 1.0)


def p_values(own: Floats, others: Floats, references: Flags) -> Floats:
    """The chance of a φ as large as the target's in a model that did not see the record.

    Args:
        own: φ of the target, one for each record.
        others: φ of the reference models, models × records.
        references: Which models count for which record; at least 2 for each.
    """
    m = references.sum(axis=0)
    mean = others.sum(axis=0, where=references) / m
    squares = np.square(others - mean).sum(axis=0, where=references)
    spread = np.maximum(np.sqrt(squares / (m - 1)), _SMALLEST_SPREAD)
    student = stats.t.sf((own - mean) / (spread * np.sqrt(1 + 1 / m)), m - 1)
    width = 1.06 * spread * m**-0.2
    kernel = special.ndtr((others - own) / width).sum(axis=0, where=references) / m
    larger: Floats = np.maximum(student, kernel)
    return larger


REFERENCE = with_shadows(lambda known: ReferenceAttack(shadows=known.offline))
