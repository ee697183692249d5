"""Kill processes that charge and release, with SIGKILL, and compare what was released and charged.

A release is a line in a file that is written after the charge: ``account number``, the number that
the ledger gave it. A charge without a release is an over-count, which is safe. A release without an
entry, or two releases with one number, is a budget that was walked around; so is a key that was
charged twice.

Four threads of each process: two charge with a key, which is noted before, and the next process
tries keys again that have no release; one asks a private head; one releases weights.

``kill_many`` runs this module as a program: it compiles what it needs once, and forks the processes
that it kills off a process without threads.
"""

from __future__ import annotations

import functools
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reticent.guarantee import Event, LaplaceEvent
from reticent.ledger import Ledger, LedgerError, verify_ledger
from reticent.protect.answers import calibrated_answers, numbers_of, private_answers
from reticent.protect.weights import release_weights
from reticent.training import SoftmaxHead
from tools.postgres_server import crash

EVENT = LaplaceEvent(noise_multiplier=1e6)
TERMS: dict[str, Any] = {"relation": "add-remove", "purpose": "killed"}
KEYED, ANSWERS, WEIGHTS = "keyed", "answers", "weights"


@dataclass(frozen=True, kw_only=True)
class Killed:
    """What stood at the end."""

    kills: int
    released: int
    charged: int
    uncharged: int
    """Releases without an entry of their own."""
    double: int
    """Keys with more than one entry."""

    @property
    def over_count(self) -> int:
        """Charges without a release: processes that died in between."""
        return self.charged - self.released


@functools.cache
def _head() -> SoftmaxHead:
    rows = np.random.default_rng(0).normal(size=(60, 5))
    return SoftmaxHead(penalty=0.2, classes=range(3), records=60).fit(rows, np.arange(60) % 3)


@functools.cache
def _plan() -> Any:
    return calibrated_answers(
        numbers_of(_head()), epsilon=1.0, delta=1e-5, relation="add-remove", queries=10**6,
        mechanism="exponential", filter="zcdp",
    )  # fmt: skip


def _append(path: Path, line: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)


def _lines(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def _keyed(ledger: Ledger, folder: Path, name: str) -> None:
    done = {line[2] for line in _lines(folder / "released") if len(line) == 3}
    again = [key for (key,) in _lines(folder / f"keys {name}") if key not in done]
    for number in range(10**9):
        key = again.pop() if again else f"{name}-{os.getpid()}-{number}"
        _append(folder / f"keys {name}", key)
        charged = ledger.charge(KEYED, EVENT, key=key, **TERMS)
        _append(folder / "released", f"{KEYED} {charged.seq} {key}")


def _answering(ledger: Ledger, folder: Path) -> None:
    seqs: list[int] = []

    def charge(event: Event) -> None:
        seqs.append(ledger.charge(ANSWERS, event, **TERMS).seq)

    answers = private_answers(_head(), _plan(), charge=charge)
    while True:
        answers.ask(np.zeros((1, 5)))
        _append(folder / "released", f"{ANSWERS} {seqs[-1]}")


def _releasing(ledger: Ledger, folder: Path) -> None:
    seqs: list[int] = []

    def charge(event: Event) -> None:
        seqs.append(ledger.charge(WEIGHTS, event, **TERMS).seq)

    while True:
        release_weights(
            _head(), epsilon=1.0, delta=1e-5, relation="add-remove", mechanism="gaussian",
            charge=charge,
        )  # fmt: skip
        _append(folder / "released", f"{WEIGHTS} {seqs[-1]}")


def charge_until_killed(where: str, folder: Path) -> None:
    """Charge and release from four threads, for ever or until the database is gone."""
    ledger = Ledger.open(where)
    works: list[Callable[[], None]] = [
        functools.partial(_keyed, ledger, folder, "a"),
        functools.partial(_keyed, ledger, folder, "b"),
        functools.partial(_answering, ledger, folder),
        functools.partial(_releasing, ledger, folder),
    ]
    threads = [threading.Thread(target=_quietly, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _quietly(work: Callable[[], None]) -> None:
    """A server that crashed ends the work in one line; anything else is a fault and is seen."""
    try:
        work()
    except LedgerError as refusal:
        if "must be usable, got" not in str(refusal):
            raise


def kill_many(where: str, folder: Path, kills: int, *, server: str | None = None) -> Killed:
    """Kill so many processes at random moments; every twentieth time the server crashes instead."""
    program = [sys.executable, "-m", __name__, where, str(folder), str(kills), server or ""]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return Killed(**json.loads(done.stdout.splitlines()[-1]))


def _kill_all(where: str, folder: Path, kills: int, server: str) -> Killed:
    Ledger.open(where, create=True).close()
    private_answers(_head(), _plan()).ask(np.zeros((1, 5)))
    release_weights(_head(), epsilon=1.0, delta=1e-5, relation="add-remove", mechanism="gaussian")
    moments = random.Random(kills)
    released = folder / "released"
    released.touch()
    for number in range(kills):
        size = released.stat().st_size
        child = _forked(where, folder)
        if moments.random() < 0.8:  # the others may die while they open the ledger
            _wait_for_release(child, released, size)
        time.sleep(moments.uniform(0.0, 0.1))
        crashed = bool(server) and number % 20 == 7
        if crashed:
            crash(server)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        # One that notices that its server is gone may end with a line of its own.
        if status not in (signal.SIGKILL, 0) and not crashed:
            raise RuntimeError(f"a process ended by itself with the status {status}")
    return _compared(where, folder, kills)


def _forked(where: str, folder: Path) -> int:
    child = os.fork()
    if child == 0:
        try:
            _quietly(functools.partial(charge_until_killed, where, folder))
            os._exit(0)
        finally:  # never back into the parent's code
            os._exit(1)
    return child


def _wait_for_release(child: int, released: Path, size: int) -> None:
    for _ in range(12000):
        if released.stat().st_size > size:
            return
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return  # what its status was is looked at by the caller
        time.sleep(0.005)
    raise RuntimeError("no release within a minute")


def _compared(where: str, folder: Path, kills: int) -> Killed:
    if problems := verify_ledger(where):
        raise RuntimeError(problems[0])
    lines = _lines(folder / "released")
    released = [(line[0], int(line[1])) for line in lines]
    with Ledger.open(where) as ledger:
        entries = {
            (account.name, entry.seq)
            for account in ledger.accounts()
            for entry in ledger.entries(account.name)
        }
        keyed = len(ledger.entries(KEYED))
    # A key that is tried again is released again with its number: one release for the ledger.
    once = {(*release, *line[2:]) for release, line in zip(released, lines, strict=True)}
    numbers = [release[:2] for release in once]
    tried = {key for name in "ab" for (key,) in _lines(folder / f"keys {name}")}
    return Killed(
        kills=kills,
        released=len(once),
        charged=len(entries),
        uncharged=len(numbers) - len(set(numbers)) + len(set(numbers) - entries),
        double=max(0, keyed - len(tried)),
    )


if __name__ == "__main__":
    where, folder, kills, server = sys.argv[1:]
    print(json.dumps(asdict(_kill_all(where, Path(folder), int(kills), server))))
