"""Clients of a service and their API keys: who may ask, for what, how much.

A key is 256 random bits, shown once. The table holds its SHA-256, from which nobody finds it, and
its first letters, by which an operator tells keys apart. Revoking and expiring are times in the
table, so every process that reads it again follows.
"""

import hashlib
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sa

from reticent.ledger import accounts, book, errors
from reticent.ledger.names import account_name, short_line
from reticent.ledger.storage import Storage, upsert
from reticent.ledger.tables import ACCOUNTS, API_KEYS, CLIENTS
from reticent.validation import InputError, count

MARK = "reticent_"
"""Keys begin with it, so that scanners of leaked secrets can tell them."""
SHOWN = len(MARK) + 6
_DAY = 86_400_000_000


class Scope(StrEnum):
    """What a key is good for."""

    ASK = "ask"
    READ = "read"
    ADMIN = "admin"


@dataclass(frozen=True, kw_only=True)
class Client:
    """One that may ask: of a data set a number of answers, or, without one, of released models."""

    id: int
    name: str
    account: str | None
    limit: int | None
    used: int

    @property
    def left(self) -> int | None:
        """How many answers its own limit leaves; None without one."""
        return None if self.limit is None else max(self.limit - self.used, 0)

    def to_dict(self) -> dict[str, object]:
        """Plain values, as they stand in a JSON file."""
        return {
            "name": self.name, "data_set": self.account, "limit": self.limit, "used": self.used,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ApiKey:
    """A key as the table keeps it: enough to recognise it, not to use it."""

    id: int
    client: int
    prefix: str
    sha256: bytes
    scopes: frozenset[Scope]
    expires: int | None
    revoked: int | None

    def holds(self, at: int) -> bool:
        """Whether it opens anything at this time, in microseconds since 1970."""
        return self.revoked is None and (self.expires is None or at < self.expires)

    def to_dict(self) -> dict[str, object]:
        """Plain values, as they stand in a JSON file."""
        return {
            "prefix": self.prefix,
            "scopes": sorted(self.scopes),
            "expires": None if self.expires is None else accounts.utc_text(self.expires),
            "revoked": None if self.revoked is None else accounts.utc_text(self.revoked),
        }


def key_hash(key: str) -> bytes:
    """What the table holds of a key."""
    return hashlib.sha256(key.encode()).digest()


class Clients:
    """The tables of clients and keys in a ledger's database."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        storage.add_service_tables()

    def add(self, name: str, *, data_set: str | None, limit: int | None) -> Client:
        """A new client; ``limit`` is its share of the data set's answers, None for all of them."""
        if data_set is None and limit is not None:
            raise InputError("limit must be that of a data set's answers, got one without data set")
        values = {
            "name": short_line("client", name),
            "limit": None if limit is None else count("limit", limit),
            "used": 0,
        }
        with self._storage.writing() as connection:
            values["account"] = None if data_set is None else _account(connection, data_set)
            insert = upsert(connection, CLIENTS).values(values).on_conflict_do_nothing()
            if connection.execute(insert.returning(CLIENTS.c.id)).first() is None:
                raise errors.LedgerError(f"client must have a name of its own, got {name!r} again")
        return self.named(name)

    def set_limit(self, name: str, limit: int | None) -> Client:
        """Another share for a client; what it used stays used."""
        client = self.named(name)
        if client.account is None:
            raise InputError("limit must be that of a data set's answers, got a client without one")
        checked = None if limit is None else count("limit", limit)
        with self._storage.writing() as connection:
            connection.execute(
                CLIENTS.update().where(CLIENTS.c.id == client.id).values(limit=checked)
            )
        return self.named(name)

    def new_key(
        self, name: str, *, scopes: Collection[Scope | str], days: float | None = None
    ) -> tuple[str, ApiKey]:
        """A key for a client: the text, which nobody can show again, and what is kept of it."""
        granted = _scopes(scopes)
        if days is not None and not 0 < days < 36_500:
            raise InputError(f"days must be > 0 and at most 36,500, got {days}")
        client = self.named(name)
        key = MARK + secrets.token_urlsafe(32)
        values = {
            "client": client.id, "prefix": key[:SHOWN], "sha256": key_hash(key),
            "scopes": " ".join(sorted(granted)), "revoked": None,
            "expires": None if days is None else book.now() + round(days * _DAY),
        }  # fmt: skip
        with self._storage.writing() as connection:
            connection.execute(API_KEYS.insert(), [values])
        return key, next(one for one in self.all_keys() if one.sha256 == values["sha256"])

    def revoke(self, prefix: str) -> list[ApiKey]:
        """End the keys that begin like this; one at least."""
        if not isinstance(prefix, str) or len(prefix) < SHOWN:
            raise InputError(f"key must be named by its first {SHOWN} letters at least, got fewer")
        here = API_KEYS.c.prefix == prefix[:SHOWN]
        with self._storage.writing() as connection:
            gone = connection.execute(
                API_KEYS.update()
                .where(here, API_KEYS.c.revoked.is_(None))
                .values(revoked=book.now())
            )
            if not gone.rowcount:
                raise errors.LedgerError(
                    "key must be one that is not revoked yet, got none like it"
                )
        return [key for key in self.all_keys() if key.prefix == prefix[:SHOWN]]

    def named(self, name: str) -> Client:
        """The client of that name."""
        wanted = short_line("client", name)
        for client in self.all():
            if client.name == wanted:
                return client
        raise errors.LedgerError(f"client must be in the ledger, got {name!r}")

    def all(self) -> list[Client]:
        """Every client with its account, limit and use, sorted by name."""
        query = (
            sa.select(CLIENTS, ACCOUNTS.c.name.label("account_name"))
            .select_from(CLIENTS.outerjoin(ACCOUNTS, ACCOUNTS.c.id == CLIENTS.c.account))
            .order_by(CLIENTS.c.name)
        )
        with self._storage.reading() as connection:
            return [
                Client(
                    id=row.id, name=row.name, account=row.account_name, limit=row.limit,
                    used=row.used,
                )
                for row in connection.execute(query)
            ]  # fmt: skip

    def all_keys(self) -> list[ApiKey]:
        """All keys, also those that hold no more."""
        with self._storage.reading() as connection:
            return [
                ApiKey(
                    id=row.id, client=row.client, prefix=row.prefix, sha256=bytes(row.sha256),
                    scopes=_scopes(row.scopes.split()), expires=row.expires, revoked=row.revoked,
                )
                for row in connection.execute(API_KEYS.select().order_by(API_KEYS.c.id))
            ]  # fmt: skip


def _scopes(names: Collection[Scope | str]) -> frozenset[Scope]:
    known = set(Scope)
    if not names or isinstance(names, str) or not set(names) <= known:
        raise InputError(f"scopes must be some of {', '.join(Scope)}, got others")
    return frozenset(map(Scope, names))


def _account(connection: sa.Connection, name: str) -> int:
    query = sa.select(ACCOUNTS.c.id).where(ACCOUNTS.c.name == account_name(name))
    account_id = connection.execute(query).scalar()
    if account_id is None:
        raise errors.LedgerError(
            f"data set must be in the ledger, got {name!r}; `reticent plan-answers --ledger` "
            "opens its account"
        )
    return int(account_id)
