"""Who comes in: API keys, their scopes and rates, from tables that are read again twice a second.

No request waits for the tables unless what is known of them is older than that. A key that was
revoked, or has expired, opens nothing after a second in any process.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from starlette.requests import Request

from reticent.ledger import book, errors
from reticent.ledger.clients import ApiKey, Client, Clients, Scope, key_hash
from reticent.service import problems

LOG: Final = logging.getLogger("reticent.service")
FRESH_SECONDS: Final = 0.5
_LONGEST_KEY: Final = 200
_CALLERS_KEPT: Final = 10_000


@dataclass(frozen=True)
class Caller:
    """Whoever sent a request: a client, or anybody where no keys are asked for."""

    client: Client | None
    scopes: frozenset[Scope]

    @property
    def number(self) -> int:
        """Of the client; 0 for anybody."""
        return 0 if self.client is None else self.client.id


ANYBODY: Final = Caller(None, frozenset((Scope.ASK, Scope.READ)))


@dataclass
class RateLimit:
    """A token bucket for each client: so many requests a second, twice as many at once."""

    rate: float
    _buckets: dict[int, tuple[float, float]] = field(default_factory=dict)

    def take(self, caller: int, at: float | None = None) -> None:
        """Let one request pass, or refuse it with the time to wait."""
        at = time.monotonic() if at is None else at
        most = max(2 * self.rate, 1.0)
        tokens, last = self._buckets.get(caller, (most, at))
        tokens = min(most, tokens + (at - last) * self.rate)
        if tokens < 1:
            wait = max(1, round((1 - tokens) / self.rate + 0.5))
            raise problems.Refused(problems.RATE_LIMIT, {"Retry-After": str(wait)})
        if len(self._buckets) > _CALLERS_KEPT:
            self._buckets.clear()
        self._buckets[caller] = tokens - 1, at


@dataclass(frozen=True)
class _Seen:
    at: float
    keys: dict[bytes, ApiKey]
    clients: dict[int, Client]


class Door:
    """Finds the caller of a request and what its key is good for."""

    def __init__(
        self,
        clients: Clients | None,
        *,
        rate: RateLimit,
        data_set: str | None = None,
        also: Callable[[], object] = lambda: None,
    ) -> None:
        """``also`` is called with each reading; what it raises makes the service not ready."""
        self._clients = clients
        self._data_set = data_set
        self._also = also
        self._rate = rate
        self._seen: _Seen | None = None
        self._reason = ""
        self._reading: asyncio.Task[_Seen] | None = None

    async def caller(self, request: Request, scope: Scope) -> Caller:
        """The caller, if its key holds and has the scope; its rate is counted."""
        if self._clients is None:
            if scope not in ANYBODY.scopes:
                raise problems.Refused(problems.FORBIDDEN)
            self._rate.take(0)
            return ANYBODY
        digest = _presented(request)
        seen = await self.current()
        key = seen.keys.get(digest)
        client = None if key is None else seen.clients.get(key.client)
        if key is None or client is None or not key.holds(book.now()):
            raise problems.Refused(problems.UNAUTHORIZED)
        if scope not in key.scopes:
            raise problems.Refused(problems.FORBIDDEN)
        self._rate.take(client.id)
        return Caller(client, key.scopes)

    async def current(self) -> _Seen:
        """What the tables hold, at most half a second old; not ready where they cannot be read."""
        seen = self._seen
        if seen is not None and time.monotonic() - seen.at < FRESH_SECONDS:
            return seen
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(asyncio.to_thread(self._read))
        try:
            self._seen = await asyncio.shield(self._reading)
        except errors.LedgerError as error:
            self._seen = None
            self._say(f"not ready: {error}")
            raise problems.Refused(problems.NOT_READY) from None
        self._say("")
        return self._seen

    def _say(self, reason: str) -> None:
        """Tell the operator once; clients are told the same, whatever it is."""
        if reason != self._reason:
            LOG.warning("%s", reason or "ready again")
        self._reason = reason

    def _read(self) -> _Seen:
        at = time.monotonic()
        self._also()
        if self._clients is None:
            return _Seen(at, {}, {})
        clients = {one.id: one for one in self._clients.all() if one.account == self._data_set}
        keys = {key.sha256: key for key in self._clients.all_keys()}
        return _Seen(at, keys, clients)


def _presented(request: Request) -> bytes:
    given = request.headers.getlist("authorization")
    kind, _, key = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    if kind.lower() != "bearer" or not key or len(key) > _LONGEST_KEY or not key.isascii():
        raise problems.Refused(problems.UNAUTHORIZED)
    return key_hash(key)
