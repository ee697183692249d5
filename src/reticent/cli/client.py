"""``reticent client``: who may ask a service, how much, and with which keys."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reticent.cli import endpoint, released
from reticent.cli.options import Json
from reticent.cli.output import print_json, print_line, print_table
from reticent.cli.quiet import with_quiet

if TYPE_CHECKING:
    from reticent.ledger.clients import Clients


app = typer.Typer(help="Who may ask a service, how much, and with which keys.")

Where = Annotated[
    str, typer.Argument(metavar="DATABASE", help="The ledger, or a database for keys alone.")
]
Name = Annotated[str, typer.Argument(help="The client.")]
Prefix = Annotated[str, typer.Argument(metavar="KEY", help="The key, or its first 15 letters.")]
DataSet = Annotated[
    str | None,
    typer.Option(
        "--data-set", help="The data set whose answers it may ask for; without, released models."
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--answers", help="Its share of the data set's answers; without, all that the budget has."
    ),
]
Scopes = Annotated[str, typer.Option(help="Some of ask, read and admin, comma-separated.")]
Days = Annotated[float | None, typer.Option(help="After how many days the key ends.")]
Address = Annotated[str, typer.Argument(metavar="URL", help="Where the service listens.")]
AskedRows = Annotated[
    Path, typer.Option("--queries", help="The rows to ask about: a .csv, .parquet or .npz file.")
]
AnswersOut = Annotated[
    Path | None, typer.Option("--out", help="Write the answers to this .csv file.")
]
Create = Annotated[bool, typer.Option("--create", help="Make the database if there is none.")]


@contextmanager
def _clients(where: str, *, create: bool = False) -> "Iterator[Clients]":
    from reticent.ledger.clients import Clients
    from reticent.ledger.storage import Storage

    storage = Storage.open(where, create=create)
    try:
        yield Clients(storage)
    finally:
        storage.close()


@app.command("add")
@with_quiet
def add(
    database: Where,
    name: Name,
    data_set: DataSet = None,
    answers: Limit = None,
    create: Create = False,
    json: Json = False,
) -> None:
    """Add a client; ``key`` then makes a key for it."""
    with _clients(database, create=create) as clients:
        client = clients.add(name, data_set=data_set, limit=answers)
    if json:
        print_json(client.to_dict())
        return
    share = "" if data_set is None else f" of {data_set}: {_limit(client.limit)}"
    print_line(f"client {client.name}{share}; next: reticent client key {database} {client.name}")


@app.command("key")
@with_quiet
def key(
    database: Where,
    name: Name,
    scopes: Scopes = "ask,read",
    days: Days = None,
    json: Json = False,
) -> None:
    """Make a key for a client and show it, this once."""
    with _clients(database) as clients:
        text, kept = clients.new_key(
            name, scopes=[one.strip() for one in scopes.split(",")], days=days
        )
    if json:
        print_json({"key": text, **kept.to_dict()})
        return
    typer.echo(text)
    print_line("shown once: the database holds its SHA-256", detail=True)


@app.command("revoke")
@with_quiet
def revoke(database: Where, key: Prefix, json: Json = False) -> None:
    """End a key; every process of a service follows within a second."""
    with _clients(database) as clients:
        gone = clients.revoke(key)
    if json:
        print_json({"revoked": [one.to_dict() for one in gone]})
        return
    for one in gone:
        print_line(f"revoked: {one.prefix}…")


@app.command("limit")
@with_quiet
def limit(database: Where, name: Name, answers: Limit = None, json: Json = False) -> None:
    """Change a client's share; what it used stays used."""
    with _clients(database) as clients:
        client = clients.set_limit(name, answers)
    if json:
        print_json(client.to_dict())
        return
    print_line(f"client {client.name}: {_limit(client.limit)}, {client.used} used")


@app.command("list")
@with_quiet
def show(database: Where, json: Json = False) -> None:
    """Clients with what they used, and their keys."""
    with _clients(database) as clients:
        all_clients, keys = clients.all(), clients.all_keys()
    if json:
        rows = [
            one.to_dict() | {"keys": [key.to_dict() for key in keys if key.client == one.id]}
            for one in all_clients
        ]
        print_json({"clients": rows})
        return
    print_table(
        "Clients",
        ("client", "data set", "share", "used"),
        [(one.name, one.account or "–", _limit(one.limit), str(one.used)) for one in all_clients],
    )
    names = {one.id: one.name for one in all_clients}
    print_table(
        "Keys",
        ("key", "client", "scopes", "expires", "revoked"),
        [
            (
                f"{one.prefix}…",
                names[one.client],
                ", ".join(sorted(one.scopes)),
                str(one.to_dict()["expires"] or "–")[:19],
                str(one.to_dict()["revoked"] or "–")[:19],
            )
            for one in keys
        ],
    )


@app.command("ask")
@with_quiet
def ask(address: Address, queries: AskedRows, out: AnswersOut = None, json: Json = False) -> None:
    """Ask a service about each row of a table; its key, if it wants one, is in RETICENT_API_KEY.

    Of a model that was made by a schema the table is raw: its cells are sent as they stand, and the
    service prepares them. Protected answers are charged. Label and person are not sent.
    """
    from reticent.service.asking import ask_table

    if out is not None:
        released.refuse_no_csv(out)
    reply = ask_table(address, queries, key=os.environ.get(endpoint.KEY_VARIABLE))
    rows = [[answer] for answer in reply.answers]
    released.write_answers(out, ("row", "predicted"), rows)
    if json:
        print_json({"predictions": reply.answers, "charged": reply.charged})
        return
    for number, answer in enumerate([] if out is not None else reply.answers):
        print_line(f"row {number}: {answer}")
    print_line(f"{len(rows)} answers, {reply.charged} charged; {reply.guarantee}")


def _limit(answers: int | None) -> str:
    return "what the budget has" if answers is None else f"{answers} answers"
