"""Texts end to end: heads on MiniLM's vectors tuned, attacked, protected and attacked again.

An encoder fine-tuned with DP is in ``fine_tuning``; what the loss tells of one is here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final

import numpy as np

from reticent.data import Dataset, load, split
from reticent.guarantee import Relation
from reticent.results.table import Table
from reticent.run.attacking import CANDIDATES
from reticent.run.spec import RunData, RunSpec
from reticent.studies import before_after
from reticent.studies.trained import Outcome, Run
from reticent.training.encoders import cache, named
from reticent.training.encoders.base import Encoder

ENCODER: Final = "minilm"


@dataclass(frozen=True, kw_only=True)
class Texts:
    """Every number was fixed before a text was attacked."""

    on: str
    parts: tuple[str, ...]
    """Of the published data, taken as one."""
    sizes: Mapping[str, int]
    """Private: the head's; others: not trained on, scored; own: the adversary's. Accuracies are
    taken on the last two."""
    epsilons: tuple[float, ...] = (1.0, 3.0)
    """Of the recommended releases; the first one is attacked."""
    delta: float = 1e-5
    shadows: int = 32
    draws: int = 5
    seeds: int = 5
    first_seed: int = 10

    @property
    def run(self) -> RunSpec:
        """The choices of ``reticent run`` on unit rows."""
        return RunSpec(
            epsilon=self.epsilons[0],
            delta=self.delta,
            relation=Relation.ADD_REMOVE,
            records=self.sizes["private"],
            bound=1.0,
            norms="scale",
            epsilons=self.epsilons,
            draws=self.draws,
            shadows=self.shadows,
        )


SPECS: Mapping[str, Texts] = {
    "trec": Texts(
        on="trec",
        parts=("train", "test"),
        sizes={"private": 3_000, "others": 2_000, "own": 952},
    ),
    "sst2": Texts(
        on="sst2",
        parts=("train",),
        sizes={"private": 10_000, "others": 4_000, "own": 2_000},
    ),
}


def study(spec: Texts, run: Run) -> Outcome:
    """Heads on sentence vectors: the strongest attack before and after protection, and its cost.

    Each seed draws who is a member, shadows and noise anew, from one pool of texts.
    """
    run.steps.plan(spec.seeds)
    data = vectors(spec, pool(spec, run), named.encoder_of(ENCODER))
    cells = [
        run.cell((spec, seed), _ended, spec, data, seed)
        for seed in range(spec.first_seed, spec.first_seed + spec.seeds)
    ]
    return Outcome(specifications=(spec,), tables=(_table(spec, data, cells),))


def pool(spec: Texts, run: Run) -> Dataset:
    """As many texts as all roles need, the same for every seed."""
    whole = reduce(_joined, (load(f"{spec.on}-{part}", run.folder) for part in spec.parts))
    places = split(whole, sizes={"pool": sum(spec.sizes.values())}, seed=0)["pool"]
    return whole.take(np.sort(places))


def vectors(spec: Texts, texts: Dataset, encoder: Encoder) -> Dataset:
    """One vector a text; the classes of published data are no secret."""
    return replace(cache.cached_features(texts, encoder), name=spec.on, public_classes=True)


def _joined(one: Dataset, other: Dataset) -> Dataset:
    return replace(
        one,
        inputs=np.concatenate([one.inputs, other.inputs]),
        labels=np.concatenate([one.labels, other.labels]),
    )


def _ended(spec: Texts, data: Dataset, seed: int) -> before_after.Cell:
    parts = split(data, sizes=dict(spec.sizes), seed=seed, stratify=data.labels)
    taken = {role: data.take(parts[role]) for role in spec.sizes}
    roles = RunData(
        name=spec.on,
        kind="sentence vectors of MiniLM",
        private=taken["private"],
        others=taken["others"],
        own=taken["own"],
        test=_joined(taken["others"], taken["own"]),
    )
    return before_after.before_and_after(roles, spec.run, spec.epsilons, seed)


def _table(spec: Texts, data: Dataset, cells: list[before_after.Cell]) -> Table:
    costs = tuple(f"loss at ε = {epsilon:g}" for epsilon in spec.epsilons)
    sizes = ", ".join(f"{number:,} {role}" for role, number in spec.sizes.items())
    learners = sorted({name for cell in cells for name in cell["learners"]})
    grades = sorted({cell["grade"] for cell in cells})
    return Table(
        title=f"Texts of {spec.on}: heads on MiniLM's vectors, attacked and protected",
        columns=(*before_after.COLUMNS, *costs),
        rows=tuple(map(before_after.row_of, cells)),
        notes=(
            before_after.verdict(cells),
            before_after.means(cells, spec.epsilons, f"{len(data):,} texts"),
            f"{sizes} of {len(data.classes)} classes; recommended releases ({', '.join(learners)},"
            f" {', '.join(grades)}) at δ = {spec.delta:g}; neighbours: add-remove; unit: one text."
            f" The attack is the one of {len(CANDIDATES)} that was strongest on shadow targets, and"
            f" AUC after is at ε = {spec.epsilons[0]:g}. Loss is the mean over {spec.draws}"
            " releases, relative to the head without protection.",
        ),
    )
