"""ALM Fig. 2: accuracy of the paper's attack against ε, and against utility loss.

As in the paper: Δ is the largest change over pairs of refits (Algorithm 2), noise goes onto the
weights of a tuned linear head, and the attack is trained on one shadow model without noise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from reticent.arrays import Flags, Floats, Integers
from reticent.attacks import AlmAttack, Records, shadow_network, train_shadows
from reticent.audit import Measured, measured_attack, metrics
from reticent.data import split
from reticent.guarantee import Sensitivity
from reticent.mechanisms import AdditiveMechanism, ClassicalGaussian, Laplace, Logistic
from reticent.neighbours import refitted_pairs
from reticent.randomness import seeded
from reticent.results import table
from reticent.studies import alm_attack, alm_encoder, losses, membership, tasks
from reticent.studies.trained import Outcome, Run, Table
from reticent.training import MLPHead

KINDS: Final[tuple[type[AdditiveMechanism], ...]] = (Laplace, Logistic, ClassicalGaussian)
NONE: Final = "none"
GUESSING: Final = 0.5
CLOSE: Final = 0.02
"""“Approximately 50 %”."""
FALLS: Final = "“the attack falls to approximately 50 %”"
OWN_ENCODER: Final = (
    "The encoder is the paper's small one (SimCLR, 20 epochs), trained on 10,000 images: the paper"
    " has 40,000, which would leave too few for members, others and the adversary."
)
Cell = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Fig2:
    """Every number is public and was fixed before a query was asked; seeds below 10 are not used.

    Each seed draws members, as many others and twice as many records for the adversary.
    """

    on: str
    members: int
    epsilons: tuple[float, ...] = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
    delta: float = 1e-5
    pairs: int = 20
    draws: int = 5
    seeds: int = 5
    first_seed: int = 10
    victim: membership.Victim = field(default_factory=lambda: alm_attack.LINEAR)


SPECS: Mapping[str, Fig2] = {
    "mnist5k": Fig2(on="mnist5k", members=1_000),
    "digits": Fig2(on="digits", members=400),
    "cifar10": Fig2(on="cifar10", members=10_000),
    "cifar10-simclr-10k": Fig2(on="cifar10-simclr-10k", members=10_000),
    "cifar100": Fig2(on="cifar100", members=10_000),
    "stl10": Fig2(on="stl10", members=1_250),
}


def study(spec: Fig2, run: Run) -> Outcome:
    """Fig. 2: accuracy of the paper's attack and utility loss, three mechanisms at each ε.

    One table, the attack without noise first.
    """
    run.steps.plan(alm_encoder.epochs_before(spec.on) + spec.seeds * (2 + 2 * spec.pairs))
    alm_encoder.train_encoder(spec.on, run)
    one = replace(spec, seeds=1)  # a cell is of one seed: more of them go on from kept cells
    cells = [
        run.cell((one, seed), _cell, spec, seed, run, steps=2 + 2 * spec.pairs)
        for seed in range(spec.first_seed, spec.first_seed + spec.seeds)
    ]
    return Outcome(specifications=(spec,), tables=(_table(spec, cells),))


def _cell(spec: Fig2, seed: int, run: Run) -> Cell:
    size = spec.members
    data = tasks.task(spec.on, records=4 * size, seed=seed, folder=run.folder)
    records = Records(data.rows, data.labels)
    sizes = {"members": size, "others": size, "adversary": 2 * size}
    parts = split(len(records), sizes=sizes, seed=seed, stratify=records.labels)
    scored = records.take(np.concatenate([parts["members"], parts["others"]]))
    member = np.arange(2 * size) < size
    inside = scored.take(member)
    head = spec.victim.head(records, members=size, seed=seed)
    shadows = train_shadows(head, records.take(parts["adversary"]), count=1, seed=seed)
    victim = head.fit(inside.inputs, inside.labels)
    run.steps.step()
    attack = AlmAttack(shadows=shadows, recipe=shadow_network.ALM, seed=seed)
    sensitivity = _sensitivity(spec, victim, inside, run)
    cell: Cell = {NONE: [[*_judged(victim, attack, scored, member), 0.0]]}
    exact = cell[NONE][0][1]
    for kind in KINDS:
        cell[kind.name] = [
            _noisy(
                spec, (victim, attack, scored, member), _noise(kind, sensitivity, spec, e), exact
            )
            for e in spec.epsilons
        ]
    return cell


def _sensitivity(spec: Fig2, victim: MLPHead, inside: Records, run: Run) -> Sensitivity:
    """Algorithm 2: no bound, graded published."""

    def refit(kept: Integers) -> Floats:
        head = MLPHead(**victim.get_params())
        return head.fit(inside.inputs[kept], inside.labels[kept]).flat_weights()

    pairs = refitted_pairs(
        refit, len(inside), spec.pairs, victim.seed, jobs=run.jobs, on_done=run.steps.step
    )
    return pairs.sensitivity(slice(None))


def _noise(
    kind: type[AdditiveMechanism], sensitivity: Sensitivity, spec: Fig2, epsilon: float
) -> AdditiveMechanism:
    delta = spec.delta if kind is ClassicalGaussian else 0.0
    return kind.calibrate(sensitivity, epsilon=epsilon, delta=delta)


Attacked = tuple[MLPHead, AlmAttack, Records, Flags]


def _noisy(spec: Fig2, attacked: Attacked, noise: AdditiveMechanism, exact: float) -> list[float]:
    """Attack accuracy, accuracy and utility loss, each the mean over draws."""
    victim, attack, scored, member = attacked
    source = noise.with_float_noise(seeded("alm fig2", noise.name, repr(noise.scale), victim.seed))
    weights = victim.flat_weights()
    judged = [
        _judged(victim.with_flat_weights(source.release(weights)), attack, scored, member)
        for _ in range(spec.draws)
    ]
    accuracy, model_accuracy = np.mean(judged, axis=0).tolist()
    return [accuracy, model_accuracy, 1 - model_accuracy / exact]


def _judged(
    model: MLPHead, attack: AlmAttack, scored: Records, member: Flags
) -> tuple[float, float]:
    """Balanced accuracy of the attack, and the model's accuracy on records that it never saw."""
    report = measured_attack(attack.scores(model, scored), member)
    correct = model.predict(scored.inputs) == scored.labels
    return report.balanced_accuracy.value, float(correct[~member].mean())


def _table(spec: Fig2, cells: list[Cell]) -> Table:
    rows = [(NONE, "–", *_shown(cells, NONE, 0))]
    for kind in KINDS:
        rows += [
            (kind.name, f"{epsilon:g}", *_shown(cells, kind.name, place))
            for place, epsilon in enumerate(spec.epsilons)
        ]
    return Table(
        title=f"ALM Fig. 2 on {spec.on}: {spec.members:,} members and as many others",
        columns=("mechanism", "ε", "attack", "accuracy", "loss"),
        rows=tuple(rows),
        notes=(
            "Attack is the balanced accuracy of the paper's shadow network, which learnt from one"
            " shadow model without noise; loss is 1 − after/before on the others (Definition 6.1)."
            f" Means over {spec.seeds} seeds, {spec.draws} draws of noise each, with Student's 95 %"
            " interval. The victim is a linear head tuned to the last member.",
            f"Grade published: Δ is the largest change over {spec.pairs} pairs of refits, L1 for"
            f" Laplace and logistic noise, L2 for the classical Gaussian at δ = {spec.delta:g}.",
            *((OWN_ENCODER,) if spec.on == "cifar10-simclr-10k" else ()),
            *claims(spec, cells),
        ),
    )


def _shown(cells: list[Cell], name: str, place: int) -> tuple[str, ...]:
    return tuple(table.Cell.of(_over(cells, name, place, what)) for what in range(3))


def _over(cells: list[Cell], name: str, place: int, what: int) -> Measured:
    return metrics.over_repeats([cell[name][place][what] for cell in cells])


def claims(spec: Fig2, cells: list[Cell]) -> tuple[table.Judged, ...]:
    """The paper's two observations about Fig. 2, each beside what the rows say."""
    places = {epsilon: place for place, epsilon in enumerate(spec.epsilons)}

    def near(epsilon: float) -> bool:
        attack_accuracy = _over(cells, Logistic.name, places[epsilon], 0)
        return abs(attack_accuracy.value - GUESSING) <= CLOSE

    def highest(epsilon: float) -> bool:
        laplace, others = _apart(cells, places[epsilon])
        return all(laplace.low > other.high for other in others)

    return (
        losses.verdict(FALLS, spec.epsilons, near, by=Logistic.name),
        losses.verdict("“Laplace keeps the highest attack accuracy”", spec.epsilons, highest),
    )


def _apart(cells: list[Cell], place: int) -> tuple[Measured, list[Measured]]:
    others = (Logistic.name, ClassicalGaussian.name)
    return _over(cells, Laplace.name, place, 0), [_over(cells, name, place, 0) for name in others]
