"""Objective perturbation: a random linear term in the loss, and the minimum of both together.

Chaudhuri, Monteleoni & Sarwate 2011; Kifer, Smith & Thakurta 2012. The theorem is about the exact
minimum, and a computed one has floats that tell of the data. So the search goes on until a public
tolerance is certified, and what it found leaves with Gaussian noise of its own, composed with the
linear term (docs/theory.md I.2).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self, cast

import numpy as np

from reticent import bounds
from reticent.arrays import Floats, Integers
from reticent.guarantee.guarantee import checked_by
from reticent.protect.recipe import Affine, Curved, Plan, Step, Tensors
from reticent.protect.recipes.linear import EXP, OWN_CLASS, STATED, LinearRecipe
from reticent.protect.recipes.weights import CERTIFIED, ZERO_SUM
from reticent.protect.terms import Terms
from reticent.training.features import MappedRows, public_map, radius
from reticent.training.linear_head import LARGEST_COPY, least_tolerance
from reticent.training.objective import norm
from reticent.training.optimum import certified_minimum
from reticent.training.softmax import SoftmaxObjective, zero_sum_basis
from reticent.validation import InputError, open_probability

LOSS, OUTPUT = "loss", "output"
COORDINATES: Final = "coordinates"
_INTERCEPT: Final = 0.1
_CURVATURE: Final = 0.25
"""A choice between .2 and .4, which differed little in a first trial on Adult; Kifer, Smith &
Thakurta take about .4 at ε = 1."""
_OUTPUT_SHARE: Final = 0.01
_TOLERANCE: Final = 1e-5
"""τ in units of the gradient of one record over N."""
_TAIL: Final = 40.0
"""‖b‖ > σ(√p + 40) has probability e⁻⁸⁰⁰; more than that is charged (accounting.objective.CUT)."""
INSIDE_LOSS = checked_by(
    "the linear term of the loss is fresh noise, drawn on a grid before the search, and nothing of "
    "the minimum leaves but with noise of its own",
    "protect.noisy_query.implicit_noise",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectiveRecipe(LinearRecipe):
    """The noisy minimum of Σ CE(U V h, y)/N + (λ/2)‖V‖² + ⟨b, V⟩/N, h a unit row and a constant."""

    name: ClassVar[str] = "objective"
    noises: ClassVar[tuple[str, ...]] = ("gaussian",)
    options: ClassVar[tuple[str, ...]] = ("curvature_share",)
    checked: ClassVar[tuple[str, ...]] = (*CERTIFIED, ZERO_SUM, INSIDE_LOSS, OWN_CLASS)
    stated: ClassVar[tuple[str, ...]] = (*STATED, EXP)

    curvature_share: float
    """Of ε, for the change of the determinant: it fixes the penalty."""
    penalty: float
    tolerance: float
    largest_noise: float
    """A bound on ‖b‖, for the tolerance: longer noise is cut to it."""

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """Penalty, tolerance and the bound on the noise, from public numbers."""
        if not terms.delta > 0:
            raise InputError(f"delta must be > 0 for objective perturbation, got {terms.delta}")
        records, classes, each = numbers["records"], numbers["classes"], terms.records_touched
        _refuse_one_class(classes)
        share = open_probability("curvature_share", options.get("curvature_share") or _CURVATURE)
        curvature = min(share * terms.epsilon, 50.0) / (each * (classes - 1))
        penalty = _RADIUS**2 / (classes * math.expm1(curvature)) / records
        noise = _largest_noise(terms, numbers, penalty * records)
        empty = _loss(
            np.zeros((0, numbers["features"] + 1)),
            np.zeros(0, dtype=np.int64),
            classes=classes,
            penalty=penalty,
            records=records,
            farthest_centre=noise / (penalty * records),
        )
        tolerance = max(_TOLERANCE * math.sqrt(2) * _RADIUS / records, least_tolerance(empty))
        return cls(
            **numbers,
            curvature_share=share,
            penalty=penalty,
            tolerance=tolerance,
            largest_noise=noise,
        )

    def __post_init__(self) -> None:
        """Two classes at least: one has no coordinates."""
        _refuse_one_class(self.classes)

    @property
    def shape(self) -> tuple[int, int]:
        """C − 1 coordinates for each entry of a row, the constant one included."""
        return self.classes - 1, self.features + 1

    @property
    def total_penalty(self) -> float:
        """Λ = λN, beside a sum over records."""
        return self.penalty * self.records

    @property
    def grid(self) -> float:
        """The step of the linear term: rounding to it moves b by less than Nτ/8."""
        finest = self.records * self.tolerance / (4 * math.sqrt(math.prod(self.shape)))
        return 2.0 ** math.floor(math.log2(finest))

    def steps(self, terms: Terms) -> dict[str, Step]:
        """The loss with its linear term, and the minimum that was found."""
        loss_sensitivity = bounds.perturbed_gradient(
            classes=self.classes,
            features=self.features + 1,
            radius=_RADIUS,
            rounding=self.records * self.tolerance,
            relation=terms.relation,
            max_records_per_person=terms.records_touched,
        )
        output_sensitivity = bounds.approximate_minimum(
            penalty=self.penalty,
            tolerance=self.tolerance,
            size=math.prod(self.shape),
            relation=terms.relation,
        )
        return {
            LOSS: Step(
                sensitivity=loss_sensitivity,
                share=1 - _OUTPUT_SHARE,
                theorem="bounds.objective.perturbed_gradient",
                implicit=_curved(terms, self.classes, self.total_penalty),
            ),
            OUTPUT: Step(
                sensitivity=output_sensitivity,
                share=_OUTPUT_SHARE,
                theorem="bounds.objective.approximate_minimum",
            ),
        }

    def learn(self, rows: Floats, labels: Integers, plan: Plan) -> Tensors:
        """Draw the linear term, search to the certificate, noise what was found."""
        scale = plan[LOSS].noise.std
        if not scale * (math.sqrt(math.prod(self.shape)) + _TAIL) <= self.largest_noise:
            raise InputError("noise of the loss must be within largest_noise, got more")
        few = rows.nbytes <= LARGEST_COPY
        h = self._mapped(rows) if few else cast(Floats, MappedRows(rows, self._mapped))
        query = _PerturbedLoss(self, h, np.asarray(labels))
        noise = plan[LOSS].implicit_noise(query, grid=self.grid)
        return {COORDINATES: plan[OUTPUT].release(query.minimum(noise))}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The coordinates, in the zero-sum space."""
        return {COORDINATES: self.shape}

    def released_as(self) -> dict[str, tuple[str, int]]:
        """The coordinates as they left."""
        return {COORDINATES: (OUTPUT, 1)}

    def scores(self, tensors: Mapping[str, Floats], rows: Floats) -> Floats:
        """W h of unit rows with a constant entry."""
        scores: Floats = self._mapped(rows) @ self._weights(tensors).T
        return scores

    def layer(self, tensors: Mapping[str, Floats]) -> Affine:
        """W on unit rows, and the weights of the constant entry."""
        weights = self._weights(tensors)
        return Affine(weights[:, :-1], _INTERCEPT * weights[:, -1])

    def _weights(self, tensors: Mapping[str, Floats]) -> Floats:
        weights: Floats = zero_sum_basis(self.classes) @ tensors[COORDINATES]
        return weights

    def _mapped(self, rows: Floats) -> Floats:
        return public_map(rows, bound=1.0, intercept=_INTERCEPT, centre=None, norms="scale")


_RADIUS: Final = radius(1.0, _INTERCEPT)


@dataclass(frozen=True)
class _PerturbedLoss:
    """The loss on some records: an implicit query whose answer is −λN·V at its minimum V."""

    recipe: ObjectiveRecipe
    rows: Floats
    labels: Integers

    @property
    def shape(self) -> tuple[int, int]:
        return self.recipe.shape

    def minimum(self, noise: Floats) -> Floats:
        """V with a gradient of at most τ, certified."""
        size = norm(noise)
        if size > self.recipe.largest_noise:
            noise = noise * (self.recipe.largest_noise / size)
        loss = self._around(noise / -self.recipe.total_penalty)
        return certified_minimum(loss, tolerance=self.recipe.tolerance).point

    def solve(self, noise: Floats) -> Floats:
        answer: Floats = -self.recipe.total_penalty * self.minimum(noise)
        return answer

    def value(self, answer: Floats) -> Floats:
        point = answer / -self.recipe.total_penalty
        return self.recipe.records * self._around(point).gradient(point)

    def _around(self, centre: Floats) -> SoftmaxObjective:
        recipe = self.recipe
        return _loss(
            self.rows,
            self.labels,
            classes=recipe.classes,
            penalty=recipe.penalty,
            records=recipe.records,
            farthest_centre=recipe.largest_noise / recipe.total_penalty,
            centre=centre,
        )


def _loss(rows: Floats, labels: Integers, *, classes: int, **numbers: Any) -> SoftmaxObjective:
    return SoftmaxObjective(
        rows=rows,
        labels=labels,
        radius=_RADIUS,
        basis=zero_sum_basis(classes),
        weights=np.ones(classes),
        **numbers,
    )


def _refuse_one_class(classes: int) -> None:
    if classes < 2:
        raise InputError(f"classes must be at least 2, got {classes}")


def _curved(terms: Terms, classes: int, total_penalty: float) -> Curved:
    touched = bounds.touched_records(terms.relation, terms.records_touched)
    ratio = bounds.determinant_ratio(
        classes=classes,
        radius=_RADIUS,
        total_penalty=total_penalty,
        max_records_per_person=terms.records_touched,
    )
    return Curved(curvature=ratio, directions=touched * (classes - 1))


def _largest_noise(terms: Terms, numbers: dict[str, Any], total_penalty: float) -> float:
    """σ(√p + 40) for a σ that is enough: κ + a²/2 + a·c = ε with c = √m + √(2·ln(4/δ)), a = L/σ.

    That loss is exceeded with probability δ/2 at most, so the least σ for (ε, δ) is smaller.
    """
    curved = _curved(terms, numbers["classes"], total_penalty)
    left = 0.9 * (terms.epsilon - curved.curvature)
    reach = math.sqrt(curved.directions) + math.sqrt(2 * math.log(4 / terms.delta))
    shift = 2 * left / (reach + math.sqrt(reach**2 + 2 * left))
    touched = bounds.touched_records(terms.relation, terms.records_touched)
    size = (numbers["classes"] - 1) * (numbers["features"] + 1)
    length = 1.01 * touched * math.sqrt(2) * _RADIUS
    return length / shift * (math.sqrt(size) + _TAIL)
