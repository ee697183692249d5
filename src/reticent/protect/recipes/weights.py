"""Noise on the optimum: the coordinates of a certified head, released once.

The head is the minimum of a regularised convex loss; how far one record moves it is a theorem about
public numbers (theory D). With ``mean_bound`` its rows were centred by a noisy mean, for a share of
the budget.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final, Self

import numpy as np
from scipy import special

from reticent.arrays import Array, Floats
from reticent.data.cells import SCHEMA_STATED
from reticent.guarantee.guarantee import checked_by
from reticent.protect.certified_head import refuse_other_head
from reticent.protect.head_numbers import CertifiedNumbers, checked_head, fields_of, one_of
from reticent.protect.penalty import mean_share as public_mean_share
from reticent.protect.penalty import public_penalty
from reticent.protect.recipe import LARGEST_SCORE, Affine, Plan, Recipe, RowMap, Step, Tensors
from reticent.protect.recipes import mean
from reticent.protect.terms import NO_SEARCH, Terms
from reticent.training import SigmoidHead, SoftmaxHead, linear_head, softmax
from reticent.training.features import as_norms, public_map, radius
from reticent.validation import InputError, positive

COORDINATES: Final = "coordinates"
CENTRE: Final = "centre"
CERTIFIED = (
    checked_by(
        "features are brought within the public bound in float64, each row by itself in one order "
        "of summation",
        "training.features.public_map",
    ),
    checked_by(
        "the optimum is certified: the gradient at the released floats is at most the public "
        "tolerance",
        "training.optimum.certified_minimum",
    ),
)
CHECKED = (
    *CERTIFIED,
    checked_by(
        "the floats that were certified are the floats that were noised, bit by bit",
        "training.linear_head.LinearHead.certified",
    ),
    checked_by(
        "the head is the package's own class with its own methods, fitted by itself or behind "
        "public steps, with public classes and class weights",
        "protect.certified_head.refuse_other_head",
    ),
)
ZERO_SUM = checked_by(
    "only the coordinates in a fixed basis of the zero-sum space are noised and released",
    "training.softmax.zero_sum_basis",
)
STATED: Final = (
    "one record is one row of features and its label; the map from raw data to features is fixed "
    "and looks at one record at a time",
    "encoder, scaling, centre, classes and their weights, bound, penalty, normaliser, tolerance, "
    "mechanism and ε were chosen without looking at the private data, but for a noisy mean where "
    "one is named, and no step before the head was fitted on it",
    NO_SEARCH,
    SCHEMA_STATED,
    "the data set has at most 2N records, N the public normaliser",
    "nothing else computed from the private data is published: no loss, accuracy or timing, nor"
    " that a job on them failed",
    "exp of the mathematical library is accurate to 16 units in the last place",
)


_KINDS: Final[dict[str, type[SoftmaxHead] | type[SigmoidHead]]] = {
    "softmax": SoftmaxHead,
    "sigmoid": SigmoidHead,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightsRecipe(CertifiedNumbers, Recipe):
    """The numbers of the theorem, the noise, and those of the mean where rows are centred by one.

    ``centred`` says that some public or noisy vector was taken off the rows: the tensor ``centre``.
    """

    name: ClassVar[str] = "weights"
    on_optimum: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = (
        "bound",
        "penalty",
        "intercept",
        "norms",
        "mean_bound",
        "mean_share",
        "outputs",
    )
    stated: ClassVar[tuple[str, ...]] = STATED

    mechanism: str
    centred: bool = False
    mean_bound: float | None = None
    mean_share: float | None = None

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """``options``: bound, and penalty, intercept, norms, mean_bound, mean_share and outputs.

        ``outputs`` is "softmax", or "sigmoid" where several labels may be true of a record.

        The penalty (weight decay) follows from public numbers where none is given, and so does the
        mean's share of the budget.
        """
        records, features, classes = (numbers[name] for name in ("records", "features", "classes"))
        bound, intercept = mean.checked_bound(options["bound"]), options.get("intercept", 1.0)
        penalty, mean_bound = options.get("penalty"), options.get("mean_bound")
        mean_bound = None if mean_bound is None else mean.checked_bound(mean_bound)
        kind = _KINDS[one_of("outputs", options.get("outputs", "softmax"), tuple(_KINDS))]
        several = kind is SigmoidHead
        free = classes if several else classes - 1
        if penalty is None:
            penalty = public_penalty(
                records=records,
                radius=radius(bound, intercept),
                coordinates=free * (features + (1 if intercept else 0)),
                epsilon=terms.epsilon,
                delta=terms.delta,
                relation=terms.relation,
                mechanism=numbers["mechanism"],
                max_records_per_person=terms.max_records_per_person,
                residual=math.sqrt(classes if several else 2),
            )
        share = options.get("mean_share")
        if mean_bound is not None and share is None:
            share = public_mean_share(
                records=records, features=features, epsilon=terms.epsilon, delta=terms.delta
            )
        head = kind(
            penalty=penalty,
            bound=bound,
            classes=range(classes),
            records=records,
            intercept=intercept,
            norms=as_norms(options.get("norms", "clip")),
        )
        return cls(
            **fields_of(head.planned(features)),
            mechanism=numbers["mechanism"],
            centred=mean_bound is not None,
            mean_bound=mean_bound,
            mean_share=share,
        )

    @property
    def checked(self) -> tuple[str, ...]:  # type: ignore[override]
        """What its code makes sure of; the mean's line where there is one."""
        lines = (*CHECKED, ZERO_SUM) if self.outputs == "softmax" else CHECKED
        return lines if self.mean_bound is None else (*lines, mean.EXACT_SUM)

    @property
    def public_numbers(self) -> tuple[str, ...]:
        """Without the kind of its outputs, which is no number that data could tell."""
        named = ("records", "classes", *self.options)
        return tuple(name for name in named if name != "outputs")

    @property
    def is_binary(self) -> bool:
        """Two softmax classes exclude each other; labels of a sigmoid head do not."""
        return self.outputs == "softmax" and self.classes == 2

    def steps(self, terms: Terms) -> dict[str, Step]:
        """The mean where rows are centred by a noisy one, and the coordinates with the rest."""
        sensitivity = self.head_sensitivity(terms.relation, terms.records_touched)
        share = self.mean_share or 0.0
        if not share < 1:
            raise InputError(f"mean_share must leave room for the weights, got {share}")
        weights = Step(sensitivity=sensitivity, share=1 - share, theorem=self.theorem)
        if self.mean_bound is None:
            return {COORDINATES: weights}
        rows = mean.sum_sensitivity(self.mean_bound, self.features, terms)
        return {
            mean.MEAN: Step(sensitivity=rows, share=share, theorem=mean.THEOREM),
            COORDINATES: weights,
        }

    def learn(
        self,
        rows: Floats,
        labels: Array,
        plan: Plan,
        *,
        start: Floats | None = None,
        classes: Any = None,
    ) -> Tensors:
        """Centre by the noisy mean where one is planned, fit to the certified optimum, noise it."""
        if self.largest_weight != 1:
            raise InputError(
                "class weights must be those of a fitted head here, got a recipe with the largest"
                f" {self.largest_weight}: release_weights"
            )
        centre = None
        if self.mean_bound is not None:
            centre = plan[mean.MEAN].release(mean.exact_sum(rows, self.mean_bound)) / self.records
        elif self.centred:
            raise InputError("centre must be a noisy mean here, got a public one: release_weights")
        head = self.unfitted(range(self.classes) if classes is None else classes, centre)
        options = {} if start is None else {"start": start}
        head.fit(rows, labels, **options)
        refuse_other_head(head)
        return self.noised(linear_head.LinearHead.certified(head), centre, plan)

    def noised(self, fit: linear_head.CertifiedFit, centre: Floats | None, plan: Plan) -> Tensors:
        """The certified floats with noise, and the vector that rows are centred by."""
        if fields_of(fit.numbers) != fields_of(self):
            raise InputError("fit must have the numbers of the recipe, got another head's")
        coordinates = np.frombuffer(fit.coordinates).reshape(self.shape)
        tensors = {COORDINATES: plan[COORDINATES].release(coordinates)}
        return tensors if centre is None else {**tensors, CENTRE: np.asarray(centre)}

    def unfitted(self, classes: Any, centre: Floats | None) -> SoftmaxHead | SigmoidHead:
        """The head of these numbers, before its fit."""
        public: dict[str, Any] = {
            "penalty": self.penalty,
            "bound": self.bound,
            "records": self.records,
            "intercept": self.intercept,
            "norms": self.norms,
            "tolerance": self.tolerance,
        }
        return _KINDS[self.outputs](classes=list(classes), centre=centre, **public)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The coordinates, and the centre where there is one."""
        shapes: dict[str, tuple[int, ...]] = {COORDINATES: self.shape}
        return {**shapes, CENTRE: (self.features,)} if self.centred else shapes

    def released_as(self) -> dict[str, tuple[str, int]]:
        """The coordinates as they left; a noisy mean over N, where rows are centred by one."""
        own = {COORDINATES: (COORDINATES, 1)}
        return own if self.mean_bound is None else {**own, CENTRE: (mean.MEAN, self.records)}

    def scores(self, tensors: Mapping[str, Floats], rows: Floats) -> Floats:
        """W h for queries that are centred and bounded as the training rows were."""
        mapped = self.mapped(tensors, rows)
        scores: Floats = mapped @ self.layer(tensors).weights.T
        return scores

    def mapped(self, tensors: Mapping[str, Floats], rows: Floats) -> Floats:
        """Rows as the head sees them: centred, clipped or scaled, with the constant entry."""
        return public_map(
            rows,
            bound=self.bound,
            intercept=self.intercept,
            centre=tensors.get(CENTRE),
            norms=self.norms,
        )

    def probabilities(self, scores: Floats) -> Floats:
        """Softmax of the scores, or the probability of each label by itself."""
        if self.outputs == "sigmoid":
            return np.asarray(special.expit(scores))
        return Recipe.probabilities(self, scores)

    def decided(self, scores: Floats, classes: Array) -> Array:
        """The class of the largest score, or 0 and 1 for each label."""
        if self.outputs == "sigmoid":
            return (scores > 0).astype(np.int64)
        return Recipe.decided(self, scores, classes)

    @property
    def formula(self) -> tuple[str, ...]:
        """What ``mapped`` does, W of the coordinates, and what is chosen by the scores."""
        size = repr(self.bound)
        fitted = {
            "clip": f"u = z·min(1, {size}/‖z‖₂): longer rows are clipped",
            "scale": f"u = z·{size}/‖z‖₂: each row is scaled; a row of zeros stays",
        }
        constant = f"h = u with {self.intercept * self.bound!r} as one entry more"
        if self.outputs == "sigmoid":
            last = ("scores = coordinates·h", "a label holds where its score is above 0")
        else:
            last = (
                "scores = U·coordinates·h; column k of U, of C rows and C − 1 columns, is k times"
                " 1/√(k(k+1)), then −k/√(k(k+1)), then zeros",
                LARGEST_SCORE,
            )
        return (
            "z = x − centre" if self.centred else "z = x",
            fitted[self.norms],
            constant if self.intercept else "h = u",
            *last,
        )

    @property
    def row_map(self) -> RowMap:
        """What ``mapped`` does to a row, in numbers."""
        return RowMap(self.norms, self.bound, self.centred, self.intercept)

    @property
    def several_labels(self) -> bool:
        """Labels of a sigmoid head do not exclude each other."""
        return self.outputs == "sigmoid"

    def layer(self, tensors: Mapping[str, Floats]) -> Affine:
        """One row per class; for softmax W = U V, with zero column sums up to rounding."""
        coordinates = tensors[COORDINATES]
        if self.outputs == "softmax":
            coordinates = softmax.zero_sum_basis(self.classes) @ coordinates
        return Affine(coordinates, np.zeros(self.classes))

    def convex_head(
        self, tensors: Mapping[str, Floats], classes: Array | None
    ) -> SoftmaxHead | None:
        """The softmax head whose optimum was noised; None for other outputs."""
        if self.outputs != "softmax":
            return None
        names = range(self.classes) if classes is None else classes.tolist()
        head = self.unfitted(names, tensors.get(CENTRE))
        assert isinstance(head, SoftmaxHead)
        return head

    def misfits(self, terms: Terms) -> list[str]:  # noqa: ARG002 - as all recipes
        """A tolerance that no search reaches, or half of the numbers of a mean."""
        problems = []
        if self.tolerance < self.least_tolerance():
            problems.append("the tolerance is below what float64 can certify")
        if (self.mean_bound is None) != (self.mean_share is None):
            problems.append("mean_bound and mean_share must stand together")
        if self.mean_bound is not None and not 1e-75 < self.mean_bound < 1e75:
            problems.append(f"mean_bound must be within 1e-75 and 1e75, got {self.mean_bound}")
        if self.mean_share is not None and not 0 < self.mean_share < 1:
            problems.append(f"mean_share must be in (0, 1), got {self.mean_share}")
        if self.mean_bound is not None and not self.centred:
            problems.append("the noisy mean is not the centre of the weights")
        return problems

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """From plain values; what is missing, unknown or out of range is refused."""
        names = {one.name for one in fields(cls)}
        if not isinstance(values, Mapping) or set(values) != names:
            raise InputError(f"numbers must have {', '.join(sorted(names))}, got others")
        own = {name: values[name] for name in ("mechanism", "centred", "mean_bound", "mean_share")}
        if type(own["centred"]) is not bool or type(own["mechanism"]) is not str:
            raise InputError("centred must be true or false and mechanism a text, got others")
        for name in ("mean_bound", "mean_share"):
            own[name] = None if own[name] is None else positive(name, own[name])
        return cls(**checked_head(values), **own)
