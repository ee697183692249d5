"""ALM's stated limitation: utility loss against the number of protected layers.

Heads of one to three dense layers with fixed steps and seed; logistic noise on all weights of the
last k layers. No theorem bounds their sensitivity: it is that of Algorithm 2, graded published.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from reticent.arrays import Array, Floats, Integers
from reticent.guarantee.rounding import upper_text
from reticent.mechanisms import Logistic
from reticent.neighbours import RefittedPairs, refitted_pairs
from reticent.randomness import seeded
from reticent.results.table import Cell, Judged
from reticent.studies.losses import MEASURED, READING, Claim, LossRow, loss_row, verdict
from reticent.studies.tasks import Task, task
from reticent.studies.trained import Outcome, Run, Table
from reticent.training import MLPHead


@dataclass(frozen=True, kw_only=True)
class Layers:
    """The heads, how they are trained, and how they are protected."""

    on: str
    records: int
    depths: tuple[int, ...] = (1, 2, 3)
    width: int = 32
    penalty: float = 1e-3
    steps: int = 300
    epsilons: tuple[float, ...] = (1.0, 10.0, 100.0, 1000.0)
    pairs: int = 20
    draws: int = 10
    seed: int = 0
    """Of the split, the initial weights, the pairs and the noise."""


@dataclass(frozen=True, kw_only=True)
class LayersRow:
    """One head with its last layers protected."""

    depth: int
    protected: int
    coordinates: int
    l1: float
    loss: LossRow

    def cells(self) -> tuple[str, ...]:
        """The row as text, cell by cell."""
        return (
            Cell(str(self.depth), self.depth),
            Cell(str(self.protected), self.protected),
            str(self.coordinates),
            f"{self.l1:.4g}",
            upper_text(self.loss.epsilon),
            *self.loss.measured(),
        )


SPECS: Mapping[str, Layers] = {
    "digits": Layers(on="digits", records=1_400),
    "mnist5k": Layers(on="mnist5k", records=4_000),
}


def study(spec: Layers, run: Run) -> Outcome:
    """The stated limitation: utility loss by the number of protected layers.

    One table: heads by depth, protected layers and ε.
    """
    run.steps.plan(len(spec.depths) * 2 * spec.pairs)
    data = task(spec.on, records=spec.records, seed=spec.seed, folder=run.folder)
    rows = []
    for depth in spec.depths:
        cell = run.cell((spec, depth), _cell, spec, data, depth, run, steps=2 * spec.pairs)
        rows += [LayersRow(**values | {"loss": LossRow(**values["loss"])}) for values in cell]
    return Outcome(specifications=(spec,), tables=(_table(spec, rows),))


def claims(rows: list[LayersRow]) -> tuple[Judged, ...]:
    """Whether the loss grows with the number of protected layers, in each head and over heads."""
    at = {(row.depth, row.protected, row.loss.epsilon): row.loss for row in rows}
    epsilons = sorted({row.loss.epsilon for row in rows})
    depths = sorted({row.depth for row in rows})
    ways = {
        f"the loss grows with the noisy layers of a head of {depth} layers": [
            (depth, layers) for layers in range(1, depth + 1)
        ]
        for depth in depths
        if depth > 1
    }
    if len(depths) > 1:
        whole = (
            f"the loss of heads with all layers noisy grows from {depths[0]} to {depths[-1]} layers"
        )
        ways[whole] = [(depth, depth) for depth in depths]
    return tuple(
        verdict(claim, epsilons, partial(_grows, at, path)) for claim, path in ways.items()
    )


def _grows(
    at: Mapping[tuple[int, int, float], LossRow], path: list[tuple[int, int]], epsilon: float
) -> bool:
    """The end of a path through (layers, noisy layers) clearly above its start, no step clearly
    down: where both losses are those of guessing, their order is chance.
    """
    losses = [at[depth, layers, epsilon] for depth, layers in path]
    steady = all(one.low <= other.high for one, other in pairwise(losses))
    return steady and losses[-1].low > losses[0].high


def _cell(spec: Layers, data: Task, depth: int, run: Run) -> list[dict[str, Any]]:
    head = _fitted(spec, depth, data.rows, data.labels)
    pairs = _refits(spec, data, depth, run)
    return [
        _row(spec, data, head, pairs, layers, epsilon)
        for layers in range(1, depth + 1)
        for epsilon in spec.epsilons
    ]


def _refits(spec: Layers, data: Task, depth: int, run: Run) -> RefittedPairs:
    rows, labels = data.rows, data.labels

    def refit(kept: Integers) -> Floats:
        return _fitted(spec, depth, rows[kept], labels[kept]).flat_weights()

    return refitted_pairs(
        refit, len(rows), spec.pairs, spec.seed, jobs=run.jobs, on_done=run.steps.step
    )


def _fitted(spec: Layers, depth: int, rows: Floats, labels: Array) -> MLPHead:
    head = MLPHead(
        layers=depth,
        width=spec.width,
        penalty=spec.penalty,
        steps=spec.steps,
        seed=spec.seed,
        classes=tuple("0123456789"),
    )
    return head.fit(rows, labels)


def _row(
    spec: Layers, data: Task, head: MLPHead, pairs: RefittedPairs, layers: int, epsilon: float
) -> dict[str, Any]:
    """Logistic noise on the last layers: they are the tail of all weights as one vector."""
    weights = head.flat_weights(last=layers)
    sensitivity = pairs.sensitivity(slice(-len(weights), None))
    noise = Logistic.calibrate(sensitivity, epsilon=epsilon, delta=0.0)
    source = noise.with_float_noise(
        seeded("alm layers", len(head.weights_), layers, repr(epsilon), spec.seed)
    )
    draws = [
        head.with_flat_weights(source.release(weights), last=layers).predict(data.queries)
        for _ in range(spec.draws)
    ]
    claim = Claim(grade=str(sensitivity.grade), mechanism=noise.name, epsilon=epsilon, delta=0.0)
    loss = loss_row(claim, draws, unprotected=head.predict(data.queries), truth=data.truth)
    return {
        "depth": len(head.weights_),
        "protected": layers,
        "coordinates": len(weights),
        "l1": sensitivity.require_l1(noise.name),
        "loss": loss.plain(),
    }


def _table(spec: Layers, rows: list[LayersRow]) -> Table:
    return Table(
        title=f"ALM's limitation on {spec.on}: loss by protected layers",
        columns=("layers", "noisy", "weights", "L1", "ε", *MEASURED),
        rows=tuple(row.cells() for row in rows),
        notes=(
            f"Every row is graded published: L1 is the largest change over {spec.pairs} pairs of "
            "refits (Algorithm 2), not a bound. Logistic noise, δ = 0, on all weights of the last "
            "layers.",
            f"{spec.records:,} private records, hidden width {spec.width}, {spec.steps} full-batch "
            f"steps of Adam, λ = {spec.penalty:g}. {spec.draws} draws a row. {READING}",
            *claims(rows),
        ),
    )
