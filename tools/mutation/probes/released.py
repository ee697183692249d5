"""Real releases of small tables: their claims, certificates, and whether sums keep their bounds."""

from __future__ import annotations

import json
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.guarantee import Grade, Sensitivity
from reticent.mechanisms import AdditiveMechanism
from reticent.protect import (
    AdaSSPRegressor,
    calibrated_answers,
    load,
    numbers_of,
    private_answers,
    release_mean,
    release_weights,
    save,
    verify,
)
from reticent.protect.estimated import release_estimated
from reticent.protect.noise_scales import noise_plan
from reticent.protect.recipe import replay
from reticent.protect.recipes.mean import exact_sum
from reticent.training import SigmoidHead, SoftmaxHead
from tools.mutation.probes.noise import fixed_key
from tools.mutation.probes.protect import HEADS, RELATIONS
from tools.mutation.probes.record import Figures

Floats = NDArray[np.float64]
RECORDS, WIDTH = 60, 4


def table() -> tuple[Floats, NDArray[np.int64]]:
    """Rows of three classes, some longer than the bound."""
    labels = np.arange(RECORDS) % 3
    rows = np.eye(WIDTH)[labels] + 0.4 * np.random.default_rng(3).normal(size=(RECORDS, WIDTH))
    return rows, labels


def fill(figures: Figures) -> None:
    """All figures of releases."""
    with fixed_key(), tempfile.TemporaryDirectory() as folder:
        _weights(figures, Path(folder))
        _means(figures)
        _answers(figures)
        _learners(figures, Path(folder))
    _truths(figures)


def _head(**chosen: Any) -> SoftmaxHead:
    given: dict[str, Any] = {"penalty": 0.2, "classes": range(3), "records": RECORDS} | chosen
    return SoftmaxHead(**given).fit(*table())


def _weights(figures: Figures, folder: Path) -> None:
    head = _head()
    labels = np.eye(3, dtype=np.int64)[table()[1]]
    sigmoid = SigmoidHead(penalty=0.2, classes=range(3), records=RECORDS).fit(table()[0], labels)
    for name in ("gaussian", "logistic", "laplace", "l2-laplace"):
        for relation, each in zip(RELATIONS, (1, 3), strict=True):
            chosen: dict[str, Any] = {
                "epsilon": 2.0,
                "delta": 1e-5,
                "relation": relation,
                "mechanism": name,
                "max_records_per_person": each,
            }
            at, path = f"weights {name}, {relation}", folder / f"{name}-{relation}"
            figures.add(at, _released, head, None, **chosen)
            figures.add(f"{at}, sigmoid", _released, sigmoid, None, **chosen)
            figures.add(f"{at}, verified", _released, head, path, **chosen)
    figures.add("weights charged", _charged, head)
    figures.add("weights estimated", _estimated, head)


def _released(head: Any, path: Path | None, **chosen: Any) -> object:
    released = release_weights(head, **chosen)
    if path is not None:
        return _verified(released, path)
    return released.scales["coordinates"], released.guarantee, released.terms.unit


def _charged(head: SoftmaxHead) -> object:
    events: list[object] = []
    budget: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove"}
    release_weights(head, mechanism="laplace", charge=events.append, **budget)
    return events


def _estimated(head: SoftmaxHead) -> object:
    sampled = Sensitivity(l2=0.1, grade=Grade.PUBLISHED, relation=RELATIONS[0])
    released = release_estimated(head, sampled, epsilon=1.0, delta=1e-5)
    return released.scales["coordinates"], released.guarantee


def _verified(released: Any, path: Path) -> object:
    """What verify says of the files as they are, and of claims that say too much."""
    _, certificate = save(released, path)
    found: list[object] = [load(path).guarantee]
    claims = json.loads(certificate.read_text())
    for factor in (1.0, 0.5, 1 - 1e-6, 2.0):
        claim = claims["guarantee"] | {"epsilon": claims["guarantee"]["epsilon"] * factor}
        certificate.write_text(json.dumps(claims | {"guarantee": claim}))
        verdict = verify(path)
        found.append((verdict.epsilon, len(verdict.problems)))
    return found


def _means(figures: Figures) -> None:
    rows = table()[0]
    for name in ("gaussian", "laplace"):
        for relation, share in product(RELATIONS, (0.2, 1.0)):
            figures.add(f"mean {name}, {relation}, {share}", _mean, name, relation, share)
        figures.add(f"weights after a mean, {name}", _after_mean, name)
    budget: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove"}
    for bound in (1e-75, 2e-75, 0.7, 9e74, 1e75):
        chosen: dict[str, Any] = {"bound": bound, "records": RECORDS, **budget}
        figures.add(f"mean within {bound}", _mean_numbers, rows * 1e-70, chosen)


def _mean_numbers(rows: Floats, chosen: dict[str, Any]) -> object:
    mean = release_mean(rows, **chosen)
    return mean.recipe.to_dict(), dict(mean.scales)


def _mean(name: str, relation: Any, share: float) -> object:
    events: list[object] = []
    found = release_mean(
        table()[0],
        bound=0.8,
        records=RECORDS,
        epsilon=1.0,
        delta=1e-5,
        relation=relation,
        share=share,
        mechanism=name,
        max_records_per_person=2,
        charge=events.append,
    )
    return found.guarantee, found.recipe.to_dict(), dict(found.scales), events


def _after_mean(name: str) -> object:
    budget: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove"}
    mean = release_mean(table()[0], bound=0.8, records=RECORDS, share=0.3, mechanism=name, **budget)
    head = _head(centre=mean.tensors["mean"])
    found = release_weights(head, mean=mean, mechanism=name, **budget)
    before = mean.event
    public = numbers_of(head, mean=mean)
    asked = calibrated_answers(public, queries=3, before=before, **(budget | {"epsilon": 2.0}))
    answers = private_answers(head, asked, mean=mean)
    return (
        found.scales["coordinates"],
        found.guarantee,
        before,
        answers.each,
        answers.guarantee,
        asked.scale,
    )


def _answers(figures: Figures) -> None:
    for name in ("gaussian", "l2-laplace", "exponential"):
        figures.add(f"answered {name}", _answered, name)


def _answered(mechanism: str) -> object:
    head = _head()
    budget: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove"}
    plan = calibrated_answers(numbers_of(head), queries=4, mechanism=mechanism, **budget)
    answers = private_answers(head, plan)
    given = answers.ask(table()[0][:2])
    return answers.each, answers.guarantee, answers.left, given.guarantee


def _learners(figures: Figures, folder: Path) -> None:
    rows, labels = table()
    for kind in HEADS:
        for relation, mechanism, each in zip(
            RELATIONS, ("gaussian", "logistic"), (1, 2), strict=True
        ):
            learner = kind(
                classes=range(3),
                records=RECORDS,
                epsilon=3.0,
                delta=1e-5,
                relation=relation,
                mechanism=mechanism,
                max_records_per_person=each,
            )
            at, path = (
                f"learner {kind.recipe.name}, {relation}",
                folder / f"{kind.recipe.name}-{each}",
            )
            figures.add(at, _learnt, learner, labels, path)
    figures.add("learner regression", _learnt, _regressor(), rows[:, 0], folder / "regression")


def _regressor() -> AdaSSPRegressor:
    return AdaSSPRegressor(
        bound=1.0,
        target_bound=1.0,
        records=RECORDS,
        epsilon=3.0,
        delta=1e-5,
        relation="add-remove",
    )


def _learnt(learner: Any, targets: Any, path: Path) -> object:
    events: list[object] = []
    learner.set_params(charge=events.append)
    released = learner.fit(table()[0], targets).released_
    return released.guarantee, dict(released.scales), events, _verified(released, path)


# --- whether sums keep the bounds that are claimed for them ---------------------------------------


def _truths(figures: Figures) -> None:
    rows, labels = table()
    for kind, records in product(HEADS, (RECORDS, 10**6)):
        learner = kind(
            classes=range(3), records=records, epsilon=8.0, delta=1e-3, relation="add-remove"
        )
        figures.add(
            f"sums of {kind.recipe.name} keep their bounds, {records}", _kept, learner, rows, labels
        )
    figures.add("sums of regression keep their bounds", _kept, _regressor(), rows, rows[:, 0])
    figures.add("the mean's sum keeps its bound", _sum_kept, rows)


def _kept(learner: Any, rows: Floats, targets: Any) -> object:
    """Of a table with an extreme first record and without it: is every sum moved within Δ?"""
    long = rows.copy()
    long[0] = 1e6
    one, other = (_sums(learner, X, y) for X, y in ((long, targets), (long[1:], targets[1:])))
    moved = [
        (float(np.linalg.norm((a - b).ravel())), noise.sensitivity.require_l2(noise.name))
        for (noise, a), (_, b) in zip(one, other, strict=True)
    ]
    return len(moved), [distance <= bound for distance, bound in moved]


def _sums(learner: Any, rows: Floats, targets: Any) -> list[tuple[AdditiveMechanism, Floats]]:
    """All sums of one fit, every one of them answered by zeros."""
    seen: list[tuple[AdditiveMechanism, Floats]] = []

    def answer(noise: AdditiveMechanism, value: Floats) -> Floats:
        seen.append((noise, np.array(value)))
        return np.zeros_like(value)

    made = learner.prepared(rows, targets)
    plan = noise_plan(made.recipe, made.terms)
    replay(made.recipe, plan, made.rows, made.labels)(answer)
    return seen


def _sum_kept(rows: Floats) -> object:
    long = rows * 1e3
    moved = exact_sum(long, 0.7) - exact_sum(long[1:], 0.7)
    return bool(np.linalg.norm(moved) <= 0.7), bool(np.linalg.norm(moved) > 0.69)
