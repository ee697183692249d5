"""Encoders learnt from private images without labels: what they gain over their first weights."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, cast

import numpy as np
from scipy import stats

from reticent.arrays import Floats
from reticent.data import Dataset, load
from reticent.guarantee import Relation
from reticent.guarantee.rounding import upper_text
from reticent.protect import ReleaseRequest, release_encoder
from reticent.protect.recipes.contrastive import ContrastiveRecipe
from reticent.results.table import Cell, Table
from reticent.studies.attacked_encoders import exact_tensors
from reticent.studies.trained import Outcome, Run
from reticent.training.encoders.evaluation import Memory, knn_accuracy, ridge_probe

CONFIDENCE: Final = 0.95
SPECTRAL, MASKED = "spectral", "masked-patches"
METRICS: Final = {"knn": "kNN (5)", "pooled_knn": "kNN (5), pooled", "probe": "ridge probe"}
"""What encoders are judged by, as a cell and as a table has it."""


class Row(NamedTuple):
    """What is trained: the loss, ε, and the part of a step's budget for what couples a batch."""

    method: str
    epsilon: float
    share: float | None
    has_noise: bool = True
    """A twin without noise takes the same steps with exact answers."""


@dataclass(frozen=True, kw_only=True)
class Pretraining:
    """Every number is public and was chosen before a query was asked."""

    standardised = fixed_head = twins = False  # a ``Variant`` has them
    learning_rate = cast("float | None", None)  # the recipe's own; ``AtRate`` has another

    on: str
    records: int
    shape: str
    augmentation: str
    batch: int
    steps: int
    epsilons: tuple[float, ...]
    memory: int
    """Rows with labels: neighbours of kNN, and of the probe."""
    queries: int
    coupling_shares: tuple[float, ...] = (1 / 17,)
    """Of a step's budget; more than one at the first ε: how the split matters."""
    beside: tuple[str, ...] = ()
    """Losses that couple nothing, at every ε."""
    pooled: int = 2
    """The probe sees the mean over so many squares a side of each map."""
    penalty: float = 0.01
    """Of the ridge probe, in units of the mean eigenvalue."""
    seeds: int = 5
    exact: bool = True
    delta: float = 1e-5

    def request(self, row: Row, seed: int) -> ReleaseRequest:
        """The request that the command line would make."""
        chosen: dict[str, Any] = {"standardised": self.standardised, "fixed_head": self.fixed_head}
        if row.share is not None:
            chosen["coupling_share"] = row.share
        if self.learning_rate is not None:
            chosen["learning_rate"] = self.learning_rate
        return ReleaseRequest.of(
            epsilon=row.epsilon,
            delta=self.delta,
            relation=Relation.ADD_REMOVE,
            records=self.records,
            recipe=row.method,
            shape=self.shape,
            augmentation=self.augmentation,
            batch=self.batch,
            epochs=self.steps * self.batch / self.records,
            exact=self.exact,
            seed=seed,
            **chosen,
        )

    @property
    def rows(self) -> list[Row]:
        """All that is trained, in the order of the table."""
        first, *others = self.epsilons
        shares = self.coupling_shares
        grid = [Row(SPECTRAL, first, share) for share in shares]
        grid += [Row(SPECTRAL, epsilon, share) for epsilon in others for share in shares[:1]]
        grid += [Row(method, epsilon, None) for method in self.beside for epsilon in self.epsilons]
        if self.twins:
            grid.append(grid[0]._replace(has_noise=False))
        return grid


@dataclass(frozen=True, kw_only=True)
class Variant(Pretraining):
    """The same with choices that the first study, whose results are kept, did not have."""

    standardised: bool = False
    """Whether the encoder sees pixels less a public mean over a public deviation."""
    fixed_head: bool = False
    """Whether the projection head keeps its first weights."""
    twins: bool = False
    """Whether the first row has a twin that takes the same steps without noise."""


@dataclass(frozen=True, kw_only=True)
class AtRate(Pretraining):
    """The same with a learning rate that is said."""

    learning_rate: float | None = 0.5


_MNIST: Final = Pretraining(
    on="mnist",
    records=60_000,
    shape="28x28x1",
    augmentation="digits",
    batch=512,
    steps=100,
    epsilons=(3.0, 0.9),
    memory=5_000,
    queries=4_000,
)
SPECS: Mapping[str, Pretraining] = {
    "mnist": _MNIST,
    "mnist-standardised": Variant(**vars(_MNIST), standardised=True),
    "mnist-fixed-head": Variant(**vars(_MNIST), standardised=True, fixed_head=True),
    "mnist-masked": replace(_MNIST, coupling_shares=(), beside=(MASKED,), epsilons=(3.0,)),
    "mnist-masked-rate": AtRate(
        **vars(replace(_MNIST, coupling_shares=(), beside=(MASKED,), epsilons=(3.0,), seeds=3))
    ),
    "mnist-split": replace(
        _MNIST,
        coupling_shares=(0.003, 1 / 17, 0.5, 0.9),
        epsilons=(3.0,),
        steps=60,
        seeds=3,
        exact=False,
    ),
    "cifar10": Variant(
        on="cifar10",
        records=50_000,
        shape="32x32x3",
        augmentation="natural",
        batch=512,
        steps=60,
        epsilons=(8.0,),
        memory=5_000,
        queries=4_000,
        standardised=True,
        twins=True,
        seeds=3,
        exact=False,
    ),
    "digits": Pretraining(
        on="digits",
        records=1_200,
        shape="8x8x1",
        augmentation="digits",
        batch=300,
        steps=10,
        epsilons=(8.0, 3.0),
        memory=1_200,
        queries=500,
        beside=(MASKED,),
        pooled=1,
        seeds=2,
        exact=False,
    ),
}


def study(spec: Pretraining, run: Run) -> Outcome:
    """Encoders from private images, spectral and masked patches: kNN and probe over first weights.

    One table for each data set.
    """
    private, test = images_of(spec, run)
    run.steps.plan(spec.seeds * (1 + len(spec.rows)))
    starts = [
        run.cell(
            (*_inputs(spec), "start", spec.shape, seed), first_weights, spec, private, test, seed
        )
        for seed in range(spec.seeds)
    ]
    drawn: dict[Row, list[dict[str, Any]]] = {row: [] for row in spec.rows}
    for seed in range(spec.seeds):
        for row in spec.rows:
            key = (*_inputs(spec), spec.batch, spec.steps, spec.delta, spec.exact, *row, seed)
            drawn[row].append(run.cell(key, trained, spec, private, test, (row, seed)))
    return Outcome(specifications=(spec,), tables=(_shown(spec, starts, drawn),))


def _inputs(spec: Pretraining) -> tuple[object, ...]:
    rates = () if spec.learning_rate is None else (spec.learning_rate,)
    return spec.on, spec.standardised, spec.fixed_head, *rates


def images_of(spec: Pretraining, run: Run) -> tuple[Dataset, Dataset]:
    """Private images, of which the first have labels for the probes, and others to ask about."""
    if spec.on == "digits":
        whole = load("digits")
        return (
            whole.take(np.arange(spec.records)),
            whole.take(np.arange(spec.records, spec.records + spec.queries)),
        )
    private, test = (load(f"{spec.on}-{part}", run.folder) for part in ("train", "test"))
    return private.take(np.arange(spec.records)), test.take(np.arange(spec.queries))


def first_weights(spec: Pretraining, private: Dataset, test: Dataset, seed: int) -> dict[str, Any]:
    """What the encoder of a seed is worth before its first step."""
    recipe = spec.request(spec.rows[0], seed).planned(private.features.shape[1], 0)
    assert isinstance(recipe, ContrastiveRecipe)
    weights = {
        name: one.detach().numpy().astype(np.float64)
        for name, one in recipe.network().encoder.named_parameters()
    }
    return _judged(spec, recipe, weights, private, test)


def trained(
    spec: Pretraining, private: Dataset, test: Dataset, row: tuple[Row, int]
) -> dict[str, Any]:
    """What the encoder of a row and a seed is worth, with its grade and the scales of its noise."""
    if not row[0].has_noise:
        return _twin(spec, private, test, row)
    released = release_encoder(private, spec.request(*row))
    recipe = released.recipe
    assert isinstance(recipe, ContrastiveRecipe)
    figures = _judged(spec, recipe, released.tensors, private, test)
    scales = {name: float(scale) for name, scale in released.scales.items()}
    return figures | {"grade": str(released.guarantee.grade), "scales": scales}


def _twin(
    spec: Pretraining, private: Dataset, test: Dataset, row: tuple[Row, int]
) -> dict[str, Any]:
    """The same steps with exact answers: what the loss reaches; nothing is claimed of it."""
    request = spec.request(*row)
    recipe = request.planned(private.features.shape[1], 0)
    assert isinstance(recipe, ContrastiveRecipe)
    tensors = exact_tensors(recipe, request, private.features.astype(np.float64))
    return _judged(spec, recipe, tensors, private, test) | {"grade": "–"}


def _judged(
    spec: Pretraining,
    recipe: ContrastiveRecipe,
    tensors: Mapping[str, Floats],
    private: Dataset,
    test: Dataset,
) -> dict[str, Any]:
    """kNN on the centred features of the encoder, the same and a ridge probe on pooled maps."""
    memory = private.take(np.arange(spec.memory))
    rows, queries = (
        recipe.encoded(tensors, data.features.astype(np.float64)) for data in (memory, test)
    )
    labels = (np.asarray(memory.labels), np.asarray(test.labels))

    def known(features: tuple[Floats, Floats]) -> Memory:
        """Centred by the rows with labels."""
        rows, queries = (one - features[0].mean(axis=0) for one in features)
        return Memory.of(rows, labels[0], queries, labels[1], classes=len(private.classes))

    pooled = known((_pooled(rows, recipe, spec.pooled), _pooled(queries, recipe, spec.pooled)))
    return {
        "knn": knn_accuracy(known((rows, queries))),
        "pooled_knn": knn_accuracy(pooled),
        "probe": ridge_probe(pooled, penalty=spec.penalty),
    }


def _pooled(rows: Floats, recipe: ContrastiveRecipe, side: int) -> Floats:
    """Means over side × side squares of each map."""
    assert recipe.image is not None
    _, height, width = recipe.image
    for _ in range(3):
        height, width = (height + 1) // 2, (width + 1) // 2
    maps = rows.reshape(len(rows), -1, side, height // side, side, width // side)
    return np.asarray(maps.mean(axis=(3, 5)).reshape(len(rows), -1))


def _shown(
    spec: Pretraining,
    starts: Sequence[Mapping[str, Any]],
    drawn: Mapping[Row, Sequence[Mapping[str, Any]]],
) -> Table:
    means = [float(np.mean([one[name] for one in starts])) for name in METRICS]
    first = tuple(Cell(f"{mean:.4f}", mean) for mean in means)
    rows = [("first weights", "–", "–", "–", "–", *first, str(len(starts)))]
    for row, repeats in drawn.items():
        gains = tuple(gain(repeats, starts, name) for name in METRICS)
        rows.append((*_words(row, repeats[0], spec), *gains, str(len(repeats))))
    return Table(
        title=f"Pre-training on {spec.records:,} private images of {spec.on}, without labels",
        columns=(
            *("encoder", "grade", "ε", "δ", "share of the moment"),
            *METRICS.values(),
            "seeds",
        ),
        rows=tuple(rows),
        notes=(
            f"{spec}.",
            "Neighbours: add-remove; unit: one image. In brackets the gain over the first weights"
            " of the same seed, with its 95 % interval (Student's t over seeds). kNN on all"
            " features, centred; pooled, and the probe: on means over squares of their maps, the"
            f" penalty fixed beforehand; all with {spec.memory:,} labelled rows.",
        ),
    )


def _words(row: Row, measured: Mapping[str, Any], spec: Pretraining) -> tuple[str, ...]:
    share = "–" if row.share is None else f"{row.share:.3f}"
    if not row.has_noise:
        return f"{row.method}, no noise", "–", "∞", "–", share
    claim = (upper_text(row.epsilon), upper_text(spec.delta))
    return row.method, str(measured["grade"]), *claim, share


def gain(
    repeats: Sequence[Mapping[str, Any]], starts: Sequence[Mapping[str, Any]], name: str
) -> Cell:
    """The mean of a metric, with its gain over the first weights of the same seeds."""
    values = np.array([one[name] for one in repeats])
    gains = values - np.array([one[name] for one in starts[: len(values)]])
    mean = float(values.mean())
    if len(gains) < 2:
        return Cell(f"{mean:.4f} ({gains.mean():+.4f})", mean)
    quantile = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(gains) - 1))
    half = quantile * float(gains.std(ddof=1)) / math.sqrt(len(gains))
    return Cell(f"{mean:.4f} ({gains.mean():+.4f} ± {half:.4f})", mean)
