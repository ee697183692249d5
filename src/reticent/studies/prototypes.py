"""A public encoder adapted to private records without labels: private prototypes.

The rows that it is judged by stand beside it: the frozen encoder, and private principal components
alone with the whole budget.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from reticent.arrays import Floats
from reticent.data import Dataset
from reticent.guarantee import Grade, Relation
from reticent.protect import ReleaseRequest, release_encoder
from reticent.protect.recipes.exact_rows import unit_rows
from reticent.studies import losses, settled, tasks
from reticent.studies.encoder_rows import Gain, Labelled, Probing, gains, gains_table, probed
from reticent.studies.trained import Outcome, Run, Table

RECIPE = "prototypes"
PROTOTYPES, COMPONENTS = "prototypes", "private PCA only"
WAYS: Mapping[str, Mapping[str, int]] = {PROTOTYPES: {}, COMPONENTS: {"rounds": 0}}
"""Rows of the table beside the frozen encoder, with the options of the recipe."""


@dataclass(frozen=True, kw_only=True)
class Prototypes:
    """Every number is public and was fixed before a query was asked."""

    on: str
    records: int
    epsilons: tuple[float, ...] = (3.0, 1.0)
    """In the order in which they are asked for."""
    delta: float = 1e-5
    runs: int = 5
    """Releases with fresh noise each; of the components alone ``runs_beside``."""
    runs_beside: int = 3
    probing: Probing = field(default_factory=Probing)
    chosen_on_private: bool = False
    """Whether a choice was made on these very records: the rows are then declared (NOTES)."""

    def request(self, epsilon: float, options: Mapping[str, Any]) -> ReleaseRequest:
        """N is the number that the publisher states; all other constants are the recipe's own."""
        return ReleaseRequest.of(
            epsilon=epsilon,
            delta=self.delta,
            relation=Relation.ADD_REMOVE,
            records=self.records,
            recipe=RECIPE,
            **options,
        )


SPECS: Mapping[str, Prototypes] = {
    "cifar10": Prototypes(
        on="cifar10", records=50_000, chosen_on_private=settled.is_settled("cifar10", "prototypes")
    ),
    "mnist": Prototypes(on="mnist", records=60_000),
    "trec": Prototypes(on="trec", records=5_452, probing=Probing(queries=500)),
    "digits": Prototypes(
        on="digits",
        records=1_400,
        epsilons=(8.0,),
        runs=2,
        runs_beside=2,
        probing=Probing(memory=1_400, queries=397, per_class=(1, 5, 10)),
    ),
}

NOTES = (
    "Frozen: unit rows of the public encoder (cifar10: roots of EfficientNet-Lite0's features;"
    " mnist: pixels; trec: MiniLM's sentence vectors). The other rows put what was learnt without"
    " labels beside them. Probe: ridge regression on so many labels a class, its penalty fixed;"
    " kNN: the 5 nearest of the first training records by cosine. Neighbours: add-remove; unit: one"
    " record.",
    "In brackets the gain over frozen on the same label draws and queries, with a 95 % interval"
    " over runs of noise and label draws; queries are the first test records, the same for all.",
    "Choices (the ridge, the root of the ratio, the length beside the frozen features, the probe's"
    " penalty, which is the best for the frozen features) were made on labels of 2,500 training"
    " images of CIFAR-10 that stand behind the labelled ones. These are among its private records,"
    " of which the ε says nothing then: declared. On mnist and trec nothing was chosen.",
)


def study(spec: Prototypes, run: Run) -> Outcome:
    """Private prototypes: a public encoder adapted to private unlabelled records, few-label probes.

    Each release is a cell.
    """
    runs = {PROTOTYPES: spec.runs, COMPONENTS: spec.runs_beside}
    run.steps.plan(1 + sum(runs.values()) * len(spec.epsilons))
    data = tasks.task(spec.on, records=spec.records, seed=0, folder=run.folder)
    labelled = _labelled(data, spec.probing)
    frozen = run.cell((spec, "frozen"), _frozen, labelled, spec.probing)
    rows: list[tuple[tuple[str, ...], Mapping[str, Gain]]] = [
        (("frozen", "–", "–"), gains([frozen], frozen))
    ]
    for epsilon in spec.epsilons:
        for way in WAYS:
            one = partial(_released, spec, data.private, labelled, epsilon, way)
            cells = [run.cell((spec, epsilon, way, draw), one) for draw in range(runs[way])]
            claim = losses.Claim(**cells[0]["claim"])
            words = (way, f"{claim.epsilon:g}", claim.grade)
            rows.append((words, gains(cells, frozen)))
    return Outcome(specifications=(spec,), tables=(_table(spec, data, rows),))


def _labelled(data: tasks.Task, spec: Probing) -> Labelled:
    """The first private records with their labels, and the first queries."""
    rows = data.private.take(np.arange(min(spec.memory, len(data.private))))
    names = np.asarray(data.private.classes)
    places = {str(name): place for place, name in enumerate(names)}
    truth = np.array([places[str(name)] for name in data.truth[: spec.queries]], dtype=np.int64)
    assert rows.labels is not None
    return Labelled(
        rows=rows.features.astype(np.float64),
        labels=rows.labels.astype(np.int64),
        queries=data.queries[: spec.queries],
        truth=truth,
        classes=len(names),
    )


def _frozen(data: Labelled, spec: Probing) -> dict[str, Any]:
    def unit(rows: Floats) -> Floats:
        return unit_rows(rows, np.zeros(rows.shape[1]))

    return probed((unit(data.rows), unit(data.queries)), data, spec)


def _released(
    spec: Prototypes, private: Dataset, data: Labelled, epsilon: float, way: str
) -> dict[str, Any]:
    released = release_encoder(private, spec.request(epsilon, WAYS[way]))
    claim = losses.Claim.of(released.guarantee, RECIPE)
    if spec.chosen_on_private:
        claim = replace(claim, grade=str(Grade.DECLARED))
    features = released.transform(data.rows), released.transform(data.queries)
    return {"claim": asdict(claim), **probed(features, data, spec.probing)}


def _table(
    spec: Prototypes, data: tasks.Task, rows: list[tuple[tuple[str, ...], Mapping[str, Gain]]]
) -> Table:
    return gains_table(
        f"Private prototypes on {spec.on}: {len(data.private):,} private records without labels,"
        f" δ = {spec.delta:g}, {spec.runs} runs ({spec.runs_beside} of PCA only),"
        f" {spec.probing.label_draws} label draws",
        rows,
        columns=("features", "ε", "grade"),
        notes=NOTES,
    )
