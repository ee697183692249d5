"""Requests that came with a key, by client and key: what a retry is compared with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from reticent.ledger.asks import Ask
from reticent.ledger.tables import ENTRIES


@dataclass(frozen=True)
class KeyedRequest:
    """A request that was charged under a key: its entry, which may not be chained yet."""

    entry: Mapping[str, Any]

    @property
    def request_hmac(self) -> bytes:
        """The HMAC of the body that was first sent with this key: another body is refused."""
        return bytes(self.entry["request_hmac"])

    @property
    def account(self) -> int:
        """The account that was charged."""
        return int(self.entry["account"])

    @property
    def seq(self) -> int:
        """Its number among the account's links."""
        return int(self.entry["seq"])


KeyedRequests = dict[tuple[int, bytes], KeyedRequest]
"""By the number of the client and the HMAC of the key."""


def known_keys(connection: sa.Connection, asks: Sequence[Ask]) -> KeyedRequests:
    """Those of the keys of these asks that were charged before."""
    keys = sorted({ask.key_hmac for ask in asks if ask.key_hmac is not None})
    if not keys:
        return {}
    clients = sorted({ask.client for ask in asks if ask.key_hmac is not None})
    query = sa.select(ENTRIES).where(ENTRIES.c.client.in_(clients), ENTRIES.c.key_hmac.in_(keys))
    rows = connection.execute(query).mappings()
    return {(row["client"], bytes(row["key_hmac"])): KeyedRequest(dict(row)) for row in rows}
