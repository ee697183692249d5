"""The database of a ledger: its tables, how it is opened, and its two kinds of transaction.

One SQLite file, or PostgreSQL with the same tables. Sums stand as JSON text, so that the file can
be read with the ``sqlite3`` program and each float comes back as it was written.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import make_url

from reticent.ledger.costs import ORDERS
from reticent.ledger.errors import LedgerError

FORMAT = {
    "format": "reticent ledger",
    "version": "1",
    "orders": " ".join(map(str, ORDERS)),
}
WAIT_SECONDS = 60.0
"""How long a charge waits for the others; each takes milliseconds."""

METADATA = sa.MetaData()

ABOUT = sa.Table(
    "about",
    METADATA,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
ACCOUNTS = sa.Table(
    "accounts",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("relation", sa.Text, nullable=False),
    sa.Column("unit", sa.Text, nullable=False),
    sa.Column("opened", sa.Text, nullable=False),
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
    sa.Column("version", sa.Text, nullable=False),
)
BUDGET_CHANGES = sa.Table(
    "budget_changes",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("account", sa.ForeignKey(ACCOUNTS.c.id), nullable=False, index=True),
    sa.Column("at", sa.Text, nullable=False),
    sa.Column("budget", sa.Text, nullable=False),
    sa.Column("version", sa.Text, nullable=False),
)


class Storage:
    """An open database that was seen to hold a ledger."""

    def __init__(self, engine: sa.Engine, where: str) -> None:
        self._engine = engine
        self.where = where

    @staticmethod
    def open(where: str | Path, *, create: bool) -> Storage:
        """A file's or a server's ledger; with ``create``, an empty place becomes one."""
        if isinstance(where, str) and "://" in where:
            storage = _server(_address(where))
        else:
            storage = _file(Path(where), create=create)
        if create:
            storage._create()
        storage._check()
        return storage

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that sees one state of the ledger and changes nothing."""
        with self._told(), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that is committed as a whole, or leaves nothing.

        SQLite: BEGIN IMMEDIATE, so that no other writer comes between what is read and what is
        written. A deferred BEGIN would let two charges read the same total. PostgreSQL: whoever
        writes locks the account's row first (``locked``).
        """
        with (
            self._told(),
            self._engine.connect().execution_options(reticent_writes=True) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def _told(self) -> Iterator[None]:
        """One line for every fault of the database; the statement and its values stay out of it."""
        try:
            yield
        except sa.exc.DBAPIError as error:
            reason = str(error.orig).strip().partition("\n")[0]
            raise LedgerError(f"ledger {self.where} must be usable, got: {reason}") from None

    def _create(self) -> None:
        with self.writing() as connection:
            if connection.dialect.name == "postgresql":  # two that create at once would collide
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7319448)")
            if not sa.inspect(connection).get_table_names():
                METADATA.create_all(connection)
                rows = [{"key": key, "value": value} for key, value in FORMAT.items()]
                connection.execute(ABOUT.insert(), rows)

    def _check(self) -> None:
        with self.reading() as connection:
            self._check_intact(connection)
            if ABOUT.name not in sa.inspect(connection).get_table_names():
                raise LedgerError(
                    f"{self.where} must be a ledger, got a database without one; "
                    "`reticent ledger budget` makes one in a new file"
                )
            found = {str(row.key): str(row.value) for row in connection.execute(ABOUT.select())}
        if found != FORMAT:
            kind, version = found.get("format", "another"), found.get("version", "none")
            raise LedgerError(
                f"{self.where} must be a {FORMAT['format']} of version {FORMAT['version']}, "
                f"got format {kind!r}, version {version!r}"
            )

    def _check_intact(self, connection: sa.Connection) -> None:
        if connection.dialect.name == "sqlite":
            verdict = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
            if verdict != "ok":
                raise LedgerError(f"ledger {self.where} must be intact, got a damaged file")


def locked(connection: sa.Connection, name: str) -> sa.Row[tuple[object, ...]] | None:
    """The account's row, which nobody else can change until this transaction ends."""
    query = ACCOUNTS.select().where(ACCOUNTS.c.name == name).with_for_update()
    return connection.execute(query).one_or_none()


def add_account(connection: sa.Connection, values: dict[str, object]) -> None:
    """A new account, unless another transaction was faster; lock it afterwards."""
    from sqlalchemy.dialects import postgresql, sqlite

    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    connection.execute(insert(ACCOUNTS).values(values).on_conflict_do_nothing())


def _file(path: Path, *, create: bool) -> Storage:
    if not path.parent.is_dir():
        raise LedgerError(f"ledger must lie in a directory that exists, got {path}")
    if path.is_dir():
        raise LedgerError(f"ledger must be a file, got the directory {path}")
    if not create and not path.exists():
        raise LedgerError(f"ledger must exist, got {path}; `reticent ledger budget` makes one")
    address = f"{path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"

    def connect() -> sqlite3.Connection:
        # isolation_level None: the driver begins no transactions of its own.
        connection = sqlite3.connect(
            address, uri=True, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            # EXTRA: what was committed stays committed after a power cut.
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("PRAGMA foreign_keys = ON")
        except sqlite3.Error:  # no database: nobody else would close it
            connection.close()
            raise
        return connection

    engine = sa.create_engine("sqlite://", creator=connect, poolclass=sa.NullPool)
    sa.event.listen(engine, "begin", _begin)
    return Storage(engine, str(path))


def _begin(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("reticent_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _address(address: str) -> sa.URL:
    try:
        return make_url(address)
    except sa.exc.ArgumentError:
        raise LedgerError("ledger must be a file or a URL of a database, got neither") from None


def _server(url: sa.URL) -> Storage:
    """A PostgreSQL ledger; user and password never stand in a message."""
    kind = url.get_backend_name()
    if kind != "postgresql":
        raise LedgerError(f"ledger must be a file or a postgresql URL, got one of {kind}")
    try:
        engine = sa.create_engine(url, pool_pre_ping=True)
    except (ImportError, sa.exc.NoSuchModuleError):
        driver = url.drivername
        raise LedgerError(f"ledger needs a driver for {driver}, got none; pip install it") from None
    return Storage(engine, f"in the {kind} database {url.database}")
