"""What a charge costs: format 1's way and ours in one run, 64 in flight; size, opening, kills."""

import hashlib
import json
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks.harness import Cell, Result
from benchmarks.ledger_format_1 import OldLedger
from reticent.guarantee import GaussianEvent, Relation
from reticent.ledger import Ledger
from reticent.ledger.asks import Ask, kind_of
from tools.ledger_kills import kill_many
from tools.postgres_server import Server, postgres

NAME = "ledger"
TITLE = "Ledger: charges a second, size, opening, kill -9"

IN_FLIGHT = 64
GROUP = 5000
EVENT = GaussianEvent(noise_multiplier=1e4)
RELATION = Relation.ADD_REMOVE
ACCOUNT = "data"

Row = list[Cell]


def run(quick: bool) -> Result:
    """Old and new by turns on each database, then entries by the million, then kills."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, postgres() as server:
        places: dict[str, Callable[[str], str]] = {
            "SQLite": lambda name: str(Path(folder) / f"{name}.sqlite"),
            "PostgreSQL": lambda _: server.fresh(),
        }
        for database, place in places.items():
            rows.append(_speed(database, place, quick))
        for database, place in places.items():
            rows += _many(database, place("many"), server, quick)
        for database, place in places.items():
            rows.append(_kills(database, place("kills"), server, 10 if quick else 500))
    return Result(
        columns=["database", "measure", "format 1", "format 2", "ratio or limit"],
        rows=rows,
        note=(
            f"Charges: {IN_FLIGHT} threads of one process, old and new by turns, medians. Format 1 "
            "is kept in the benchmark alone. Entries carry a key, which is indexed. Kills: "
            "processes that charge, answer and release, ended by SIGKILL; on PostgreSQL with "
            "synchronous_commit off for the role, every twentieth time the server crashes too."
        ),
    )


def _speed(database: str, place: Callable[[str], str], quick: bool) -> Row:
    rounds = 1 if quick else 3
    old, new = [], []
    for number in range(rounds):
        before = OldLedger(place(f"old {number}"), ACCOUNT)
        old.append(_per_second(partial(before.charge, EVENT, RELATION), 1 if quick else 4))
        before.close()
        with Ledger.open(place(f"new {number}"), create=True) as ledger:
            _budget(ledger)
            charge = _charging(ledger)
            charge()  # the kind is computed
            new.append(_per_second(charge, 20 if quick else 200))
    one, other = sorted(old)[rounds // 2], sorted(new)[rounds // 2]
    return [database, "charges a second", one, other, other / one]


def _budget(ledger: Ledger) -> None:
    ledger.set_budget(ACCOUNT, epsilon=1e3, delta=1e-6, relation=RELATION, filter="zcdp")


def _charging(ledger: Ledger) -> Callable[[], object]:
    return lambda: ledger.charge(ACCOUNT, EVENT, relation=RELATION, purpose="answers")


def _per_second(charge: Callable[[], object], each: int) -> float:
    """Charges a second of all threads, ``each`` from each."""
    gate = threading.Barrier(IN_FLIGHT + 1)

    def work() -> None:
        gate.wait()
        for _ in range(each):
            charge()

    threads = [threading.Thread(target=work) for _ in range(IN_FLIGHT)]
    for thread in threads:
        thread.start()
    gate.wait()
    started = time.perf_counter()
    for thread in threads:
        thread.join()
    return IN_FLIGHT * each / (time.perf_counter() - started)


def _many(database: str, where: str, server: Server, quick: bool) -> list[Row]:
    """Bytes an entry, and how long a ledger of a million entries takes to open."""
    count = 20_000 if quick else 1_000_000
    with Ledger.open(where, create=True) as ledger:
        _budget(ledger)
        for start in range(0, count, GROUP):  # larger groups than in use: only the rows matter
            ledger._commit([_ask(number) for number in range(start, min(start + GROUP, count))])
    used = _bytes(where, server)
    seconds, processor = [], []
    for _ in range(9):
        started = time.perf_counter(), time.process_time()
        Ledger.open(where).close()
        seconds.append(time.perf_counter() - started[0])
        processor.append(time.process_time() - started[1])
    opened, worked = (1e3 * sorted(times)[4] for times in (seconds, processor))
    return [
        [database, f"bytes an entry, at {count:,}", "", used / count, 400],
        [database, f"milliseconds to open, at {count:,}", "", opened, 100],
        [database, "of these, milliseconds of the processor", "", worked, 100],
    ]


def _ask(number: int) -> Ask:
    key = number.to_bytes(32, "big")
    return Ask(
        name=ACCOUNT, relation=RELATION, unit="one record", kind=kind_of(EVENT, RELATION, None),
        purpose="answers", open_account=False, key_hmac=_scattered(key), request_hmac=key,
    )  # fmt: skip


def _scattered(key: bytes) -> bytes:
    """As keys are in practice: an index of ordered ones would be smaller."""
    return hashlib.sha256(key).digest()


def _bytes(where: str, server: Server) -> int:
    if "://" not in where:
        return Path(where).stat().st_size
    url = sa.make_url(where)
    address = sa.make_url(server.address).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(address.set(database=url.database))
    with engine.connect() as connection:
        size: Any = connection.exec_driver_sql("SELECT pg_total_relation_size('entries')").scalar()
    engine.dispose()
    return int(size)


def _kills(database: str, where: str, server: Server, kills: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        address = server.address if "://" in where else None
        found = kill_many(where, Path(folder), kills, server=address)
    if found.uncharged or found.double:
        raise RuntimeError(f"the ledger was walked around: {json.dumps(vars(found))}")
    measure = f"{kills} kills, {found.released} releases: uncharged, double, over-count"
    return [
        database, measure, "", f"{found.uncharged}, {found.double}, {found.over_count}", "0, 0, any"
    ]  # fmt: skip
