"""The unprotected head, and the ways to say how far one record moves a head's weights."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.model_selection import KFold

from reticent.attacks.context import ProgressCallback
from reticent.data import Dataset
from reticent.guarantee import Grade, Sensitivity
from reticent.neighbours import Draws, SampledPairs, published_head_sensitivity, sampled_head_pairs
from reticent.protect.table import HeadSpec, private_rows
from reticent.protect.weights import weights_recipe
from reticent.results import SensitivityRow
from reticent.run.kept_fits import fitted
from reticent.run.spec import RunData, RunSpec
from reticent.training import SoftmaxHead
from reticent.validation import InputError

FOLDS = 3
_WORTH_IT = 2_000_000
"""Entries in all pairs' rows; fewer are solved sooner than other processes have them."""
VERDICTS = {
    Grade.PROVEN: "covers every pair of neighbours",
    Grade.SAMPLED: "covers a share of random pairs; nothing about the worst case",
    Grade.PUBLISHED: "known not to hold: a pair that was not drawn may differ more",
    Grade.DECLARED: "as good as the word of whoever typed it",
}


def head_spec(spec: RunSpec, penalty: float) -> HeadSpec:
    """A head of the run with this λ."""
    return HeadSpec(
        records=spec.records,
        bound=spec.bound,
        penalty=penalty,
        intercept=spec.intercept,
        norms=spec.norms,
        max_records_per_person=spec.max_records_per_person,
        inferred_classes="classes" in spec.inferred_from_data,
    )


def unprotected_head(
    data: RunData,
    spec: RunSpec,
    *,
    progress: ProgressCallback = lambda *_: None,
    chosen_on: RunData | None = None,
) -> SoftmaxHead:
    """The best head without protection, on all private records.

    Its penalty is the best in cross-validation, on the private records of ``chosen_on`` where those
    of the run are many.
    """
    some = data.private if chosen_on is None else chosen_on.private
    scores = {}
    for number, penalty in enumerate(spec.penalties, start=1):
        scores[penalty] = _validated(some, spec, penalty)
        progress("penalty of the unprotected head", number, len(spec.penalties))
    best = max(scores, key=lambda penalty: scores[penalty])
    progress("unprotected head", 0, 1)
    head = fitted(data.private, head_spec(spec, best))
    progress("unprotected head", 1, 1)
    return head


def _validated(private: Dataset, spec: RunSpec, penalty: float) -> float:
    """The share of private records that heads of the other folds get right."""
    rows, labels = private_rows(private, spec.max_records_per_person)
    if len(rows) < FOLDS:
        raise InputError(f"private must have at least {FOLDS} records, got {len(rows)}")
    hits = []
    for kept, left in KFold(FOLDS, shuffle=True, random_state=spec.seed).split(rows):
        few = replace(head_spec(spec, penalty), records=max(len(kept), 1))
        head = few.unfitted(private.classes)
        hits.append(head.fit(rows[kept], labels[kept]).predict(rows[left]) == labels[left])
    return float(np.concatenate(hits).mean())


@dataclass(frozen=True, kw_only=True)
class Sensitivities:
    """Of one head, by their grades; what could not be had is left out."""

    head: SoftmaxHead
    by_grade: dict[Grade, Sensitivity]
    fresh: SampledPairs | None
    """Pairs that the sampled sensitivity was not made from, to audit it with."""
    notes: tuple[str, ...]

    def rows(self) -> tuple[SensitivityRow, ...]:
        """As they stand in the document."""
        return tuple(
            SensitivityRow(
                grade=grade,
                l1=sensitivity.l1,
                l2=sensitivity.l2,
                relation=str(sensitivity.relation),
                source=sensitivity.source,
                gamma=sensitivity.gamma,
                verdict=VERDICTS[grade],
            )
            for grade, sensitivity in self.by_grade.items()
        )


def sensitivities(data: RunData, spec: RunSpec, *, published: bool = True) -> Sensitivities:
    """Proven by the theorem, sampled from public records, published as by Algorithm 2.

    The theorem needs public numbers alone; the head is fitted where another way asks for it.
    """
    head = head_spec(spec, spec.penalty).unfitted(data.private.classes)
    terms = spec.terms()
    recipe = weights_recipe(head.planned(data.features), terms, "gaussian")
    theorem = recipe.head_sensitivity(terms.relation, terms.records_touched)
    grade = Grade.DECLARED if spec.inferred_from_data else Grade.PROVEN
    by_grade, notes, fresh = {grade: theorem}, [], None
    if data.pool is not None or published:
        head = fitted(data.private, head_spec(spec, spec.penalty))
    if data.pool is None:
        notes.append("No sensitivity was sampled: that needs public records with labels.")
    else:
        by_grade[Grade.SAMPLED] = _sampled(head, data, spec, seed=2 * spec.seed).sensitivity
        fresh = _sampled(head, data, spec, seed=2 * spec.seed + 1)
    if published:
        rows, labels = private_rows(data.private, spec.max_records_per_person)
        by_grade[Grade.PUBLISHED] = published_head_sensitivity(
            head, rows, labels, pairs=spec.pairs, seed=spec.seed, measured="coordinates"
        )
    return Sensitivities(head=head, by_grade=by_grade, fresh=fresh, notes=tuple(notes))


def _sampled(head: SoftmaxHead, data: RunData, spec: RunSpec, *, seed: int) -> SampledPairs:
    pool, labels = data.rows("pool")
    return sampled_head_pairs(
        head,
        pool,
        labels,
        Draws(size=len(data.private), pairs=spec.sampled, seed=seed),
        private=data.private.features.astype(np.float64),
        measured="coordinates",
        jobs=spec.jobs if pool.shape[1] * len(data.private) * spec.sampled > _WORTH_IT else 1,
    )
