"""Load a service of protected answers from many clients, kill its workers, and compare.

Workers are real uvicorn processes on one socket and one database. Each client asks rows that nobody
asked before, each under a key of its own, and tries again with the same key until it has an answer
or is told that the budget is spent. A worker that is killed with SIGKILL is replaced. At the end
every answer that was delivered must be in the ledger, under its number, hash and client, and no key
may be charged twice.

The module is a program (``python -m tools.service_kills``), which compiles what it needs once and
forks workers off a process without threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reticent.ledger import Ledger, verify_ledger
from reticent.ledger.clients import Clients
from reticent.ledger.questions import Reply
from reticent.ledger.storage import Storage
from reticent.protect.answers import (
    AnswerPlan,
    calibrated_answers,
    numbers_of,
    private_answers,
    set_answer_budget,
)
from reticent.protect.answers.served import ServedAnswers
from reticent.training import SoftmaxHead
from tools.postgres_server import crash

FEATURES = 5
ACCOUNT = "killed"


@dataclass(frozen=True, kw_only=True)
class Load:
    """What is asked of a service, and how often it is killed."""

    clients: int
    queries: int
    """Of all clients together."""
    budget: int
    workers: int = 2
    kills: int = 0
    server: str = ""
    """The address of the PostgreSQL server, where that is crashed, too."""
    ledger: bool = True
    """False: the same application without a ledger, to be compared with; nothing is charged."""
    seconds: float = 0.0
    """Above 0: ask for so long, and see what memory the workers take; ``queries`` is the most."""
    pause: float = 0.0
    """Seconds between an answer and the next question of a client."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What stood at the end."""

    asked: int
    answered: int
    exhausted: int
    other: int
    """Responses that were neither, after which the key was tried again."""
    charged: int
    uncharged: int
    """Answers that were delivered without an entry of their own that says the same."""
    double: int
    """Keys with more than one entry, or entries without a key that was sent."""
    retried: int
    """Questions that had no response at first and were asked again under their key."""
    replayed: int
    """Answers that had been charged before they were lost, and were given again."""
    kills: int
    problems: int
    """Of ``reticent ledger verify``."""
    seconds: float
    worker_cpu: float
    """Seconds of the processor that the workers took, their start included."""
    p50: float
    """Of the seconds from a question to its answer, of those that were asked once."""
    p99: float
    memory: list[float]
    """MB that all workers hold together, every few seconds."""


def run_load(where: str, load: Load) -> Outcome:
    """Run this module as a program on an empty database."""
    program = [sys.executable, "-m", __name__, where, json.dumps(asdict(load))]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-4000:])
    return Outcome(**json.loads(done.stdout.splitlines()[-1]))


def private_head() -> SoftmaxHead:
    """A head on made-up records."""
    rows = np.random.default_rng(0).normal(size=(60, FEATURES))
    return SoftmaxHead(penalty=0.2, classes=range(3), records=60).fit(rows, np.arange(60) % 3)


def answer_plan(head: SoftmaxHead, queries: int, mechanism: str = "exponential") -> AnswerPlan:
    """Labels alone, so many of them."""
    return calibrated_answers(
        numbers_of(head), epsilon=1.0, delta=1e-5, relation="add-remove", queries=queries,
        mechanism=mechanism, filter="zcdp",
    )  # fmt: skip


def opened(where: str, plan: AnswerPlan, clients: int) -> list[str]:
    """Make the account and its clients; a key for each of them."""
    with Ledger.open(where, create=True) as ledger:
        set_answer_budget(ledger, ACCOUNT, plan)
    storage = Storage.open(where, create=False)
    try:
        table = Clients(storage)
        for number in range(clients):
            table.add(f"client {number}", data_set=ACCOUNT, limit=None)
        return [table.new_key(f"client {n}", scopes=("ask", "read"))[0] for n in range(clients)]
    finally:
        storage.close()


def worker(
    where: str,
    private: tuple[SoftmaxHead, AnswerPlan],
    listening: socket.socket,
    *,
    charged: bool = True,
    watched: bool = False,
) -> None:
    """One process of the service, until it is ended; ``watched``: with a detector."""
    import uvicorn

    from reticent.service.asgi import application
    from reticent.service.detector import Detector
    from reticent.service.door import Door, RateLimit
    from reticent.service.models import ProtectedModel

    ledger = Ledger.open(where)
    served = ServedAnswers(private_answers(*private), ledger, account=ACCOUNT)
    model = ProtectedModel(served, "model", ledger=ledger)
    if not charged:
        served.book.ask = functools.partial(_uncharged, served)  # type: ignore[method-assign]
    door = Door(served.book.clients, rate=RateLimit(1e9), data_set=ACCOUNT, also=model.refresh)
    detector = (
        Detector(np.random.default_rng(1).normal(size=(6_200, FEATURES))) if watched else None
    )
    app = application(model, door, detector)
    config = uvicorn.Config(app, log_level="critical", access_log=False)
    uvicorn.Server(config).run(sockets=[listening])


def _uncharged(
    served: ServedAnswers, client: int, rows: list[bytes], *, payload: Any, draw: Any, key: str
) -> Future[Reply]:
    """The same HMACs and noise, and no transaction."""
    book = served.book
    for what in (b"key", b"request", *([b"row"] * len(rows))):
        book._hmac(what, client, key.encode())
    done: Future[Reply] = Future()
    bodies = tuple(draw([(payload, place) for place in range(len(rows))]))
    done.set_result(
        Reply(
            bodies=bodies, charged=len(rows), seq=1, hash=bytes(32), used=1, limit=None,
            replayed=False,
        )
    )  # fmt: skip
    return done


class _Fleet:
    """Workers that are forked, killed and replaced."""

    def __init__(self, where: str, load: Load) -> None:
        self.where, self.load = where, load
        self.head = private_head()
        self.plan = answer_plan(self.head, load.budget)
        private_answers(self.head, self.plan).ask(np.zeros((1, FEATURES)))  # compiled once
        self.keys = opened(where, self.plan, load.clients)
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listening.getsockname()[1]
        self.cpu_before = _children_cpu()
        self.pids = [self._forked() for _ in range(load.workers)]

    def _forked(self) -> int:
        child = os.fork()
        if child == 0:
            try:
                worker(
                    self.where,
                    (self.head, self.plan),
                    self.listening,
                    charged=self.load.ledger,
                    watched=self.load.seconds > 0,
                )
            finally:  # never back into the parent's code
                os._exit(1)
        return child

    def kill_one(self, moments: random.Random) -> None:
        place = moments.randrange(len(self.pids))
        os.kill(self.pids[place], signal.SIGKILL)
        os.waitpid(self.pids[place], 0)
        self.pids[place] = self._forked()

    def revive(self) -> None:
        """Replace workers that ended by themselves: one cannot start while its server recovers."""
        for place, pid in enumerate(self.pids):
            if os.waitpid(pid, os.WNOHANG)[0]:
                self.pids[place] = self._forked()

    def memory(self) -> float:
        """MB that the workers hold."""
        pages = sum(
            int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
            for pid in self.pids
        )
        return pages * resource.getpagesize() / 1e6

    def end(self) -> None:
        for pid in self.pids:
            os.kill(pid, signal.SIGTERM)
        for pid in self.pids:
            os.waitpid(pid, 0)


class _Clients:
    """All clients, what they sent and what they were told."""

    def __init__(self, fleet: _Fleet) -> None:
        self.fleet = fleet
        self.sent: list[tuple[int, str]] = []
        self.answers: dict[tuple[int, str], dict[str, Any]] = {}
        self.exhausted = self.other = self.retried = self.replayed = 0
        self.left = fleet.load.queries
        self.waits: list[float] = []
        self.memory: list[float] = []

    async def run(self) -> None:
        load = self.fleet.load
        killer = asyncio.create_task(self._kill()) if load.kills else None
        if load.seconds:
            killer = asyncio.create_task(self._watch())
        await asyncio.gather(*(self._one(number) for number in range(load.clients)))
        if killer is not None:
            await killer

    async def _one(self, number: int) -> None:
        at: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        rows, load = np.random.default_rng([7, number]), self.fleet.load
        while self.left > 0:
            self.left -= 1
            key = f"{number}-{self.left}"
            self.sent.append((number, key))
            body = json.dumps({"inputs": [rows.normal(size=FEATURES).tolist()]}).encode()
            tries, started = 0, time.monotonic()
            while True:
                tries += 1
                try:
                    if at is None:
                        at = await asyncio.open_connection("127.0.0.1", self.fleet.port)
                    status, document = await _asked(*at, self.fleet.keys[number], key, body)
                except (OSError, asyncio.IncompleteReadError):
                    if at is not None:
                        at[1].close()
                    at = None
                    await asyncio.sleep(0.02)
                    continue
                if status == 200 or document.get("type") == "budget-exhausted":
                    break
                self.other += 1
                await asyncio.sleep(0.05)
            self.retried += tries > 1
            if status == 200:
                if tries == 1:
                    self.waits.append(time.monotonic() - started)
                self.answers[number, key] = document
                self.replayed += document["replayed"]
            else:
                self.exhausted += 1
            await asyncio.sleep(load.pause)
        if at is not None:
            at[1].close()

    async def _watch(self) -> None:
        """See what memory the workers take, until it has been long enough."""
        while len(self.answers) < 10 * self.fleet.load.clients:  # until all have started
            await asyncio.sleep(0.1)
        until = time.monotonic() + self.fleet.load.seconds
        while time.monotonic() < until:
            await asyncio.sleep(self.fleet.load.seconds / 60)
            self.memory.append(self.fleet.memory())
        self.left = 0

    async def _kill(self) -> None:
        """One worker after another, each at a random moment after some answers were given."""
        load, moments = self.fleet.load, random.Random(self.fleet.load.kills)
        for number in range(load.kills):
            enough = len(self.answers) + moments.randrange(5, 60)
            while len(self.answers) < enough and self.left > 0:
                self.fleet.revive()
                await asyncio.sleep(0.005)
            await asyncio.sleep(moments.uniform(0.0, 0.03))
            if load.server and number % 20 == 7:
                crash(load.server)
            self.fleet.kill_one(moments)
        while self.left > 0:
            self.fleet.revive()
            await asyncio.sleep(0.05)


async def _asked(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: str, idem: str, body: bytes
) -> tuple[int, dict[str, Any]]:
    head = (
        "POST /v1/answers HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {key}\r\nIdempotency-Key: {idem}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await writer.drain()
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    length = next(int(one.split(":")[1]) for one in lines if one.lower().startswith("content-l"))
    return int(lines[0].split()[1]), json.loads(await reader.readexactly(length))


def _compared(fleet: _Fleet, clients: _Clients, seconds: float) -> Outcome:
    import sqlalchemy as sa

    from reticent.ledger.tables import CLIENTS, ENTRIES, REPLIES

    ledger = Ledger.open(fleet.where)
    served = ServedAnswers(private_answers(fleet.head, fleet.plan), ledger, account=ACCOUNT)
    with ledger._storage.reading() as connection:
        names = dict(connection.execute(sa.select(CLIENTS.c.id, CLIENTS.c.name)).all())
        entries = connection.execute(sa.select(ENTRIES)).mappings().all()
        bodies = {
            (row.account, row.seq): bytes(row.body)
            for row in connection.execute(sa.select(REPLIES))
        }
    ids = {int(name.split()[1]): number for number, name in names.items()}
    by_key = {(row["client"], bytes(row["key_hmac"])): row for row in entries}
    hmacs = {
        (ids[number], served.book._hmac(b"key", ids[number], key.encode())): (number, key)
        for number, key in clients.sent
    }
    uncharged = 0
    for held, sent in hmacs.items():
        told = clients.answers.get(sent)
        row = by_key.get(held)
        if told is None or not fleet.load.ledger:
            continue
        uncharged += (
            row is None
            or told["receipt"] != {"number": row["seq"], "hash": bytes(row["hash"]).hex()}
            or row["answers"] != 1
            or int(np.frombuffer(bodies[row["account"], row["seq"]], "<i8")[0]) != told["labels"][0]
        )
    ledger.close()
    return Outcome(
        asked=len(clients.sent),
        answered=len(clients.answers),
        exhausted=clients.exhausted,
        other=clients.other,
        charged=sum(row["answers"] for row in entries),
        uncharged=uncharged,
        double=len(entries) - len({key for key in by_key if key in hmacs}),
        retried=clients.retried,
        replayed=clients.replayed,
        kills=fleet.load.kills,
        problems=len(verify_ledger(fleet.where)),
        seconds=seconds,
        worker_cpu=_children_cpu() - fleet.cpu_before,
        p50=float(np.quantile(clients.waits, 0.5)),
        p99=float(np.quantile(clients.waits, 0.99)),
        memory=clients.memory,
    )


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(where: str, load: Load) -> Outcome:
    """Load, kill, compare."""
    fleet = _Fleet(where, load)
    try:
        clients = _Clients(fleet)
        started = time.monotonic()
        asyncio.run(clients.run())
        seconds = time.monotonic() - started
    finally:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            fleet.end()
    return _compared(fleet, clients, seconds)


if __name__ == "__main__":
    found = main(sys.argv[1], Load(**json.loads(sys.argv[2])))
    print(json.dumps(asdict(found)))
