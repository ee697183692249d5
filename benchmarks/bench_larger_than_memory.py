"""``protect`` on a table that is larger than the memory it may have: 1,300,000 × 2,048 features."""

import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.bench_mapped_table import DELTA, Shape
from benchmarks.growth_job import EPSILON
from benchmarks.harness import Cell, Result
from benchmarks.memory_group import memory_group, out_of_memory
from benchmarks.process_tree import ONE_THREAD, used_by

NAME = "larger_than_memory"
TITLE = "reticent protect on a table larger than the memory it may have"

SHAPE, QUICK_SHAPE = (1_300_000, 2_048, 1_000), (2_000, 16, 5)
LEARNER = "class-means"
LIMIT = 2 * 2**30
"""Bytes, of the file's pages too where a group can be made, else of what is the process's own."""
COLUMNS = ("command", "file GiB", "limit GiB", "peak GiB", "CPU s", "s by the clock")
_GIB = 2**30
_ALL_MEMORY = (
    "The limit is of all memory of the command, pages of the mapped file among it (a control "
    "group of Linux), and the file was not in memory before: the system drops pages that were read "
    "to make room for others. The peak is what was charged to the group."
)
_OWN_MEMORY = (
    "The limit is of memory that is the process's own (RLIMIT_DATA): one that reads or copies the "
    "table ends with an error. It does not show that pages of the file can be dropped: the peak is "
    "of resident memory, with pages of the file that the system keeps while nobody needs them."
)
_BLOCK = 8_192


def run(quick: bool) -> Result:
    """One release; the file is removed afterwards."""
    shape = QUICK_SHAPE if quick else SHAPE
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train = write_blocks(folder / "train.npz", shape)
        size = train.stat().st_size
        out_of_memory(train)
        words = _words(shape, train, folder / "head")
        with memory_group(LIMIT) as group:
            command = limited(words, LIMIT) if group is None else group.started_in(words)
            used = used_by(command, ONE_THREAD)
            peak = used.peak if group is None else group.peak
    row: list[Cell] = [
        f"protect --learner {LEARNER}",
        round(size / _GIB, 2),
        round(LIMIT / _GIB, 2),
        round(peak / _GIB, 2),
        round(used.cpu, 1),
        round(used.wall, 1),
    ]
    return Result(columns=COLUMNS, rows=[row], note=note(shape, pages=group is not None))


def note(shape: Shape, *, pages: bool) -> str:
    """How the table is to be read."""
    records, features, classes = shape
    limited_to = _ALL_MEMORY if pages else _OWN_MEMORY
    return (
        f"{records:,} records of {features:,} float32 features in {classes:,} classes, mapped. "
        f"{limited_to} Imports are included, one process with one thread."
    )


def limited(words: Sequence[str], limit: int) -> list[str]:
    """The command with so many bytes of its own at most."""
    return ["sh", "-c", 'ulimit -d "$0" && exec "$@"', str(limit // 1024), *words]


def write_blocks(path: Path, shape: Shape) -> Path:
    """Clusters as an .npz file like that of ``np.savez``, which is never whole in memory."""
    records, features, classes = shape
    rng = np.random.default_rng(1)
    centres = (0.35 * rng.standard_normal((classes, features))).astype(np.float32)
    labels = rng.integers(classes, size=records)
    header = {"descr": "<f4", "fortran_order": False, "shape": (records, features)}
    with zipfile.ZipFile(path, "w", allowZip64=True) as archive:
        with archive.open("X.npy", "w", force_zip64=True) as file:
            np.lib.format.write_array_header_1_0(file, header)
            for start in range(0, records, _BLOCK):
                rows = centres[labels[start : start + _BLOCK]]
                rows += rng.standard_normal(rows.shape, dtype=np.float32)
                file.write((rows / np.float32(1.2 * np.sqrt(features))).tobytes())
        with archive.open("y.npy", "w", force_zip64=True) as file:
            np.lib.format.write_array(file, labels)
    return path


def _words(shape: Shape, train: Path, out: Path) -> list[str]:
    options = {
        "private": train,
        "label": "y",
        "classes": ",".join(map(str, range(shape[2]))),
        "records": shape[0],
        "epsilon": EPSILON,
        "delta": DELTA,
        "relation": "add-remove",
        "learner": LEARNER,
        "out": out,
    }
    told = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    return [sys.executable, "-m", "reticent", "protect", *told]
