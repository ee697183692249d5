"""The limit of all memory of a command: a group of the system, and what is done without one."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import memory_group
from benchmarks.bench_larger_than_memory import note

MIB = 2**20
TAKES = "import sys; held = bytearray(int(sys.argv[1])); print(len(held))"
READS = (
    "import mmap, sys; file = open(sys.argv[1], 'rb');"
    " print(sum(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)[::4096]))"
)


@pytest.fixture(params=[memory_group.FIRST, memory_group.SECOND], ids=["first", "second"])
def hierarchy(request, tmp_path, monkeypatch):
    """A folder that looks like that of groups of one version."""
    first = request.param is memory_group.FIRST
    parent = tmp_path / "memory" if first else tmp_path
    parent.mkdir(exist_ok=True)
    monkeypatch.setattr(memory_group, "ROOT", tmp_path)
    monkeypatch.setattr(Path, "rmdir", shutil.rmtree)  # files of a real group go with its folder
    return parent, request.param


def test_a_command_joins_its_group_first_and_the_group_goes(hierarchy):
    parent, (limit_file, peak_file) = hierarchy
    with memory_group.memory_group(5 * MIB) as group:
        assert group.folder.parent == parent
        assert (group.folder / limit_file).read_text() == str(5 * MIB)
        (group.folder / peak_file).write_text("123\n")
        assert group.peak == 123
        done = subprocess.run(
            group.started_in(["sh", "-c", "echo $$"]), capture_output=True, text=True, check=True
        )
        assert (group.folder / "cgroup.procs").read_text() == done.stdout
    assert list(parent.iterdir()) == []


def test_without_the_right_to_make_one_there_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr(memory_group, "ROOT", tmp_path / "absent")
    with memory_group.memory_group(MIB) as group:
        assert group is None


@pytest.mark.slow
def test_where_the_system_has_groups_they_limit_pages_of_files_too(tmp_path):
    """64 MiB of memory and a file of 256 MiB: it is read whole, and held it is not."""
    path = tmp_path / "large"
    with path.open("wb") as file:
        for _ in range(256):
            file.write(b"\0" * MIB)
        file.flush()
    memory_group.out_of_memory(path)
    with memory_group.memory_group(64 * MIB) as group:
        if group is None:
            assert not memory_group.ROOT.is_dir() or "reticent" not in str(
                list(memory_group.ROOT.iterdir())
            )
            return

        def run(*words):
            command = group.started_in([sys.executable, "-c", *map(str, words)])
            return subprocess.run(command, capture_output=True, text=True, check=False)

        assert run(READS, path).stdout.strip() == "0"
        assert 32 * MIB < group.peak <= 64 * MIB
        assert run(TAKES, 256 * MIB).returncode != 0


def test_the_page_says_which_limit_it_was():
    shape = (1_300_000, 2_048, 1_000)
    assert "pages of the mapped file among it" in note(shape, pages=True)
    assert "does not show that pages of the file can be dropped" in note(shape, pages=False)
