"""How the rows of a group of charges are put down: one statement on PostgreSQL, three on SQLite.

Each statement to a server is a way there and back, during which the accounts stay locked.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from reticent.ledger.tables import ACCOUNTS, ENTRIES, EVENT_COUNTS

Rows = Sequence[Mapping[str, Any]]
_CHANGED = (ACCOUNTS.c.id, ACCOUNTS.c.spent, ACCOUNTS.c.charges, ACCOUNTS.c.seq, ACCOUNTS.c.head)
_POSTGRESQL = postgresql.dialect()  # type: ignore[no-untyped-call]


def write(
    connection: sa.Connection,
    entries: Rows,
    counts: Mapping[tuple[int, int], int],
    accounts: Rows,
) -> None:
    """Append entries, count their kinds, and bring the accounts' rows up to them."""
    kinds = [{"account": account, "event": event, "n": n} for (account, event), n in counts.items()]
    if connection.dialect.name == "postgresql":
        lists = (*_lists(entries, ENTRIES.c), *_lists(kinds, EVENT_COUNTS.c))
        connection.exec_driver_sql(_ALL_AT_ONCE, (*lists, *_lists(accounts, _CHANGED)))
        return
    connection.execute(ENTRIES.insert(), entries)
    connection.execute(_COUNT, kinds)
    for values in accounts:
        connection.execute(ACCOUNTS.update().where(ACCOUNTS.c.id == values["id"]).values(values))


def _lists(rows: Rows, columns: Any) -> list[list[Any]]:
    return [[row[column.name] for row in rows] for column in columns]


def _names(columns: Any) -> str:
    return ", ".join(f'"{column.name}"' for column in columns)


def _unnest(columns: Any) -> str:
    types = (_types(column) for column in columns)
    return f"unnest({', '.join(f'%s::{kind}[]' for kind in types)})"


def _types(column: sa.Column[Any]) -> str:
    keys = [key.column for key in column.foreign_keys]
    return str((keys[0] if keys else column).type.compile(_POSTGRESQL)).replace("SERIAL", "INT")


def _more(insert: Any) -> Any:
    return insert.on_conflict_do_update(
        index_elements=["account", "event"], set_={"n": EVENT_COUNTS.c.n + insert.excluded.n}
    )


_COUNT = _more(sqlite.insert(EVENT_COUNTS))
_ALL_AT_ONCE = f"""
WITH added AS (
    INSERT INTO entries ({_names(ENTRIES.c)}) SELECT * FROM {_unnest(ENTRIES.c)}
), counted AS (
    INSERT INTO event_counts AS kept ({_names(EVENT_COUNTS.c)})
    SELECT * FROM {_unnest(EVENT_COUNTS.c)}
    ON CONFLICT (account, event) DO UPDATE SET n = kept.n + excluded.n
)
UPDATE accounts SET spent = v.spent, charges = v.charges, seq = v.seq, head = v.head
FROM {_unnest(_CHANGED)} AS v ({_names(_CHANGED)}) WHERE accounts.id = v.id
"""
