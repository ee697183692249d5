"""Group commit: whatever waits when a transaction ends goes into the next one, up to 256 charges.

A commit waits for the disk; one for each charge would let the others wait too. One thread in each
process writes. It ends when it has nothing to do, so nobody has to stop it, and a process that was
forked starts its own.
"""

import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from reticent.ledger.asks import Ask

MOST = 256
IDLE_SECONDS = 1.0
PATIENCE = 0.25
"""Those who were just answered ask again: as many as were in the last group are waited for, this
share of the time that its commit took. Whoever asks alone never waits."""

Commit = Callable[[Sequence[Ask]], Sequence[Any]]
"""Asks in, what came of each out: its result, or the exception that refuses it."""


class Committer:
    """Takes charges from any thread and hands them to ``commit`` in groups."""

    def __init__(self, commit: Commit) -> None:
        self._commit = commit
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._waiting: queue.SimpleQueue[Ask] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._last, self._patience = 1, 0.0

    def put(self, ask: Ask) -> None:
        """Let the charge be made; its future takes what comes of it."""
        if os.getpid() != self._process:  # the thread stayed with the parent
            self._reset()
        with self._lock:
            self._waiting.put(ask)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="reticent ledger", daemon=True
                )
                self._thread.start()

    @property
    def waiting(self) -> int:
        """About how many charges wait for their transaction."""
        return self._waiting.qsize()

    def close(self) -> None:
        """Wait until what was put is done."""
        thread = self._thread
        if thread is not None and os.getpid() == self._process:
            self._waiting.put(_LAST)
            thread.join()

    def _work(self) -> None:
        while (group := self._group()) is not None:
            # One that was cancelled while it waited is not charged; from here on none can be.
            asks = [
                ask
                for ask in group
                if ask is not _LAST and ask.future.set_running_or_notify_cancel()
            ]
            if asks:
                self._settle(asks)
            if any(ask is _LAST for ask in group) and self._ended():
                return

    def _group(self) -> list[Ask] | None:
        try:
            group = [self._waiting.get(timeout=IDLE_SECONDS)]
        except queue.Empty:
            return None if self._ended() else []
        until = time.monotonic() + self._patience
        while len(group) < MOST:
            left = until - time.monotonic() if len(group) < self._last else 0.0
            try:
                group.append(self._waiting.get(timeout=max(left, 0.0)))
            except queue.Empty:
                break
        return group

    def _ended(self) -> bool:
        """Whether nothing waits; then the thread is done, and the next ask starts another."""
        with self._lock:
            if not self._waiting.empty():
                return False
            self._thread = None
            return True

    def _settle(self, asks: Sequence[Ask]) -> None:
        outcomes: Sequence[Any]
        started = time.monotonic()
        try:
            outcomes = self._commit(asks)
        except BaseException as fault:  # noqa: BLE001 - whoever asked is told, whatever it is
            outcomes = [fault] * len(asks)
        self._last, self._patience = len(asks), PATIENCE * (time.monotonic() - started)
        for ask, outcome in zip(asks, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                ask.future.set_exception(outcome)
            else:
                ask.future.set_result(outcome)


_LAST: Ask = object()  # type: ignore[assignment]
"""Put by ``close``: what came before it is done first."""
