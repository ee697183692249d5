"""Files that appear whole or not at all, and what a killed run has left of them.

While something is being written it stands under a hidden name and is locked (``flock``); the
system drops the lock with the process. So a later run knows what nobody writes any more, whatever
the number of the process was and on whichever machine, and clears it.
"""

import contextlib
import fcntl
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from reticent.validation import InputError

_PARTIAL: Final = ".reticent-partial"
_unfinished: set[Path] = set()
"""Of this process: folders made for results, and partial files and folders."""


def write_atomic(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write under another name first, which an interruption leaves nothing of.

    A ``private`` file can be read by its owner alone.
    """
    write_together({path: content}, private=private)


def write_together(contents: Mapping[Path, bytes], *, private: bool = False) -> None:
    """Write files that belong together: on a full disk none of them is there."""
    partial: dict[Path, Path] = {}
    writing = next(iter(contents), Path())
    try:
        with contextlib.ExitStack() as locks:
            for writing, content in contents.items():
                clear_partial(writing.parent, f".{writing.name}.")
                partial[writing] = _hidden(writing.parent, f".{writing.name}.")
                _unfinished.add(partial[writing])
                locks.enter_context(_written(partial[writing], content, _mode(private)))
            for writing, written in partial.items():
                written.replace(writing)
    except OSError as error:
        raise InputError(f"{writing} must be writable, got: {error.strerror}") from None
    finally:
        for written in partial.values():
            with contextlib.suppress(OSError):  # what could not be made need not be removed
                written.unlink()
            _unfinished.discard(written)


@contextlib.contextmanager
def partial_folder(prefix: str, *, within: Path | None = None) -> Iterator[Path]:
    """A folder that is gone afterwards, and after a kill with the next of that prefix.

    Without ``within`` it is among the system's temporary files, readable by its owner alone.
    """
    parent = Path(tempfile.gettempdir()) if within is None else within
    clear_partial(parent, prefix)
    folder = _hidden(parent, prefix)
    _unfinished.add(folder)
    try:
        with _made(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _unfinished.discard(folder)


def clear_partial(parent: Path, prefix: str) -> None:
    """Remove the user's partial files and folders of that prefix which nobody writes any more."""
    for path in _partial_ones(parent, prefix):
        with contextlib.suppress(OSError):  # it is locked, just gone, or another's
            if path.lstat().st_uid != os.getuid() or path.is_symlink():
                continue
            access = os.O_RDONLY if path.is_dir() else os.O_RDWR
            with _locked(os.open(path, access | os.O_NOFOLLOW), wait=False):
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink()


def clear_unfinished() -> None:
    """Remove what this process has begun and not ended; folders for results if they are empty."""
    for path in _unfinished.copy():
        with contextlib.suppress(OSError):
            if path.name.endswith(_PARTIAL) and path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif path.is_dir():
                path.rmdir()
            else:
                path.unlink()


def writable_file(path: Path) -> Path:
    """The path, where a file can be written to it; before long work, not after it."""
    folder = path.parent
    if path.is_dir():
        raise InputError(f"{path} must be the name of a file to write, got a folder")
    if not folder.is_dir():
        raise InputError(
            f"{path} must be in a folder that exists, got {str(folder)!r}, which does not:"
            " make it first"
        )
    if not os.access(folder, os.W_OK):
        raise InputError(
            f"{path} must be in a folder that you may write to, got {str(folder)!r}, which is"
            " read-only for you"
        )
    return path


def existing_file(path: Path, *, role: str = "") -> Path:
    """The path, where there is a file to read; else one line says what is there instead."""
    what = f"{role} {path}".strip()
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        reason = getattr(error, "strerror", None) or "no name of a file"
        raise InputError(f"{what} must be a file that can be read, got: {reason}") from None
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or device"
        raise InputError(f"{what} must be a file, got {kind}")
    return path


def writable_folder(path: Path) -> Path:
    """The folder, made where it is not there; before long work, not after it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path} must be a folder, got: {error.strerror}") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError(f"{path} must be writable, got a folder that is read-only for you")
    return path


@contextlib.contextmanager
def folder_for(path: Path) -> Iterator[Path]:
    """A writable folder for the results of long work; one made for it goes where the work fails.

    What a killed run has left in it is cleared.
    """
    was_there = path.exists()
    folder = writable_folder(path)
    clear_partial(folder, ".")
    if not was_there:
        _unfinished.add(folder)
    try:
        yield folder
    except BaseException:
        if not was_there:
            with contextlib.suppress(OSError):  # something stands in it
                folder.rmdir()
        raise
    finally:
        _unfinished.discard(folder)


def _partial_ones(parent: Path, prefix: str) -> list[Path]:
    try:
        return [
            path
            for path in parent.iterdir()
            if path.name.startswith(prefix) and path.name.endswith(_PARTIAL)
        ]
    except OSError:  # the folder is not there, or shows its files to nobody
        return []


def _hidden(parent: Path, prefix: str) -> Path:
    return parent / f"{prefix}{secrets.token_hex(8)}{_PARTIAL}"


@contextlib.contextmanager
def _written(path: Path, content: bytes, mode: int) -> Iterator[None]:
    """Bytes in a new file, which is locked until it has its name.

    Between making and locking it another run may find the file and clear it: then it is made again.
    """
    while True:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with _locked(descriptor):
            if not path.exists():
                continue
            with os.fdopen(os.dup(descriptor), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            yield
            return


@contextlib.contextmanager
def _made(folder: Path) -> Iterator[None]:
    """A new folder that is locked; made again where another run took it for one that was left."""
    while True:
        folder.mkdir(mode=0o700)
        try:
            descriptor = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:
            continue
        with _locked(descriptor):
            if folder.exists():
                yield
                return


@contextlib.contextmanager
def _locked(descriptor: int, *, wait: bool = True) -> Iterator[None]:
    """A lock that no other process has, for as long as the descriptor is open.

    Whoever cannot wait gets an OSError. Where the file system has no locks a writer does without
    them, and nothing is cleared.
    """
    try:
        if wait:
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _mode(private: bool) -> int:
    return 0o600 if private else 0o666
