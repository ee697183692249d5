"""Fits to all private records, kept beside a run so that a later one need not do them again.

They are what takes longest of a run on a large table. Kept are the coordinates of each optimum, by
content: of the records, of every choice of the head, and of the version. A later fit starts there,
and its certificate is found anew, so that nothing rests on the file; a fit that is there takes one
look at the records. No noise and no release is kept. The file is as private as the records: it is
its owner's alone, and goes when the run ends.
"""

import contextlib
import hashlib
import io
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

import numpy as np

from reticent.arrays import Floats
from reticent.data import Dataset
from reticent.data.archive import archive
from reticent.files import write_atomic
from reticent.protect.table import HeadSpec, fit_head
from reticent.training import SoftmaxHead
from reticent.validation import InputError
from reticent.version import INSTALLED


class KeptFits:
    """The file with the coordinates; one that cannot be read is begun anew."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: dict[str, Floats] = {}
        if path.is_file():
            with contextlib.suppress(InputError):
                self._kept = archive(path)

    def start(self, key: str, shape: tuple[int, ...]) -> Floats | None:
        """Where an earlier fit ended; None where there was none."""
        kept = self._kept.get(key)
        if kept is None or kept.shape != shape or kept.dtype != np.float64:
            return None
        return kept if np.isfinite(kept).all() else None

    def keep(self, key: str, coordinates: Floats) -> None:
        """Write it beside the others."""
        self._kept[key] = coordinates
        content = io.BytesIO()
        np.savez(content, allow_pickle=False, **self._kept)
        write_atomic(self._path, content.getvalue(), private=True)


_FITS: ContextVar[KeptFits | None] = ContextVar("kept fits", default=None)


@contextlib.contextmanager
def kept_fits(path: Path) -> Iterator[None]:
    """Within it fits of a run are kept in this file, and begin where those in it ended."""
    token = _FITS.set(KeptFits(path))
    try:
        yield
    finally:
        _FITS.reset(token)


def fitted(data: Dataset, spec: HeadSpec) -> SoftmaxHead:
    """``fit_head``, from where an earlier run ended if it came so far."""
    fits = _FITS.get()
    if fits is None:
        return fit_head(data, spec)
    key = hashlib.sha256(f"{INSTALLED} {data.checksum} {spec!r}".encode()).hexdigest()
    start = fits.start(key, (len(data.classes) - 1, data.features.shape[1] + bool(spec.intercept)))
    head = fit_head(data, spec, start=start)
    if start is None:
        fits.keep(key, np.asarray(head.coordinates_))
    return head
