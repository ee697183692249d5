"""Distances of heads on neighbouring data sets: the leave-one-out solver against refits."""

import statistics
import time
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.harness import Cell, Result
from reticent.neighbours import LeaveOneOut
from reticent.randomness import seeded
from reticent.training.optimum import certified_minimum
from reticent.training.softmax_head import SoftmaxHead

NAME = "leave_one_out"
TITLE = "Leave-one-out heads: all pairs of Algorithm 2 against scikit-learn's refits"

CLASSES = 10
CONVERGED = 1e-10
"""scikit-learn's tolerance at which its distances are right to four digits."""
Floats = NDArray[np.float64]
Labels = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Size:
    """Records, features (the constant one included) and pairs."""

    records: int
    features: int
    pairs: int


SIZES = (
    Size(records=10_000, features=512, pairs=100),
    Size(records=10_000, features=512, pairs=1000),
    Size(records=20_000, features=512, pairs=1000),
    Size(records=2000, features=64, pairs=100),
    Size(records=2000, features=64, pairs=1000),
)
QUICK = (Size(records=500, features=16, pairs=20),)


def run(quick: bool) -> Result:
    """Both sides on one thread, in one run; refits are timed on a few and multiplied by 2m."""
    with threadpool_limits(limits=1):
        torch.set_num_threads(1)
        solver_seconds(QUICK[0])  # compiles
        rows = [measured(size) for size in (QUICK if quick else SIZES)]
    return Result(
        columns=[
            "records",
            "features",
            "pairs",
            "all pairs, s",
            "one refit, s",
            "refits ÷ ours",
            "largest error",
            "refits: error",
            "default tol: error",
            "Adam: distance ÷ true",
        ],
        rows=rows,
        note=(
            f"{CLASSES} classes, λN = 1, one thread. Ours includes the fit of the full head and "
            "all factorisations. A pair needs two refits: refits ÷ ours is 2·pairs·(one refit) ÷ "
            f"(all pairs), with LogisticRegression at tol = {CONVERGED:g}. Errors are relative, of "
            "the distance of a pair's heads, against certified refits of 3 pairs. Adam: 50 epochs, "
            "step 1e-3, batches of 256."
        ),
    )


def measured(size: Size) -> list[Cell]:
    """One row."""
    X, y = features(size)
    rows = mapped(size, X)
    refits = [refit_seconds(rows, y, record) for record in (0, 1)]
    seconds, solver, found = solver_seconds(size)
    refits += [refit_seconds(rows, y, record) for record in (2, 3)]
    some = pairs_of(size)[:3]
    true = np.array([certified_distance(solver, i, j) for i, j in some])
    one = statistics.median(refits)
    return [
        size.records,
        size.features,
        size.pairs,
        seconds,
        one,
        2 * size.pairs * one / seconds,
        largest_error(found[:3], true),
        largest_error(np.array([refit_distance(rows, y, pair, CONVERGED) for pair in some]), true),
        largest_error(np.array([refit_distance(rows, y, pair, 1e-4) for pair in some]), true),
        adam_distance(rows, y, some[0]) / float(true[0]),
    ]


def features(size: Size) -> tuple[Floats, Labels]:
    """Ten overlapping classes with a spectrum that falls like that of an encoder's features."""
    rng = seeded("leave-one-out benchmark", size.records, size.features)
    width = size.features - 1
    middle = rng.standard_normal((CLASSES, width))
    middle /= np.linalg.norm(middle, axis=1, keepdims=True)
    y = rng.integers(0, CLASSES, size.records)
    spectrum = (1 + np.arange(width)) ** -0.5
    spectrum /= np.linalg.norm(spectrum)
    turn = np.linalg.qr(rng.standard_normal((width, width)))[0]
    X = 0.55 * middle[y] + (rng.standard_normal((size.records, width)) * spectrum) @ turn.T
    wrong = rng.random(size.records) < 0.03
    y[wrong] = rng.integers(0, CLASSES, wrong.sum())
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0), y


def untrained(size: Size) -> SoftmaxHead:
    return SoftmaxHead(
        penalty=1 / size.records,
        bound=1.0,
        classes=list(range(CLASSES)),
        records=size.records,
    )


def mapped(size: Size, X: Floats) -> Floats:
    """What the head makes of rows: clipped, with a constant feature."""
    return np.asarray(np.hstack([X, np.ones((size.records, 1))]))


def pairs_of(size: Size) -> Labels:
    return seeded("pairs").integers(size.records, size=(size.pairs, 2))


def solver_seconds(size: Size) -> tuple[float, LeaveOneOut, Floats]:
    """From the records to the distances of all pairs."""
    X, y = features(size)
    start = time.perf_counter()
    solver = LeaveOneOut(untrained(size).fit(X, y), X, y, threads=1)
    found = solver.distances(pairs_of(size))
    return time.perf_counter() - start, solver, found.l2


def refit_seconds(rows: Floats, y: Labels, record: int) -> float:
    start = time.perf_counter()
    refitted(rows, y, record, CONVERGED)
    return time.perf_counter() - start


def refitted(rows: Floats, y: Labels, record: int, tolerance: float) -> Floats:
    kept = np.delete(np.arange(len(rows)), record)
    model = LogisticRegression(C=1.0, fit_intercept=False, tol=tolerance, max_iter=100_000)
    return np.asarray(model.fit(rows[kept], y[kept]).coef_)


def refit_distance(rows: Floats, y: Labels, pair: Labels, tolerance: float) -> float:
    one, other = (refitted(rows, y, int(record), tolerance) for record in pair)
    return float(np.linalg.norm(one - other))


def certified_distance(solver: LeaveOneOut, i: int, j: int) -> float:
    """Of two heads whose gradients are proven to be next to nothing."""
    full, points = solver.objective, []
    for record in (i, j):
        kept = np.delete(np.arange(solver.records), record)
        part = replace(full, rows=full.rows[kept], labels=full.labels[kept])
        tolerance = 4.1 * part.worst_rounding()
        points.append(certified_minimum(part, tolerance=tolerance, start=solver.coordinates).point)
    return float(np.linalg.norm(points[0] - points[1]))


def adam_distance(rows: Floats, y: Labels, pair: Labels, *, epochs: int = 50) -> float:
    """Of two heads that Adam trained on the same loss, from one seed."""
    one, other = (adam_trained(rows, y, int(record), epochs) for record in pair)
    return float(torch.linalg.norm(one - other))


def adam_trained(rows: Floats, y: Labels, record: int, epochs: int) -> torch.Tensor:
    kept = np.delete(np.arange(len(rows)), record)
    h, labels = torch.from_numpy(rows[kept]).float(), torch.from_numpy(y[kept])
    weights = torch.zeros(rows.shape[1], CLASSES, requires_grad=True)
    optimiser = torch.optim.Adam([weights], lr=1e-3)
    order = torch.Generator().manual_seed(0)
    for _ in range(epochs):
        for batch in torch.split(torch.randperm(len(h), generator=order), 256):
            loss = torch.nn.functional.cross_entropy(h[batch] @ weights, labels[batch])
            loss = loss + (weights * weights).sum() / (2 * len(rows))
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return weights.detach()


def largest_error(found: Floats, true: Floats) -> float:
    return float(np.abs(found / true - 1).max())
