"""What recipes share that learn one affine layer on unit rows from noisy sums alone."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from reticent.arrays import Floats
from reticent.data.cells import SCHEMA_STATED
from reticent.guarantee.guarantee import checked_by
from reticent.protect import plain_values
from reticent.protect.recipe import LARGEST_SCORE, Affine, Recipe, RowMap, Tensors
from reticent.protect.terms import NO_SEARCH, Terms
from reticent.training.features import scale_rows
from reticent.validation import InputError

NOISY_SUMS = checked_by(
    "every look at the records is a noisy sum: what is released, and what a later sum depends on "
    "beside the records, is computed from earlier answers",
    "protect.noisy_query.noisy_query",
)
OWN_CLASS = checked_by(
    "the learner is the package's own class with its own methods, fitted by itself or behind "
    "public steps",
    "protect.release.released_by",
)
UNIT_ROWS = checked_by(
    "each record's row is scaled to norm 1 by itself, in one order of summation, and cut to "
    "a grid on which sums and products are exact",
    "protect.recipes.exact_rows.unit_rows",
)
STATED: Final = (
    "one record is one row of features and its label; the map from raw data to features is fixed "
    "and looks at one record at a time",
    "encoder, scaling, classes, normaliser, learner, mechanism and ε were chosen without looking "
    "at the private data: no step before the learner was fitted on it",
    NO_SEARCH,
    SCHEMA_STATED,
    "the data set has at most 2N records, N the public normaliser",
    "nothing else computed from the private data is published: no loss, accuracy or timing, nor"
    " that a job on them failed",
)
EXP: Final = "exp of the mathematical library is accurate to 16 units in the last place"
_SAME: Final = 1e-9
"""Relative: the last digits of a share depend on the mathematical library. A power of two is one or
is none: weights of sums are, so that weighing rounds nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LinearRecipe(Recipe):
    """N, d, C and the noise; scores are W u + b of rows u that are scaled to norm 1."""

    checked: ClassVar[tuple[str, ...]] = (UNIT_ROWS, NOISY_SUMS, OWN_CLASS)
    stated: ClassVar[tuple[str, ...]] = STATED
    is_affine: ClassVar[bool] = True

    records: int
    features: int
    classes: int
    mechanism: str

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """W has a row per class, b an entry."""
        return {"weights": (self.classes, self.features), "offsets": (self.classes,)}

    def scores(self, tensors: Mapping[str, Floats], rows: Floats) -> Floats:
        """W u + b of each row u, scaled to norm 1."""
        scores: Floats = scale_rows(rows, 1.0) @ tensors["weights"].T + tensors["offsets"]
        return scores

    @property
    def formula(self) -> tuple[str, ...]:
        """Rows of norm 1, one affine layer, the largest score."""
        return (
            "u = x/‖x‖₂: each row is scaled to norm 1 by itself; a row of zeros stays",
            "scores = weights·u + offsets: a row of weights and an offset for each class",
            LARGEST_SCORE,
        )

    @property
    def row_map(self) -> RowMap:
        """Rows are scaled to norm 1, each by itself."""
        return RowMap()

    def layer(self, tensors: Mapping[str, Floats]) -> Affine:
        """W and b themselves: the release is one affine layer."""
        return Affine(tensors["weights"], tensors["offsets"])

    def misfits(self, terms: Terms) -> list[str]:
        """Constants that differ from those that this recipe plans for the same public numbers."""
        return other_constants(self, terms)


def other_constants(recipe: Recipe, terms: Terms) -> list[str]:
    """Where a recipe's numbers are not those that it plans for the same public numbers."""
    options: dict[str, Any] = {name: getattr(recipe, name) for name in recipe.options}
    try:
        planned = type(recipe).planned(
            terms,
            records=recipe.records,
            features=recipe.features,
            classes=recipe.classes,
            mechanism=recipe.mechanism,
            **options,
        )
    except InputError as error:
        return [f"{recipe.name} cannot be planned from these numbers: {error}"]
    return [
        f"{one.name} is {getattr(recipe, one.name)}, and {recipe.name} has"
        f" {getattr(planned, one.name)}"
        for one in plain_values.fields(planned)
        if not _equal(getattr(recipe, one.name), getattr(planned, one.name))
    ]


def layer_tensors(layer: Affine) -> Tensors:
    """An affine layer as tensors."""
    return {"weights": layer.weights, "offsets": layer.offsets}


def _equal(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        if math.frexp(other)[0] == 0.5:  # the mantissa of a power of two
            return one == other
        return math.isclose(one, other, rel_tol=_SAME)
    return one == other
