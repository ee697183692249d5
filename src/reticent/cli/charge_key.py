"""One charge of a command that may be killed and said again: its idempotency key, in a file."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Self

from reticent.guarantee import Event
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.cli.ledger_options import Charger
    from reticent.protect import Terms

_KEY_BYTES: Final = 16


class ChargeOnce:
    """Charges a release once, however often the command was killed before the key was spent."""

    def __init__(self, path: Path, *, charged_to: Sequence[str | None]) -> None:
        self._path, self._charged_to = path, charged_to
        self._key: ChargeKey | None = None

    @classmethod
    def beside(cls, out: Path, *, charged_to: Sequence[str | None]) -> Self:
        """With its key in ``.OUT.charge``."""
        whole = out.resolve()
        return cls(whole.with_name(f".{whole.name}.charge"), charged_to=charged_to)

    def charging(
        self, charge: Charger | None, terms: Terms, purpose: str
    ) -> Callable[[Event], None] | None:
        """What charges a release by these terms; None where nothing is charged."""
        return None if charge is None else partial(self.charge, charge, terms, purpose)

    def charge(self, charge: Charger, terms: Terms, purpose: str, event: Event) -> None:
        """Charge with the key of the file; a charge that is refused leaves none."""
        request = [*self._charged_to, terms.to_dict(), purpose, event.to_dict()]
        self._key = ChargeKey(self._path, request=json.dumps(request, sort_keys=True))
        try:
            charge(terms, purpose, event, key=self._key.value)
        except InputError:  # refused: at worst it is charged again
            self.spend()
            raise

    def spend(self) -> None:
        """Something of the release is about to be seen: no charge is made with the key any more."""
        if self._key is not None:
            self._key.spend()
        self._key = None

    def leave(self) -> None:
        """The key stays for the next process: nobody has seen anything of the release."""
        if self._key is not None:
            self._key.leave()

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """Within it nobody sees anything of the release: stopped there, the charge is kept."""
        try:
            yield
        except BaseException:
            self.leave()
            raise
        self.spend()


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
            raise InputError(f"{path} must not be in use, got a command that runs on it") from None
        if os.fstat(file.fileno()).st_nlink > 0:
            file.seek(0)
            return file
        file.close()
