"""Tables of zeros and ones by Shokri et al. 2017: Location, Purchase-100, Texas-100."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reticent.arrays import Integers
from reticent.data.dataset import Dataset, where
from reticent.data.folder import find
from reticent.read_limit import refuse_above_limit
from reticent.validation import InputError

_SOURCE: Final = "{name}, as prepared by Shokri et al. 2017"
_GET: Final = "{file} of the archives by Shokri et al. (privacytrustlab/datasets)"
_COMMA: Final = ord(",")
_ZERO: Final = ord("0")


class _Layout(NamedTuple):
    title: str
    archive: str
    file: str
    features: int
    classes: int


_LOCATION: Final = _Layout("Location", "dataset_location.tgz", "location/bangkok", 446, 30)
_PURCHASE: Final = _Layout(
    "Purchase-100", "dataset_purchase.tgz", "purchase/dataset_purchase", 600, 100
)
_TEXAS: Final = _Layout("Texas-100", "dataset_texas.tgz", "texas/100/feats", 6169, 100)


def location(folder: Path) -> Dataset:
    """Location (Foursquare check-ins of Bangkok): 446 bits, 30 classes."""
    return _labelled("location", _LOCATION, folder)


def purchase100(folder: Path) -> Dataset:
    """Purchase-100: 600 bits, 100 classes."""
    return _labelled("purchase100", _PURCHASE, folder)


def texas100(folder: Path) -> Dataset:
    """Texas-100: 6,169 bits and 100 classes in two files, ``feats`` and ``labels``."""
    get = _GET.format(file=_TEXAS.archive)
    features = find(folder, [_TEXAS.file], get=get)
    labels = find(folder, ["texas/100/labels"], get=get)
    bits = np.stack([_bits(features, *line, _TEXAS) for line in _lines(features)])
    classes = np.array([_label(labels, *line, _TEXAS) for line in _lines(labels)])
    if len(bits) != len(classes):
        raise InputError(
            f"{labels.name} must hold one label for each of {len(bits)} records, got {len(classes)}"
        )
    return _dataset("texas100", _TEXAS, bits, classes)


def _labelled(name: str, layout: _Layout, folder: Path) -> Dataset:
    """A file whose lines are a label and the bits."""
    path = find(folder, [layout.file], get=_GET.format(file=layout.archive))
    bits, labels = [], []
    for row, line in _lines(path):
        label, _, rest = line.partition(b",")
        labels.append(_label(path, row, label, layout))
        bits.append(_bits(path, row, rest, layout))
    return _dataset(name, layout, np.stack(bits), np.array(labels))


def _dataset(name: str, layout: _Layout, bits: NDArray[np.uint8], labels: Integers) -> Dataset:
    return Dataset(
        name=name,
        source=_SOURCE.format(name=layout.title),
        inputs=bits,
        labels=labels - 1,
        classes=tuple(str(i) for i in range(1, layout.classes + 1)),
    )


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} must hold records, got an empty file")
    refuse_above_limit(path.name, path.stat().st_size)  # a byte for each digit, twice
    with path.open("rb") as stream:
        for row, line in enumerate(stream):
            yield row, line.rstrip(b"\r\n")


def _label(path: Path, row: int, field: bytes, layout: _Layout) -> int:
    written = field.strip(b'" ')
    if not written.isdigit() or len(written) > 9 or not 1 <= int(written) <= layout.classes:
        raise InputError(
            f"{path.name} must hold labels in 1 … {layout.classes}, got another in {where(row)}"
        )
    return int(written)


def _bits(path: Path, row: int, line: bytes, layout: _Layout) -> NDArray[np.uint8]:
    """The digits between the commas; a line of any other form is refused."""
    symbols = np.frombuffer(line, dtype=np.uint8)
    digits = symbols[::2] - np.uint8(_ZERO)  # what is below '0' wraps around to a large number
    if symbols.size != 2 * layout.features - 1:
        problem = f"{line.count(b',') + 1} fields"
    elif not (symbols[1::2] == _COMMA).all() or digits.max() > 1:
        problem = "something else"
    else:
        return digits
    raise InputError(
        f"{path.name} must hold {layout.features} comma-separated bits a record,"
        f" got {problem} in {where(row)}"
    )
