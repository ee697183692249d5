"""The files beside OUT from which a stopped training is gone on with, and its one charge.

``.OUT.training`` is the state after some step. ``.OUT.charge`` holds the idempotency key of the
charge, from before it is made until the first state is saved: killed in between, the same command
is charged once. While that file holds a key nobody has seen anything of what was paid for: it is
emptied before the first step, and before a release is written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from reticent.cli.charge_key import ChargeOnce
from reticent.guarantee import Event
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.cli.ledger_options import Charger
    from reticent.protect import Terms

T = TypeVar("T")
_KEY_BYTES: Final = 16


class StoppedTraining:
    """One training that ends with OUT, whether it was stopped before or not."""

    def __init__(self, out: Path, *, ledger: str | None, data_set: str | None) -> None:
        self.checkpoint = out.with_name(f".{out.name}.training")
        self._key_file = out.with_name(f".{out.name}.charge")
        self._charged_to = [ledger, data_set]
        self._once = ChargeOnce(self._key_file, charged_to=self._charged_to)

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
            self._once.charge(charge, terms, purpose, event)

        return charged

    def follow(
        self,
        make: Callable[[], T],
        progress: Callable[[int, int], None],
        log: Callable[[Mapping[str, float]], object] | None = None,
    ) -> T:
        """What ``make`` gives by a training that saves its state on the way."""
        from reticent.protect import follow_training

        with follow_training(
            progress=progress,
            checkpoint=self.checkpoint,
            note={"charged": self._charged_to},
            log=log,
            begun=self._begun,
        ):
            made = make()
        self._begun()
        return made

    def ended(self) -> None:
        """The release is written: nothing is gone on with any more."""
        self.checkpoint.unlink(missing_ok=True)

    def _begun(self) -> None:
        """A state is saved, in which it stands that the plan was charged, or a release is made."""
        self._once.spend()
        self._key_file.unlink(missing_ok=True)

    def _refuse_other_account(self) -> None:
        from reticent.protect.training_progress import note_in

        if note_in(self.checkpoint).get("charged") != self._charged_to:
            raise InputError(
                "--ledger and --data-set must be those that the stopped training was charged to,"
                " got others"
            )


class LogLines:
    """Appends a line for each step to a private file, which outlives a stop."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self, answers: Mapping[str, float]) -> None:
        """Noisy answers of a step, as one JSON line."""
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(handle, "a", encoding="utf-8") as file:
            file.write(json.dumps(answers, allow_nan=False) + "\n")


def lines_of_steps(path: Path) -> str:
    """One line a step: of a step that was taken again after a stop the last, as released."""
    if not path.is_file():
        return ""
    lines: dict[int, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.endswith("\n"):  # else it was cut off, and its step taken again
            lines[json.loads(line)["step"]] = line
    return "".join(lines[step] for step in sorted(lines))
