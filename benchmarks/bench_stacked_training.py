"""Heads with fixed steps, each without one record: stacked against one after the other."""

import statistics
import time

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.harness import Cell, Result
from reticent.randomness import seeded
from reticent.training import dense
from reticent.training.dense import train_without

NAME = "stacked_training"
TITLE = "Heads with fixed steps, each without one record: stacked against a loop"

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

FEATURES, CLASSES, BATCH, HEADS = 512, 10, 256, 64
SHAPES = {"linear": (FEATURES, CLASSES), "MLP": (FEATURES, 128, CLASSES)}


def run(quick: bool) -> Result:
    """Processor seconds for one head, on one thread; both sides in each of a few rounds."""
    records = 1000 if quick else 10_000
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rows = [
            measured(name, optimiser, records, rounds=1 if quick else 5)
            for name in SHAPES
            for optimiser in ("sgd", "adam")
        ]
    finally:
        torch.set_num_threads(threads)
    return Result(
        columns=[
            "head",
            "optimiser",
            "loop, CPU s a head",
            "stacked, CPU s a head",
            "loop ÷ stacked",
        ],
        rows=rows,
        note=(
            f"{records:,} records of {FEATURES} features, {CLASSES} classes, 2 passes in batches "
            f"of {BATCH}, {HEADS} heads, one thread. The loop is dense.train, one head at a time."
        ),
    )


def measured(name: str, optimiser: str, records: int, *, rounds: int) -> list[Cell]:
    """One row; medians."""
    rng = seeded("stacked training", records)
    labels = rng.integers(0, CLASSES, records)
    rows = 0.3 * rng.standard_normal((records, FEATURES)) + np.eye(CLASSES, FEATURES)[labels]
    recipe = dense.Recipe(
        sizes=SHAPES[name],
        activation="relu",
        penalty=1e-4,
        optimiser="sgd" if optimiser == "sgd" else "adam",
        learning_rate=0.5 if optimiser == "sgd" else 1e-3,
        steps=2 * -(-records // BATCH),
        batch=BATCH,
        seed=0,
    )
    train_without(rows, labels, recipe, np.arange(2))
    loop, stacked = [], []
    for _ in range(rounds):
        loop.append(loop_seconds(rows, labels, recipe, heads=4))
        start = time.process_time()
        train_without(rows, labels, recipe, np.arange(HEADS))
        stacked.append((time.process_time() - start) / HEADS)
    one, other = statistics.median(loop), statistics.median(stacked)
    return [name, optimiser, one, other, one / other]


def loop_seconds(rows: Floats, labels: Labels, recipe: dense.Recipe, *, heads: int) -> float:
    """For one head; on all records, so that nothing is copied."""
    start = time.process_time()
    for _ in range(heads):
        dense.train(rows, labels, recipe)
    return (time.process_time() - start) / heads
