"""Linear discriminant analysis at pure ε: one joint moment of rows and classes, matrix noise.

Rows are shortened to k dimensions by a public map, centred by a noisy mean, and Σ z zᵀ of
z = (a·x, b·e_y) is released by the matrix Laplace mechanism (docs/theory.md H).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np

from reticent import bounds
from reticent.arrays import Floats, Floats32, Integers
from reticent.guarantee import Relation
from reticent.mechanisms.structured import from_upper_triangle, upper_triangle
from reticent.protect.public_map import leading_directions, named_map, shape_of
from reticent.protect.recipe import Affine, Plan, Step, Tensors
from reticent.protect.recipes import linear, pure_class_means, statistics
from reticent.protect.recipes.exact_rows import on_grid, unit_rows
from reticent.protect.terms import Terms
from reticent.randomness import seeded
from reticent.training.features import MappedRows, Rows, doubles
from reticent.validation import InputError, count

MEAN, JOINT = "mean", "joint moment"
MEAN_SHARE = 0.08
RANDOM_WIDTH, PUBLIC_WIDTH = 1.4, 1.0
"""k/√(εN) of a random map and of one in a public order; these constants and those below were
found on training records of CIFAR-10 features (docs/guide/pure.md)."""
MOMENT, COUNTS = 0.7, 0.3
SUMS = math.sqrt(MOMENT * COUNTS) * (1 - 2.0**-50)
"""a², b² and a·b, rounded down: a record's term stays positive semidefinite."""
_BLOCK: Final = 2048
_PUBLIC: Final = (
    "the public map, which the certificate names by its hash, was neither made from the private"
    " records nor chosen by looking at them"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class MatrixLDARecipe(pure_class_means.PureRecipe):
    """LDA on k public directions of unit rows, from a noisy mean and one noisy joint moment.

    k = min(d, c·√(εN/Δ)), Δ the nuclear norm by which one unit moves the moment: the operator norm
    of the noise grows as k/ε, that of the moment as N.
    """

    name: ClassVar[str] = "matrix-lda"
    noises: ClassVar[tuple[str, ...]] = ("matrix-laplace",)
    options: ClassVar[tuple[str, ...]] = ("public_map", "seed")
    checked: ClassVar[tuple[str, ...]] = (linear.UNIT_ROWS, linear.NOISY_SUMS, linear.OWN_CLASS)

    width: int
    public_map: str = ""
    """SHA-256 and shape of the layer whose directions are taken; empty for a random map."""
    seed: int = 0
    """Public, of the random map."""

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """With as many dimensions as (ε, N) bear."""
        public_map = options.get("public_map") or ""
        name = named_map(public_map) if public_map else ""
        seed = count("seed", options.get("seed") or 0, at_least=0)
        replaced = 1 if terms.relation is Relation.ADD_REMOVE else 2
        signal = terms.epsilon * numbers["records"] / (replaced * terms.records_touched)
        width = min(numbers["features"], max(1, int(_factor(name) * math.sqrt(signal))))
        if name:
            width = min(width, _checked_outputs(name, numbers["features"]))
        further = {"width": width, "public_map": name, "seed": seed}
        return super(MatrixLDARecipe, cls)._planned(terms, numbers, further)

    @property
    def stated(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the user states; of a public map too."""
        return (*linear.STATED, *((_PUBLIC,) if self.public_map else ()))

    @property
    def order(self) -> int:
        """p of the joint moment."""
        return self.width + self.classes

    def steps(self, terms: Terms) -> dict[str, Step]:
        """The mean by L2-Laplace noise, then the joint moment with what is left."""
        public = self.public(terms)
        mean = bounds.clipped_sum(
            bound=1.0,
            features=self.width,
            relation=terms.relation,
            max_records_per_person=terms.records_touched,
        )
        joint = bounds.joint_moment(
            moment=MOMENT, sums=SUMS, counts=COUNTS, order=self.order, **public
        )
        return {
            MEAN: Step(
                sensitivity=mean,
                share=MEAN_SHARE,
                theorem="bounds.means.clipped_sum",
                mechanism="l2-laplace",
            ),
            JOINT: Step(
                sensitivity=joint,
                share=1 - MEAN_SHARE,
                theorem="bounds.structured.joint_moment",
            ),
        }

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """W and b on centred rows of k dimensions, what they are centred by, and the public map."""
        return {
            "weights": (self.classes, self.width),
            "offsets": (self.classes,),
            "mean": (self.width,),
            "map": (self.features, self.width),
        }

    def learn(self, rows: Floats, labels: Integers, plan: Plan) -> Tensors:
        """A noisy mean, one noisy joint moment, and discriminant analysis of what they say."""
        public = self._map()
        unit = MappedRows(rows, lambda block: unit_rows(block, np.zeros(rows.shape[1])))
        short = shortened(unit, public)
        mean = plan[MEAN].release(statistics.total(doubles(short))) / self.records
        mean /= max(float(np.linalg.norm(mean)), 1.0)
        centred = MappedRows(doubles(short), lambda block: unit_rows(block, mean))
        moment = joint_moment(centred, labels, self.classes)
        noisy = from_upper_triangle(plan[JOINT].release(upper_triangle(moment)))
        layer = self._layer(noisy, plan[JOINT].noise.std_in(self.order * (self.order + 1) // 2))
        return {
            "weights": layer.weights,
            "offsets": layer.offsets,
            "mean": mean,
            "map": public,
        }

    def scores(self, tensors: Mapping[str, Floats], rows: Floats) -> Floats:
        """W x + b of each row, shortened, centred and scaled to norm 1 as records are."""
        unit = unit_rows(rows, np.zeros(rows.shape[1]))
        short = unit_rows(unit @ tensors["map"], np.zeros(self.width))
        centred = unit_rows(short, tensors["mean"])
        scores: Floats = centred @ tensors["weights"].T + tensors["offsets"]
        return scores

    def layer(self, tensors: Mapping[str, Floats]) -> Affine | None:  # type: ignore[override]
        """None: rows are scaled to norm 1 between the map and the layer."""
        del tensors
        return None

    def _map(self) -> Floats:
        """d × k, on the grid of exact products; its columns are orthonormal."""
        if self.public_map:
            return on_grid(leading_directions(self.public_map, self.width), 1.0)
        if self.width == self.features:
            return np.eye(self.features)
        drawn = seeded("random map", self.seed).normal(size=(self.features, self.width))
        return on_grid(np.linalg.qr(drawn)[0], 1.0)

    def _layer(self, noisy: Floats, std: float) -> Affine:
        k = self.width
        return discriminant(
            noisy[:k, :k] / MOMENT,
            noisy[k:, :k] / SUMS,
            statistics.likely_counts(np.diag(noisy)[k:] / COUNTS, std / COUNTS),
            moment_noise=std / MOMENT,
            sum_noise=std / SUMS,
        )


def shortened(rows: Rows, public: Floats) -> Floats32:
    """Rows times the map, exactly, and brought to norm 1 again.

    Entries are multiples of 2⁻²⁰ up to 1: float32 holds them without error, in half the memory.
    """
    origin = np.zeros(public.shape[1])
    short = np.empty((len(rows), public.shape[1]), dtype=np.float32)
    for start in range(0, len(rows), _BLOCK):
        block = slice(start, start + _BLOCK)
        short[block] = unit_rows(rows[block] @ public, origin)
    return short


def joint_moment(rows: Rows, labels: Integers, classes: int) -> Floats:
    """Σ z zᵀ of z = (a·x, b·e_y), exact but for what the theorem counts."""
    sums = SUMS * statistics.class_sums(rows, labels, classes)
    counts = COUNTS * np.bincount(labels, minlength=classes).astype(np.float64)
    return np.block([[MOMENT * statistics.second_moment(rows), sums.T], [sums, np.diag(counts)]])


def discriminant(
    moment: Floats, sums: Floats, counts: Floats, *, moment_noise: float, sum_noise: float
) -> Affine:
    """LDA from noisy Σ x xᵀ, class sums and counts, with the std of noise on their entries.

    Eigenvalues above the edge 2τ of a semicircle of noise are corrected for what it adds, those
    below share the rest of the trace, and all are damped by τ = √k·noise/n, half the edge. Means
    of few records are shortened (``trust_in_means``), in the metric of that spectrum.
    """
    width, records = len(moment), float(counts.sum())
    priors, means = counts / records, sums / counts[:, None]
    means = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1.0)
    added = (sum_noise / counts) ** 2  # by noise, on an entry of a mean squared
    within = moment / records - (means.T * priors) @ means + float(priors @ added) * np.eye(width)
    lengths = (means**2).sum(axis=1) - width * added
    inverse = _inverse(
        (within + within.T) / 2,
        half_edge=moment_noise * math.sqrt(width) / records,
        trace=max(1 - float(priors @ lengths), 0.05),
    )
    turned = statistics.TurnedMeans.of(means, inverse, added)
    return turned.discriminant(
        statistics.trust_in_means(turned.squares, turned.noise, priors), priors
    )


def _inverse(within: Floats, *, half_edge: float, trace: float) -> Floats:
    values, vectors = np.linalg.eigh(within)
    seen = values > 2 * half_edge
    clean = np.where(
        seen, (values + np.sqrt(np.maximum(values**2 - 4 * half_edge**2, 0.0))) / 2, 0.0
    )
    if not seen.all():
        clean[~seen] = max(trace - float(clean.sum()), 1e-3 * trace) / int(np.sum(~seen))
    return np.asarray((vectors / (clean + half_edge + 1e-6)) @ vectors.T)


def _factor(name: str) -> float:
    return PUBLIC_WIDTH if name else RANDOM_WIDTH


def _checked_outputs(name: str, features: int) -> int:
    """The directions that a map has, where it is one of such rows."""
    outputs, width = shape_of(name)
    if width != features:
        raise InputError(f"public_map must have {features} columns, got {width}")
    return min(outputs, width)
