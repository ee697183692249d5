"""Kill ``reticent train`` with SIGKILL at random steps, go on with ``--resume``, and count.

Training must end with the steps that were planned, taken one after the other from where the last
state was saved, and with one charge in the ledger, however often it was killed.

``kill_many`` runs this module as a program: it loads torch once and forks the processes that are
killed off a process without threads. ``python -m tools.training_kills 20`` prints the counts.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

RECORDS, EPOCHS, BATCH = 400, 20, 40
ACCOUNT = "killed"


@dataclass(frozen=True, kw_only=True)
class Killed:
    """What stood at the end."""

    kills: int
    planned: int
    released: int
    """The steps in the certificate of the release."""
    counted: int
    """Different steps that were counted, in all processes."""
    lost: int
    """Steps that were taken again, because no state was saved after them."""
    charged: int
    stated: bool
    """Whether the release says that training went on from a state file."""


def kill_many(kills: int, *, seed: int = 0) -> Killed:
    """Kill a training so many times, each at a random step that was not taken yet."""
    program = [sys.executable, "-m", __name__, str(kills), str(seed)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(program, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise RuntimeError(done.stderr or done.stdout)
    return Killed(**json.loads(done.stdout.splitlines()[-1]))


def _kill_all(folder: Path, kills: int, seed: int) -> Killed:
    from reticent.ledger import Ledger
    from reticent.protect import load
    from reticent.protect.terms import RESUMED

    _load_all()
    command = _command(folder)
    with Ledger.open(folder / "ledger.db", create=True) as ledger:
        ledger.set_budget(ACCOUNT, epsilon=100.0, delta=1e-2, relation="add-remove")
    planned = EPOCHS * RECORDS // BATCH
    moments = sorted(random.Random(seed).sample(range(1, planned), kills))
    for number, moment in enumerate([*moments, None]):
        resumed = ["--resume"] if number else []
        status = _forked(lambda m=moment, r=resumed: _train([*command, *r], folder, m))  # type: ignore[misc]
        expected = 0 if moment is None else signal.SIGKILL
        if status != expected:
            raise RuntimeError(f"process {number} must end with {expected}, got {status}")
    with Ledger.open(folder / "ledger.db") as ledger:
        charged = len(ledger.entries(ACCOUNT))
    counted = [int(line) for line in (folder / "steps").read_text().split()]
    _refuse_gaps(counted, set(moments))
    model = load(folder / "net")
    released = model.recipe.steps_taken  # type: ignore[attr-defined]
    return Killed(
        kills=len(moments),
        planned=planned,
        released=released,
        counted=len(set(counted)),
        lost=len(counted) - len(set(counted)),
        charged=charged,
        stated=RESUMED in model.guarantee.stated,
    )


def _load_all() -> None:
    """What every process would load and compile again."""
    from reticent.protect import PrivateNetwork

    importlib.import_module("reticent.cli.train")
    PrivateNetwork(
        classes=(0, 1), records=4, epsilon=4.0, delta=1e-5, relation="add-remove", epochs=1.0
    ).fit(np.zeros((4, 6)), np.arange(4) % 2)


def _refuse_gaps(counted: list[int], moments: set[int]) -> None:
    """A step follows the one before it, but after a kill, where it may have been taken before."""
    for before, after in zip([0, *counted], counted, strict=False):
        if after != before + 1 and not (before in moments and after <= before):
            raise RuntimeError(f"step {before + 1} must follow step {before}, got {after}")


def _command(folder: Path) -> list[str]:
    generator = np.random.default_rng(0)
    rows, labels = generator.normal(size=(RECORDS, 6)), np.arange(RECORDS) % 2
    np.savez(folder / "records.npz", features=rows.astype(np.float32), label=labels.astype(str))
    return [
        *("train", "--private", str(folder / "records.npz"), "--embedding", "features"),
        *("--label", "label", "--classes", "0,1", "--records", str(RECORDS)),
        *("--epsilon", "4", "--delta", "1e-5", "--relation", "add-remove"),
        *("--batch", str(BATCH), "--epochs", str(EPOCHS), "--out", str(folder / "net")),
        *("--ledger", str(folder / "ledger.db"), "--data-set", ACCOUNT, "--json"),
    ]


def _train(command: list[str], folder: Path, moment: int | None) -> int:
    """The real command; its progress is written down, and ends it at the moment."""
    from reticent.cli import train
    from reticent.cli.main import run

    @contextmanager
    def progress_line(_: str) -> Iterator[Callable[[int, int], None]]:
        def progress(taken: int, planned: int) -> None:  # noqa: ARG001
            with (folder / "steps").open("a") as steps:
                steps.write(f"{taken}\n")
            if taken == moment:
                os.kill(os.getpid(), signal.SIGKILL)

        yield progress

    setattr(train, "progress_line", progress_line)  # noqa: B010 - it is the command's own name
    return run(command)


def _forked(work: Callable[[], int]) -> int:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - until the process ends
            status = work()
        finally:  # never back into the parent's code
            os._exit(status)
    return os.waitpid(child, 0)[1]


if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
        print(json.dumps(asdict(_kill_all(Path(place), int(sys.argv[1]), seed))))
