"""Many mutated files through every reader, in a process of its own with bounded memory and time.

``python -m tests.fuzz.campaign --count 20000 --seed 18``: the last line of its output is a JSON
document. File number i is a function of the seed and i alone: ``--only i`` runs it again, with the
traceback.
"""

import argparse
import contextlib
import functools
import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

from tests.peak_memory import peak_bytes

MOST_BYTES = 2 << 30
MOST_SECONDS = 10.0
ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Outcome:
    """What became of the files; ``wrong`` names each that was neither read nor refused well."""

    files: int = 0
    read: int = 0
    refused: int = 0
    by_reader: dict[str, list[int]] = field(default_factory=dict)
    """Files read and files refused."""
    slowest: float = 0.0
    slowest_file: str = ""
    peak_bytes: int = 0
    wrong: list[str] = field(default_factory=list)


class TooSlowError(BaseException):
    """Of no reader's concern: it must not be caught on the way."""


def campaign(count: int, seed: int, *, timeout: float = 3600) -> dict[str, Any]:
    """Run ``count`` files in a child; a child that died tells at which file."""
    with tempfile.NamedTemporaryFile(suffix=".txt") as current:
        arguments = ["--count", str(count), "--seed", str(seed), "--current", current.name]
        ended = subprocess.run(
            [sys.executable, "-m", "tests.fuzz.campaign", *arguments],
            cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip
        if ended.returncode:
            last = Path(current.name).read_text(encoding="utf-8")
            died = f"file {last}: the process ended with {ended.returncode}: {ended.stderr[-2000:]}"
            return asdict(Outcome(files=count, wrong=[died]))
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def run(numbers: range, seed: int, *, current: Path | None = None) -> Outcome:
    """The files with these numbers, one after the other, in this process."""
    from tests.fuzz.samples import readers

    outcome = Outcome()
    every = readers()
    weights = [reader.weight for reader in every]
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        originals = _originals(Path(name), every)
        changed = Path(name) / "changed"
        _bound_memory()
        for number in numbers:
            rng = Random(f"{seed}:{number}")
            reader = rng.choices(every, weights)[0]
            if current is not None:
                current.write_text(f"{number} ({reader.name})", encoding="utf-8")
            place = changed / originals[reader.name].name
            file = _mutated(originals[reader.name], place, reader, rng)
            _judge(outcome, reader, place, f"{number} ({reader.name}, {file})")
    outcome.peak_bytes = peak_bytes()
    return outcome


def _originals(folder: Path, every: list[Any]) -> dict[str, Path]:
    """Each reader's valid files, which it must read."""
    found = {}
    for reader in every:
        found[reader.name] = folder / "valid" / reader.name.replace("/", "-")
        found[reader.name].mkdir(parents=True)
        reader.write(found[reader.name])
        kept = {file: file.read_bytes() for file in _files(found[reader.name])}
        reader.read(found[reader.name])
        for file, content in kept.items():
            file.write_bytes(content)
    return found


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@functools.cache
def _names(valid: Path) -> frozenset[Path]:
    return frozenset(one.relative_to(valid) for one in _files(valid))


def _mutated(valid: Path, place: Path, reader: Any, rng: Random) -> str:
    """A folder as the valid one but for one file; what a reader left there before goes first."""
    kept = _names(valid)
    changes = {Path(name) for name in reader.changed}
    for one in _files(place):
        if one.relative_to(place) not in kept - changes:
            one.unlink()
    file: str = rng.choice(list(reader.changed))
    for name in kept - {Path(file)}:
        if not (place / name).exists():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).hardlink_to(valid / name)
    change = rng.choice(reader.changed[file])
    (place / file).parent.mkdir(parents=True, exist_ok=True)
    (place / file).write_bytes(change((valid / file).read_bytes(), rng))
    return file


def _judge(outcome: Outcome, reader: Any, place: Path, name: str) -> None:
    """Read one file; anything but an answer or one line of refusal is wrong."""
    from reticent.ledger import LedgerError
    from reticent.ledger.errors import BudgetExhausted
    from reticent.validation import InputError

    before = peak_bytes()
    started, tally = time.perf_counter(), outcome.by_reader.setdefault(reader.name, [0, 0])
    outcome.files += 1
    try:
        with _bounded_time(), warnings.catch_warnings():
            warnings.simplefilter("error")
            reader.read(place)
        outcome.read += 1
        tally[0] += 1
    except (InputError, LedgerError, BudgetExhausted) as refusal:
        outcome.refused += 1
        tally[1] += 1
        if not _one_line(str(refusal)):
            outcome.wrong.append(f"{name}: a refusal that is not one line: {str(refusal)[:200]!r}")
    except TooSlowError:
        outcome.wrong.append(f"{name}: more than {MOST_SECONDS} s")
    except BaseException as error:  # noqa: BLE001 - that is what is looked for
        outcome.wrong.append(f"{name}: {type(error).__name__}: {str(error)[:200]}")
        if len(outcome.wrong) <= 20:
            traceback.print_exc()
    seconds = time.perf_counter() - started
    if seconds > outcome.slowest:
        outcome.slowest, outcome.slowest_file = seconds, name
    after = peak_bytes()
    if after > MOST_BYTES and after > before:
        outcome.wrong.append(f"{name}: {after} bytes of memory")


def _one_line(message: str) -> bool:
    """Whether the program can print it as one."""
    from reticent.cli.main import one_line

    shown = one_line(message)
    return bool(shown) and shown.isprintable() and len(shown) < 1100


def _bound_memory() -> None:
    """What would take far more ends in MemoryError instead of the kernel's choice of a victim."""
    with contextlib.suppress(OSError, ValueError):
        taken = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
        limit = taken * resource.getpagesize() + MOST_BYTES + (1 << 30)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


@contextlib.contextmanager
def _bounded_time() -> Iterator[None]:
    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def main() -> int:
    """Run, and print the outcome as the last line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--only", type=int)
    parser.add_argument("--current", type=Path)
    said = parser.parse_args()
    numbers = range(said.count) if said.only is None else range(said.only, said.only + 1)
    sys.stdout.write(json.dumps(asdict(run(numbers, said.seed, current=said.current))) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
