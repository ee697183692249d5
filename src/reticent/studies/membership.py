"""Membership inference on a trained victim, seed after seed: what the attack studies share.

Every seed draws members, as many others, and twice as many records for the adversary, trains the
victim and all shadows anew, and measures each attack.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any, Literal

import numpy as np

from reticent.attacks import Lira, Records, ScoreAttack, Shadows, shadow_network, train_shadows
from reticent.audit import Measured, measured_attack, metrics
from reticent.data import load, split
from reticent.results.table import Cell
from reticent.studies.trained import Run
from reticent.training import MLPHead

FPR = 0.01
FIGURES = {
    "AUC": "auc",
    "accuracy": "balanced_accuracy",
    "TPR − FPR": "leakage",
    "precision": "precision",
    "recall": "recall",
    "TPR at 1 % FPR": "tpr",
}
"""Names of columns, and where a cell keeps their values."""
READING = (
    "Figures are means over {seeds} seeds with Student's 95 % interval; a seed draws all records, "
    "the victim and the shadows anew, but from one data set, so seeds share records."
)
_PARTS: Mapping[str, tuple[str, ...]] = {"adult": ("adult-train", "adult-test")}
SHOPPERS: tuple[str, ...] = tuple(f"shoppers{classes}" for classes in (2, 10, 20, 50, 100))
"""Baskets of other shoppers than Purchase's, in so many clusters: stand-ins."""
_WITH_PARTS: Mapping[str, str] = {
    "mnist": "mnist-train",
    "cifar10": "cifar10-train",
    "cifar100": "cifar100-train",
    **{name: name.replace("shoppers", "purchase-shoppers-") for name in SHOPPERS},
}


@dataclass(frozen=True, kw_only=True)
class Victim:
    """A dense network; by default that of Lu et al., Table 4, on mean cross-entropy."""

    layers: int = 2
    width: int = 128
    activation: Literal["relu", "tanh"] = "tanh"
    penalty: float = 1e-3
    learning_rate: float = 1e-3
    batch: int | None = 100
    passes: int = 100

    def head(self, records: Records, *, members: int, seed: int) -> MLPHead:
        """Untrained, with all classes of the records."""
        batches = 1 if self.batch is None else -(-members // self.batch)
        return MLPHead(
            layers=self.layers,
            width=self.width,
            activation=self.activation,
            penalty=self.penalty,
            learning_rate=self.learning_rate,
            batch=self.batch,
            steps=self.passes * batches,
            seed=seed,
            classes=np.unique(records.labels).tolist(),
        )


@dataclass(frozen=True, kw_only=True)
class Membership:
    """What was tried before these numbers were fixed is said by ``tried``."""

    on: str
    members: int
    """As many others; twice as many records are the adversary's, a shadow sees half of those."""
    attack: Literal["shokri", "alm"] = "shokri"
    network: shadow_network.NetworkRecipe = field(default_factory=shadow_network.NetworkRecipe)
    shadows: int
    around: int = 0
    """Shadows on halves of the scored records, for LiRA; 0 for no LiRA."""
    victim: Victim = Victim()
    tried: str = "nothing else was tried."
    """Which settings were compared, and what they gave; printed below the table."""
    seeds: int = 5
    first_seed: int = 10
    """Settings were compared on seeds below it alone."""

    def built(self, shadows: Shadows, seed: int) -> ScoreAttack:
        """The shadow attack of the paper."""
        if self.attack == "alm":
            return shadow_network.AlmAttack(shadows=shadows, recipe=self.network, seed=seed)
        return shadow_network.ShokriAttack(shadows=shadows, recipe=self.network, seed=seed)


def trials(spec: Membership, run: Run) -> list[dict[str, Any]]:
    """One cell for each seed: accuracies of the victim, and the figures of each attack."""
    run.steps.plan(spec.seeds * (1 + spec.shadows + spec.around))
    records = records_of(spec.on, run.folder)
    each = 1 + spec.shadows + spec.around
    return [
        run.cell((spec, seed), _trial, spec, records, seed, run, steps=each)
        for seed in range(spec.first_seed, spec.first_seed + spec.seeds)
    ]


def records_of(name: str, folder: Path | None) -> Records:
    """A data set by the name that the studies use; its published parts are taken as one."""
    parts = _PARTS.get(name, (_WITH_PARTS.get(name, name),))
    return reduce(Records.joined, (Records.of(load(part, folder)) for part in parts))


def over_seeds(cells: list[dict[str, Any]], attack: str, figure: str) -> Measured | None:
    """A figure of an attack over the seeds that have it; None where fewer than two do."""
    values = [cell["attacks"][attack][FIGURES[figure]] for cell in cells]
    known = [value for value in values if value is not None]
    return metrics.over_repeats(known) if len(known) > 1 else None


def notes_of(spec: Membership) -> tuple[str, str]:
    """How to read the figures, and what was tried before."""
    last = spec.first_seed + spec.seeds - 1
    return (
        READING.format(seeds=spec.seeds),
        f"Seeds {spec.first_seed} to {last} are reported. On earlier seeds: {spec.tried}",
    )


def attack_rows(cells: list[dict[str, Any]], figures: tuple[str, ...]) -> list[tuple[str, ...]]:
    """One row for each attack, as text."""
    return [
        (attack, *(shown(over_seeds(cells, attack, figure)) for figure in figures))
        for attack in cells[0]["attacks"]
    ]


def shown(measured: Measured | None) -> str:
    """A figure with its interval, as a cell of a table; a dash without one."""
    return "–" if measured is None else Cell.of(measured)


def seeds_above(cells: list[dict[str, Any]], figures: tuple[str, ...]) -> str:
    """In how many seeds online LiRA finds more than the first attack, figure by figure."""
    counts = []
    for figure in figures:
        pairs = [
            [figures_of[FIGURES[figure]] for figures_of in cell["attacks"].values()][:2]
            for cell in cells
        ]
        if None not in pairs[0]:
            above = sum(lira > first for first, lira in pairs)
            counts.append(f"{figure} in {above} of {len(cells)} seeds")
    return ", ".join(counts)


def scored_and_own(records: Records, size: int, seed: int) -> tuple[Records, Records]:
    """So many members and as many others behind them; and twice as many of the adversary's own."""
    parts = split(
        len(records),
        sizes={"members": size, "others": size, "adversary": 2 * size},
        seed=seed,
        stratify=records.labels,
    )
    scored = records.take(np.concatenate([parts["members"], parts["others"]]))
    return scored, records.take(parts["adversary"])


def _trial(spec: Membership, records: Records, seed: int, run: Run) -> dict[str, Any]:
    size = spec.members
    scored, own = scored_and_own(records, size, seed)
    member = np.arange(2 * size) < size
    head = spec.victim.head(records, members=size, seed=seed)
    inside = scored.take(member)
    victim = spec.victim.head(records, members=size, seed=seed).fit(inside.inputs, inside.labels)
    run.steps.step()
    attacks = [spec.built(_shadows(head, own, spec.shadows, seed, run), seed)]
    if spec.around:
        attacks.append(Lira(shadows=_shadows(head, scored, spec.around, seed, run)))
    correct = victim.predict(scored.inputs) == scored.labels
    return {
        "training": float(correct[member].mean()),
        "test": float(correct[~member].mean()),
        "attacks": {attack.name: _figures(attack, victim, scored, member) for attack in attacks},
    }


def _shadows(head: MLPHead, pool: Records, count: int, seed: int, run: Run) -> Shadows:
    before = run.steps.done
    return train_shadows(
        head,
        pool,
        count=count,
        seed=seed,
        jobs=run.jobs,
        on_done=lambda done: run.steps.reach(before + done),
    )


def _figures(
    attack: ScoreAttack, victim: MLPHead, scored: Records, member: Any
) -> dict[str, float | None]:
    """By the names that FIGURES uses."""
    scores = attack.scores(victim, scored)
    report = measured_attack(scores, member, fprs=(FPR,))
    rate = report.tpr_at_fpr.get(FPR)
    own = scores.decides_at  # another threshold was chosen on some of these records
    return {
        "auc": report.auc.value,
        "balanced_accuracy": report.balanced_accuracy.value,
        "leakage": report.leakage.value,
        "precision": None if report.precision is None else report.precision.value,
        "recall": None if own is None else float(np.mean(scores.values[member] > own)),
        "tpr": None if rate is None else rate.value,
    }
