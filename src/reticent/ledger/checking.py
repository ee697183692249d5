"""Does a ledger agree with itself? In a few lookups when it is opened, link by link when asked.

At opening, for each account: the sums are those of its counts of kinds (to within the rounding of
so many additions), the counts are as many as its charges, charges and budgets are as many as its
links, the budget is the one that was set last, and the last link has the hash that the account
names. That costs a few rows for each account, however many charges it has. ``all_problems`` walks
everything.
"""

from collections.abc import Iterator, Mapping
from heapq import merge
from typing import Any, cast

import numpy as np
import sqlalchemy as sa

from reticent.arrays import Floats
from reticent.ledger import book, errors, tables, witness
from reticent.ledger.costs import PLACES, Costs, sums_up

_ENTRY = (*tables.ENTRIES.c, tables.EVENTS.c.sha256)
_HALF_ULP = 2.0**-52
_PAGE = 5000


def quick_problems(connection: sa.Connection) -> list[str]:
    """What does not fit together, from a few rows for each account."""
    accounts = list(connection.execute(tables.ACCOUNTS.select()))
    last = _last_links(connection)
    budgets = _last_budgets(connection)
    counted = _counted(connection)
    problems = []
    for row in accounts:
        try:
            problem = _account_problem(
                row, last.get(row.id), budgets.get(row.id), counted.get(row.id)
            )
        except errors.LedgerError as damage:
            problem = str(damage)
        if problem is not None:
            problems.append(problem)
    return problems


def older_than_seen(
    connection: sa.Connection, seen: Mapping[int, witness.Link]
) -> list[tuple[int, str, int, int]]:
    """Accounts that lack the link which the witness saw: number, name, links it has, links seen."""
    rows = {row.id: row for row in connection.execute(tables.ACCOUNTS.select())}
    older = []
    for number, (seq, head) in seen.items():
        row = rows.get(number)
        if row is None:
            older.append((number, f"number {number}", 0, seq))
        elif (row.seq, bytes(row.head)) != (seq, head) and not (
            row.seq > seq and _hash_at(connection, number, seq) == head
        ):
            older.append((number, repr(row.name), row.seq, seq))
    return older


def older_copy(where: str, older: list[tuple[int, str, int, int]]) -> errors.LedgerError:
    """The line for a database that lacks what was seen of it."""
    _, name, links, seen = older[0]
    return errors.LedgerError(
        f"ledger {where} must hold what it held before, got another copy: account {name} has "
        f"{links} links, and lacks one of the {seen} that were seen; {witness.ACCEPT} takes it, and"
        " what was charged since is lost"
    )


def all_problems(connection: sa.Connection, identity: str) -> Iterator[str]:
    """Everything that is not as it was written, walking all links of all accounts."""
    yield from _damaged_pages(connection)
    costs: dict[bytes, Floats] = {}
    for row in connection.execute(tables.EVENTS.select()):
        if tables.kind_hash(row.event, row.costs) != bytes(row.sha256):
            yield f"event {row.id} is not the one that was charged"
        else:
            costs[bytes(row.sha256)] = Costs.from_json(row.costs).vector
    yield from _strays(connection)
    for row in connection.execute(tables.ACCOUNTS.select().order_by(tables.ACCOUNTS.c.id)).all():
        yield from _walked(connection, identity, row, costs)
    yield from _other_shares(connection)
    yield from quick_problems(connection)


def _other_shares(connection: sa.Connection) -> Iterator[str]:
    """Clients that used another number of answers than their entries say."""
    columns = {column["name"] for column in sa.inspect(connection).get_columns(tables.CLIENTS.name)}
    if columns != set(
        tables.CLIENTS.c.keys()
    ):  # of an early ledger: nothing was ever written there
        return
    charged = sa.select(tables.ENTRIES.c.client, sa.func.sum(tables.ENTRIES.c.answers)).group_by(
        tables.ENTRIES.c.client
    )
    by_client = {client: int(answers) for client, answers in connection.execute(charged)}
    for row in connection.execute(
        sa.select(tables.CLIENTS.c.id, tables.CLIENTS.c.name, tables.CLIENTS.c.used)
    ):
        if by_client.get(row.id, 0) != row.used:
            yield f"client {row.name!r}: what it used is not what its entries say"


def _damaged_pages(connection: sa.Connection) -> Iterator[str]:
    if connection.dialect.name == "sqlite":
        for verdict in connection.exec_driver_sql("PRAGMA integrity_check(10)").scalars():
            if verdict != "ok":
                yield f"the file is damaged: {str(verdict).splitlines()[0]}"


def _strays(connection: sa.Connection) -> Iterator[str]:
    """Rows of accounts or kinds that are not there."""
    for table in (tables.ENTRIES, tables.BUDGET_CHANGES, tables.EVENT_COUNTS):
        lost = table.c.account.not_in(sa.select(tables.ACCOUNTS.c.id))
        if count := connection.execute(sa.select(sa.func.count()).where(lost)).scalar():
            yield f"{count} rows of {table.name} belong to no account"
    for table in (tables.ENTRIES, tables.EVENT_COUNTS):
        lost = table.c.event.not_in(sa.select(tables.EVENTS.c.id))
        if count := connection.execute(sa.select(sa.func.count()).where(lost)).scalar():
            yield f"{count} rows of {table.name} have no event"


def _walked(
    connection: sa.Connection, identity: str, account: Any, costs: Mapping[bytes, Floats]
) -> Iterator[str]:
    """The account's links in their order; the first that does not follow ends the walk."""
    head, seq, totals = tables.first_hash(identity, account), 0, np.zeros(PLACES)
    counts: dict[int, int] = {}
    for link in _links(connection, account.id):
        seq += 1
        kind = link.get("sha256")
        own = (
            tables.change_hash(head, link) if kind is None else tables.entry_hash(head, kind, link)
        )
        if link["seq"] != seq or link["prev"] != head or link["hash"] != own:
            yield f"account {account.name!r}: link {seq} is not the one that was written"
            return
        if kind is not None:
            if kind not in costs:
                return  # said above
            totals = sums_up(totals, costs[kind])
            counts[link["event"]] = counts.get(link["event"], 0) + 1
        head = own
    if (account.seq, bytes(account.head)) != (seq, head):
        yield f"account {account.name!r}: {seq} links are there, {account.seq} were written"
    if bytes(account.spent) != totals.astype("<f8").tobytes():
        yield f"account {account.name!r}: its sums are not those of its entries"
    query = sa.select(tables.EVENT_COUNTS.c.event, tables.EVENT_COUNTS.c.n).where(
        tables.EVENT_COUNTS.c.account == account.id
    )
    if {row.event: row.n for row in connection.execute(query)} != counts:
        yield f"account {account.name!r}: its counts are not those of its entries"


def _links(connection: sa.Connection, account: int) -> Iterator[dict[str, Any]]:
    """Entries and changes of the budget by their numbers."""
    entries = sa.select(*_ENTRY).join(tables.EVENTS, tables.EVENTS.c.id == tables.ENTRIES.c.event)
    both = (
        _pages(connection, query, table, account)
        for query, table in (
            (entries, tables.ENTRIES),
            (sa.select(tables.BUDGET_CHANGES), tables.BUDGET_CHANGES),
        )
    )
    return merge(*both, key=lambda link: link["seq"])


def _pages(
    connection: sa.Connection, query: sa.Select[Any], table: sa.Table, account: int
) -> Iterator[dict[str, Any]]:
    """The account's rows by their numbers, a page at a time: a ledger may be larger than memory."""
    query = query.where(table.c.account == account).order_by(table.c.seq).limit(_PAGE)
    last = None
    while True:
        more = query if last is None else query.where(table.c.seq > last)
        rows = connection.execute(more).mappings().all()
        yield from (dict(row) for row in rows)
        if len(rows) < _PAGE:
            return
        last = rows[-1]["seq"]


def _last_links(connection: sa.Connection) -> dict[int, bool]:
    """For each account: whether its last link has the hash that it says."""
    here = tables.ACCOUNTS.c
    # Outer joins: SQLite would walk all entries to look for the few accounts, not the other way.
    entries = sa.select(*_ENTRY).select_from(
        tables.ACCOUNTS.outerjoin(
            tables.ENTRIES,
            (here.id == tables.ENTRIES.c.account) & (here.seq == tables.ENTRIES.c.seq),
        ).outerjoin(tables.EVENTS, tables.EVENTS.c.id == tables.ENTRIES.c.event)
    )
    changes = sa.select(tables.BUDGET_CHANGES).select_from(
        tables.ACCOUNTS.outerjoin(
            tables.BUDGET_CHANGES,
            (here.id == tables.BUDGET_CHANGES.c.account)
            & (here.seq == tables.BUDGET_CHANGES.c.seq),
        )
    )
    heads = {row.id: row.head for row in connection.execute(sa.select(here.id, here.head))}
    intact = {}
    for link in connection.execute(entries).mappings():
        if link["account"] is not None and link["sha256"] is not None:
            own = tables.entry_hash(link["prev"], link["sha256"], cast("dict[str, Any]", link))
            intact[link["account"]] = heads[link["account"]] == link["hash"] == own
    for link in connection.execute(changes).mappings():
        if link["account"] is not None:
            own = tables.change_hash(link["prev"], cast("dict[str, Any]", link))
            intact[link["account"]] = heads[link["account"]] == link["hash"] == own
    return intact


def _last_budgets(connection: sa.Connection) -> dict[int, tuple[int, str | None]]:
    """How many changes of the budget each account had, and the last one."""
    table = tables.BUDGET_CHANGES.c
    last = (
        sa.select(table.account, sa.func.count().label("n"), sa.func.max(table.seq).label("seq"))
        .group_by(table.account)
        .subquery()
    )
    query = sa.select(table.account, last.c.n, table.budget).join(
        last, (last.c.account == table.account) & (last.c.seq == table.seq)
    )
    return {row.account: (row.n, row.budget) for row in connection.execute(query)}


def _counted(connection: sa.Connection) -> dict[int, tuple[int, int, Floats]]:
    """Of each account: its kinds, its charges, and the sums of their costs in plain floats."""
    kinds = {row.id: row for row in connection.execute(tables.EVENTS.select())}
    vectors = {}
    for number, row in kinds.items():
        if tables.kind_hash(row.event, row.costs) != bytes(row.sha256):
            raise errors.LedgerError(
                f"event {number} in the ledger must be as written, got a damaged row"
            )
        vectors[number] = Costs.from_json(row.costs).vector
    by_account: dict[int, tuple[int, int, Floats]] = {}
    for account, event, n in connection.execute(tables.EVENT_COUNTS.select()):
        many, charges, sums = by_account.get(account, (0, 0, np.zeros(PLACES)))
        cost = vectors.get(event, np.full(PLACES, np.inf))
        by_account[account] = many + 1, charges + n, sums + n * cost if n > 0 else sums
    return by_account


def _account_problem(
    row: Any,
    last: bool | None,
    budget: tuple[int, str | None] | None,
    counted: tuple[int, int, Floats] | None,
) -> str | None:
    kinds, charges, sums = counted or (0, 0, np.zeros(PLACES))
    changes, document = budget or (0, None)
    what = f"account {row.name!r}"
    if charges != row.charges or charges + changes != row.seq:
        return (
            f"{what}: {row.seq} links were written, {charges} charges and {changes} budgets are "
            "counted"
        )
    if not last:
        return f"{what}: its last link is not the one that was written"
    if document != row.budget:
        return f"{what}: its budget is not the one that was set last"
    totals = book.state_of(row).totals
    # Each addition rounds up by less than an ulp; these sums round to nearest, twice for a kind.
    slack = (2 * kinds + 2) * _HALF_ULP
    few, many = sums * (1 - slack), sums * (1 + slack + 1.01 * charges * _HALF_ULP)
    if not ((few <= totals) & (totals <= many)).all():
        return f"{what}: its sums are not those of its charges"
    return None


def _hash_at(connection: sa.Connection, account: int, seq: int) -> bytes | None:
    for table in (tables.ENTRIES, tables.BUDGET_CHANGES):
        query = sa.select(table.c.hash).where(table.c.account == account, table.c.seq == seq)
        digest = connection.execute(query).scalar()
        if digest is not None:
            return bytes(digest)
    return None
