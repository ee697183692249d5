"""The files beside OUT from which a run that was stopped is gone on with, and its one charge.

``.OUT.fits`` holds what was fitted to all private records (``run.kept_fits``). ``.OUT.charge`` is
the idempotency key of the charge, from before it is made until something is written: killed in
between, nobody has seen anything of the release, and the same command is charged once.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from reticent.cli.charge_key import ChargeOnce

if TYPE_CHECKING:
    from reticent.cli.ledger_options import Charger
    from reticent.run.releases import RunCharge


class StoppedRun:
    """One run that ends with OUT, whether it was stopped before or not."""

    def __init__(
        self, out: Path, charge: "Charger | None", *, charged_to: tuple[str | None, str | None]
    ) -> None:
        whole = out.resolve()
        self._fits = whole.with_name(f".{whole.name}.fits")
        self._once = ChargeOnce.beside(out, charged_to=charged_to)
        self.charge: RunCharge | None = (
            None if charge is None else partial(self._once.charge, charge)
        )
        """Charges the release that is handed over, once however often the run was killed."""

    @contextmanager
    def following(self) -> Iterator[None]:
        """Within it what takes long is kept, and begins where an earlier run ended."""
        from reticent.run.kept_fits import kept_fits

        with self._once.unseen(), kept_fits(self._fits):
            yield

    def ended(self) -> None:
        """The results are written: nothing is gone on with any more."""
        self._fits.unlink(missing_ok=True)
