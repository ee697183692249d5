"""An encoder fine-tuned by DP-SGD beside a proven head on its frozen features, at equal (ε, δ)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from reticent.arrays import Array, Floats
from reticent.data import Dataset, load
from reticent.guarantee import Relation
from reticent.guarantee.rounding import upper_text
from reticent.protect import ReleaseRequest, Terms, release_table
from reticent.protect.noise_scales import noise_plan
from reticent.protect.recipe import Recipe, replay, tensors_of
from reticent.randomness import seeded
from reticent.results.table import Table
from reticent.studies import alm_fig1, losses
from reticent.studies.tasks import Task, task, unit_row_request
from reticent.studies.trained import Outcome, Run
from reticent.training.networks import token_encoder

HEAD = "noisy-gradient"
_RESAMPLED = 2_000
_NONE = "none"


@dataclass(frozen=True, kw_only=True)
class FineTuning:
    """Every number is public and was fixed before a query was asked.

    The learning rate times the number of steps is that of LoRA on SST-2 in Yu et al. 2022 (4·10⁻⁴
    over 20 epochs of 67,349 records in batches of 2,000); the clip is that of Li et al. 2022,
    which clips nearly every gradient.
    """

    on: str
    records: int
    architecture: str = "minilm-lora-last"
    length: int = 32
    epsilons: tuple[float, ...] = (1.0, 3.0, 8.0)
    delta: float = 1e-5
    draws: int = 3
    head_draws: int = 5
    batch: int = 256
    epochs: float = 4.0
    clip: float = 0.1
    rate_times_steps: float = 4e-4 * 20 * 67_349 / 2_000
    exact: bool = True
    penalty: float = 1e-4
    """Of the head without privacy."""

    def fine_tuned(self, epsilon: float) -> ReleaseRequest:
        """Adam from the public weights."""
        steps = self.epochs * self.records / self.batch
        return ReleaseRequest.of(
            epsilon=epsilon,
            delta=self.delta,
            relation=Relation.ADD_REMOVE,
            records=self.records,
            recipe="network",
            architecture=self.architecture,
            batch=self.batch,
            epochs=self.epochs,
            clip=self.clip,
            optimiser="adam",
            learning_rate=self.rate_times_steps / steps,
            exact=self.exact,
        )

    def head(self, epsilon: float) -> ReleaseRequest:
        """The learner on frozen features, as in the study of learners."""
        return unit_row_request(epsilon=epsilon, delta=self.delta, records=self.records)


SPECS: Mapping[str, FineTuning] = {"trec": FineTuning(on="trec", records=5_452)}


class _Texts(NamedTuple):
    """Texts as rows of tokens, and the same as frozen features."""

    private: Dataset
    queries: Floats
    frozen: Task


class AnswerRow(NamedTuple):
    """What all draws of one learner answered, at one ε."""

    grade: str
    learner: str
    epsilon: str
    hits: Array
    """(draws, queries): whether each answer is right."""

    @classmethod
    def of(cls, cells: list[dict[str, Any]], truth: Array, learner: str, epsilon: str) -> Self:
        """The row of the cells of all draws."""
        hits = np.array([np.asarray(one["answers"]) == truth for one in cells])
        return cls(cells[0]["grade"], learner, epsilon, hits)


def study(spec: FineTuning, run: Run) -> Outcome:
    """An encoder fine-tuned by DP-SGD beside a proven head on its frozen features."""
    run.steps.plan(2 + len(spec.epsilons) * (spec.draws + spec.head_draws))
    data = _data(spec, run)
    rows = [
        _row(spec, run, data, (_NONE, HEAD), 1),
        _row(spec, run, data, (_NONE, spec.architecture), 1),
    ]
    for epsilon in spec.epsilons:
        rows.append(_row(spec, run, data, (epsilon, HEAD), spec.head_draws))
        rows.append(_row(spec, run, data, (epsilon, spec.architecture), spec.draws))
    return Outcome(specifications=(spec,), tables=(_table(spec, rows),))


def _data(spec: FineTuning, run: Run) -> _Texts:
    encoder = token_encoder(spec.architecture, spec.length)
    train, test = (load(f"{spec.on}-{part}", run.folder) for part in ("train", "test"))
    tokens = replace(train, inputs=encoder.encode(train.texts), public_classes=True)
    frozen = task(spec.on, records=spec.records, seed=0, folder=run.folder)
    return _Texts(tokens, encoder.encode(test.texts).astype(np.float64), frozen)


def _row(
    spec: FineTuning, run: Run, data: _Texts, which: tuple[float | str, str], draws: int
) -> AnswerRow:
    cells = [run.cell((spec, *which, draw), _answered, spec, data, *which) for draw in range(draws)]
    epsilon, learner = which
    shown = "–" if isinstance(epsilon, str) else upper_text(epsilon)
    return AnswerRow.of(cells, data.frozen.truth, learner, shown)


def _answered(spec: FineTuning, data: _Texts, epsilon: float | str, learner: str) -> dict[str, Any]:
    """The answers of one draw."""
    if isinstance(epsilon, str):
        free = _free_head if learner == HEAD else _free_network
        return {"grade": "no privacy", "answers": free(spec, data).tolist()}
    if learner == HEAD:
        released = release_table(data.frozen.private, spec.head(epsilon).by(HEAD))
        answers = released.predict(data.frozen.queries)
    else:
        released = release_table(data.private, spec.fine_tuned(epsilon))
        answers = released.predict(data.queries)
    return {"grade": str(released.guarantee.grade), "answers": answers.tolist()}


def _free_head(spec: FineTuning, data: _Texts) -> Array:
    request = spec.head(spec.epsilons[-1]).with_options(penalty=spec.penalty)
    return alm_fig1.unprotected_head(data.frozen, request).predict(data.frozen.queries)


def _free_network(spec: FineTuning, data: _Texts) -> Array:
    """The same steps with clipped gradients and no noise."""
    request = spec.fine_tuned(spec.epsilons[-1]).with_options(exact=False)
    classes = np.asarray(data.private.classes)
    recipe = request.planned(spec.length, len(classes))
    rows, labels = data.private.features.astype(np.float64), data.private.labels
    assert labels is not None
    scores = noiseless_scores(recipe, request.terms, (rows, labels), data.queries)
    return recipe.decided(scores, classes)


def noiseless_scores(
    recipe: Recipe, terms: Terms, records: tuple[Floats, Array], queries: Floats
) -> Floats:
    """The scores of a model that takes the same steps, with clipped gradients and no noise."""
    numbers = replay(recipe, noise_plan(recipe, terms), *records)(lambda _, value: value)
    return recipe.scores(tensors_of(recipe, numbers), queries)


def _table(spec: FineTuning, rows: list[AnswerRow]) -> Table:
    mode = "exact" if spec.exact else "fast"
    return gains_table(
        f"Fine-tuning on {spec.on}: {spec.records:,} private texts",
        rows,
        (
            f"{HEAD} learns a head on frozen features of MiniLM; {spec.architecture} trains"
            f" adapters (LoRA) and a head from the same public weights, texts of {spec.length}"
            f" tokens, {spec.epochs:g} epochs in batches of {spec.batch}, in {mode} mode.",
            "Constants were fixed beforehand: clip, rate and steps from Li et al. 2022 and Yu et"
            f" al. 2022. Neighbours: add-remove; unit: one record; δ = {spec.delta:g}.",
            f"{spec.draws} draws a row, of the head {spec.head_draws}. Gain is over the head at the"
            " same ε. Low and high are 95 % intervals over draws and queries.",
        ),
    )


def gains_table(title: str, rows: list[AnswerRow], notes: tuple[str, ...]) -> Table:
    """Accuracies, and the gain of each row over the last one of ``HEAD`` above it."""
    shown, head = [], rows[0]
    for row in rows:
        head = row if row.learner == HEAD else head
        gain = ("–",) * 3 if row is head else paired_interval(row.hits, head.hits)
        accuracy = paired_interval(row.hits, None)
        shown.append((row.grade, row.learner, row.epsilon, *accuracy, *gain))
    columns = ("grade", "learner", "ε", "accuracy", "low", "high", "gain", "low", "high")
    return Table(title=title, columns=columns, rows=tuple(shown), notes=notes)


def paired_interval(hits: Array, others: Array | None) -> tuple[str, ...]:
    """The mean, less that of others on the same queries, with its interval by resampling."""
    random = seeded("fine-tuning", *map(str, hits.shape))
    less = np.zeros((1, hits.shape[1])) if others is None else others

    def drawn(size: int) -> Array:
        return random.integers(0, size, (size,))

    resampled = []
    for _ in range(_RESAMPLED):
        queries = drawn(hits.shape[1])
        ours, theirs = (one[drawn(len(one))][:, queries].mean() for one in (hits, less))
        resampled.append(ours - theirs)
    low, high = np.quantile(resampled, (0.025, 0.975))
    value = float(hits.mean() - less.mean())
    return tuple(losses.bare(one, 3) for one in (value, float(low), float(high)))
