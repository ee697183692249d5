"""The files beside OUT from which a run that was stopped is gone on with, and its one charge.

``.OUT.fits`` holds what was fitted to all private records (``run.kept_fits``). ``.OUT.charge`` is
the idempotency key of the charge, from before it is made until something is written: killed in
between, nobody has seen anything of the release, and the same command is charged once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reticent.cli.stopped_training import ChargeKey
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.cli.ledger_options import Charger
    from reticent.guarantee import Event
    from reticent.protect import Terms
    from reticent.run.releases import RunCharge


class StoppedRun:
    """One run that ends with OUT, whether it was stopped before or not."""

    def __init__(
        self, out: Path, charge: Charger | None, *, charged_to: tuple[str | None, str | None]
    ) -> None:
        whole = out.resolve()
        self._fits = whole.with_name(f".{whole.name}.fits")
        self._key_file = whole.with_name(f".{whole.name}.charge")
        self._charged_to = charged_to
        self._key: ChargeKey | None = None
        self.charge: RunCharge | None = None if charge is None else self._charged_once(charge)
        """Charges the release that is handed over, once however often the run was killed."""

    @contextmanager
    def following(self) -> Iterator[None]:
        """Within it what takes long is kept, and begins where an earlier run ended."""
        from reticent.run.kept_fits import kept_fits

        try:
            with kept_fits(self._fits):
                yield
        except BaseException:
            if self._key is not None:
                self._key.leave()
            raise
        self._spend()  # before anything is written

    def _charged_once(self, charge: Charger) -> RunCharge:
        def charged(terms: Terms, purpose: str, event: Event) -> None:
            request = [*self._charged_to, terms.to_dict(), purpose, event.to_dict()]
            self._key = ChargeKey(self._key_file, request=json.dumps(request, sort_keys=True))
            try:
                charge(terms, purpose, event, key=self._key.value)
            except InputError:  # refused: at worst it is charged again
                self._spend()
                raise

        return charged

    def ended(self) -> None:
        """The results are written: nothing is gone on with any more."""
        self._fits.unlink(missing_ok=True)

    def _spend(self) -> None:
        if self._key is not None:
            self._key.spend()
        self._key = None
