"""The ledger: costs in each sum, budgets and their limits, and accounts in a file of their own."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from reticent.guarantee import (
    ApproximateEvent,
    Event,
    GaussianEvent,
    LaplaceEvent,
    PoissonSampled,
    PureEvent,
    Relation,
    Repeated,
    SampledWithoutReplacement,
)
from reticent.ledger import Budget, BudgetExhausted, Costs, FilterKind, Ledger, claim_at
from reticent.ledger.costs import ORDERS, costs_of
from tools.mutation.probes.accounting import ADD, ANY, REPLACE, releases
from tools.mutation.probes.record import Figures

BUDGETS = ((1e-3, 1e-9), (0.5, 0.0), (1.0, 1e-6), (20.0, 1e-3), (1e4, 1e-12))
SMALL = GaussianEvent(noise_multiplier=30.0)
PUBLIC = LaplaceEvent(noise_multiplier=10.0)


def fill(figures: Figures) -> None:
    """All figures of the ledger."""
    figures.add("ORDERS", lambda: list(ORDERS))
    for name, event, relation in _events():
        figures.add(f"costs {name}", costs_of, event, relation)
        figures.add(f"costs {name}, claimed", costs_of, event, relation, claim=(9.0, 1e-7))
        figures.add(f"claim {name}", claim_at, event, relation, 1e-6)
    _budgets(figures)
    with tempfile.TemporaryDirectory() as folder:
        for number, kind in enumerate(FilterKind):
            with Ledger.open(Path(folder) / f"{number}.sqlite", create=True) as ledger:
                _account(figures, kind, ledger)
        with Ledger.open(Path(folder) / "more.sqlite", create=True) as ledger:
            _more_accounts(figures, ledger)
        figures.add("ledger, none", Ledger.open, Path(folder) / "absent")
    _damaged(figures)


def _events() -> Iterator[tuple[str, Event, Relation]]:
    for name, event in releases(2.0).items():
        yield name, event, ANY
    yield "sampled", PoissonSampled(event=SMALL, rate=0.1), ADD
    yield "drawn", SampledWithoutReplacement(event=PUBLIC, size=1, population=9), REPLACE
    yield "many", Repeated(event=SMALL, count=10**9), ANY
    yield "large", PureEvent(epsilon=1e200), ANY


def _budgets(figures: Figures) -> None:
    for kind, (epsilon, delta) in product(FilterKind, BUDGETS):
        at = f"budget {kind}, {epsilon}, {delta}"
        figures.add(at, _fixed, epsilon=epsilon, delta=delta, filter=kind)
    plans = {
        "sampled": costs_of(PoissonSampled(event=SMALL, rate=0.1), ADD),
        "not covered": costs_of(ApproximateEvent(epsilon=0.1, delta=1e-9), ANY),
    }
    for name, plan in plans.items():
        figures.add(f"budget, {name}", _fixed, epsilon=1.0, delta=1e-6, filter="rdp", plan=plan)
    figures.add("budget, default", _fixed, epsilon=1.0, delta=1e-6)


def _fixed(**chosen: Any) -> object:
    budget = Budget.fixed(**chosen)
    return budget, str(budget)


def _account(figures: Figures, kind: FilterKind, ledger: Ledger) -> None:
    """As many charges as fit, and what the books say before and after."""
    claim = (0.2, 1e-8) if kind is FilterKind.BASIC else None
    given: dict[str, Any] = {"relation": ADD, "purpose": "test", "claim": claim}
    at = f"ledger {kind}"
    figures.add(f"{at}: opened", _opened, ledger, kind)
    figures.add(f"{at}: first", _charged, ledger, "one", SMALL, given)
    figures.add(f"{at}: promise", _promise, ledger)
    figures.add(f"{at}: charges", _charges, ledger, given)
    figures.add(f"{at}: one more", _charged, ledger, "one", SMALL, given)
    for delta in (None, 0.0, 1e-9, 1e-3):
        figures.add(f"{at}: spent at {delta}", ledger.spent("one", delta=delta).to_dict)
    figures.add(f"{at}: guarantee", lambda: ledger.spent("one").guarantee)
    other = given | {"relation": REPLACE}
    figures.add(f"{at}: other relation", _charged, ledger, "one", PUBLIC, other)
    figures.add(f"{at}: entries", lambda: [entry.costs for entry in ledger.entries("one")][:2])
    lower: dict[str, Any] = {"epsilon": 1e-2, "delta": 1e-6, "relation": ADD}
    figures.add(f"{at}: lowered", lambda: ledger.set_budget("one", **lower).left)
    figures.add(f"{at}: broken promise", _promise, ledger)
    changes = ledger.budget_changes("one")
    figures.add(f"{at}: changes", lambda: [change.budget for change in changes])


def _opened(ledger: Ledger, kind: FilterKind) -> object:
    account = ledger.set_budget("one", epsilon=1.0, delta=1e-6, relation=ADD, filter=kind)
    return account.to_dict() | {"opened": None}


def _charged(ledger: Ledger, name: str, event: Event, given: dict[str, Any]) -> object:
    done = ledger.charge(name, event, **given)
    return done.spent.epsilons, done.left, done.warning


def _promise(ledger: Ledger) -> object:
    account = ledger.account("one")
    return None if account is None else account.promise


def _charges(ledger: Ledger, given: dict[str, Any]) -> object:
    """How many further charges fit, and the totals then."""
    refusal = "none"
    for _ in range(60):
        try:
            ledger.charge("one", SMALL, **given)
        except BudgetExhausted as refused:
            refusal = str(refused)
            break
    account = ledger.account("one")
    assert account is not None
    return refusal, account.totals, account.charges, account.left


def _more_accounts(figures: Figures, ledger: Ledger) -> None:
    given: dict[str, Any] = {"relation": ADD, "purpose": "test"}
    long = "x" * 1000
    for name, event in (("a", PUBLIC), ("b", SMALL), ("c", PUBLIC), ("a", PUBLIC), (long, PUBLIC)):
        charges = len(ledger.entries(name))
        at = f"ledger, no budget: {name[:2]}, {charges}"
        figures.add(at, _charged, ledger, name, event, given)
    figures.add("ledger, a longer name", _charged, ledger, long + "x", PUBLIC, given)
    figures.add("ledger, accounts", lambda: [(a.name, a.totals) for a in ledger.accounts()])
    figures.add("ledger, entries", lambda: [len(ledger.entries(name)) for name in "abc"])
    figures.add("ledger, absent", ledger.spent, "absent")


def _damaged(figures: Figures) -> None:
    """What stands in a file is checked before it limits anything."""
    good = Budget.fixed(epsilon=1.0, delta=1e-6, filter="zcdp").to_dict()
    changes: dict[str, dict[str, Any]] = {
        "as it is": {},
        "limits": {"limits": {"rho": math.inf}},
        "negative": {"limits": {"rho": -1.0}},
        "other": {"limits": {"mu_squared": 1.0}},
        "order": {"order": 2.0},
        "rdp": {"filter": "rdp", "order": 2.0, "limits": {"rdp": 1.0}},
        "∞": {"filter": "rdp", "order": "inf", "limits": {"rdp": 1.0}},
        "no order": {"filter": "rdp", "limits": {"rdp": 1.0}},
        "odd order": {"filter": "rdp", "order": 2.001, "limits": {"rdp": 1.0}},
    }
    for name, change in changes.items():
        figures.add(f"budget read, {name}", Budget.from_json, json.dumps(good | change))
    plain = Costs().to_dict()
    damages: dict[str, dict[str, Any]] = {
        "few": {"rdp": [0.0]},
        "negative": {"rho": -1.0},
        "whole": {"rho": 1},
        "none": {"rho": None},
        "zero": {},
    }
    for name, damage in damages.items():
        figures.add(f"costs read, {name}", Costs.from_json, json.dumps(plain | damage))
    figures.add("costs plus", Costs(epsilon=0.1).plus, Costs(epsilon=0.2, rho=None))
