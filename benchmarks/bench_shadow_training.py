"""Shadow heads on random halves of one pool: many at once against one after the other."""

import statistics
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.bench_leave_one_out import Size as Pool
from benchmarks.bench_leave_one_out import features
from benchmarks.harness import Cell, Result
from reticent.attacks.records import Records
from reticent.attacks.shadow_models import memberships, train_shadows
from reticent.attacks.targets import ModelTarget, Target
from reticent.training import MLPHead, SoftmaxHead

NAME = "shadow_training"
TITLE = "Shadow heads on random halves: many at once against a loop"

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

FEATURES, CLASSES = 512, 10


@dataclass(frozen=True, kw_only=True)
class Case:
    """A head, how many shadows of it, and how large the pool is."""

    head: SoftmaxHead | MLPHead
    shadows: int
    records: int


def cases(quick: bool) -> list[Case]:
    records = 600 if quick else 10_000
    shadows = (8,) if quick else (64, 128)
    classes = list(range(CLASSES))
    convex = [
        Case(head=SoftmaxHead(penalty=penalty, classes=classes), shadows=k, records=records)
        for penalty in (1e-3, 1e-4)
        for k in shadows
    ]
    steps = 4 if quick else 40
    dense = [
        MLPHead(layers=1, batch=256, steps=steps, learning_rate=1e-3, classes=classes),
        MLPHead(layers=2, width=128, batch=256, steps=steps, learning_rate=1e-3, classes=classes),
        MLPHead(layers=2, width=64, batch=64, steps=steps, learning_rate=1e-3, classes=classes),
    ]
    return convex + [Case(head=head, shadows=shadows[0], records=records) for head in dense]


def run(quick: bool) -> Result:
    """Both sides on one thread, in each of a few rounds; a loop is timed on a few heads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(limits=1):
            rows = [measured(case, rounds=1 if quick else 3) for case in cases(quick)]
    finally:
        torch.set_num_threads(threads)
    return Result(
        columns=[
            "head",
            "shadows",
            "all at once, CPU s",
            "one fit, CPU s",
            "one by scikit-learn, CPU s",
            "loop ÷ ours",
            "gradient ÷ tolerance",
            "probabilities apart",
        ],
        rows=rows,
        note=(
            f"Halves of a pool of {FEATURES} features, {CLASSES} classes, one thread; medians of "
            "rounds that time all sides in turn. The loop is shadows × one fit, timed on two: "
            "SoftmaxHead.fit or scikit-learn's LogisticRegression (lbfgs, no intercept, its tol "
            "the largest power of 10 that reaches the same gradient), whichever is faster; for "
            "MLPHead, MLPHead.fit, 40 steps. The last two columns are the largest: the certified "
            "bound on a shadow's gradient in units of its tolerance, and how far probabilities of "
            "two shadows are from those of the loop."
        ),
    )


def measured(case: Case, *, rounds: int) -> list[Cell]:
    """One row; medians."""
    X, y = features(Pool(records=case.records, features=FEATURES + 1, pairs=1))
    pool, inside = Records(X, y), memberships(case.records, case.shadows)
    train_shadows(case.head, pool, inside=inside[:2])  # compiles
    convex = isinstance(case.head, SoftmaxHead)
    solver = equally_accurate(case.head, X[inside[0]], y[inside[0]]) if convex else None
    ours, fits, others = [], [], []
    for _ in range(rounds):
        start = time.process_time()
        shadows = train_shadows(case.head, pool, inside=inside)
        ours.append(time.process_time() - start)
        for rows in inside[:2]:
            fits.append(fit_seconds(case.head, X[rows], y[rows]))
            if solver is not None:
                others.append(fit_seconds(solver, with_constant(X[rows]), y[rows]))
    fit, at_once = statistics.median(fits), statistics.median(ours)
    other = statistics.median(others) if others else "–"
    opponent = fit if isinstance(other, str) else min(fit, other)
    ratio = case.shadows * opponent / at_once
    models = [target_model(target) for target in shadows.models]
    reached = max(model.optimum_gap_ / model.tolerance_ for model in models) if convex else "–"
    apart = probabilities_apart(models, inside, X, y)
    return [named(case), case.shadows, at_once, fit, other, ratio, reached, apart]


def named(case: Case) -> str:
    head = case.head
    if isinstance(head, SoftmaxHead):
        return f"softmax, λ = {head.penalty:g}"
    width = f" of width {head.width}" if head.layers > 1 else ""
    return f"{head.layers} dense layer(s){width}, batches of {head.batch}"


def fit_seconds(model: Any, X: Floats, y: Labels) -> float:
    start = time.process_time()
    clone(model).fit(X, y)
    return time.process_time() - start


def with_constant(X: Floats) -> Floats:
    """What SoftmaxHead makes of rows within its bound."""
    return np.asarray(np.hstack([X, np.ones((len(X), 1))]))


def equally_accurate(head: SoftmaxHead, X: Floats, y: Labels) -> LogisticRegression:
    """With the largest tol whose gradient is within the head's tolerance."""
    fitted = clone(head).fit(X, y)
    objective = clone(head).loss_on(X, y)
    for exponent in range(4, 12):
        model = LogisticRegression(
            C=1 / (head.penalty * len(X)),
            fit_intercept=False,
            tol=10.0**-exponent,
            max_iter=100_000,
        )
        weights = model.fit(with_constant(X), y).coef_
        gradient = objective.gradient(objective.basis.T @ weights)
        if float(np.linalg.norm(gradient)) <= fitted.tolerance_:
            return model
    raise RuntimeError("scikit-learn must reach the tolerance of the head, but did not")


def target_model(target: Target) -> Any:
    assert isinstance(target, ModelTarget)
    return target.model


def probabilities_apart(
    models: list[Any], inside: NDArray[np.bool_], X: Floats, y: Labels
) -> float:
    """The largest over two shadows and all records."""
    found = 0.0
    for model, rows in zip(models[:2], inside[:2], strict=True):
        alone = clone(model).fit(X[rows], y[rows])
        found = max(found, float(np.abs(model.predict_proba(X) - alone.predict_proba(X)).max()))
    return found
