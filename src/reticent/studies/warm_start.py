"""Adapters that start from a head on frozen features, beside the head alone, at equal (ε, δ)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from reticent.arrays import Array, Floats
from reticent.data import Dataset, load
from reticent.guarantee import Relation
from reticent.guarantee.rounding import upper_text
from reticent.mechanisms.profiles import gaussian
from reticent.protect import ReleaseRequest, release_records
from reticent.results.table import Table
from reticent.studies.fine_tuning import HEAD, AnswerRow, gains_table, noiseless_scores
from reticent.studies.trained import Outcome, Run
from reticent.training.fine_tuning.partly import frozen_features
from reticent.training.networks import network, token_encoder

SHARE: Final = "noisy-gradient, the head's share"
WARM: Final = "adapters from that head"
_NONE: Final = "none"
TUNED: Final = 6_000
"""Phrases of SST-2 that were looked at before constants were fixed: neither private nor asked."""


@dataclass(frozen=True, kw_only=True)
class WarmStart:
    """Every number is public and was fixed before a query was asked.

    Clip and learning rate of a step are those of the study of fine-tuning, from the literature.
    """

    on: str
    records: int
    queries: str
    """The part of the data set that is asked."""
    skipped: int = 0
    """Records of the training part, in a public order, that are left out."""
    architecture: str = "minilm-lora-last"
    length: int = 32
    epsilons: tuple[float, ...] = (1.0, 3.0, 8.0)
    delta: float = 1e-5
    draws: int = 3
    head_draws: int = 5
    head_share: float = 0.5
    rate: float = 0.2
    epochs: float = 3.0
    clip: float = 0.1
    learning_rate: float = 0.003
    exact: bool = True

    def head(self, epsilon: float) -> ReleaseRequest:
        """The head alone, on frozen features."""
        return self._request(epsilon, HEAD)

    def warm(self, epsilon: float) -> ReleaseRequest:
        """Adam on adapters and head, from a head that takes its share of the same budget."""
        return self._request(
            epsilon,
            "network",
            architecture=self.architecture,
            batch=round(self.rate * self.records),
            epochs=self.epochs,
            clip=self.clip,
            learning_rate=self.learning_rate,
            optimiser="adam",
            head_share=self.head_share,
            exact=self.exact,
        )

    def share(self, epsilon: float) -> float:
        """The ε of the head's share: of μ² that (ε, δ) buys."""
        shift = gaussian.shift(epsilon, self.delta) * self.head_share**0.5
        return gaussian.epsilon(shift, self.delta)

    def _request(self, epsilon: float, recipe: str, **options: Any) -> ReleaseRequest:
        return ReleaseRequest.of(
            epsilon=epsilon,
            delta=self.delta,
            relation=Relation.ADD_REMOVE,
            records=self.records,
            recipe=recipe,
            **options,
        )


SPECS: Mapping[str, WarmStart] = {
    "trec": WarmStart(on="trec", records=5_452, queries="test"),
    "sst2": WarmStart(on="sst2", records=10_000, queries="test", skipped=TUNED, draws=2),
}


class Texts(NamedTuple):
    """Texts as rows of tokens and as frozen features of the same encoder."""

    tokens: Floats
    features: Floats
    labels: Array
    queries: Floats
    query_features: Floats
    truth: Array
    classes: int


def study(spec: WarmStart, run: Run) -> Outcome:
    """Adapters that start from a head on frozen features, beside the head alone."""
    run.steps.plan(2 + len(spec.epsilons) * (spec.draws + 2 * spec.head_draws))
    data = _data(spec, run)
    draws = {HEAD: spec.head_draws, SHARE: spec.head_draws, WARM: spec.draws}
    rows = [_row(spec, run, data, (_NONE, learner), 1) for learner in (HEAD, WARM)]
    for epsilon in spec.epsilons:
        rows += [_row(spec, run, data, (epsilon, one), count) for one, count in draws.items()]
    return Outcome(specifications=(spec,), tables=(_table(spec, rows),))


def _data(spec: WarmStart, run: Run) -> Texts:
    train, asked = (load(f"{spec.on}-{part}", run.folder) for part in ("train", spec.queries))
    chosen = np.arange(len(train))
    if spec.skipped:
        order = np.random.default_rng(0).permutation(len(train))
        chosen = np.sort(order[spec.skipped : spec.skipped + spec.records])
    encoder = token_encoder(spec.architecture, spec.length)
    private, queries = train.take(chosen), asked
    tokens = [encoder.encode(one.texts).astype(np.float64) for one in (private, queries)]
    classes = len(private.classes)
    features = [_frozen(spec, rows, classes) for rows in tokens]
    return Texts(tokens[0], features[0], _labels(private), tokens[1], features[1],
                 _labels(queries), classes)  # fmt: skip


def _labels(data: Dataset) -> Array:
    assert data.labels is not None
    return data.labels


def _frozen(spec: WarmStart, rows: Floats, classes: int) -> Floats:
    from reticent.training.encoders.torch_extra import torch

    model = network(spec.architecture, (spec.length,), classes, seed=0)
    return frozen_features(model, torch.from_numpy(rows.astype(np.float32)))  # type: ignore[arg-type]


def _row(
    spec: WarmStart, run: Run, data: Texts, which: tuple[float | str, str], draws: int
) -> AnswerRow:
    cells = [run.cell((spec, *which, draw), _answered, spec, data, *which) for draw in range(draws)]
    epsilon, learner = which
    shown = "–"
    if not isinstance(epsilon, str):
        shown = upper_text(round(spec.share(epsilon), 3) if learner == SHARE else epsilon)
    return AnswerRow.of(cells, data.truth, learner, shown)


def _answered(spec: WarmStart, data: Texts, epsilon: float | str, learner: str) -> dict[str, Any]:
    """The answers of one draw, by the numbers of the classes."""
    tokens = learner == WARM
    rows, queries = (data.tokens, data.queries) if tokens else (data.features, data.query_features)
    budget = spec.epsilons[-1] if isinstance(epsilon, str) else epsilon
    request = spec.warm(budget) if tokens else spec.head(budget)
    if learner == SHARE:
        request = spec.head(spec.share(budget))
    recipe = request.planned(rows.shape[1], data.classes)
    if isinstance(epsilon, str):
        scores = noiseless_scores(recipe, request.terms, (rows, data.labels), queries)
        return {"grade": "no privacy", "answers": scores.argmax(axis=1).tolist()}
    released = release_records(
        recipe, request.terms, rows, data.labels, classes=np.arange(data.classes)
    )
    answers = released.predict(queries).tolist()
    return {"grade": str(released.guarantee.grade), "answers": answers}


def _table(spec: WarmStart, rows: list[AnswerRow]) -> Table:
    mode = "exact" if spec.exact else "fast"
    steps = round(spec.epochs / spec.rate)
    left_out = f" ({spec.skipped:,} are left out)" if spec.skipped else ""
    return gains_table(
        f"Adapters from a head on {spec.on}: {spec.records:,} private texts",
        rows,
        (
            f"{HEAD} learns a head on frozen features of MiniLM, texts of {spec.length} tokens."
            f" {WARM}: {spec.head_share:.0%} of the budget (of μ²) goes to such a head, from which"
            f" {spec.architecture} trains adapters (LoRA) and head in {steps} steps of Adam, each"
            f" on a {spec.rate:.0%} sample, in {mode} mode: one release. The middle row of an ε is"
            " the head with its share alone.",
            "Clip and learning rate are those of Li et al. 2022 and Yu et al. 2022. Some of SST-2's"
            f" training phrases were looked at before share and steps were fixed{left_out}; none is"
            " private here or a query. Neighbours: add-remove; unit: one record;"
            f" δ = {spec.delta:g}.",
            f"{spec.draws} draws of the adapters, {spec.head_draws} of the heads. Gain is over the"
            " head at the same ε. Low and high are 95 % intervals over draws and queries.",
        ),
    )
