"""Input-space privacy: each record gets noise of its own, and the model learns from noisy records.

The guarantee is local: no value of one record can be told from another by what leaves of it,
whoever collects the noisy records. Every record has the noise of a whole release, so sums over N of
them carry √N times as much as a noisy sum: the price of trusting nobody (docs/theory.md I.4).
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np

from reticent import bounds
from reticent.arrays import Floats, Integers
from reticent.guarantee.guarantee import checked_by
from reticent.protect.recipe import Affine, Plan, Step, Tensors
from reticent.protect.recipes import linear, pate, statistics
from reticent.protect.recipes.exact_rows import unit_rows
from reticent.protect.terms import Terms
from reticent.validation import InputError

RECORDS: Final = "records"
_INTERCEPT: Final = 0.1
_MOST_ENTRIES: Final = 2**27
OWN_LINE = checked_by(
    "a record takes the line that a public hash of the record itself names, and changes no other",
    "protect.recipes.input.lines",
)
_LOCAL: Final = (
    "the guarantee is local as well: each line of noisy records has it by itself, against whoever"
    " sees the line, provided that its holder draws the noise and hashes a public name"
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
    checked: ClassVar[tuple[str, ...]] = (
        linear.UNIT_ROWS,
        OWN_LINE,
        linear.NOISY_SUMS,
        linear.OWN_CLASS,
    )
    stated: ClassVar[tuple[str, ...]] = (*linear.STATED, _LOCAL)

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """As many lines as N, within memory."""
        width = numbers["features"] + 1 + numbers["classes"]
        if numbers["records"] * width > _MOST_ENTRIES:
            raise InputError(
                f"records × (features + classes) must be at most {_MOST_ENTRIES} for input"
                f" perturbation, got {numbers['records']} × {width}"
            )
        return super(InputRecipe, cls)._planned(terms, numbers, options)

    def steps(self, terms: Terms) -> dict[str, Step]:
        """The whole table of noisy records, as one release of which few lines differ."""
        sensitivity = bounds.record_lines(
            features=self.features + 1,
            relation=terms.relation,
            max_records_per_person=terms.records_touched,
        )
        return {
            RECORDS: Step(sensitivity=sensitivity, share=1.0, theorem="bounds.votes.record_lines")
        }

    def learn(self, rows: Floats, labels: Integers, plan: Plan) -> Tensors:
        """Noisy records, and ridge regression on them."""
        exact = lines(rows, np.asarray(labels), count=self.records, classes=self.classes)
        noisy = plan[RECORDS].release(exact.ravel()).reshape(exact.shape)
        std = plan[RECORDS].noise.std_in(exact.size)
        width = self.features + 1
        inputs, targets = noisy[:, :width], noisy[:, width:]
        moment = inputs.T @ inputs - self.records * std**2 * np.eye(width)
        products = inputs.T @ targets
        values, vectors = np.linalg.eigh(moment)
        edge = 2 * std**2 * np.sqrt(self.records * width)
        weights = ((vectors / np.maximum(values, edge)) @ (vectors.T @ products)).T
        weights /= np.sqrt(1 + _INTERCEPT**2)
        offsets: Floats = np.asarray(_INTERCEPT * weights[:, -1], dtype=np.float64)
        return linear.layer_tensors(Affine(np.ascontiguousarray(weights[:, :-1]), offsets))
