"""Membership inference on an overfit network, and on the same network by DP-SGD."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from reticent.attacks import Lira, Records, ScoreAttack, Shadows, targets, train_shadows
from reticent.attacks.metric import MetricAttack
from reticent.attacks.shadow_models import ShadowPlan, shadows_like
from reticent.audit import measured_attack, metrics
from reticent.data import split
from reticent.guarantee import Relation, rounding
from reticent.protect import PrivateNetwork
from reticent.studies.fine_tuned_victim import FineTunedVictim, token_records
from reticent.studies.membership import FPR, READING, Victim, records_of
from reticent.studies.network_training import Training
from reticent.studies.trained import Run, Table

LOSS = "loss"
TEXTS: Final = {"trec": ("trec-train", "trec-test")}
"""Published parts of data sets of texts, taken as one."""


@dataclass(frozen=True, kw_only=True)
class AttackedNetworks:
    """Every number was chosen before a network was trained."""

    on: str
    members: int
    """As many others, on which accuracy is measured too."""
    training: Training
    victim: Victim | FineTunedVictim
    epsilons: tuple[float, ...] = (3.0, 1.0)
    delta: float = 1e-5
    shadows: int = 8
    """On halves of the scored records, made as the victim was, its noise included."""
    seeds: int = 3


def attacked(spec: AttackedNetworks, run: Run) -> Table:
    """The network without privacy, and at each ε: accuracy, and what the attacks find."""
    run.steps.plan(spec.seeds * (1 + len(spec.epsilons)))
    records = _records(spec, run.folder)
    cells = {
        epsilon: [
            run.cell((spec, epsilon, seed), _trial, spec, records, epsilon, seed, run)
            for seed in range(spec.seeds)
        ]
        for epsilon in (None, *spec.epsilons)
    }
    return _shown(spec, cells)


def _records(spec: AttackedNetworks, folder: Path | None) -> Records:
    """All of them; texts as the tokens that their encoder sees."""
    if spec.on in TEXTS:
        return token_records(TEXTS[spec.on], spec.training.architecture, folder)
    return records_of(spec.on, folder)


def _trial(
    spec: AttackedNetworks, records: Records, epsilon: float | None, seed: int, run: Run
) -> dict[str, Any]:
    size = spec.members
    parts = split(
        len(records), sizes={"members": size, "others": size}, seed=seed, stratify=records.labels
    )
    scored = records.take(np.concatenate([parts["members"], parts["others"]]))
    member = np.arange(2 * size) < size
    model, shadows, grade = _victim(spec, scored, epsilon, seed, run)
    right = np.asarray(model.predict(scored.inputs)) == scored.labels
    attacks: tuple[ScoreAttack, ...] = (Lira(shadows=shadows), MetricAttack(LOSS))
    return {
        "grade": grade,
        "training": float(right[member].mean()),
        "test": float(right[~member].mean()),
        "attacks": {one.name: _figures(one, model, scored, member) for one in attacks},
    }


def _victim(
    spec: AttackedNetworks, scored: Records, epsilon: float | None, seed: int, run: Run
) -> tuple[Any, Shadows, str]:
    """A trained network, and shadows that were trained as it was."""
    inside = scored.take(np.arange(2 * spec.members) < spec.members)
    if epsilon is None:
        head = spec.victim.head(scored, members=spec.members, seed=seed)
        shadows = train_shadows(head, scored, count=spec.shadows, seed=seed, jobs=run.jobs)
        return head.fit(inside.inputs, inside.labels), shadows, "–"
    network = PrivateNetwork(
        classes=np.unique(scored.labels).tolist(),
        records=spec.members,
        epsilon=epsilon,
        delta=spec.delta,
        relation=Relation.ADD_REMOVE,
        **{name: value for name, value in asdict(spec.training).items() if value},
    )
    released = network.fit(inside.inputs, inside.labels).released_
    plan = ShadowPlan(count=spec.shadows, seed=seed, jobs=run.jobs)
    shadows = shadows_like(targets.target_of(released), scored, plan)
    return released, shadows, str(released.guarantee.grade)


def _figures(
    attack: ScoreAttack, model: Any, scored: Records, member: Any
) -> dict[str, float | None]:
    report = measured_attack(attack.scores(model, scored), member, fprs=(FPR,))
    rate = report.tpr_at_fpr.get(FPR)  # none where there are too few others
    return {"auc": report.auc.value, "tpr": None if rate is None else rate.value}


def _shown(spec: AttackedNetworks, cells: dict[float | None, list[dict[str, Any]]]) -> Table:
    rows = []
    for epsilon, trials in cells.items():
        lira, loss = trials[0]["attacks"]
        rows.append(
            (
                trials[0]["grade"],
                "none" if epsilon is None else rounding.upper_text(epsilon),
                *(_over([one[part] for one in trials]) for part in ("training", "test")),
                *(
                    _over([one["attacks"][attack][figure] for one in trials])
                    for attack, figure in ((lira, "auc"), (lira, "tpr"), (loss, "auc"))
                ),
            )
        )
    return Table(
        title=f"An overfit network on {spec.on}, attacked before and after: {spec.members:,} "
        "members and as many others",
        columns=("grade", "ε", "training", "test", "LiRA AUC", "TPR at 1 % FPR", "loss AUC"),
        rows=tuple(rows),
        notes=(
            f"Without privacy: {_words(spec.victim)}. With it: the same network by DP-SGD at δ = "
            f"{rounding.upper_text(spec.delta)}, add-remove, one record. {spec.training}.",
            f"LiRA is online, with {spec.shadows} shadow models on halves of the scored records, "
            "made as the victim was, its noise included.",
            "Constants were fixed before a network was trained on these data.",
            READING.format(seeds=spec.seeds),
        ),
    )


def _words(victim: Victim | FineTunedVictim) -> str:
    if isinstance(victim, FineTunedVictim):
        return str(victim)
    return f"{victim.width} tanh units, {victim.passes} passes of Adam (Lu et al., Table 4)"


def _over(values: list[float | None]) -> str:
    """Over the seeds; a dash where a figure is not known."""
    known = [value for value in values if value is not None]
    return str(metrics.over_repeats(known)) if len(known) == len(values) else "–"
