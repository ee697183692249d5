"""Input-space privacy: each record gets noise of its own, and the model learns from noisy records.

The guarantee is local: no value of one record can be told from another by what leaves of it,
whoever collects the noisy records. Every record has the noise of a whole release, so sums over N of
them carry √N times as much as a noisy sum: the price of trusting nobody (docs/theory.md I.4).

A label is answered by randomised response, or has the noise of its row where that is the less.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np

from reticent import bounds
from reticent.arrays import Floats, Integers
from reticent.guarantee.guarantee import checked_by
from reticent.mechanisms.registry import MECHANISMS
from reticent.mechanisms.response import RandomisedResponse
from reticent.protect import budget
from reticent.protect.recipe import Affine, Plan, Step, Tensors
from reticent.protect.recipes import linear, pate, statistics
from reticent.protect.recipes.exact_rows import unit_rows
from reticent.protect.terms import Terms
from reticent.validation import InputError

RECORDS, LABELS = "records", "labels"
RESPONSE: Final = RandomisedResponse.name
_INTERCEPT: Final = 0.1
_LABEL_SHARE: Final = 0.5
"""Of a budget that rows and labels split: noise on their products is least where halves meet."""
_MOST_ENTRIES: Final = 2**27
OWN_LINE = checked_by(
    "a record takes the line that a public hash of the record itself names, and changes no other",
    "protect.recipes.input.lines",
)
_LOCAL: Final = (
    "the guarantee is local as well: each line of noisy records has it by itself, row and label"
    " together, against whoever sees the line, provided that its holder draws the noise and hashes"
    " a public name"
)


def lines(rows: Floats, labels: Integers, *, count: int, classes: int) -> Floats:
    """A table of (row, one-hot label), the record of each line; lines without one are 0.

    Of several records with one line the smallest hash stays: one record more changes one line.
    """
    table = np.zeros((count, rows.shape[1] + 1 + classes))
    order = pate.hashes(rows, labels)
    by_hash = np.argsort(order, kind="stable")
    places, first = np.unique((order % np.uint64(count))[by_hash], return_index=True)
    kept = by_hash[first]
    slots = places.astype(np.int64)
    unit = unit_rows(rows[kept], np.zeros(rows.shape[1]))
    table[slots, : rows.shape[1] + 1] = statistics.with_intercept(unit, _INTERCEPT)
    table[slots, rows.shape[1] + 1 + labels[kept]] = 1.0
    return table


@dataclass(frozen=True, kw_only=True, slots=True)
class InputRecipe(linear.LinearRecipe):
    """Ridge regression on noisy rows and noisy one-hot labels, the noise's moment taken off."""

    name: ClassVar[str] = "input"
    options: ClassVar[tuple[str, ...]] = ("label_noise",)
    checked: ClassVar[tuple[str, ...]] = (
        linear.UNIT_ROWS,
        OWN_LINE,
        linear.NOISY_SUMS,
        linear.OWN_CLASS,
    )
    stated: ClassVar[tuple[str, ...]] = (*linear.STATED, _LOCAL)

    label_noise: str
    """Randomised response, or the mechanism of the rows: then both are one query."""
    label_share: float
    """Of the budget, where labels have one of their own; else 0."""

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """As many lines as N, within memory, and the noise on labels that leaves less of it."""
        width = numbers["features"] + 1 + numbers["classes"]
        if numbers["records"] * width > _MOST_ENTRIES:
            raise InputError(
                f"records × (features + classes) must be at most {_MOST_ENTRIES} for input"
                f" perturbation, got {numbers['records']} × {width}"
            )
        own = numbers["mechanism"]
        if options.get("label_noise") not in (None, RESPONSE, own):
            raise InputError(
                f"label_noise must be {RESPONSE} or {own}, as the rows have, got"
                f" {options['label_noise']!r}"
            )
        responds = cls(**numbers, label_noise=RESPONSE, label_share=_LABEL_SHARE)
        together = cls(**numbers, label_noise=own, label_share=0.0)
        if options.get("label_noise") is None:
            return responds if _is_quieter(responds, together, terms) else together
        return responds if options["label_noise"] == RESPONSE else together

    def steps(self, terms: Terms) -> dict[str, Step]:
        """The whole table of noisy records, of which few lines differ; labels by themselves."""
        public: dict[str, Any] = {
            "relation": terms.relation,
            "max_records_per_person": terms.records_touched,
        }
        if not self.label_share:
            both = bounds.record_lines(features=self.features + 1, **public)
            return {RECORDS: Step(sensitivity=both, share=1.0, theorem="bounds.votes.record_lines")}
        return {
            RECORDS: Step(
                sensitivity=bounds.row_lines(features=self.features + 1, **public),
                share=1 - self.label_share,
                theorem="bounds.votes.row_lines",
            ),
            LABELS: Step(
                sensitivity=bounds.label_lines(classes=self.classes, **public),
                share=self.label_share,
                theorem="bounds.votes.label_lines",
                mechanism=RESPONSE,
            ),
        }

    def learn(self, rows: Floats, labels: Integers, plan: Plan) -> Tensors:
        """Noisy records, and ridge regression on them."""
        exact = lines(rows, np.asarray(labels), count=self.records, classes=self.classes)
        width = self.features + 1
        inputs, targets = self._noisy(exact[:, :width], exact[:, width:], plan)
        std = plan[RECORDS].noise.std_in(exact.size if LABELS not in plan else inputs.size)
        moment = inputs.T @ inputs - self.records * std**2 * np.eye(width)
        products = inputs.T @ targets
        values, vectors = np.linalg.eigh(moment)
        edge = 2 * std**2 * np.sqrt(self.records * width)
        weights = ((vectors / np.maximum(values, edge)) @ (vectors.T @ products)).T
        weights /= np.sqrt(1 + _INTERCEPT**2)
        offsets: Floats = np.asarray(_INTERCEPT * weights[:, -1], dtype=np.float64)
        return linear.layer_tensors(Affine(np.ascontiguousarray(weights[:, :-1]), offsets))

    def _noisy(self, rows: Floats, labels: Floats, plan: Plan) -> tuple[Floats, Floats]:
        """Noisy rows and unbiased noisy labels: by one query, or by one for each."""
        if LABELS not in plan:
            whole = np.hstack([rows, labels])
            noisy = plan[RECORDS].release(whole.ravel()).reshape(whole.shape)
            return noisy[:, : rows.shape[1]], noisy[:, rows.shape[1] :]
        response = plan[LABELS].noise
        assert isinstance(response, RandomisedResponse)
        inputs = plan[RECORDS].release(rows.ravel()).reshape(rows.shape)
        by_class = np.vstack([labels.T, 1 - labels.sum(axis=1)])  # and those without one
        return inputs, response.unbiased(plan[LABELS].release(by_class.ravel())).T


def _is_quieter(responds: InputRecipe, together: InputRecipe, terms: Terms) -> bool:
    """Whether the product of the two standard deviations is smaller with randomised response.

    So large is the noise on a sum of products of noisy rows and labels. Public numbers decide: at
    equal shares of Gaussian noise a label of loss ε₀ counts as one of μ = ε₀.
    """
    kind = MECHANISMS.named(together.mechanism)
    epsilon, delta = terms.epsilon, terms.delta
    if kind.needs_delta and delta == 0:
        return False  # there is no such noise, which is said where it is calibrated
    (whole,) = together.steps(terms).values()
    alone = kind.calibrate(whole.sensitivity, epsilon=epsilon, delta=delta)
    entries = responds.records * (responds.features + 1)
    both = alone.std_in(entries + responds.records * responds.classes)
    steps = responds.steps(terms)
    shares = {
        name: budget.noise_for_budget_share(
            kind if kind.needs_delta or name == RECORDS else RandomisedResponse,
            step.sensitivity,
            epsilon=epsilon,
            delta=delta if kind.needs_delta else 0.0,
            share=step.share,
        )
        for name, step in steps.items()
    }
    label = RandomisedResponse(scale=shares[LABELS].scale, sensitivity=steps[LABELS].sensitivity)
    return bool(shares[RECORDS].std_in(entries) * label.std < both**2)
