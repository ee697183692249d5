"""A limit of all memory of a command, pages of mapped files among it: a control group of Linux.

``RLIMIT_DATA`` limits what is a process's own, and leaves pages of files out: it shows that nothing
copies a table, and not that the system can drop its pages. A group shows that. Making one takes
the right to write to ``/sys/fs/cgroup``, which few users have; where it is missing there is none.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path("/sys/fs/cgroup")
FIRST: Final = ("memory.limit_in_bytes", "memory.max_usage_in_bytes")
"""Limit and peak in the first version of groups, which has a folder for each kind of resource."""
SECOND: Final = ("memory.max", "memory.peak")


@dataclass(frozen=True)
class MemoryGroup:
    """A group that commands can be started in."""

    folder: Path
    peak_file: str

    def started_in(self, words: Sequence[str]) -> list[str]:
        """The command as one that joins the group first."""
        joins = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
        return ["sh", "-c", joins, str(self.folder), *words]

    @property
    def peak(self) -> int:
        """The most bytes that were charged to the group: heap, stacks and pages of files."""
        return int((self.folder / self.peak_file).read_text())


@contextmanager
def memory_group(limit: int) -> Iterator[MemoryGroup | None]:
    """A group with so many bytes at most, gone afterwards; None where none can be made."""
    first = (ROOT / "memory").is_dir()
    limit_file, peak_file = FIRST if first else SECOND
    folder = (ROOT / "memory" if first else ROOT) / f"reticent-benchmark-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError:
        yield None
        return
    try:
        (folder / limit_file).write_text(str(limit))
        yield MemoryGroup(folder, peak_file)
    finally:
        folder.rmdir()


def out_of_memory(path: Path) -> None:
    """Drop a file's pages: those of whoever wrote it are charged to no group that reads it."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
