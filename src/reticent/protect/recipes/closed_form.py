"""The spectral contrastive loss in closed form: a linear encoder on fixed features, without SGD.

Full-batch noisy sums alone (docs/theory.md E.7). A record is seen through V views of it, each a row
of norm 1. The mean of the views centres them, their second moment whitens them, and then two
matrices are released together: P, the second moment of each record's mean view, and W, the
covariance of views within records. The spectral contrastive loss of a linear encoder F is
−2·tr(F P Fᵀ) + ‖F (P + W) Fᵀ‖², so that its minimum follows from P and W: post-processing.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np

from reticent import bounds
from reticent.arrays import Floats
from reticent.bounds.moments import view_block
from reticent.protect.recipe import Plan, PlannedStep, Step, Tensors
from reticent.protect.recipes import encoding, linear, spectral, statistics
from reticent.protect.recipes.exact_rows import on_grid, row_products, unit_rows
from reticent.protect.terms import Terms
from reticent.randomness import seeded
from reticent.training.encoders.filter_views import VIEWS
from reticent.training.features import MappedRows
from reticent.validation import InputError, count

MOMENT, PAIR = "second moment", "pair of moments"
SHARES: Final = {statistics.MEAN: 0.01, MOMENT: 0.30, PAIR: 0.69}
COMPONENTS: Final = 384
EMBEDDING: Final = 256
OF_VIEWS: Final = ("gabor-views", "gabor-digit-views", "patch-views")
"""Public encoders whose rows hold an image and its views."""
_THEOREM: Final = "bounds.moments.view_moments"
_KEPT: Final = 0.5
"""The part of a row's entries that a masked view keeps."""

Views = Callable[[Floats], Floats]
"""From n rows to (n·V, d) views, those of a row one after another."""


class ViewMoments(NamedTuple):
    """Σ y yᵀ over all views, and Σ s sᵀ over records, s the sum of a record's views, or zeros."""

    views: Floats
    sums: Floats


@dataclass(frozen=True, kw_only=True, slots=True)
class ClosedFormRecipe(encoding.EncoderRecipe):
    """Rows with views, whitened and turned towards what views of a record have in common.

    A row that is ``stacked`` holds 1 + ``views`` blocks of equal length: the record, and its views,
    as the public encoders ``OF_VIEWS`` make them. Of other rows each view keeps a public half of
    the entries. With ``embedding`` 0 there is whitening alone, with the whole budget.
    """

    name: ClassVar[str] = "closed-form"
    options: ClassVar[tuple[str, ...]] = ("base", "views", "stacked", "components", "embedding")

    stacked: bool = False
    views: int = VIEWS
    components: int = COMPONENTS
    embedding: int = EMBEDDING
    """The features that it makes: no more than ``components``."""
    ridge: float = 5.0
    """Beside the eigenvalues of the second moment, in units of their mean."""
    noise_ridge: float = 0.3
    """The same in units of the operator norm of its noise."""
    pair_ridge: float = 1.0
    pair_noise_ridge: float = 1.0

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """With no more components than a view has entries; a base of views makes stacked rows."""
        options = {name: value for name, value in options.items() if value is not None}
        options.setdefault("stacked", options.get("base", "") in OF_VIEWS)
        views = count("views", options.get("views", VIEWS))
        width = _block(numbers["features"], views if options["stacked"] else 0)
        wanted = count("components", options.get("components", COMPONENTS))
        options["components"] = min(wanted, width)
        made = count("embedding", options.get("embedding", EMBEDDING), at_least=0)
        options["embedding"] = min(made, options["components"])
        return super(ClosedFormRecipe, cls)._planned(terms, numbers, options)

    def __post_init__(self) -> None:
        """Numbers that do not go together are refused before anything is planned."""
        super(ClosedFormRecipe, self).__post_init__()
        view_block(self.views)
        if (self.base in OF_VIEWS) and not (self.stacked and self.views == VIEWS):
            raise InputError(
                f"views must be {VIEWS}, stacked, for the base {self.base}, got {self.views}"
            )
        if not 1 <= self.components <= self.block:
            raise InputError(
                f"components must be between 1 and {self.block}, got {self.components}"
            )
        if not 0 <= self.embedding <= self.components:
            raise InputError(
                f"embedding must be between 0 and {self.components}, got {self.embedding}"
            )

    @property
    def block(self) -> int:
        """d, the entries of a view."""
        return _block(self.features, self.views if self.stacked else 0)

    @property
    def width(self) -> int:
        """The features that it makes of a row."""
        return self.embedding or self.components

    @property
    def shares(self) -> dict[str, float]:
        """Of the budget, step by step; where it whitens alone the moment takes what is left."""
        return (
            SHARES
            if self.embedding
            else {statistics.MEAN: SHARES[statistics.MEAN], MOMENT: 1 - SHARES[statistics.MEAN]}
        )

    def misfits(self, terms: Terms) -> list[str]:
        """Constants that are not those of this recipe."""
        return [*super(ClosedFormRecipe, self).misfits(terms), *linear.other_constants(self, terms)]

    def steps(self, terms: Terms) -> dict[str, Step]:
        """Mean with the number of records, the second moment of all views, and the pair (P, W)."""
        public: dict[str, Any] = {
            "records": self.records,
            "relation": terms.relation,
            "max_records_per_person": terms.records_touched,
        }
        shares = self.shares
        mean = bounds.class_statistics(
            moment=0.0, sums=1.0, counts=statistics.MEAN_COUNT, features=self.block, **public
        )
        steps = {
            statistics.MEAN: Step(
                sensitivity=mean, share=shares[statistics.MEAN], theorem=statistics.CLASS_THEOREM
            )
        }
        for name, matrices, size in ((MOMENT, 1, self.block), (PAIR, 2, self.components)):
            if name in shares:
                moved = bounds.view_moments(
                    name, matrices=matrices, width=size, views=self.views, **public
                )
                steps[name] = Step(sensitivity=moved, share=shares[name], theorem=_THEOREM)
        return steps

    def learn(self, rows: Floats, labels: Floats, plan: Plan) -> Tensors:
        """Mean, whitening and the map that follows; labels are not looked at."""
        del labels
        mean = statistics.released_mean(MappedRows(rows, self._mean_views), self, plan)

        def centred(part: Floats) -> Floats:
            return unit_rows(self._views(part), mean.values)

        step, entries = plan[MOMENT], self.block * (self.block + 1) // 2
        total = view_moments(rows, centred, self.views, self.block)[0] / self.views
        moment = spectral.positive_part(
            statistics.symmetric(step.release(statistics.flat(total))) / mean.records
        )
        edge = _edge(step, entries, self.block, mean.records)
        damping = self.ridge / self.block + self.noise_ridge * edge
        whitening = whitening_of(moment, self.components, damping)
        tensors = {"mean": mean.values, "whitening": whitening}
        if not self.embedding:
            return tensors

        def white(part: Floats) -> Floats:
            return unit_rows(centred(part) @ whitening, np.zeros(self.components))

        found = view_moments(rows, white, self.views, self.components, with_sums=True)
        return tensors | {"map": self._minimum(found, plan[PAIR], mean.records)}

    def encoded(self, tensors: Mapping[str, Floats], rows: Floats) -> Floats:
        """The whitened record, or what the map makes of it: each a function of its row.

        Tensors of a file may lie on no grid: products are added up in one order then.
        """
        unit = unit_rows(rows[:, : self.block], np.zeros(self.block))
        centred = unit_rows(unit, tensors["mean"])
        white = unit_rows(row_products(centred, tensors["whitening"]), np.zeros(self.components))
        return white if not self.embedding else row_products(white, tensors["map"])

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The centre, the whitening, and the map of whitened rows."""
        d, k = self.block, self.components
        shapes: dict[str, tuple[int, ...]] = {"mean": (d,), "whitening": (d, k)}
        return shapes | {"map": (k, self.embedding)} if self.embedding else shapes

    def training_views(self, rows: Floats) -> Floats:
        """(n, V, d): those that stand in the row, or the row under V public masks."""
        if self.stacked:
            views = rows[:, self.block :]
        else:
            views = np.hstack([np.where(kept, rows, 0.0) for kept in self._masks()])
        return views.reshape(len(rows), self.views, self.block)

    def _views(self, rows: Floats) -> Floats:
        """(n·V, d): the views of each row at norm 1 on the grid, functions of that row alone."""
        views = self.training_views(rows).reshape(len(rows) * self.views, self.block)
        return unit_rows(views, np.zeros(self.block))

    def _masks(self) -> Floats:
        rng = seeded("masks of closed-form", self.views, self.block)
        return np.asarray(rng.random((self.views, self.block)) < _KEPT)

    def _mean_views(self, rows: Floats) -> Floats:
        """(n, d): the mean view of each row, cut towards zero to the grid: its norm is at most 1.

        A sum of views is a whole multiple of 2⁻²⁰; V times less than a whole number is at least 1/V
        away from it, further than the division rounds.
        """
        sums = _sums(self._views(rows), self.views)
        mean: Floats = np.trunc(sums * 2.0**20 / self.views) * 2.0**-20
        return mean + 0.0  # and not −0.0

    def _minimum(self, found: ViewMoments, step: PlannedStep, records: float) -> Floats:
        """F: the noisy pair (P, W) in, the map of whitened rows that minimises the loss out."""
        size = self.components
        between = found.sums / self.views**2
        within = found.views / self.views - between
        answers = statistics.split_release(
            step, [statistics.flat(between), statistics.flat(within)]
        )
        between, within = (
            spectral.positive_part(statistics.symmetric(one) / records) for one in answers
        )
        edge = _edge(step, size * (size + 1), size, records)
        damping = self.pair_ridge / size + self.pair_noise_ridge * edge
        return minimum(between, within, width=self.embedding, damping=damping)


def view_moments(
    rows: Floats, views: Views, number: int, width: int, *, with_sums: bool = False
) -> ViewMoments:
    """The moments of all views of all rows: exact within blocks of ⌊2¹²/V²⌋ rows.

    Entries of views are multiples of 2⁻²⁰ and no view is longer than 1, so a sum s of V views is
    exact and at most V long; products of both add up to whole multiples of 2⁻⁴⁰ below 2¹².
    """
    of_views, of_sums = np.zeros((width, width)), np.zeros((width, width))
    size = view_block(number)
    for start in range(0, len(rows), size):
        part = views(rows[start : start + size])
        of_views += part.T @ part
        if with_sums:
            sums = _sums(part, number)
            of_sums += sums.T @ sums
    return ViewMoments(of_views, of_sums)


def whitening_of(moment: Floats, components: int, damping: float) -> Floats:
    """The first eigenvectors over the roots of their damped values, on the grid of exact products.

    Public matrices in; columns are at most 1 long: the scale is lost anyway, when rows get norm 1.
    """
    values, vectors = np.linalg.eigh(moment)
    white = vectors[:, ::-1][:, :components] / np.sqrt(values[::-1][:components] + damping)
    return on_grid(white / np.linalg.norm(white, axis=0).max(), 1.0)


def minimum(between: Floats, within: Floats, *, width: int, damping: float) -> Floats:
    """Of −2·tr(F P Fᵀ) + ‖F (P + W) Fᵀ‖² over F with ``width`` rows: its transpose, of norm ≤ 1.

    With S = P + W and S^−½ P S^−½ = Q E Qᵀ it is E^½ Qᵀ S^−½ (Eckart and Young); damping is
    added to S. Public matrices in.
    """
    values, vectors = np.linalg.eigh(between + within + damping * np.eye(len(between)))
    root = (vectors / np.sqrt(values)) @ vectors.T
    shares, directions = np.linalg.eigh(root @ between @ root)
    shares, directions = shares[::-1][:width], directions[:, ::-1][:, :width]
    found = (root @ directions) * np.sqrt(np.maximum(shares, 0.0))
    largest = float(np.linalg.norm(found, 2))
    return on_grid(found / largest if largest > 0 else found, 1.0)


def _block(features: int, stacked: int) -> int:
    """The entries of one of 1 + ``stacked`` blocks."""
    if features % (1 + stacked):
        raise InputError(
            f"rows must hold a record and its {stacked} views, {1 + stacked} blocks of equal"
            f" length, got {features} entries"
        )
    return features // (1 + stacked)


def _sums(views: Floats, number: int) -> Floats:
    """(n, d): the sum of each record's views; entries are multiples of 2⁻²⁰, so it is exact."""
    return np.asarray(views.reshape(-1, number, views.shape[1]).sum(axis=1))


def _edge(step: PlannedStep, entries: int, width: int, records: float) -> float:
    """About the operator norm of the noise on a symmetric matrix, over the number of records."""
    return step.noise.std_in(entries) * math.sqrt(2 * width) / records
