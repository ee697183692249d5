"""The witness: what this machine last saw of a ledger, kept outside of its database.

A database that is put back from a backup, whole and intact, has forgotten the charges since:
nothing in it can tell. The witness holds for each account the number and the hash of its last link.
The database may be ahead of it (other machines charge too) but must hold that link.

It is one file for each ledger, named after the ledger's identity, in the folder that
RETICENT_WITNESS names or else ``reticent/witness`` in the user's state folder: a backup of the
ledger's folder does not bring it back. A machine without one believes the ledger that it sees
first.
"""

import fcntl
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reticent.files import write_atomic
from reticent.ledger.errors import LedgerError
from reticent.validation import InputError

VARIABLE: Final = "RETICENT_WITNESS"
ACCEPT: Final = "`reticent ledger verify --accept-restored`"
_SLOT: Final = 12 + 1 + 18 + 1 + 64 + 1 + 8 + 1
"""Bytes of a line: account, number, hash, CRC-32 of the line before it, with what parts them."""

Link = tuple[int, bytes]
"""The number and the hash of an account's last link."""


def witness_folder() -> Path:
    """What RETICENT_WITNESS names, or else a folder in the user's state folder; not made here."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser()
    state = os.environ.get("XDG_STATE_HOME")
    # The XDG rules: a path that is not absolute is to be ignored.
    absolute = state and Path(state).is_absolute()
    home = Path(state) if state and absolute else Path.home() / ".local" / "state"
    return home / "reticent" / "witness"


@dataclass(frozen=True)
class Witness:
    """The file about one ledger; a line for each account, at a place that its number gives."""

    path: Path

    @classmethod
    def of(cls, identity: str) -> "Witness":
        """That of the ledger with this identity, in the folder of witnesses."""
        return cls(witness_folder() / f"{identity}.txt")

    def seen(self) -> dict[int, Link] | None:
        """The last link of each account; None where this machine never saw the ledger."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerError(
                f"witness {self.path} must be readable, got: {error.strerror}"
            ) from None
        lines = [content[at : at + _SLOT] for at in range(_SLOT, len(content), _SLOT)]
        return {
            number: self._parsed(number, line)
            for number, line in enumerate(lines, start=1)
            if line.strip(b"\0")
        }

    def advance(self, links: Mapping[int, Link]) -> None:
        """Take later links of accounts; earlier ones are left out. Call it after the commit.

        Not synced: after a power cut the database is ahead of the witness, which is no fault.
        """
        try:
            with self._locked() as file:
                for number, link in links.items():
                    at = number * _SLOT
                    old = os.pread(file, _SLOT, at)
                    if not old.strip(b"\0") or self._parsed(number, old)[0] < link[0]:
                        os.pwrite(file, _line(number, link), at)
        except FileNotFoundError:  # somebody took it away meanwhile
            self.restart(links)
        except OSError as error:
            raise self._unwritable(error) from None

    def restart(self, links: Mapping[int, Link]) -> None:
        """Believe these links instead of what was seen."""
        size = max(links, default=0) + 1
        slots = [bytes(_SLOT)] * size
        slots[0] = _HEADER
        for number, link in links.items():
            slots[number] = _line(number, link)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            write_atomic(self.path, b"".join(slots))
        except InputError as error:
            raise LedgerError(f"{error}; {VARIABLE} names the folder of witnesses") from None

    @contextmanager
    def _locked(self) -> Iterator[int]:
        file = os.open(self.path, os.O_RDWR)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)

    def _parsed(self, number: int, line: bytes) -> Link:
        try:
            account, seq, head, _ = line.decode("ascii").split()
            link = int(seq), bytes.fromhex(head)
            if int(account) == number and line == _line(number, link):
                return link
        except ValueError:
            pass
        raise LedgerError(
            f"witness {self.path} must be as written, got a damaged line {number}; "
            f"{ACCEPT} believes the ledger instead"
        )

    def _unwritable(self, error: OSError) -> LedgerError:
        return LedgerError(
            f"witness {self.path} must be writable, got: {error.strerror}; "
            f"{VARIABLE} names the folder of witnesses"
        )


def _line(number: int, link: Link) -> bytes:
    text = f"{number:>12d} {link[0]:>18d} {link[1].hex()} ".encode("ascii")
    return text + f"{zlib.crc32(text):08x}\n".encode("ascii")


_TITLE: Final = b"account, number and hash of its last link, CRC-32: the last seen of a ledger"
_HEADER: Final = _TITLE.ljust(_SLOT - 1) + b"\n"
