"""ALM's two figures by grade: attack and utility under each sensitivity, and a pure learner.

A linear head with the paper's penalty is protected at every ε of its figures with the sensitivity
of Algorithm 2 (published), of the sampler of Rubinstein and Aldà (sampled) and of the theorem
(proven). Beside it stands what this package offers at δ = 0: matrix-lda on the same members.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Protocol

import numpy as np
from sklearn.base import clone

from reticent.arrays import Array, ArrayLike, Flags, Floats
from reticent.attacks import AlmAttack, Records, shadow_network, train_shadows
from reticent.audit import Measured, measured_attack, metrics
from reticent.data import Dataset, split
from reticent.guarantee import Grade, Relation, Sensitivity
from reticent.mechanisms import AdditiveMechanism, ClassicalGaussian, Gaussian, Laplace, Logistic
from reticent.neighbours import Draws, published_head_sensitivity, sampled_head_pairs
from reticent.protect import ReleaseRequest, release_table, release_weights
from reticent.randomness import seeded
from reticent.results import table
from reticent.studies import alm_encoder, losses, tasks
from reticent.studies.alm_fig1 import SMALL_LOSS, mapped
from reticent.studies.alm_fig2 import CLOSE, FALLS, GUESSING
from reticent.studies.alm_fig2 import OWN_ENCODER as FEWER_IMAGES
from reticent.studies.pure import MATRIX, public_layer
from reticent.studies.trained import Outcome, Run, Table
from reticent.training import SoftmaxHead
from reticent.training.softmax import softmax_rows

NONE: Final = "none"
BY_GRADE: Final[Mapping[Grade, tuple[type[AdditiveMechanism], ...]]] = {
    Grade.PUBLISHED: (Laplace, Logistic, ClassicalGaussian),
    Grade.SAMPLED: (Laplace, Logistic, Gaussian),
    Grade.PROVEN: (Laplace, Logistic, Gaussian),
}
PURE: Final = (str(Grade.DECLARED), MATRIX)
Row = tuple[str, str]
"""Grade and mechanism."""
Cell = dict[str, Any]
STAGES: Final = 4
"""Of a seed: the head and its shadow, the two sampled sensitivities, the draws, the learner."""


class Model(Protocol):
    """What is attacked: classes and their probabilities."""

    def predict(self, X: ArrayLike, /) -> Array:
        """The class of each row."""
        ...


@dataclass(frozen=True, kw_only=True)
class Grades:
    """Every number is public and was fixed before a query was asked.

    Each seed draws members, as many others and twice as many records for the adversary.
    """

    on: str
    members: int
    penalty: float = 0.01
    """λ of the paper's Table 1."""
    epsilons: tuple[float, ...] = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
    delta: float = 1e-5
    """Of Gaussian noise; the others are pure."""
    pairs: int = 500
    """Of Algorithm 2, the paper's m."""
    sampled: int = 19
    """Pairs of the sampler, each with a fit of its own: γ = 1/20 over sampler and pair."""
    draws: int = 5
    seeds: int = 5
    first_seed: int = 10


SPECS: Mapping[str, Grades] = {
    "digits": Grades(on="digits", members=400),
    "cifar10": Grades(on="cifar10", members=10_000),
    "cifar10-simclr-10k": Grades(on="cifar10-simclr-10k", members=10_000),
    "hospital100": Grades(on="hospital100", members=10_000),
    "cifar100": Grades(on="cifar100", members=10_000),
    "stl10": Grades(on="stl10", members=1_250),
}


def study(spec: Grades, run: Run) -> Outcome:
    """Both figures by grade: published, sampled and proven sensitivity, and a pure learner.

    One table, the attack without noise first.
    """
    run.steps.plan(alm_encoder.epochs_before(spec.on) + spec.seeds * STAGES)
    alm_encoder.train_encoder(spec.on, run)
    one = replace(spec, seeds=1)  # a cell is of one seed: more of them go on from kept cells
    cells = [
        run.cell((one, seed), _cell, spec, seed, run, steps=STAGES)
        for seed in range(spec.first_seed, spec.first_seed + spec.seeds)
    ]
    return Outcome(specifications=(spec,), tables=(_table(spec, cells),))


@dataclass(frozen=True, kw_only=True)
class NoisyHead:
    """A head's map of rows under other weights."""

    head: SoftmaxHead
    weights: Floats

    @property
    def classes_(self) -> Array:
        """In the order of the outputs."""
        return np.asarray(self.head.classes_)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probability of each class, a column a class."""
        return softmax_rows(self._logits(X))

    def predict(self, X: ArrayLike) -> Array:
        """The class of the largest logit."""
        chosen: Array = self.classes_[self._logits(X).argmax(axis=1)]
        return chosen

    def _logits(self, X: ArrayLike) -> Floats:
        return mapped(self.head, np.asarray(X, dtype=np.float64)) @ self.weights.T


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One seed: members and others, who attacks them, and what the head does without noise."""

    attack: AlmAttack
    scored: Records
    member: Flags
    exact: float

    def judged(self, models: list[Model]) -> list[float]:
        """Attack accuracy, accuracy on others and utility loss, each the mean over models."""
        scores = [_judged(model, self.attack, self.scored, self.member) for model in models]
        attacked, model_accuracy = np.mean(scores, axis=0).tolist()
        return [attacked, model_accuracy, 1 - model_accuracy / self.exact]


def _judged(model: Model, attack: AlmAttack, scored: Records, member: Flags) -> tuple[float, float]:
    """Balanced accuracy of the attack, and the model's accuracy on records that it never saw."""
    report = measured_attack(attack.scores(model, scored), member)
    correct = model.predict(scored.inputs) == scored.labels
    return report.balanced_accuracy.value, float(correct[~member].mean())


def _cell(spec: Grades, seed: int, run: Run) -> Cell:
    size = spec.members
    data = tasks.task(spec.on, records=4 * size, seed=seed, folder=run.folder)
    records = Records(data.rows, data.labels)
    sizes = {"members": size, "others": size, "adversary": 2 * size}
    parts = split(len(records), sizes=sizes, seed=seed, stratify=records.labels)
    scored = records.take(np.concatenate([parts["members"], parts["others"]]))
    member = np.arange(2 * size) < size
    inside, outside = scored.take(member), records.take(parts["adversary"])
    unfitted = head_of(spec, data.private.classes)
    head = clone(unfitted).fit(inside.inputs, inside.labels)
    shadows = train_shadows(unfitted, outside, count=1, seed=seed)
    attack = AlmAttack(shadows=shadows, recipe=shadow_network.ALM, seed=seed)
    attacked, model_accuracy = _judged(head, attack, scored, member)
    scene = Scene(attack=attack, scored=scored, member=member, exact=model_accuracy)
    run.steps.step()
    drawn = _heads(spec, head, sensitivities(spec, unfitted, head, (inside, outside), seed, run))
    run.steps.step()
    cell: Cell = {NONE: [[attacked, model_accuracy, 0.0]]}
    for row, at in drawn:
        cell["/".join(row)] = [scene.judged(at(epsilon)) for epsilon in spec.epsilons]
    run.steps.step()
    private = data.private.take(parts["members"])
    cell["/".join(PURE)] = [
        scene.judged(_learnt(spec, private, epsilon)) for epsilon in spec.epsilons
    ]
    run.steps.step()
    return cell


def head_of(spec: Grades, classes: Sequence[Any]) -> SoftmaxHead:
    """Rows at norm 1 and a small intercept, as every grid of learners has them."""
    return SoftmaxHead(
        penalty=spec.penalty,
        bound=1.0,
        norms="scale",
        intercept=0.1,
        classes=classes,
        records=spec.members,
    )


def sensitivities(
    spec: Grades,
    unfitted: SoftmaxHead,
    head: SoftmaxHead,
    records: tuple[Records, Records],
    seed: int,
    run: Run,
) -> tuple[Sensitivity, Sensitivity]:
    """Of Algorithm 2 on the members, and of the sampler on the adversary's records."""
    inside, outside = records
    draws = Draws(size=spec.members, pairs=spec.sampled, seed=seed)
    sampled = sampled_head_pairs(unfitted, outside.inputs, outside.labels, draws, jobs=run.jobs)
    published = published_head_sensitivity(
        head, inside.inputs, inside.labels, pairs=spec.pairs, seed=seed
    )
    return published, sampled.sensitivity


Noisy = Callable[[float], list[Model]]
"""From ε to its draws."""


def _heads(
    spec: Grades, head: SoftmaxHead, sensitivities: tuple[Sensitivity, Sensitivity]
) -> Iterator[tuple[Row, Noisy]]:
    """Draws of every grade and mechanism."""
    for sensitivity in sensitivities:
        for kind in BY_GRADE[sensitivity.grade]:
            yield _row(sensitivity.grade, kind), partial(_noised, spec, head, sensitivity, kind)
    for kind in BY_GRADE[Grade.PROVEN]:
        yield _row(Grade.PROVEN, kind), partial(_released, spec, head, kind)


def _row(grade: Grade, kind: type[AdditiveMechanism]) -> Row:
    return str(grade), kind.name


def _delta(spec: Grades, kind: type[AdditiveMechanism]) -> float:
    return spec.delta if issubclass(kind, Gaussian) else 0.0


def _noised(
    spec: Grades,
    head: SoftmaxHead,
    sensitivity: Sensitivity,
    kind: type[AdditiveMechanism],
    epsilon: float,
) -> list[Model]:
    """As in the paper: noise on all C·d weights."""
    noise = kind.calibrate(sensitivity, epsilon=epsilon, delta=_delta(spec, kind))
    source = noise.with_float_noise(
        seeded("alm grades", str(sensitivity.grade), kind.name, repr(noise.scale))
    )
    return [NoisyHead(head=head, weights=source.release(head.weights_)) for _ in range(spec.draws)]


def _released(
    spec: Grades, head: SoftmaxHead, kind: type[AdditiveMechanism], epsilon: float
) -> list[Model]:
    return [
        release_weights(
            head,
            epsilon=epsilon,
            delta=_delta(spec, kind),
            relation=Relation.ADD_REMOVE,
            mechanism=kind.name,
        )
        for _ in range(spec.draws)
    ]


def _learnt(spec: Grades, private: Dataset, epsilon: float) -> list[Model]:
    """The pure learner, along its encoder's public layer or a map of each draw's own seed."""
    maps = (
        [{"public_map": public_layer()}] * spec.draws
        if spec.on == "cifar10"
        else [{"seed": draw} for draw in range(spec.draws)]
    )
    request = partial(
        ReleaseRequest.of,
        epsilon=epsilon,
        delta=0.0,
        relation=Relation.ADD_REMOVE,
        records=spec.members,
        recipe=MATRIX,
    )
    return [release_table(private, request(**one)) for one in maps]


def rows_in(cells: list[Cell]) -> list[Row]:
    """Grades and mechanisms in the order of the table."""
    named = [(str(grade), kind.name) for grade, kinds in BY_GRADE.items() for kind in kinds]
    return [row for row in (*named, PURE) if "/".join(row) in cells[0]]


def _table(spec: Grades, cells: list[Cell]) -> Table:
    rows = [("–", NONE, "–", *_shown(cells, NONE, 0))]
    for row in rows_in(cells):
        rows += [
            (*row, table.Cell(f"{epsilon:g}", epsilon), *_shown(cells, "/".join(row), place))
            for place, epsilon in enumerate(spec.epsilons)
        ]
    return Table(
        title=f"ALM Figs. 1 and 2 by grade on {spec.on}: {spec.members:,} members",
        columns=("grade", "mechanism", "ε", "attack", "accuracy", "loss"),
        rows=tuple(rows),
        notes=(*_conditions(spec), *claims(spec, cells)),
    )


def _conditions(spec: Grades) -> tuple[str, ...]:
    return (
        f"The head is linear with λ = {spec.penalty:g}, the paper's, at every ε. Attack is the"
        " balanced accuracy of the paper's shadow network, which learnt from one shadow model"
        " without noise; accuracy is that on as many records that are not members, loss is"
        " 1 − after/before there (Definition 6.1)."
        f" Means over {spec.seeds} seeds, {spec.draws} draws each, with Student's 95 % interval.",
        f"Published: the largest change over {spec.pairs} pairs of Algorithm 2, not a bound."
        f" Sampled: the largest over {spec.sampled} pairs of Rubinstein and Aldà's sampler, from"
        f" the adversary's {2 * spec.members:,} records; (ε, γ)-random DP with γ ="
        f" 1/{spec.sampled + 1} over sampler and pair, which says nothing about the worst case."
        f" Proven: real releases, neighbours add-remove, N = {spec.members:,} public. Gaussian"
        f" noise has δ = {spec.delta:g} (classical σ where published), all other rows δ = 0.",
        f"{MATRIX} is this package's pure learner on the same members"
        + (", along the encoder's public layer" if spec.on == "cifar10" else "")
        + "; its releases are proven, but its constants were found on training records of several"
        " of these data sets, so its rows are declared. Its loss is against the head's accuracy.",
        *((FEWER_IMAGES,) if spec.on == "cifar10-simclr-10k" else ()),
    )


def _shown(cells: list[Cell], name: str, place: int) -> tuple[str, ...]:
    return tuple(table.Cell.of(_over(cells, name, place, what)) for what in range(3))


def _over(cells: list[Cell], name: str, place: int, what: int) -> Measured:
    return metrics.over_repeats([cell[name][place][what] for cell in cells])


def claims(spec: Grades, cells: list[Cell]) -> tuple[table.Judged, ...]:
    """The paper's sentences for its own noise at each grade, and for the pure learner."""
    places = {epsilon: place for place, epsilon in enumerate(spec.epsilons)}
    small = [epsilon for epsilon in spec.epsilons if epsilon < 1]

    def near(name: str, epsilon: float) -> bool:
        return abs(_over(cells, name, places[epsilon], 0).value - GUESSING) <= CLOSE

    def below(name: str, epsilon: float) -> bool:
        return _over(cells, name, places[epsilon], 2).high < 0.1

    verdicts: list[table.Judged] = []
    for row in rows_in(cells):
        if row[1] in (Logistic.name, MATRIX):
            words, name = " ".join(row), "/".join(row)
            verdicts += [
                losses.verdict(FALLS, spec.epsilons, partial(near, name), of=words),
                losses.verdict(SMALL_LOSS, small, partial(below, name), of=words),
            ]
    return tuple(verdicts)
