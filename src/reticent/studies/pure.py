"""Pure ε that is useful: δ = 0, proven, on real data, and four kinds of noise side by side."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np

from reticent.guarantee import Relation
from reticent.protect import ReleaseRequest, public_map, release_table
from reticent.studies import losses, scattering, settled
from reticent.studies.scattering import SPECS as SCATTERING
from reticent.studies.tasks import Task, task
from reticent.studies.trained import Outcome, Run, Table
from reticent.training.features import scale_rows

MATRIX, MEANS = "matrix-lda", "pure-class-means"
SAME_STATISTICS: Final = ("l2-laplace", "laplace", "logistic")
"""The noises of the recipe lda, on the rows that matrix-lda sees, shortened by the same map."""


@dataclass(frozen=True, kw_only=True)
class PureCell:
    """One learner at one ε; every number is public and was fixed before a query was asked."""

    learner: str
    epsilon: float = 1.0
    records: int
    layer: bool = False
    """Whether rows are shortened along the public layer of their encoder."""
    mechanism: str = "gaussian"
    """The learner's own where nothing else is said."""

    @property
    def map_is_random(self) -> bool:
        """Each draw has a map of its own seed then: intervals cover the choice of the map."""
        return self.learner == MATRIX and not self.layer

    @property
    def settled_with(self) -> tuple[str, ...]:
        """The learners whose constants it has: rows are shortened as those of matrix-lda."""
        return (self.learner, MATRIX) if self.layer else (self.learner,)

    @property
    def label(self) -> str:
        """The learner, its noise where it has none of its own, and its map."""
        noise = "" if self.mechanism == "gaussian" else f", {self.mechanism}"
        return f"{self.learner}{noise}{', public layer' if self.layer else ''}"


@dataclass(frozen=True, kw_only=True)
class PureLearners:
    """Learners at δ = 0 on so many records of one data set."""

    on: str
    cells: tuple[PureCell, ...]
    before: float
    """The best accuracy without privacy on these records, as this package measured it."""
    source: str
    """Of ``before``."""
    draws: int = 5
    seed: int = 0

    @property
    def records(self) -> int:
        """The public N of all cells."""
        return self.cells[0].records


def _cells(records: int, *ways: tuple[str, float], **options: Any) -> tuple[PureCell, ...]:
    return tuple(
        PureCell(learner=learner, epsilon=epsilon, records=records, **options)
        for learner, epsilon in ways
    )


_WAYS = ((MATRIX, 1.0), (MATRIX, 0.5), (MEANS, 1.0), (MEANS, 0.5))
SPECS: Mapping[str, tuple[PureLearners, ...]] = {
    "digits": (
        PureLearners(
            on="digits",
            cells=_cells(1_400, *_WAYS),
            before=0.9547,
            source="learners on digits",
        ),
    ),
    "cifar10": (
        PureLearners(
            on="cifar10",
            cells=(
                *_cells(10_000, (MATRIX, 1.0), (MATRIX, 0.5), layer=True),
                *_cells(10_000, (MATRIX, 1.0), (MEANS, 1.0)),
            ),
            before=0.8830,
            source="results/learners-cifar10.json",
        ),
        PureLearners(
            on="cifar10",
            cells=(
                *_cells(50_000, (MATRIX, 1.0), (MATRIX, 0.5), layer=True),
                *_cells(50_000, (MATRIX, 1.0), (MEANS, 1.0)),
                *(
                    PureCell(learner="lda", records=50_000, layer=True, mechanism=noise)
                    for noise in SAME_STATISTICS
                ),
            ),
            before=0.9059,
            source="results/learners-cifar10.json",
        ),
    ),
    "mnist": (
        PureLearners(
            on="mnist",
            cells=_cells(60_000, (MATRIX, 1.0), (MEANS, 1.0)),
            before=0.9226,
            source="results/learners-mnist.json",
        ),
    ),
    "scattering": (
        PureLearners(
            on="scattering",
            cells=_cells(60_000, *_WAYS),
            before=0.9876,
            source="a head with noise at (3, 1e-5) and the longest step 4",
        ),
    ),
    "adult": (
        PureLearners(
            on="adult",
            cells=_cells(32_561, *_WAYS),
            before=0.8516,
            source="results/learners-adult.json",
        ),
        PureLearners(
            on="adult-log",
            cells=_cells(32_561, *_WAYS),
            before=0.8516,
            source="results/learners-adult.json, without logarithms",
        ),
    ),
}

NOTES: Final = (
    "Neighbours: add-remove; unit: one record with its label. Every release is proven, δ = 0; noise"
    " of matrix-lda is matrix Laplace with an L2-Laplace mean, that of pure-class-means L2-Laplace"
    " for each class with Laplace counts. All constants are those of the recipes. They were found"
    " on training records of the CIFAR-10 features, the share of counts at few records after a look"
    " at digits, the damping of matrix-lda after figures on training records of MNIST and Adult,"
    " scattering's roots on images of MNIST and CIFAR-10, and logarithms (adult-log) on training"
    " records of Adult: of these choices the ε on the same records says nothing, so rows there are"
    " declared.",
    "matrix-lda shortens rows by a random map of a public seed, another one in each draw, or along"
    " the leading directions of the encoder's own public layer (EfficientNet-Lite0, trained on"
    " ImageNet). lda is the same statistics (mean, second moment, class sums, counts) of the same"
    " shortened rows with other noise.",
)


def study(specs: tuple[PureLearners, ...], run: Run) -> Outcome:
    """Learners at pure ε, proven: matrix Laplace and class means, other noise beside them.

    One table for each number of records; each draw of a release is a cell.
    """
    run.steps.plan(sum(spec.draws * len(spec.cells) for spec in specs))
    return Outcome(specifications=specs, tables=tuple(_table(spec, run) for spec in specs))


def _task(spec: PureLearners, run: Run) -> Task:
    if spec.on == "scattering":
        return scattering.scattered(SCATTERING["mnist"], run)
    return task(spec.on, records=spec.records, seed=spec.seed, folder=run.folder)


def _row(spec: PureLearners, cell: PureCell, data: Task, run: Run) -> losses.LossRow:
    """The mean accuracy of the draws. Compared with the truth, a loss is one minus the accuracy."""
    drawn = []
    for draw in range(spec.draws):
        key: tuple[object, ...] = (spec.on, spec.seed, cell, draw)
        if cell.map_is_random:
            key = (*key, "a map of its own")
        drawn.append(run.cell(key, _drawn, cell, data, draw))
    claim = losses.Claim(**drawn[0]["claim"])
    claim = replace(claim, grade=settled.grade_of(claim.grade, spec.on, *cell.settled_with))
    answers = [np.asarray(one["answers"]) for one in drawn]
    return losses.loss_row(claim, answers, unprotected=data.truth, truth=data.truth)


def _drawn(cell: PureCell, data: Task, draw: int) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if cell.learner == MATRIX:
        options = {"seed": draw} if cell.map_is_random else {"public_map": public_layer()}
    request = ReleaseRequest.of(
        epsilon=cell.epsilon,
        delta=0.0,
        relation=Relation.ADD_REMOVE,
        records=cell.records,
        recipe=cell.learner,
        mechanism=cell.mechanism,
        **options,
    )
    if cell.layer and cell.learner != MATRIX:
        data = _shortened(cell, data)
    released = release_table(data.private, request)
    claim = losses.Claim.of(released.guarantee, cell.label)
    return {"claim": asdict(claim), "answers": released.predict(data.queries).tolist()}


def _shortened(cell: PureCell, data: Task) -> Task:
    """The task on as many directions of the public layer as matrix-lda would take, row by row."""
    width = int((cell.epsilon * cell.records) ** 0.5)
    public = public_map.leading_directions(public_layer(), width)
    private, queries = (
        scale_rows(scale_rows(rows, 1.0) @ public, 1.0) for rows in (data.rows, data.queries)
    )
    return replace(
        data, private=replace(data.private, inputs=private.astype(np.float32)), queries=queries
    )


def public_layer() -> str:
    """The name of EfficientNet-Lite0's last layer, 1,000 ImageNet classes × 1,280 features."""
    return public_map.named_map(public_map.ENCODER)


def _table(spec: PureLearners, run: Run) -> Table:
    data = _task(spec, run)
    rows = [_row(spec, cell, data, run) for cell in spec.cells]
    width = data.private.features.shape[1]
    return Table(
        title=f"Pure ε on {spec.on}: {spec.records:,} private records, {width:,} features",
        columns=(*losses.CLAIMED, "accuracy", "low", "high", "std", "loss"),
        rows=tuple(
            (
                *row.claimed(),
                *(losses.bare(v, 4) for v in (row.protected, 1 - row.high, 1 - row.low, row.std)),
                losses.bare(1 - row.protected / spec.before, 3),
            )
            for row in rows
        ),
        notes=(
            *NOTES,
            *settled.note(spec.on, (name for cell in spec.cells for name in cell.settled_with)),
            f"{spec.draws} draws a row. Low and high are the 95 % interval of the mean accuracy"
            " over draws and queries, std is that between the draws. Loss is 1 − accuracy/"
            f"{spec.before:.4f} (Definition 6.1), the best without privacy ({spec.source}).",
        ),
    )
