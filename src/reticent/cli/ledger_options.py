"""Options of commands that charge a ledger before they release, and what charges it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from reticent.cli import output, private_table
from reticent.guarantee import Event
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.protect import Terms

NOT_CHARGED = "not charged to a ledger: releases on the same data add up (--ledger)"


class Charger(Protocol):
    """What charges a release by its terms, purpose and event."""

    def __call__(
        self, terms: "Terms", purpose: str, event: Event, *, key: str | None = None
    ) -> None:
        """Charge it; with a key once, however often it is tried again."""


@dataclass(frozen=True, kw_only=True)
class LedgerOptions:
    """The ledger that a release is charged to, of every command that releases."""

    ledger: Annotated[str | None, typer.Option(help="Charge this ledger before the release.")] = (
        None
    )
    data_set: Annotated[
        str | None, typer.Option(help="The name of the data set in the ledger.")
    ] = None
    open_account: Annotated[
        bool,
        typer.Option(
            "--open-account", help="Charge the data set although the ledger has no budget for it."
        ),
    ] = False

    @property
    def is_named(self) -> bool:
        """Whether a ledger is named, so that the release is charged."""
        return self.ledger is not None

    @property
    def account(self) -> tuple[str | None, str | None]:
        """Where the charge goes: the ledger and the data set in it."""
        return self.ledger, self.data_set

    def charger(self) -> Charger | None:
        """What charges the ledger that is named; None where none is."""
        if self.ledger is None:
            if self.data_set is not None:
                raise InputError("--data-set must be said with --ledger, got it alone")
            if self.open_account:
                raise InputError("--open-account must be said with --ledger, got it alone")
            return None
        private_table.required_option("--data-set", self.data_set)
        return self._charge

    def _charge(
        self, terms: "Terms", purpose: str, event: Event, *, key: str | None = None
    ) -> None:
        from reticent.ledger import Ledger

        assert self.ledger is not None
        assert self.data_set is not None
        with Ledger.open(self.ledger) as book:  # a mistyped path must not make one without budgets
            warn_first_seen(book.first_seen, self.ledger)
            done = book.charge(
                self.data_set,
                event,
                relation=terms.relation,
                unit=terms.unit,
                purpose=purpose,
                claim=(terms.epsilon, terms.delta),
                key=key,
                open_account=self.open_account,
            )
        if done.replayed:
            output.print_warning(
                "charged before, when it was stopped before anything of it was seen"
            )
        if done.warning is not None:
            output.print_warning(done.warning)


def warn_first_seen(first_seen: bool, ledger: str) -> None:
    """Say once for each machine that it cannot tell whether this is the ledger's latest copy."""
    if first_seen:
        shown = "the ledger" if "://" in ledger else ledger
        output.print_warning(
            f"{shown} was never seen on this machine: an older copy of it would not be told"
        )
