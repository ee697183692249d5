"""The detector of a service: which streams of queries it finds, whom it alarms about wrongly.

With RETICENT_DATA (docs: data sets) the long streams are of MNIST, in squares of 4 × 4 pixels; the
embedded data sets have too few rows for a client that asks 10,000 questions.
"""

from __future__ import annotations

import os
import statistics
import time

import numpy as np
from scipy import stats

from benchmarks.harness import Cell, Result
from reticent.audit.metrics import auc
from reticent.data.registry import load
from reticent.service.detector import WINDOW, Detector
from tools.query_streams import Stream, World, breast_cancer, digits, watched

NAME = "detector"
TITLE = "Service: the detector of membership attacks"
CLASSIC = {
    "boundary walk": World.boundary,
    "noise around a record": World.noise,
    "synthesis by hill climbing": World.synthesis,
    "repeats": World.repeats,
}
HARD = {"boundary walk, 1 in 10": World.diluted, "**one query for each record**": World.single}
Row = list[Cell]


def run(quick: bool) -> Result:
    """Short streams of two data sets, long ones where there is a data folder, the cost."""
    streams = 4 if quick else 40
    rows: list[Row] = []
    for name, world in (("digits", digits()), ("breast cancer", breast_cancer())):
        rows += _streams(name, world, streams, [*CLASSIC, *HARD])
    if os.environ.get("RETICENT_DATA"):
        mnist = _mnist(500 if quick else 5_000)
        rows += _streams("MNIST", mnist, streams // 2, ["boundary walk, 1 in 10"])
        mnist.most = 1_000 if quick else 10_000
        rows.append(_benign("MNIST", mnist, 5 if quick else 200))
    rows.append(_cost(quick))
    return Result(
        columns=[
            "data set", "stream", "queries", "streams", "AUC", "from", "to", "alarmed",
            "median queries to the alarm",
        ],
        rows=rows,
        note=(
            "AUC of the highest score of a stream against those of as many benign streams, of "
            "which one query in twenty is a repeat; 95 % interval. Thresholds and benign rates "
            "come from public rows, a key of its own for each stream; benign rows are others. "
            "Streams draw from the same rows, and so are not independent; benign ones are as long, "
            f"of breast cancer {len(breast_cancer().benign_rows)} queries. Load of the machine: "
            f"{os.getloadavg()[0]:.1f}."
        ),
    )  # fmt: skip


def _streams(name: str, world: World, streams: int, kinds: list[str]) -> list[Row]:
    benign = [watched(world, world.benign, 1_000 + number)[0] for number in range(streams)]
    rows: list[Row] = []
    for kind in kinds:
        stream: Stream = (CLASSIC | HARD)[kind].__get__(world)
        found = [watched(world, stream, number) for number in range(streams)]
        measured = auc([score for score, _ in found], benign)
        alarms = [queries for _, queries in found if queries is not None]
        delay = statistics.median([queries or np.inf for _, queries in found])
        rows.append([
            name, kind, len(stream(np.random.default_rng(0))), streams,
            measured.value, measured.low, measured.high,
            len(alarms), delay if np.isfinite(delay) else "never",
        ])  # fmt: skip
    return rows


def _benign(name: str, world: World, clients: int) -> Row:
    """Clients who ask 10,000 different rows: how many of them are alarmed about."""
    alarmed = sum(
        watched(world, world.benign, 2_000 + number)[1] is not None for number in range(clients)
    )
    above = 1.0 if alarmed == clients else stats.beta.ppf(0.95, alarmed + 1, clients - alarmed)
    return [
        name, "benign", world.most, clients, "", "", "",
        f"{alarmed} of {clients}: {100 * above:.2g} % at most, with 95 % confidence", "",
    ]  # fmt: skip


def _mnist(most: int) -> World:
    data = load("mnist-train")
    assert data.labels is not None
    pixels = data.images.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4), dtype=np.float64)
    return World(pixels.reshape(-1, 49) / 255, data.labels, most=most)


def _cost(quick: bool) -> Row:
    """Processor time of one query in a request of its own, at a full window."""
    rng = np.random.default_rng(0)
    detector = Detector(rng.normal(size=(3 * WINDOW + 100, 64)))
    detector.see("client", rng.normal(size=(WINDOW, 64)))
    blocks = []
    for block in rng.normal(size=(20 if quick else 200, 50, 64)):
        started = time.thread_time()
        for row in block:
            detector.see("client", row[None])
        blocks.append((time.thread_time() - started) / len(block))
    return [
        "64 features", f"cost at {WINDOW} kept queries", 50 * len(blocks), 1, "", "", "",
        f"{1e6 * statistics.median(blocks):.0f} µs a query", "",
    ]  # fmt: skip
