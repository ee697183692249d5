"""What is asked of a ledger: a charge of some kind, computed before any lock is taken."""

import json
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from reticent.guarantee import events, grade
from reticent.ledger.costs import Costs, costs_of
from reticent.ledger.tables import LIBRARY, kind_hash


@dataclass(frozen=True, eq=False)
class Kind:
    """An event with what it costs: kept once, however often it is charged."""

    event: str
    costs: Costs

    @cached_property
    def costs_text(self) -> str:
        """The costs as they stand in the table."""
        return self.costs.to_json()

    @cached_property
    def sha256(self) -> bytes:
        """What entries chain in place of the event."""
        return kind_hash(self.event, self.costs_text)


@lru_cache(maxsize=4096)
def kind_of(
    event: events.Event, relation: grade.Relation, claim: tuple[float, float] | None
) -> Kind:
    """The kind of a charge; computed once in a process, before any lock."""
    text = json.dumps(event.to_dict(), ensure_ascii=False, allow_nan=False)
    return Kind(text, costs_of(event, relation, claim=claim))


@dataclass(frozen=True, kw_only=True, eq=False)
class Ask:
    """One charge that waits for its transaction; ``future`` takes what came of it."""

    name: str
    relation: grade.Relation
    unit: str
    kind: Kind
    purpose: str
    open_account: bool
    client: int = LIBRARY
    key_hmac: bytes | None = None
    request_hmac: bytes | None = None
    future: Future[Any] = field(default_factory=Future)
