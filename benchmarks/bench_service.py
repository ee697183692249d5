"""What the ledger costs a service: the same application with and without it; kill -9; memory."""

import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.harness import Cell, Result
from tools.postgres_server import Server, postgres
from tools.service_kills import Load, Outcome, run_load

NAME = "service"
TITLE = "Service: throughput with and without a ledger, kill -9, memory"

CLIENTS = 64
Row = list[Cell]


def run(quick: bool) -> Result:
    """With and without a ledger by turns on each database, then kills."""
    rows: list[Row] = []
    load = f"{os.getloadavg()[0]:.1f}"
    with tempfile.TemporaryDirectory() as folder, postgres() as server:
        places: dict[str, Callable[[str], str]] = {
            "SQLite": lambda name: str(Path(folder) / f"{name}.sqlite"),
            "PostgreSQL": lambda _: server.fresh(),
        }
        for database, place in places.items():
            rows += _speed(database, place, quick)
        with ThreadPoolExecutor() as beside:  # kills are not timed
            where = str(Path(folder) / "memory.sqlite")
            memory = beside.submit(_memory, where, 20.0 if quick else 600.0)
            for database, place in places.items():
                rows.append(_kills(database, place("kills"), server, 10 if quick else 200))
            rows.append(memory.result())
    return Result(
        columns=["database", "measure", "without ledger", "with ledger", "ratio or limit"],
        rows=rows,
        note=(
            f"{CLIENTS} clients that ask one row at a time of two uvicorn workers, by turns, "
            "medians; the clients run on the same cores. Kills: workers ended by SIGKILL at "
            "random moments, on PostgreSQL every twentieth time the server crashes too: answers "
            "that the ledger does not hold, keys charged twice, answers given again. Memory: two "
            "workers with a detector, 8 clients, at a sixth of the time and at its end, means of "
            f"a sixth. Load of the machine before and after: {load} and "
            f"{os.getloadavg()[0]:.1f}, on {os.cpu_count()} cores."
        ),
    )


def _speed(database: str, place: Callable[[str], str], quick: bool) -> list[Row]:
    queries, rounds = (1_000, 1) if quick else (4_000, 3)
    found: dict[bool, list[Outcome]] = {True: [], False: []}
    for number in range(rounds):
        for ledger in (False, True):
            load = Load(clients=CLIENTS, queries=queries, budget=10 * queries, ledger=ledger)
            found[ledger].append(run_load(place(f"{number} {ledger}"), load))
    rates = {kind: _median([queries / one.seconds for one in found[kind]]) for kind in found}
    cpu = {kind: _median([one.worker_cpu for one in found[kind]]) for kind in found}
    waits = {
        (kind, name): 1e3 * _median([getattr(one, name) for one in found[kind]])
        for kind in found
        for name in ("p50", "p99")
    }
    found_waits: list[Row] = [
        [
            database, f"{name} of an answer, ms", waits[False, name], waits[True, name],
            waits[True, name] / waits[False, name],
        ]
        for name in ("p50", "p99")
    ]  # fmt: skip
    return [
        [database, "answers a second", rates[False], rates[True], rates[True] / rates[False]],
        [
            database, f"workers' processor seconds for {queries} answers", cpu[False], cpu[True],
            cpu[False] / cpu[True],
        ],
        *found_waits,
    ]  # fmt: skip


def _kills(database: str, where: str, server: Server, kills: int) -> Row:
    crashed = server.address if "://" in where else ""
    load = Load(clients=16, queries=60 * kills, budget=100 * kills, kills=kills, server=crashed)
    found = run_load(where, load)
    measure = f"{kills} kills, {found.answered} answers: uncharged, double, given again"
    return [
        database, measure, "", f"{found.uncharged}, {found.double}, {found.replayed}", "0, 0, any",
    ]  # fmt: skip


def _memory(where: str, seconds: float) -> Row:
    load = Load(clients=8, queries=10**7, budget=10**6, seconds=seconds, pause=0.05)
    found = run_load(where, load)
    part = len(found.memory) // 6
    early, late = found.memory[part : 2 * part], found.memory[-part:]
    before, after = sum(early) / part, sum(late) / part
    measure = f"memory over {seconds / 60:g} minutes, {found.answered} answers: MB early, late"
    return ["SQLite", measure, before, after, after / before]


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]
