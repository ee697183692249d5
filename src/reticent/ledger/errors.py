"""What can go wrong with a ledger, each said in one line."""

from reticent.validation import InputError


class LedgerError(InputError):
    """The ledger cannot be read or written, or an account does not take what it was given."""


class BudgetExhausted(LedgerError):  # noqa: N818 - it is an answer, and read as one: nothing is wrong
    """The charge would exceed the budget; nothing was charged, and nothing may be released."""


class KeyReused(LedgerError):  # noqa: N818 - likewise
    """A key that was used for one request came with another; nothing was charged."""


class ReplyGone(LedgerError):  # noqa: N818 - likewise
    """The reply to this key is not kept any more; nothing was charged, nor will be for this key."""
