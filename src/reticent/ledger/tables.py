"""Format 2 of a ledger: its tables, and what each row's hash covers.

| table | a row | guarded by |
| :-- | :-- | :-- |
| about | format, version, orders, identity, secret | its seal |
| accounts | a data set: budget, sums, number and hash of its last link | its chain, its counts |
| events | a kind of charge: the event and what it costs, once | its SHA-256, which entries chain |
| event_counts | how often an account was charged with a kind | the chain, when it is walked |
| entries | a charge | the chain of its account |
| budget_changes | a budget that was set, or a restored copy that was taken | the same chain |
| clients | who may ask a service, how much, and what was used | its entries |
| api_keys | SHA-256, scopes and end of a client's key | – |
| replies | an answer, kept for a while to be given again | the SHA-256 in its entry |

An account's chain has one numbering for charges and budgets, so that their order is kept too: the
first link hangs on the account's name, relation and unit, each further one on the one before it.
Nothing in it is secret: it finds damage, lost rows and edits of single rows. Whoever can rewrite
the whole database can rewrite its chains; the witness outside of it finds that (``witness``).
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from reticent.ledger.costs import ORDERS

FORMAT = {
    "format": "reticent ledger",
    "version": "2",
    "orders": " ".join(map(str, ORDERS)),
}
LIBRARY = 0
"""The client of charges that came through no service."""

METADATA = sa.MetaData()
_Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")  # SQLite numbers INTEGER keys by itself

ABOUT = sa.Table(
    "about",
    METADATA,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
ACCOUNTS = sa.Table(
    "accounts",
    METADATA,
    sa.Column("id", _Id, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("skeleton", sa.Text, nullable=False, unique=True),
    sa.Column("folded", sa.Text, nullable=False, unique=True),
    sa.Column("relation", sa.Text, nullable=False),
    sa.Column("unit", sa.Text, nullable=False),
    sa.Column("opened", sa.BigInteger, nullable=False),
    sa.Column("budget", sa.Text, nullable=True),
    sa.Column("spent", sa.LargeBinary, nullable=False),
    sa.Column("charges", sa.BigInteger, nullable=False),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("head", sa.LargeBinary, nullable=False),
)
EVENTS = sa.Table(
    "events",
    METADATA,
    sa.Column("id", _Id, primary_key=True),
    sa.Column("sha256", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("event", sa.Text, nullable=False),
    sa.Column("costs", sa.Text, nullable=False),
)
EVENT_COUNTS = sa.Table(
    "event_counts",
    METADATA,
    sa.Column("account", sa.ForeignKey(ACCOUNTS.c.id), primary_key=True),
    sa.Column("event", sa.ForeignKey(EVENTS.c.id), primary_key=True),
    sa.Column("n", sa.BigInteger, nullable=False),
)
ENTRIES = sa.Table(
    "entries",
    METADATA,
    sa.Column("account", sa.ForeignKey(ACCOUNTS.c.id), primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("client", sa.BigInteger, nullable=False),
    sa.Column("event", sa.ForeignKey(EVENTS.c.id), nullable=False),
    sa.Column("answers", sa.BigInteger, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("purpose", sa.Text, nullable=False),
    sa.Column("version", sa.Text, nullable=False),
    sa.Column("key_hmac", sa.LargeBinary, nullable=True),
    sa.Column("request_hmac", sa.LargeBinary, nullable=True),
    sa.Column("reply_sha256", sa.LargeBinary, nullable=True),
    sa.Column("prev", sa.LargeBinary, nullable=False),
    sa.Column("hash", sa.LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
_KEYED = ENTRIES.c.key_hmac.is_not(None)
sa.Index(
    "entries_key",
    ENTRIES.c.client,
    ENTRIES.c.key_hmac,
    unique=True,
    sqlite_where=_KEYED,
    postgresql_where=_KEYED,
)
BUDGET_CHANGES = sa.Table(
    "budget_changes",
    METADATA,
    sa.Column("account", sa.ForeignKey(ACCOUNTS.c.id), primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("budget", sa.Text, nullable=True),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("version", sa.Text, nullable=False),
    sa.Column("prev", sa.LargeBinary, nullable=False),
    sa.Column("hash", sa.LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
CLIENTS = sa.Table(
    "clients",
    METADATA,
    sa.Column("id", _Id, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("account", sa.ForeignKey(ACCOUNTS.c.id), nullable=True),
    sa.Column("limit", sa.BigInteger, nullable=True),
    sa.Column("used", sa.BigInteger, nullable=False),
)
API_KEYS = sa.Table(
    "api_keys",
    METADATA,
    sa.Column("id", _Id, primary_key=True),
    sa.Column("client", sa.ForeignKey(CLIENTS.c.id), nullable=False),
    sa.Column("prefix", sa.Text, nullable=False),
    sa.Column("sha256", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("scopes", sa.Text, nullable=False),
    sa.Column("expires", sa.BigInteger, nullable=True),
    sa.Column("revoked", sa.BigInteger, nullable=True),
)
REPLIES = sa.Table(
    "replies",
    METADATA,
    sa.Column("account", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("place", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("client", sa.BigInteger, nullable=False),
    sa.Column("row_hmac", sa.LargeBinary, nullable=False, index=True),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("expires", sa.BigInteger, nullable=False, index=True),
)
sa.event.listen(
    REPLIES,
    "after_create",
    # Not compressed: how much is written must not depend on what an answer says.
    sa.DDL(  # type: ignore[no-untyped-call]
        "ALTER TABLE replies ALTER COLUMN body SET STORAGE EXTERNAL"
    ).execute_if(dialect="postgresql"),
)
OF_THE_SERVICE = (CLIENTS, API_KEYS, REPLIES)
"""Early ledgers of format 2 have other tables of these names, which nothing ever wrote."""


_compact = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def _digest(*parts: object) -> bytes:
    plain = [part.hex() if isinstance(part, bytes) else part for part in parts]
    return hashlib.sha256(_compact(plain).encode()).digest()


def seal_of(about: Mapping[str, str]) -> str:
    """The hash over all other rows of ``about``."""
    return _digest("about", sorted((k, v) for k, v in about.items() if k != "seal")).hex()


def kind_hash(event: str, costs: str) -> bytes:
    """The identity of a kind of charge: what happens, and what it costs."""
    return _digest("event", event, costs)


def first_hash(identity: str, account: Any) -> bytes:
    """What the first link of an account's chain hangs on: the ledger, and what the account is."""
    return _digest(
        "account", identity, account.name, account.skeleton, account.folded, account.relation,
        account.unit, account.opened,
    )  # fmt: skip


def entry_hash(prev: bytes, kind: bytes, entry: Mapping[str, Any]) -> bytes:
    """The hash of a charge after the link before it; ``kind`` is the SHA-256 of its event."""
    return _digest(
        "entry", prev, entry["seq"], entry["client"], kind, entry["answers"], entry["at"],
        entry["purpose"], entry["version"], entry["key_hmac"], entry["request_hmac"],
        entry["reply_sha256"],
    )  # fmt: skip


def change_hash(prev: bytes, change: Mapping[str, Any]) -> bytes:
    """The hash of a change of the budget after the link before it."""
    return _digest(
        "budget", prev, change["seq"], change["at"], change["budget"], change["note"],
        change["version"],
    )  # fmt: skip
