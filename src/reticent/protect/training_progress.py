"""Progress and checkpoints of a long training, without a word of the records.

``follow_training`` sets what a recipe's training reports to, and the file from which it goes on
after a stop. The file holds the plan and the steps taken; it is as private as a model that was
never released, because a step that is taken again after a stop is taken with fresh noise: only
a run that came to its end may be published.

Whoever can write the file decides what is gone on from: weights that no noise was added to, say. No
key could tell such a file from a true one, since whoever writes the owner's files reads the owner's
keys as well. So a file of another owner, or one that others may write, is refused, and what is made
by going on from a state says under *stated* that the file was not changed (``terms.RESUMED``).
"""

import fcntl
import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np

from reticent.arrays import Array, Floats
from reticent.protect import noise_scales, noisy_query
from reticent.protect.recipe import Plan, Recipe
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.training.encoders.torch_extra import torch

FORMAT: Final = "reticent-training-1"
_WRITTEN_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_SAVES = 50
"""How often a whole training is saved, beside its first moment."""


class Run(Protocol):
    """A training whose state can be saved after a step and restored to go on from it."""

    def state(self) -> "dict[str, torch.Tensor]":
        """All that the next step depends on beside the records."""

    def restore(self, state: "dict[str, torch.Tensor]") -> None:
        """Go back to a saved state."""


class Follower(NamedTuple):
    """Who is told of a training."""

    progress: Callable[[int, int], None] | None = None
    checkpoint: Path | None = None
    note: Mapping[str, Any] = {}
    log: Callable[[Mapping[str, float]], object] | None = None
    begun: Callable[[], None] | None = None


_NOBODY: Final = Follower()
_RESUMED: ContextVar[int] = ContextVar("trainings gone on with", default=0)
_FOLLOWER: ContextVar[Follower | None] = ContextVar("follower of training", default=None)


@contextmanager
def follow_training(
    *,
    progress: Callable[[int, int], None] | None = None,
    checkpoint: Path | None = None,
    note: Mapping[str, Any] | None = None,
    log: Callable[[Mapping[str, float]], object] | None = None,
    begun: Callable[[], None] | None = None,
) -> Iterator[None]:
    """Until it is left, training reports steps to ``progress`` and saves to ``checkpoint``.

    ``note`` stands in the file too (``note_in``): plain values, such as what was charged. ``log``
    is called after each step with numbers that were computed from noisy answers alone, ``begun``
    when a state is saved, before the first step that follows it.
    """
    before = _FOLLOWER.set(Follower(progress, checkpoint, dict(note or {}), log, begun))
    try:
        yield
    finally:
        _FOLLOWER.reset(before)


def resumptions() -> int:
    """How often a training was gone on with from a state file here so far."""
    return _RESUMED.get()


def read_state(path: Path, *, format: str) -> "tuple[dict[str, Any], dict[str, torch.Tensor]]":
    """The document and the tensors of a state file that its owner alone may write, and reads."""
    from reticent.training.encoders.torch_encoder import read_sealed

    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        raise InputError(f"{path} must be a readable file, got: {error.strerror}") from None
    try:
        status = os.fstat(file)  # of the file that is read, whatever the path names by then
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise InputError(f"{path} must be your own file, got one of another owner or kind")
        if status.st_mode & _WRITTEN_BY_OTHERS:
            raise InputError(
                f"{path} must be writable by you alone, got mode {stat.S_IMODE(status.st_mode):o}:"
                " others may have changed it; begin anew without it"
            )
        return read_sealed(Path(f"/dev/fd/{file}"), format=format, name=path)
    finally:
        os.close(file)


def note_in(path: Path) -> dict[str, Any]:
    """The note in a checkpoint."""
    document, _ = read_state(path, format=FORMAT)
    note = document.get("note")
    return note if isinstance(note, dict) else {}


class TrainingProgress:
    """Counts the steps of one training, from where an earlier one stopped."""

    def __init__(self, follower: Follower, run: Run, identity: dict[str, Any]) -> None:
        self._follower, self._run, self._identity = follower, run, identity
        self.taken = 0

    def steps(self, planned: int) -> Iterator[int]:
        """The steps that are still to be taken; each counts when the next is asked for."""
        if self.taken > planned:
            raise InputError(f"the state must be of at most {planned} steps, got {self.taken}")
        every = max(1, planned // _SAVES)
        if self.taken == 0:
            self._save(planned)
        if self._follower.begun is not None:
            self._follower.begun()
        while self.taken < planned:
            yield self.taken
            self.taken += 1
            if self._follower.progress is not None:
                self._follower.progress(self.taken, planned)
            if self.taken % every == 0 or self.taken == planned:
                self._save(planned)

    def log(self, **answers: float) -> None:
        """Numbers of a step, each a function of noisy answers: they are public as these are."""
        if self._follower.log is not None:
            self._follower.log({"step": self.taken + 1, **answers})

    def restore(self, path: Path, fingerprint: Callable[[bytes], str]) -> None:
        """From the file of an earlier run of the same plan on the same records."""
        document, tensors = read_state(path, format=FORMAT)
        key = bytes.fromhex(str(document.get("key", "")))
        same = document.get("run") == self._identity["run"]
        if not same or document.get("records") != fingerprint(key):
            raise InputError(
                f"{path} must be of a training with the same plan on the same records, got"
                " another: remove it, or give the settings and records it was made with"
            )
        self._identity |= {"key": document["key"], "records": document["records"]}
        taken = document.get("taken")
        if type(taken) is not int or taken < 0:
            raise InputError(f"{path} must say how many steps were taken, got another file")
        if taken:  # before the first step there is nothing to go on from
            _RESUMED.set(_RESUMED.get() + 1)
            try:
                self._run.restore(tensors)
            except (KeyError, RuntimeError):
                raise InputError(f"{path} must hold the weights of its plan, got others") from None
        self.taken = taken

    def _save(self, planned: int) -> None:
        path = self._follower.checkpoint
        if path is None:
            return
        from reticent.training.encoders.torch_encoder import write_sealed

        steps = {"taken": self.taken, "planned": planned}
        document = {**self._identity, **steps, "note": dict(self._follower.note)}
        write_sealed(path, self._run.state(), document, format=FORMAT, private=True)


def planned_numbers(recipe: Recipe, plan: Plan) -> dict[str, Any]:
    """What a state file must agree with to be gone on from."""
    return {
        "recipe": recipe.name,
        "numbers": recipe.to_dict(),
        "scales": noise_scales.scales_of(plan),
    }


@contextmanager
def training_progress(
    public: Mapping[str, Any], run: Run, records: tuple[Floats, Array]
) -> Iterator[TrainingProgress]:
    """The progress of one training, restored where a checkpoint is there; one process at a time."""
    follower = _FOLLOWER.get() or _NOBODY
    if noisy_query.is_replaced():  # a state that an audit's noise led to must never be gone on from
        follower = Follower()
    key = secrets.token_bytes(32)

    def fingerprint(key: bytes) -> str:
        digest = hmac.new(key, digestmod=hashlib.sha256)
        for part in records:
            whole = np.ascontiguousarray(part)
            digest.update(f"{whole.dtype}{whole.shape}".encode())
            digest.update(whole.tobytes())
        return digest.hexdigest()

    path = follower.checkpoint
    if path is None:
        yield TrainingProgress(follower, run, {"run": public})
        return
    identity = {"run": public, "key": key.hex(), "records": fingerprint(key)}
    progress = TrainingProgress(follower, run, identity)
    with _alone(path):
        if path.exists():
            progress.restore(path, fingerprint)
        yield progress


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process may go on from a checkpoint: two would take the same steps twice."""
    lock: IO[str]
    place = path.with_name(f".{path.name}.lock")
    with place.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{path} must not be in use, got a training that runs on it") from None
        yield
        place.unlink(missing_ok=True)  # where training was stopped it stays, unlocked
