"""The ledger of format 1, as far as a charge goes: one transaction and 155 fractions for each.

Kept to compare with, and for nothing else: it has no chain, no witness and no keys.
"""

import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from reticent.guarantee import Event, Relation
from reticent.guarantee.rounding import sum_up
from reticent.ledger.costs import Costs, costs_of
from reticent.ledger.filters import Budget

METADATA = sa.MetaData()
ACCOUNTS = sa.Table(
    "accounts",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("budget", sa.Text, nullable=True),
    sa.Column("totals", sa.Text, nullable=False),
    sa.Column("charges", sa.Integer, nullable=False),
)
ENTRIES = sa.Table(
    "entries",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("account", sa.ForeignKey(ACCOUNTS.c.id), nullable=False, index=True),
    sa.Column("at", sa.Text, nullable=False),
    sa.Column("purpose", sa.Text, nullable=False),
    sa.Column("event", sa.Text, nullable=False),
    sa.Column("costs", sa.Text, nullable=False),
)


class OldLedger:
    """One account with a budget, charged as format 1 did."""

    def __init__(self, where: str, name: str) -> None:
        self._name = name
        if "://" in where:
            url = sa.make_url(where).set(drivername="postgresql+psycopg")
            # Its role has other defaults here, under which format 1 lost or failed charges.
            options = "-c default_transaction_isolation=read\\ committed -c synchronous_commit=on"
            self._engine = sa.create_engine(
                url, pool_pre_ping=True, pool_timeout=600, connect_args={"options": options}
            )
        else:
            self._engine = _sqlite(Path(where))
        budget = Budget.fixed(epsilon=1e3, delta=1e-6, filter="zcdp")
        with self._engine.begin() as connection:
            METADATA.create_all(connection)
            connection.execute(
                ACCOUNTS.insert().values(
                    name=name, budget=budget.to_json(), totals=Costs().to_json(), charges=0
                )
            )

    def charge(self, event: Event, relation: Relation) -> None:
        """Costs anew, all sums as fractions under the lock, one commit."""
        costs = costs_of.__wrapped__(event, relation)
        with (
            self._engine.connect().execution_options(writes=True) as connection,
            connection.begin(),
        ):
            row = self._locked(connection)
            budget = Budget.from_json(row.budget)
            totals = _plus(Costs.from_json(row.totals), costs)
            if not budget.holds(totals):
                raise RuntimeError("the budget of the benchmark must be large enough")
            connection.execute(
                ENTRIES.insert().values(
                    account=row.id,
                    at=datetime.now(UTC).isoformat(timespec="microseconds"),
                    purpose="answers",
                    event=json.dumps(event.to_dict(), ensure_ascii=False, allow_nan=False),
                    costs=costs.to_json(),
                )
            )
            connection.execute(
                ACCOUNTS.update()
                .where(ACCOUNTS.c.id == row.id)
                .values(totals=totals.to_json(), charges=row.charges + 1)
            )
            charged = self._locked(connection)
            Costs.from_json(charged.totals)
            Budget.from_json(charged.budget)

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    def _locked(self, connection: sa.Connection) -> Any:
        query = ACCOUNTS.select().where(ACCOUNTS.c.name == self._name).with_for_update()
        return connection.execute(query).one()


def _sqlite(path: Path) -> sa.Engine:
    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(
            path, timeout=600, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    engine = sa.create_engine("sqlite://", creator=connect, poolclass=sa.NullPool)
    sa.event.listen(engine, "begin", _begin)
    return engine


def _begin(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _plus(one: Costs, other: Costs) -> Costs:
    return Costs(
        epsilon=_sum(one.epsilon, other.epsilon),
        delta=_sum(one.delta, other.delta),
        rho=_sum(one.rho, other.rho),
        rdp=tuple(map(_sum, one.rdp, other.rdp)),
        mu_squared=_sum(one.mu_squared, other.mu_squared),
    )


def _sum(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return None
    return sum_up((one, other))
