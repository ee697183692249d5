"""The benchmark of a table larger than memory: its limit limits, and its file is mapped."""

import subprocess
import sys

import numpy as np
import pytest

from benchmarks.bench_larger_than_memory import limited, write_blocks
from reticent.arrays import is_file_backed
from reticent.data import read_table

MIB = 2**20
TAKES = "import sys; held = bytearray(int(sys.argv[1])); print(len(held))"
MAPS = (
    "import mmap, sys; file = open(sys.argv[1], 'rb');"
    " print(sum(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)[::4096]))"
)


def under_limit(*words):
    command = limited([sys.executable, "-c", *map(str, words)], 128 * MIB)
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit counts heap and stacks on Linux")
def test_the_limit_is_of_memory_of_ones_own_and_not_of_a_mapped_file(tmp_path):
    assert under_limit(TAKES, 16 * MIB).stdout.strip() == str(16 * MIB)
    too_much = under_limit(TAKES, 256 * MIB)
    assert too_much.returncode != 0
    assert "MemoryError" in too_much.stderr
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(256 * MIB)
    assert under_limit(MAPS, path).stdout.strip() == "0"


def test_blocks_make_a_file_that_is_mapped(tmp_path):
    """65 MiB, above what is mapped at all; two blocks and a part of one."""
    shape = 17_000, 1_003, 7
    table = read_table(write_blocks(tmp_path / "train.npz", shape), label="y")
    assert is_file_backed(table.inputs)
    assert table.inputs.shape == shape[:2]
    assert set(np.unique(table.labels)) == set(range(7))
    lengths = np.linalg.norm(table.inputs[::100], axis=1)
    assert 0.7 < lengths.min() < lengths.max() < 1.1
