"""The database of a ledger: how it is opened, and its two kinds of transaction.

One SQLite file, or PostgreSQL with the same tables (``tables``). What was committed stays committed
after a power cut: SQLite writes ahead (WAL) and syncs with each commit (synchronous = FULL); on
PostgreSQL each transaction that writes turns synchronous_commit on for itself, whatever the role,
the database or a connection pool in between has set, and a server with fsync = off is refused.
"""

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import make_url

from reticent.ledger.errors import LedgerError
from reticent.ledger.tables import ABOUT, FORMAT, METADATA, OF_THE_SERVICE, seal_of

WAIT_SECONDS = 60.0
"""How long a charge waits for the others; each takes milliseconds."""
_CREATING = "SELECT pg_advisory_xact_lock(7319448)"
_SAFE_WRITES = (
    "SELECT current_setting('fsync'), set_config('synchronous_commit', 'on', true), "
    "set_config('lock_timeout', '{milliseconds:.0f}ms', true)"
)


class Storage:
    """An open database that was seen to hold a ledger; ``about`` is what it says of itself."""

    about: dict[str, str]

    def __init__(self, engine: sa.Engine, where: str) -> None:
        self._engine = engine
        self._process = os.getpid()
        self.where = where

    @staticmethod
    def open(where: str | Path, *, create: bool) -> "Storage":
        """A file's or a server's ledger; with ``create``, an empty place becomes one."""
        if isinstance(where, str) and "://" in where:
            storage = _server(_address(where))
        else:
            storage = _file(Path(where), create=create)
        try:
            if create:
                storage._create()
            storage.about = storage._checked()
        except BaseException:
            storage.close()
            raise
        return storage

    @property
    def identity(self) -> str:
        """The random name that the ledger got when it was made."""
        return self.about["identity"]

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that sees one state of the ledger and changes nothing."""
        with self._told(), self.sound(), self._begun(writes=False) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that is committed as a whole, or leaves nothing.

        SQLite: BEGIN IMMEDIATE, so that no other writer comes between what is read and what is
        written. A deferred BEGIN would let two charges read the same total. PostgreSQL: READ
        COMMITTED, and whoever writes locks the account's row first; what is read after that lock
        is what the others committed before it.
        """
        with self._told(), self._begun(writes=True) as connection:
            yield connection

    @contextmanager
    def _begun(self, *, writes: bool) -> Iterator[sa.Connection]:
        """A transaction; a connection that was lost while nobody used it is replaced once."""
        if os.getpid() != self._process:  # connections must not be shared with a parent
            self._process = os.getpid()
            self._engine.dispose(close=False)
        with contextlib.ExitStack() as stack:
            try:
                connection = self._first_statement(stack, writes)
            except sa.exc.DBAPIError as error:
                if not error.connection_invalidated:
                    raise
                stack.pop_all()  # nothing is left to close
                connection = self._first_statement(stack, writes)
            yield connection

    def _first_statement(self, stack: contextlib.ExitStack, writes: bool) -> sa.Connection:
        connection = stack.enter_context(
            self._engine.connect().execution_options(reticent_writes=writes)
        )
        stack.enter_context(connection.begin())
        if connection.dialect.name != "postgresql":
            return connection
        if not writes:
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            return connection
        settings = _SAFE_WRITES.format(milliseconds=1000 * WAIT_SECONDS)
        if connection.exec_driver_sql(settings).scalar() != "on":
            raise LedgerError(
                f"ledger {self.where} must be on a server that syncs what it commits, "
                "got fsync = off"
            )
        return connection

    @contextmanager
    def sound(self) -> Iterator[None]:
        """Read rows in here: values of another type than was written are damage, not a fault."""
        try:
            yield
        except (TypeError, AttributeError, KeyError, OverflowError, UnicodeError):
            raise LedgerError(
                f"ledger {self.where} must be as written, got damaged values; "
                "`reticent ledger verify` says where"
            ) from None

    @contextmanager
    def _told(self) -> Iterator[None]:
        """One line for every fault of the database; the statement and its values stay out of it."""
        try:
            yield
        except (OverflowError, UnicodeDecodeError):
            raise LedgerError(f"ledger {self.where} must be as written, got other values") from None
        except sa.exc.TimeoutError:
            reason = f"no connection was free within {WAIT_SECONDS:g} s"
        except sa.exc.DBAPIError as error:
            reason = str(error.orig).strip().partition("\n")[0] or type(error.orig).__name__
        except sqlite3.Error as error:
            reason = str(error)
        else:
            return
        raise LedgerError(f"ledger {self.where} must be usable, got: {reason}") from None

    def add_service_tables(self) -> None:
        """Bring the tables of the service to their present columns, where an early ledger's differ.

        Those were empty: no version wrote them before they had these columns.
        """
        with self.reading() as connection:
            if not _early_tables(connection):
                return
        with self.writing() as connection:
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql(_CREATING)
            early = _early_tables(connection)
            for table in reversed(early):
                here = sa.inspect(connection).has_table(table.name)
                if here and connection.execute(sa.select(sa.literal(1)).select_from(table)).first():
                    raise LedgerError(
                        f"table {table.name} of ledger {self.where} must have the columns of this "
                        "version or be empty, got others with rows"
                    )
                if here:
                    table.drop(connection)
            METADATA.create_all(connection, tables=list(OF_THE_SERVICE))

    def _create(self) -> None:
        with self.writing() as connection:
            if connection.dialect.name == "postgresql":  # two that create at once would collide
                connection.exec_driver_sql(_CREATING)
            if not sa.inspect(connection).get_table_names():
                METADATA.create_all(connection)
                about = FORMAT | {
                    "identity": secrets.token_hex(16),
                    "secret": secrets.token_hex(32),
                }
                about["seal"] = seal_of(about)
                rows = [{"key": key, "value": value} for key, value in about.items()]
                connection.execute(ABOUT.insert(), rows)

    def _checked(self) -> dict[str, str]:
        with self.reading() as connection:
            if not sa.inspect(connection).has_table(ABOUT.name):
                raise LedgerError(
                    f"{self.where} must be a ledger, got a database without one; "
                    "`reticent ledger budget` makes one in a new file"
                )
            about = {str(row.key): str(row.value) for row in connection.execute(ABOUT.select())}
        kind, version = about.get("format", "another"), about.get("version", "none")
        if (kind, version) != (FORMAT["format"], FORMAT["version"]):
            early = " (an early one that was never published)" if version == "1" else ""
            raise LedgerError(
                f"{self.where} must be a {FORMAT['format']} of version {FORMAT['version']}, "
                f"got format {kind!r}, version {version!r}{early}"
            )
        if about.get("orders") != FORMAT["orders"] or about.get("seal") != seal_of(about):
            raise LedgerError(f"ledger {self.where} must be as written, got damage in table about")
        return about


def _early_tables(connection: sa.Connection) -> list[sa.Table]:
    """Those of the service that are not there, or have other columns."""
    seen = sa.inspect(connection)
    outdated = []
    for table in OF_THE_SERVICE:
        columns = (
            {column["name"] for column in seen.get_columns(table.name)}
            if seen.has_table(table.name)
            else set()
        )
        if columns != set(table.c.keys()):
            outdated.append(table)
    # The others refer to clients: where it is made anew, they are too.
    return list(OF_THE_SERVICE) if OF_THE_SERVICE[0] in outdated else outdated


def upsert(connection: sa.Connection, table: sa.Table) -> Any:
    """An INSERT of this table that takes ``on_conflict_…``."""
    from sqlalchemy.dialects import postgresql, sqlite

    return (sqlite if connection.dialect.name == "sqlite" else postgresql).insert(table)


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
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            if create and path.stat().st_size == 0:  # never that of a foreign database
                with contextlib.suppress(sqlite3.OperationalError):  # another one is faster
                    connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.Error:  # no database: nobody else would close it
            connection.close()
            raise
        return connection

    engine = sa.create_engine(
        "sqlite://", creator=connect, poolclass=sa.QueuePool, pool_timeout=WAIT_SECONDS
    )
    sa.event.listen(engine, "begin", _begin)
    _follow(engine, path)
    return Storage(engine, str(path))


def _follow(engine: sa.Engine, path: Path) -> None:
    """Leave a connection whose file was replaced: what it writes would be lost."""

    @sa.event.listens_for(engine, "connect")
    def remember(_: object, record: Any) -> None:
        record.info["file"] = _inode(path)

    @sa.event.listens_for(engine, "checkout")
    def compare(_: object, record: Any, __: object) -> None:
        if record.info["file"] != _inode(path):
            raise sa.exc.DisconnectionError


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


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
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername == "postgresql+psycopg" and "connect_timeout" not in url.query:
        url = url.update_query_dict({"connect_timeout": "10"})
    try:
        engine = sa.create_engine(
            url,
            isolation_level="READ COMMITTED",
            pool_timeout=WAIT_SECONDS,
        )
    except (ImportError, sa.exc.NoSuchModuleError):
        driver = url.drivername
        raise LedgerError(
            f"ledger needs a driver for {driver}, got none; pip install 'reticent[postgres]'"
        ) from None
    return Storage(engine, f"in the {kind} database {url.database}")
