"""The ledger: what was spent on one data set, charged before each release in one transaction.

SQL is loaded with the first use of ``Ledger``, so that a command that keeps no ledger starts fast.
"""

from typing import TYPE_CHECKING

from reticent.lazy import lazy_exports
from reticent.ledger.errors import BudgetExhausted, LedgerError

if TYPE_CHECKING:
    from reticent.ledger.accounts import Account, BudgetChange, Charged, Entry, Spent
    from reticent.ledger.costs import Costs, claim_at
    from reticent.ledger.filters import Budget, FilterKind
    from reticent.ledger.ledger import Ledger, verify_ledger

__all__ = [
    "Account",
    "Budget",
    "BudgetChange",
    "BudgetExhausted",
    "Charged",
    "Costs",
    "Entry",
    "FilterKind",
    "Ledger",
    "LedgerError",
    "Spent",
    "claim_at",
    "verify_ledger",
]

__getattr__ = lazy_exports(__name__)
