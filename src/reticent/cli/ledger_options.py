"""Options of commands that charge a ledger before they release, and what charges it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from reticent.cli.output import print_warning
from reticent.cli.private_table import required_option
from reticent.guarantee import Event
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.protect import Terms

LedgerPath = Annotated[
    str | None,
    typer.Option("--ledger", help="Charge this ledger before the release.", show_default=False),
]
DataSet = Annotated[
    str | None,
    typer.Option("--data-set", help="The name of the data set in the ledger.", show_default=False),
]
OpenAccount = Annotated[
    bool,
    typer.Option(
        "--open-account", help="Charge the data set although the ledger has no budget for it."
    ),
]

NOT_CHARGED = "not charged to a ledger: releases on the same data add up (--ledger)"


class Charger(Protocol):
    """What charges a release by its terms, purpose and event."""

    def __call__(self, terms: Terms, purpose: str, event: Event, *, key: str | None = None) -> None:
        """Charge it; with a key once, however often it is tried again."""


def charger(ledger: str | None, data_set: str | None, open_account: bool) -> Charger | None:
    """What charges the ledger that is named; None where none is."""
    if ledger is None:
        for option, given in (
            ("--data-set", data_set is not None),
            ("--open-account", open_account),
        ):
            if given:
                raise InputError(f"{option} must be said with --ledger, got it alone")
        return None
    name = required_option("--data-set", data_set)

    def charge(terms: Terms, purpose: str, event: Event, *, key: str | None = None) -> None:
        from reticent.ledger import Ledger

        with Ledger.open(ledger) as book:  # a mistyped path must not make one without budgets
            warn_first_seen(book.first_seen, ledger)
            done = book.charge(
                name,
                event,
                relation=terms.relation,
                unit=terms.unit,
                purpose=purpose,
                claim=(terms.epsilon, terms.delta),
                key=key,
                open_account=open_account,
            )
        if done.replayed:
            print_warning("charged before, when it was stopped before anything of it was seen")
        if done.warning is not None:
            print_warning(done.warning)

    return charge


def warn_first_seen(first_seen: bool, ledger: str) -> None:
    """Say once for each machine that it cannot tell whether this is the ledger's latest copy."""
    if first_seen:
        shown = "the ledger" if "://" in ledger else ledger
        print_warning(
            f"{shown} was never seen on this machine: an older copy of it would not be told"
        )
