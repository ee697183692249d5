"""Who was among the images of a contrastive encoder: EncoderMI with and without privacy.

The encoder is the spectral contrastive loss in closed form on fixed filters of 1,000 images. What
an adversary knows decides: the filters draw an image's views by a public function of its bytes, so
whoever has the image has the very views of the training; fresh views are reported beside them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from reticent.arrays import Floats
from reticent.attacks import Records, StackedViews
from reticent.attacks.encoder import Classifier, EncoderMI, ShadowEncoder
from reticent.audit.metrics import auc
from reticent.data import Dataset, load, split
from reticent.guarantee import Relation
from reticent.guarantee.rounding import upper_text
from reticent.protect import ReleaseRequest, noise_scales, noisy_query, release_encoder
from reticent.protect.recipes.closed_form import ClosedFormRecipe
from reticent.results.table import Table
from reticent.studies.attacked_encoders import interval
from reticent.studies.network_membership import KINDS, Network, table_of
from reticent.studies.trained import Outcome, Run
from reticent.training.encoders.base import Encoder, FunctionEncoder
from reticent.training.encoders.cache import cached_features
from reticent.training.encoders.evaluation import Memory, knn_accuracy
from reticent.training.encoders.filter_views import VIEWS, FilterViews

_PARTS: Final = ("members", "others", "shadow members", "shadow others")
CLASSIFIERS: Final[tuple[Classifier, ...]] = ("set", "threshold")
SEEN: Final = ("training views", "fresh views")
METRICS: Final = tuple(f"AUC, {views}, {name}" for views in SEEN for name in CLASSIFIERS)
FILTERS: Final = "filters alone"
"""The row of an encoder that saw nobody: what the drawing of members does by chance."""
_LARGE: Final = 1e3
"""The ε whose plan an encoder without noise is asked for: its answers are exact."""


class Row(NamedTuple):
    """One encoder: its ε, or none, and then the ridge instead of the recipe's (None: its own)."""

    epsilon: float | None
    ridge: float | None = None


Attacked = Row | Literal["filters alone"]


@dataclass(frozen=True, kw_only=True)
class EncoderMembership:
    """Every number is public and was chosen before these members were attacked (``NOTES``)."""

    on: str
    base: str
    """The public filters with views."""
    pool: int
    """Images that members and others are drawn from: the first of the data set."""
    members: int = 1_000
    """As many of each: members, others, and both of the adversary's shadow encoder."""
    epsilons: tuple[float, ...] = (8.0, 3.0, 1.0)
    delta: float = 1e-5
    ridge: float = 0.01
    """Beside eigenvalues, of the encoder without privacy, in units of their mean."""
    fresh: int = 5
    """Views of a record that no encoder saw."""
    seeds: int = 5
    network: Network | None = None
    """Beside it, a network that learns few images by heart."""

    @property
    def rows(self) -> list[Attacked]:
        """Filters, encoders by a small ridge and by the recipe's without noise; the proven ones."""
        private = [Row(epsilon) for epsilon in self.epsilons]
        return [FILTERS, Row(None, self.ridge), Row(None), *private]

    def request(self, epsilon: float) -> ReleaseRequest:
        """The encoder as the command line would ask for it."""
        return ReleaseRequest.of(
            epsilon=epsilon,
            delta=self.delta,
            relation=Relation.ADD_REMOVE,
            records=self.members,
            recipe="closed-form",
            base=self.base,
        )


SPECS: Mapping[str, EncoderMembership] = {
    "mnist5k": EncoderMembership(on="mnist5k", base="gabor-digit-views", pool=5_000),
    "cifar10": EncoderMembership(on="cifar10-test", base="gabor-views", pool=5_000),
    "digits": EncoderMembership(
        on="digits", base="gabor-digit-views", pool=1_797, members=400, network=Network()
    ),
}

NOTES: Final = (
    "The adversary knows the images that it asks about, the filters and the recipe, and has one"
    " shadow encoder of the same kind with its members, of other images. Training views: those that"
    " the encoder was made of, which are a public function of the image; fresh views: others of the"
    " same kind. Set: a network on the cosines between a record's views; threshold: their mean.",
    "Without privacy: the same sums without noise, with the small ridge that nobody's privacy asks"
    " to enlarge, and with the recipe's own (5 and 1). The small one was the best of .01, .1 and 1"
    " for the attack on scikit-learn's digits. kNN: the 5 nearest members by cosine, asked about"
    " the others. Neighbours: add-remove; unit: one image.",
    "Means over seeds, which draw members, others and noise, with their 95 % intervals (Student's"
    " t). Rows of one seed share members and others: the filters alone, which saw nobody, show what"
    " their drawing does by chance.",
)


def study(spec: EncoderMembership, run: Run) -> Outcome:
    """EncoderMI on a contrastive encoder in closed form, without privacy and proven.

    Each encoder of each seed is a cell.
    """
    run.steps.plan(spec.seeds * (len(spec.rows) + (0 if spec.network is None else len(KINDS))))
    data = _features(spec, run.folder)
    drawn: dict[Attacked, list[dict[str, Any]]] = {row: [] for row in spec.rows}
    same = (spec.on, spec.base, spec.pool, spec.members, spec.delta, spec.fresh)
    for seed in range(spec.seeds):
        for row in spec.rows:
            key = (*same, *([row] if row == FILTERS else row), seed)
            cell = run.cell(key, attacked, spec, data, (row, seed))
            drawn[row].append(cell)
    tables = [_shown(spec, drawn)]
    if spec.network is not None:
        tables.append(table_of(spec.network, spec.seeds, run))
    return Outcome(specifications=(spec,), tables=tuple(tables))


def _features(spec: EncoderMembership, folder: Path | None) -> Dataset:
    """A row for each image: its own block, its training views, then fresh ones.

    ``FilterViews`` draws the numbers of views one after another: the first are those of the recipe.
    """
    data = load(spec.on, folder).take(np.arange(spec.pool))
    augmentation: Any = "digits" if spec.base == "gabor-digit-views" else "natural"
    bank: Any = "patches" if spec.base == "patch-views" else "gabor"
    views = FilterViews(bank, augmentation=augmentation, views=VIEWS + spec.fresh)
    return cached_features(data, views)


def attacked(spec: EncoderMembership, data: Dataset, row: tuple[Attacked, int]) -> dict[str, Any]:
    """What EncoderMI finds on one target, by one shadow encoder of the same kind."""
    places = split(data, sizes=dict.fromkeys(_PARTS, spec.members), seed=row[1])
    parts = {name: data.take(places[name]) for name in _PARTS}
    (target, grade), (shadow, _) = (
        encoder_of(spec, parts[name], row[0]) for name in ("members", "shadow members")
    )
    figures: dict[str, Any] = {"grade": grade, "kNN": _knn(spec, target, parts)}
    width = data.features.shape[1] // (1 + VIEWS + spec.fresh)
    spans = (slice(width, width * (1 + VIEWS)), slice(width * (1 + VIEWS), None))
    for seen, number, span in zip(SEEN, (VIEWS, spec.fresh), spans, strict=True):
        records = {name: _records(part, span) for name, part in parts.items()}
        shadows = [
            ShadowEncoder(
                encoder=shadow, members=records["shadow members"], others=records["shadow others"]
            )
        ]
        for name in CLASSIFIERS:
            views = StackedViews(number=number)
            attack = EncoderMI(shadows=shadows, views=views, classifier=name, seed=row[1])
            scores = [attack.scores(target, records[side]).values for side in _PARTS[:2]]
            figures[f"AUC, {seen}, {name}"] = float(auc(*scores).value)
    return figures


def encoder_of(spec: EncoderMembership, data: Dataset, row: Attacked) -> tuple[Encoder, str]:
    """From rows of one view each to features; and the grade, – without privacy."""
    if isinstance(row, str):
        return FunctionEncoder(lambda views: views), "–"
    width = data.features.shape[1] // (1 + VIEWS + spec.fresh) * (1 + VIEWS)
    rows = data.features[:, :width].astype(np.float64)
    if row.epsilon is not None:
        private = replace(data, inputs=rows, columns=())
        released = release_encoder(private, spec.request(row.epsilon))
        recipe, tensors, grade = released.recipe, released.tensors, released.guarantee.grade
        assert isinstance(recipe, ClosedFormRecipe)
        return _encoder(recipe, tensors), str(grade)
    request = spec.request(_LARGE)
    recipe = request.planned(width, 0)
    assert isinstance(recipe, ClosedFormRecipe)
    plan = noise_scales.noise_plan(recipe, request.terms)
    recipe = replace(recipe, noise_ridge=0.0, pair_noise_ridge=0.0)
    if row.ridge is not None:
        recipe = replace(recipe, ridge=row.ridge, pair_ridge=row.ridge)
    with noisy_query.with_noise_function(lambda noise, value: value):  # noqa: ARG005 - answers are exact
        tensors = recipe.learn(rows, np.zeros(len(rows)), plan)
    return _encoder(recipe, tensors), "–"


def _encoder(recipe: ClosedFormRecipe, tensors: Mapping[str, Floats]) -> Encoder:
    """A view is encoded as a record is: the recipe reads the first block of a row alone."""
    return FunctionEncoder(lambda views: recipe.encoded(tensors, views.astype(np.float64)))


def _knn(spec: EncoderMembership, encoder: Encoder, parts: Mapping[str, Dataset]) -> float:
    width = parts["members"].features.shape[1] // (1 + VIEWS + spec.fresh)
    rows, queries = (encoder.encode(parts[name].features[:, :width]) for name in _PARTS[:2])
    labels = [np.asarray(parts[name].labels) for name in _PARTS[:2]]
    classes = len(parts["members"].classes)
    return knn_accuracy(Memory.of(rows, labels[0], queries, labels[1], classes=classes))


def _records(data: Dataset, span: slice) -> Records:
    return Records(data.features[:, span], np.zeros(len(data), dtype=np.int64))


def _shown(spec: EncoderMembership, drawn: Mapping[Attacked, list[dict[str, Any]]]) -> Table:
    rows = []
    for row, cells in drawn.items():
        figures = (interval([cell[name] for cell in cells]) for name in (*METRICS, "kNN"))
        rows.append((*_words(spec, row), cells[0]["grade"], *figures, str(len(cells))))
    return Table(
        title=f"EncoderMI on closed-form encoders of {spec.members:,} images of {spec.on},"
        f" {spec.base}",
        columns=("encoder", "ε", "δ", "grade", *METRICS, "kNN", "seeds"),
        rows=tuple(rows),
        notes=NOTES,
    )


def _words(spec: EncoderMembership, row: Attacked) -> tuple[str, str, str]:
    if isinstance(row, str):
        return row, "–", "–"
    if row.epsilon is not None:
        return "closed form", upper_text(row.epsilon), upper_text(spec.delta)
    ridge = "the recipe's ridge" if row.ridge is None else f"ridge {row.ridge:g}"
    return f"without noise, {ridge}", "∞", "–"
