"""What the ledger prints: costs in each sum, limits of budgets, what is spent and left."""

import math
import tempfile
from functools import partial
from pathlib import Path

from reticent.guarantee import (
    GaussianEvent,
    LaplaceEvent,
    LogisticEvent,
    PoissonSampled,
    PureEvent,
    Relation,
    ZcdpEvent,
)
from reticent.ledger import Budget, FilterKind, Ledger
from reticent.ledger.costs import ORDERS, claim_at, costs_of

ADD = Relation.ADD_REMOVE
EVENTS = {
    "Gaussian": GaussianEvent(noise_multiplier=2.5),
    "Laplace": LaplaceEvent(noise_multiplier=4.0),
    "logistic under L2": LogisticEvent(noise_multiplier=4.0, norm="l2"),
    "pure": PureEvent(epsilon=0.3),
    "ρ": ZcdpEvent(rho=0.02),
    "sampled": PoissonSampled(event=GaussianEvent(noise_multiplier=1.5), rate=0.05),
}
BUDGETS = ((0.01, 1e-9), (1.0, 1e-6), (8.0, 1e-3), (2000.0, 1e-12))


def costs(event):
    found = costs_of(event, ADD)
    sums = {name: getattr(found, name) for name in ("epsilon", "delta", "rho", "mu_squared")}
    return [*sums.values(), *found.rdp, claim_at(event, ADD, 1e-6)[0]]


def limits(kind, epsilon, delta, plan=None):
    planned = None if plan is None else costs_of(EVENTS[plan], ADD)
    found = Budget.fixed(epsilon=epsilon, delta=delta, filter=kind, plan=planned)
    return {"order": found.order, **found.limits}


def books(kind):
    """An account after as many charges as fit, and some of another one."""
    release = GaussianEvent(noise_multiplier=8.0)
    claim = claim_at(release, ADD, 1e-8)
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.open(Path(folder) / "ledger.sqlite", create=True)
        with ledger:
            ledger.set_budget("a", epsilon=3.0, delta=1e-5, relation=ADD, filter=kind)
            ledger.charge("b", EVENTS["pure"], relation=ADD, purpose="other")
            charges = charged(ledger, release, claim)
            account = ledger.account("a")
            spent = {
                f"{name} at {delta}": epsilon
                for delta in (1e-7, 1e-5, 1e-2)
                for name, epsilon in account.spent(delta).epsilons.items()
            }
            return {
                "charges": charges,
                "entries": [len(ledger.entries(name)) for name in "ab"],
                "promised": [account.promise.epsilon, account.promise.delta],
                **account.left,
                **spent,
            }


def charged(ledger, release, claim):
    for count in range(100):
        try:
            ledger.charge("a", release, relation=ADD, purpose="one more", claim=claim)
        except ValueError:
            return count
    return math.nan


CASES = {
    "orders": lambda: list(ORDERS[:-1]),
    **{f"costs of {name}": partial(costs, event) for name, event in EVENTS.items()},
    **{
        f"limits of {kind}, ε = {epsilon}": partial(limits, kind, epsilon, delta)
        for kind in FilterKind
        for epsilon, delta in BUDGETS
        if (kind, epsilon) != (FilterKind.RDP, 0.01)
    },
    "limits of rdp for samples": partial(limits, "rdp", 1.0, 1e-6, plan="sampled"),
    **{f"books of {kind}": partial(books, kind) for kind in FilterKind},
}
