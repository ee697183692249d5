"""What can go wrong with a ledger, each said in one line."""

from reticent.validation import InputError


class LedgerError(InputError):
    """The ledger cannot be read or written, or an account does not take what it was given."""


class BudgetExhausted(LedgerError):  # noqa: N818 - it is an answer, and read as one: nothing is wrong
    """The charge would exceed the budget; nothing was charged, and nothing may be released."""
