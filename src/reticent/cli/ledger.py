"""``reticent ledger``: what was spent on a data set, and what may still be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reticent import ledger as ledgers
from reticent.cli import ledger_options, quiet
from reticent.cli.events import read_event
from reticent.cli.options import Delta, Json, Pure, RelationName, delta_of, relation_of
from reticent.cli.output import print_json, print_line, print_table
from reticent.guarantee.guarantee import ONE_RECORD
from reticent.guarantee.rounding import lower_text, upper_text

MISMATCH = 1

app = typer.Typer(help="What was spent on a data set, and what may still be.")

Where = Annotated[str, typer.Argument(metavar="LEDGER", help="A file, or a PostgreSQL URL.")]
Name = Annotated[str, typer.Argument(help="The data set, by the name you give it.")]
OneName = Annotated[str | None, typer.Argument(help="One data set only.")]
SpentDelta = Annotated[
    float | None, typer.Option("--delta", help="The δ; by default that of the budget, or 0.")
]
BudgetEpsilon = Annotated[float, typer.Option("--epsilon", help="The ε not to be exceeded.")]
Unit = Annotated[str, typer.Option(help="What is protected: one record, one person, ….")]
Filter = Annotated[
    str | None, typer.Option(help="The sum that is limited: basic (the default), zcdp, rdp or gdp.")
]
Events = Annotated[Path, typer.Option(help="A JSON file that describes what will be released.")]
Plan = Annotated[
    Path | None, typer.Option(help="A JSON file of events that rdp should be tight for.")
]
ChargeDelta = Annotated[
    float | None,
    typer.Option(
        "--delta", help="Where noise with an ε at every δ, such as Gaussian, is added to ε and δ."
    ),
]
Purpose = Annotated[str, typer.Option(help="A public line that says what for.")]
AcceptRestored = Annotated[
    bool,
    typer.Option(
        "--accept-restored",
        help="Take a copy that lacks what was seen before, if it is sound; charges since are lost.",
    ),
]
Create = Annotated[bool, typer.Option("--create", help="Make the ledger if there is none.")]


@app.command("show")
@quiet.with_quiet
def show(ledger: Where, name: OneName = None, delta: SpentDelta = None, json: Json = False) -> None:
    """Accounts with budget and spent ε; with a name, each of its charges too."""
    with ledgers.Ledger.open(ledger) as book:
        ledger_options.warn_first_seen(book.first_seen, ledger)
        accounts = book.accounts() if name is None else [_account(book, name)]
        if json:
            describe = _summary if name is None else _document
            print_json({"accounts": [describe(book, account, delta) for account in accounts]})
            return
        columns = ("data set", "charges", "spent ε", "at δ", "budget", "left")
        print_table("Spent", columns, [_row(account, delta) for account in accounts])
        if name is not None:
            _print_history(book, name)
        print_line("spent ε is for costs not chosen by earlier answers; the budget holds for any")


@app.command("verify")
@quiet.with_quiet
def verify(ledger: Where, accept_restored: AcceptRestored = False, json: Json = False) -> None:
    """Walk through every entry, hash and sum; exit code 1 where something is not as written."""
    problems = ledgers.verify_ledger(ledger, accept_restored=accept_restored)
    if json:
        print_json({"holds": not problems, "problems": problems})
    elif not problems:
        print_line("holds: every entry, hash and sum is as it was written")
        if accept_restored:
            print_line("this copy counts from now on; lower budgets by what it has forgotten")
    for problem in () if json else problems:
        print_line(f"does not hold: {problem}")
    if problems:
        raise typer.Exit(MISMATCH)


@app.command("budget")
@quiet.with_quiet
def budget(
    ledger: Where,
    name: Name,
    epsilon: BudgetEpsilon,
    delta: Delta = None,
    pure: Pure = False,
    relation: RelationName = None,
    unit: Unit = ONE_RECORD,
    filter: Filter = None,
    plan: Plan = None,
    json: Json = False,
) -> None:
    """Fix the budget of a data set; makes the ledger and the account where there are none."""
    neighbours, chosen = relation_of(relation), delta_of(delta, pure)
    planned = None if plan is None else read_event(plan)
    # Refused before a file is made for it.
    ledgers.Budget.fixed(epsilon=epsilon, delta=chosen, filter=filter or "basic")
    with ledgers.Ledger.open(ledger, create=True) as book:
        account = book.set_budget(
            name,
            epsilon=epsilon,
            delta=chosen,
            relation=neighbours,
            unit=unit,
            filter=filter,
            plan=planned,
        )
        if json:
            print_json(_document(book, account, None))
            return
    print_line(f"{name}: {account.budget}; neighbours: {account.relation}; unit: {account.unit}")
    if account.promise is None:
        print_line("more than that was spent already: nothing can be charged")


@app.command("charge")
@quiet.with_quiet
def charge(
    ledger: Where,
    name: Name,
    events: Events,
    purpose: Purpose,
    delta: ChargeDelta = None,
    relation: RelationName = None,
    unit: Unit = ONE_RECORD,
    create: Create = False,
    json: Json = False,
) -> None:
    """Charge what will be released; exit code 1 if the budget does not allow it."""
    neighbours, event = relation_of(relation), read_event(events)
    claim = None if delta is None else ledgers.claim_at(event, neighbours, delta)
    with ledgers.Ledger.open(ledger, create=create) as book:
        ledger_options.warn_first_seen(book.first_seen and not create, ledger)
        done = book.charge(
            name, event, relation=neighbours, unit=unit, purpose=purpose, claim=claim
        )
    if json:
        account = done.account.to_dict() | {"spent": done.spent.to_dict()}
        print_json({"account": account, "warning": done.warning})
        return
    print_line(f"charged to {name}: {purpose}")
    print_line(done.warning or f"left of {done.account.budget}: {_left(done.account)}")


def _account(book: ledgers.Ledger, name: str) -> ledgers.Account:
    account = book.account(name)
    if account is None:
        raise ledgers.LedgerError(f"account must be in the ledger, got {name!r}")
    return account


def _summary(_: ledgers.Ledger, account: ledgers.Account, delta: float | None) -> dict[str, object]:
    return account.to_dict() | {"spent": account.spent(delta).to_dict()}


def _document(
    book: ledgers.Ledger, account: ledgers.Account, delta: float | None
) -> dict[str, object]:
    return _summary(book, account, delta) | {
        "entries": [entry.to_dict() for entry in book.entries(account.name)],
        "budget_changes": [change.to_dict() for change in book.budget_changes(account.name)],
    }


def _row(account: ledgers.Account, delta: float | None) -> tuple[str, ...]:
    spent = account.spent(delta)
    epsilon = "–" if spent.epsilon is None else upper_text(spent.epsilon)
    promised = "none" if account.budget is None else str(account.budget)
    at = upper_text(spent.delta)
    return account.name, str(account.charges), epsilon, at, promised, _left(account)


def _left(account: ledgers.Account) -> str:
    from reticent.ledger.filters import SYMBOLS

    parts = (account.left or {}).items()
    return ", ".join(f"{SYMBOLS[name]} {lower_text(amount)}" for name, amount in parts) or "–"


def _print_history(book: ledgers.Ledger, name: str) -> None:
    rows = [(entry.at[:19], entry.purpose, entry.version) for entry in book.entries(name)]
    print_table("Charges", ("time (UTC)", "purpose", "reticent"), rows)
    changes = [
        (change.at[:19], change.note or str(change.budget)) for change in book.budget_changes(name)
    ]
    print_table("Budgets", ("time (UTC)", "budget"), changes)
