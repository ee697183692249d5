"""The spectral contrastive loss in closed form, on fixed filters of private images.

The rows that it is judged by stand beside it: the filters alone, whitening by synthetic images,
private whitening with the whole budget, and the same without noise.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from reticent.arrays import Floats
from reticent.data import Dataset, load
from reticent.guarantee import Grade, Relation
from reticent.protect import ReleaseRequest, noise_scales, noisy_query, release_encoder
from reticent.results.table import Table
from reticent.studies import losses, settled
from reticent.studies.encoder_rows import Gain, Labelled, Probing, gains, gains_table, probed
from reticent.studies.trained import Outcome, Run
from reticent.training.encoders.base import ImageShape
from reticent.training.encoders.cache import cached_features
from reticent.training.encoders.filter_views import VIEWS, FilterViews, whitened_bank

RECIPE: Final = "closed-form"
FIXED, WHITE = "filters, centred", "whitened by synthetic images"
WHITENED, WHOLE, FREE = "private whitening only", "private closed form", "closed form, no noise"
WAYS: Mapping[str, Mapping[str, int]] = {WHOLE: {}, WHITENED: {"embedding": 0}}
"""Rows of the table with an ε, with the options of the recipe."""


@dataclass(frozen=True, kw_only=True)
class ClosedForm:
    """Every number is public and was fixed before a query was asked."""

    on: str
    base: str
    """The public encoder: a bank of filters, with views."""
    records: int
    epsilons: tuple[float, ...] = (3.0, 1.0, 8.0)
    """In the order in which they are asked for."""
    delta: float = 1e-5
    runs: int = 3
    """Releases with fresh noise each; of whitening alone ``runs_beside``."""
    runs_beside: int = 1
    probing: Probing = field(default_factory=lambda: Probing(memory=50_000, label_draws=6))
    chosen_on_private: bool = False
    """Whether a choice was made on these very records: the rows are then declared (NOTES)."""

    @property
    def bank(self) -> Any:
        """The name of the filters, and of the augmentation."""
        return "patches" if self.base == "patch-views" else "gabor"

    @property
    def augmentation(self) -> Any:
        """The name of the augmentation that makes the views of an image."""
        return "digits" if self.base == "gabor-digit-views" else "natural"

    def request(self, epsilon: float, options: Mapping[str, Any]) -> ReleaseRequest:
        """N is the number that the publisher states; all other constants are the recipe's own."""
        return ReleaseRequest.of(
            epsilon=epsilon,
            delta=self.delta,
            relation=Relation.ADD_REMOVE,
            records=self.records,
            recipe=RECIPE,
            base=self.base,
            **options,
        )


SPECS: Mapping[str, ClosedForm] = {
    "cifar10": ClosedForm(
        on="cifar10",
        base="gabor-views",
        records=50_000,
        chosen_on_private=settled.is_settled("cifar10", "closed-form"),
    ),
    "cifar10-patches": ClosedForm(
        on="cifar10",
        base="patch-views",
        records=50_000,
        chosen_on_private=settled.is_settled("cifar10", "closed-form"),
    ),
    "digits": ClosedForm(
        on="digits",
        base="gabor-digit-views",
        records=1_400,
        epsilons=(8.0, 3.0),
        runs=5,
        runs_beside=5,
        probing=Probing(memory=1_400, queries=397, label_draws=6, per_class=(1, 5, 10)),
    ),
}

NOTES = (
    "Filters: nothing of them was learnt from a photograph. Gabor: moduli on 3 × 3 cells; patches:"
    " whitened patches of synthetic images, both signs, averaged with the mirror image. The first"
    " rows need no private record; the others learn from all private ones, three views of each."
    " Probe: ridge regression on so many labels a class, its penalty fixed; kNN: the 5 nearest of"
    " the first training records by cosine. Neighbours: add-remove; unit: one record.",
    "In brackets the gain over whitening by synthetic images on the same label draws and queries,"
    " with a 95 % interval over runs of noise and label draws; queries are the first test records.",
    "Shares of the budget, ridges and widths were tuned on labels of a part of CIFAR-10's training"
    " images, which are among the private records; of these the ε says nothing then: declared.",
)


def study(spec: ClosedForm, run: Run) -> Outcome:
    """The spectral contrastive loss in closed form on fixed filters: kNN and few-label probes.

    Each release is a cell.
    """
    runs = {WHOLE: spec.runs, WHITENED: spec.runs_beside}
    run.steps.plan(3 + sum(runs.values()) * len(spec.epsilons))
    private, labelled = _data(spec, run.folder)
    same = (spec.on, spec.base, spec.records, spec.delta, spec.probing)

    def cell(key: tuple[Any, ...], compute: Any, *arguments: Any) -> Any:
        return run.cell((*same, *key), compute, *arguments)

    fixed = cell((FIXED,), _fixed, spec, labelled)
    white = cell((WHITE,), _white, spec, labelled)
    rows: list[tuple[tuple[str, ...], Mapping[str, Gain]]] = [
        ((FIXED, "–", "–"), gains([fixed], white)),
        ((WHITE, "–", "–"), gains([white], white)),
    ]
    for epsilon in spec.epsilons:
        for way in WAYS:
            one = partial(_released, spec, private, labelled, epsilon, way)
            cells = [cell((epsilon, way, draw), one) for draw in range(runs[way])]
            claim = losses.Claim(**cells[0]["claim"])
            rows.append(((way, f"{claim.epsilon:g}", claim.grade), gains(cells, white)))
    free = cell((FREE,), _free, spec, private, labelled)
    rows.append(((FREE, "∞", "–"), gains([free], white)))
    return Outcome(specifications=(spec,), tables=(_table(spec, rows),))


def _data(spec: ClosedForm, folder: Path | None) -> tuple[Dataset, Labelled]:
    """Private rows, each an image and its views; the first of them with labels, and queries."""
    private, test = _images(spec, folder)
    views = FilterViews(spec.bank, augmentation=spec.augmentation)
    alone = FilterViews(spec.bank, augmentation=spec.augmentation, views=0)
    features = cached_features(private, views)
    queries = cached_features(test.take(np.arange(spec.probing.queries)), alone)
    first = features.take(np.arange(min(spec.probing.memory, len(features))))
    labelled = Labelled(
        rows=first.features.astype(np.float64),
        labels=np.asarray(first.labels).astype(np.int64),
        queries=np.pad(
            queries.features.astype(np.float64), ((0, 0), (0, VIEWS * queries.features.shape[1]))
        ),
        truth=np.asarray(queries.labels).astype(np.int64),
        classes=len(private.classes),
    )
    return features, labelled


def _images(spec: ClosedForm, folder: Path | None) -> tuple[Dataset, Dataset]:
    if spec.on == "digits":
        whole = load("digits")
        places = np.arange(len(whole))
        return whole.take(places[: spec.records]), whole.take(places[spec.records :])
    private, test = (load(f"{spec.on}-{part}", folder) for part in ("train", "test"))
    return private.take(np.arange(spec.records)), test


def _plain(rows: Floats) -> Floats:
    """The block of the image itself."""
    return rows[:, : rows.shape[1] // (1 + VIEWS)]


def _white(spec: ClosedForm, data: Labelled) -> dict[str, Any]:
    return probed((_plain(data.rows), _plain(data.queries)), data, spec.probing)


def _fixed(spec: ClosedForm, data: Labelled) -> dict[str, Any]:
    """The whitening undone; rows are centred by the synthetic mean, and judged by their cosines."""
    side = {"digits": (1, 8)}.get(spec.on, (3, 32))
    shape = ImageShape(channels=side[0], height=side[1], width=side[1])
    whitening = whitened_bank(spec.bank, shape, spec.augmentation).whitening.double().numpy()

    def undone(rows: Floats) -> Floats:
        unwhitened = np.linalg.solve(whitening, _plain(rows).T).T
        unit: Floats = unwhitened / np.maximum(
            np.linalg.norm(unwhitened, axis=1, keepdims=True), 1e-30
        )
        return unit

    return probed((undone(data.rows), undone(data.queries)), data, spec.probing)


def _released(
    spec: ClosedForm, private: Dataset, data: Labelled, epsilon: float, way: str
) -> dict[str, Any]:
    released = release_encoder(private, spec.request(epsilon, WAYS[way]))
    claim = losses.Claim.of(released.guarantee, RECIPE)
    if spec.chosen_on_private:
        claim = replace(claim, grade=str(Grade.DECLARED))
    features = released.transform(data.rows), released.transform(data.queries)
    return {"claim": asdict(claim), **probed(features, data, spec.probing)}


def _free(spec: ClosedForm, private: Dataset, data: Labelled) -> dict[str, Any]:
    """The same sums without noise; what damps them is that of a very large ε."""
    request = spec.request(1e3, {})
    recipe = request.planned(private.features.shape[1], 0)
    rows = private.features.astype(np.float64)
    with noisy_query.with_noise_function(lambda noise, value: value):  # noqa: ARG005 - answers are exact
        tensors = recipe.learn(
            rows, np.zeros(len(rows)), noise_scales.noise_plan(recipe, request.terms)
        )
    features = (recipe.encoded(tensors, data.rows), recipe.encoded(tensors, data.queries))
    return probed(features, data, spec.probing)


def _table(spec: ClosedForm, rows: list[tuple[tuple[str, ...], Mapping[str, Gain]]]) -> Table:
    return gains_table(
        f"The closed form on {spec.on}, {spec.base}: {spec.records:,} private images without"
        f" labels, δ = {spec.delta:g}, {spec.runs} runs ({spec.runs_beside} of whitening only),"
        f" {spec.probing.label_draws} label draws, kNN among {spec.probing.memory:,}",
        rows,
        columns=("features", "ε", "grade"),
        notes=NOTES,
    )
