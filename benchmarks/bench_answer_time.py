"""Whether the time of an answer tells two rows apart, where one of them always takes the slow path.

The draws of one row are forced through ball arithmetic, those of the other never are, and a client
asks for both in random order over one connection to real uvicorn. Two rows of the table show what
the measurement sees: the draw alone without ticks, and a delay that is planted.
"""

from __future__ import annotations

import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.harness import Cell, Result
from reticent.audit.metrics import auc
from reticent.protect.answers import PrivateAnswers
from tools.postgres_server import postgres

NAME = "answer_time"
TITLE = "Service: telling two rows apart by the clock"
FIRST = (0.1, 0.9)
"""The first feature of the row that is forced, and of the other."""
LIMITS = (0.47, 0.53)


@dataclass(frozen=True, kw_only=True)
class Clock:
    """One measurement: what answers, whether draws take whole ticks, what is planted besides."""

    database: str
    mechanism: str
    ticks: bool = True
    planted: float = 0.0
    """Seconds that the draws of the first row take longer."""


DRAW = "none: the draw alone"
CASES = (
    Clock(database=DRAW, mechanism="exponential"),
    Clock(database=DRAW, mechanism="exponential", ticks=False),
    Clock(database="SQLite", mechanism="exponential"),
    Clock(database="SQLite", mechanism="gaussian"),
    Clock(database="PostgreSQL", mechanism="exponential"),
    Clock(database="SQLite", mechanism="exponential", ticks=False),
    Clock(database="SQLite", mechanism="exponential", planted=0.02),
)


def run(quick: bool) -> Result:
    """Each case, its questions in random order."""
    rows: list[list[Cell]] = []
    load = f"{os.getloadavg()[0]:.1f}"
    with tempfile.TemporaryDirectory() as folder, postgres() as server:
        for number, case in enumerate(CASES):
            where = str(Path(folder) / f"{number}.sqlite")
            if case.database == "PostgreSQL":
                where = server.fresh()
            each = 50 if quick else 500 if case.planted else 4_000
            rows.append(_row(case, measured(where, case, each), each))
    return Result(
        columns=[
            "database", "answers", "draws", "questions of each row", "median ms", "AUC",
            "from", "to", "within .47 to .53",
        ],
        rows=rows,
        note=(
            "Labels by the exponential mechanism, or Gaussian logits. Every draw of one row is "
            "forced through ball arithmetic, none of the other. The interval is the 95 % one of "
            "the AUC of telling from the time that a reply took which row it was for. Load of the "
            f"machine before and after: {load} and {os.getloadavg()[0]:.1f}."
        ),
    )  # fmt: skip


def _row(case: Clock, times: tuple[list[float], list[float]], each: int) -> list[Cell]:
    found = auc(*times)
    inside = LIMITS[0] <= found.low and found.high <= LIMITS[1]
    return [
        case.database, case.mechanism, _draws(case), each,
        1e3 * statistics.median(times[0] + times[1]),
        found.value, found.low, found.high, "yes" if inside else "no",
    ]  # fmt: skip


def _draws(case: Clock) -> str:
    if case.planted:
        return f"slow path and {1e3 * case.planted:g} ms, planted"
    return "slow path, on ticks" if case.ticks else "slow path, without ticks"


def measured(where: str, case: Clock, each: int) -> tuple[list[float], list[float]]:
    """Seconds of the replies to both rows."""
    told = json.dumps({**asdict(case), "where": where, "each": each})
    program = [sys.executable, "-m", __name__, told]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            if case.database == DRAW:
                return tuple(json.loads(process.stdout.readline()))
            at = json.loads(process.stdout.readline())
            return _asked(at["port"], at["key"], each)
        finally:
            process.kill()


def _asked(port: int, key: str, each: int) -> tuple[list[float], list[float]]:
    order = random.Random(each)
    found: tuple[list[float], list[float]] = ([], [])
    turns = [side for _ in range(each) for side in order.sample((0, 1), 2)]
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number, side in enumerate([0, 1] * 25 + turns):  # the first fifty are not counted
            seconds = _timed(connection, key, number, FIRST[side])
            if number >= 50:
                found[side].append(seconds)
    return found


def _timed(connection: socket.socket, key: str, number: int, first: float) -> float:
    """One question that nobody asked before, in a request that has always the same length."""
    body = f'{{"inputs": [[{first},0.25,0.5,0.5,0.{100_000 + number}]]}}'
    request = (
        "POST /v1/answers HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {key}\r\nIdempotency-Key: {100_000 + number}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()
    started = time.perf_counter()
    connection.sendall(request)
    told = connection.recv(65_536)
    seconds = time.perf_counter() - started
    if not told.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(told.decode(errors="replace"))
    while b"}" not in told.partition(b"\r\n\r\n")[2]:
        told += connection.recv(65_536)
    return seconds


def _serve(where: str, each: int, case: Clock) -> None:
    """A service in this process, until it is killed; or its draws alone."""
    from reticent.ledger import questions
    from reticent.protect.answers import private_answers
    from tools.service_kills import answer_plan, opened, private_head, worker

    head = private_head()
    plan = answer_plan(head, 3 * each + 100, case.mechanism)
    private_answers(head, plan).ask([[0.0] * 5])  # compiled now
    (key,) = opened(where, plan, 1)
    if not case.ticks:
        vars(questions)["DRAW_TICK"] = 1e-9
    _force_slow_path(case.planted)
    if case.database == DRAW:
        print(json.dumps(_draws_timed(where, private_answers(head, plan), each)), flush=True)
        return
    listening = socket.create_server(("127.0.0.1", 0))
    print(json.dumps({"port": listening.getsockname()[1], "key": key}), flush=True)
    worker(where, (head, plan), listening)


def _draws_timed(where: str, answers: PrivateAnswers, each: int) -> tuple[list[float], list[float]]:
    """Seconds of the draws of both rows, in random order: what the clock of a client is behind."""
    from reticent.ledger import Ledger
    from reticent.ledger.questions import Questions, _Slot
    from reticent.protect.answers.served import ServedAnswers
    from tools.service_kills import ACCOUNT

    found: tuple[list[float], list[float]] = ([], [])
    order = random.Random(each)
    with Ledger.open(where) as ledger:
        served = ServedAnswers(answers, ledger, account=ACCOUNT)
        for side in [side for _ in range(each) for side in order.sample((0, 1), 2)]:
            asked: Any = SimpleNamespace(
                draw=served._draw, payload=np.array([[FIRST[side], 0.25, 0.5, 0.5, 0.1]])
            )
            due = Questions(0, {}, _drawn=[(asked, 0, _Slot())])
            started = time.perf_counter()
            due.draw()
            found[side].append(time.perf_counter() - started)
    return found


def _force_slow_path(planted: float) -> None:
    """Leave every draw of the first row open, so that ball arithmetic decides it."""
    from reticent.mechanisms.rounded import kernels, release
    from reticent.protect.answers.served import ServedAnswers

    drawn, settle, settle_rows = ServedAnswers._drawn, kernels.settle, release._settle_rows
    slow = [False]

    def watched(self: ServedAnswers, due: Any) -> list[bytes]:
        slow[0] = any(rows[place][0] == FIRST[0] for rows, place in due)
        time.sleep(planted if slow[0] else 0.0)
        return drawn(self, due)

    def open_values(values: Any, draws: Any, errors: Any, grid: Any, out: Any) -> int:
        undecided = settle(values, draws, errors, grid, out)
        if slow[0]:
            out[:] = float("nan")
        return len(out) if slow[0] else int(undecided)

    def open_rows(scores: Any, scale: float, noise: Any, error: Any, winners: Any) -> int:
        undecided = settle_rows(scores, scale, noise, error, winners)
        if slow[0]:
            winners[:] = -1
        return len(winners) if slow[0] else int(undecided)

    patches: Any = (
        (ServedAnswers, "_drawn", watched), (kernels, "settle", open_values),
        (release, "_settle_rows", open_rows),
    )  # fmt: skip
    for place, name, function in patches:
        setattr(place, name, function)


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    _serve(asked.pop("where"), asked.pop("each"), Clock(**asked))
