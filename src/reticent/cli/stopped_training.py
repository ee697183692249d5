"""The files beside OUT from which a stopped training is gone on with, and its one charge.

``.OUT.training`` is the state after some step. ``.OUT.charge`` holds the idempotency key of the
charge, from before it is made until the first state is saved: killed in between, the same command
is charged once. While that file holds a key nobody has seen anything of what was paid for: it is
emptied before the first step, and before a release is written.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from reticent.guarantee import Event
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.cli.ledger_options import Charger
    from reticent.protect import Release, Terms

_KEY_BYTES: Final = 16


class StoppedTraining:
    """One training that ends with OUT, whether it was stopped before or not."""

    def __init__(self, out: Path, *, ledger: str | None, data_set: str | None) -> None:
        self.checkpoint = out.with_name(f".{out.name}.training")
        self._key_file = out.with_name(f".{out.name}.charge")
        self._charged_to = [ledger, data_set]
        self._key: ChargeKey | None = None

    def goes_on(self, resume: bool) -> bool:
        """Whether a state is gone on from: its steps were charged before the first."""
        if not self.checkpoint.exists():
            if resume and not self._key_file.exists():
                raise InputError(
                    "--resume must be said of a training that was stopped, got none at"
                    f" {self.checkpoint}"
                )
            return False
        if not resume:
            raise InputError(
                f"{self.checkpoint} is a training that was stopped: go on with --resume, or remove"
                " the file to begin anew, which is charged again"
            )
        self._refuse_other_account()
        return True

    def charge_once(self, charge: Charger, terms: Terms, purpose: str) -> Callable[[Event], None]:
        """What charges the whole plan, once however often it was killed before its first step."""

        def charged(event: Event) -> None:
            request = [*self._charged_to, terms.to_dict(), purpose, event.to_dict()]
            self._key = ChargeKey(self._key_file, request=json.dumps(request, sort_keys=True))
            try:
                charge(terms, purpose, event, key=self._key.value)
            except InputError:  # refused: at worst it is charged again
                self._begun()
                raise

        return charged

    def follow(
        self,
        release: Callable[[], Release],
        progress: Callable[[int, int], None],
        log: Callable[[Mapping[str, float]], object] | None = None,
    ) -> Release:
        """What ``release`` makes by a training that saves its state on the way."""
        from reticent.protect import follow_training

        with follow_training(
            progress=progress,
            checkpoint=self.checkpoint,
            note={"charged": self._charged_to},
            log=log,
            begun=self._begun,
        ):
            released = release()
        self._begun()
        return released

    def ended(self) -> None:
        """The release is written: nothing is gone on with any more."""
        self.checkpoint.unlink(missing_ok=True)

    def _begun(self) -> None:
        """A state is saved, in which it stands that the plan was charged, or a release is made."""
        if self._key is not None:
            self._key.spend()
        self._key = None
        self._key_file.unlink(missing_ok=True)

    def _refuse_other_account(self) -> None:
        from reticent.protect.training_progress import note_in

        if note_in(self.checkpoint).get("charged") != self._charged_to:
            raise InputError(
                "--ledger and --data-set must be those that the stopped training was charged to,"
                " got others"
            )


class ChargeKey:
    """The idempotency key of one charge, in a file that one process holds at a time.

    The key of an earlier process is taken again for the same request; for another there is a new
    one, and what was charged before stays charged.
    """

    def __init__(self, path: Path, *, request: str) -> None:
        self._path, self._file = path, _opened_alone(path)
        digest = hashlib.sha256(request.encode()).hexdigest()
        before, _, key = self._file.read().partition(" ")
        if before != digest or len(key) != 2 * _KEY_BYTES:
            key = secrets.token_hex(_KEY_BYTES)
            self._write(f"{digest} {key}")
        self.value = key

    def spend(self) -> None:
        """No charge may be made with it any more; the file is emptied first, then removed."""
        self._write("")
        self._path.unlink(missing_ok=True)
        self._file.close()

    def leave(self) -> None:
        """It stays for the next process, which may take it from here on."""
        self._file.close()

    def _write(self, content: str) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._file.write(content)
        self._file.flush()
        os.fsync(self._file.fileno())


def _opened_alone(path: Path) -> IO[str]:
    """The file at that path, locked until it is closed; one that was just removed is not it."""
    while True:
        opener = partial(os.open, mode=0o600)
        file = open(path, "a+", opener=opener)  # noqa: SIM115 - closed by ``spend``, or the process
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise InputError(f"{path} must not be in use, got a training that runs on it") from None
        if os.fstat(file.fileno()).st_nlink > 0:
            file.seek(0)
            return file
        file.close()
