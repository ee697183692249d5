"""What every frozen encoder can do, and what encoders share: image shapes, pinned files of weights.

``FunctionEncoder`` is an encoder that is a function of the user.
"""

import hashlib
import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from reticent.arrays import Array, ArrayLike, Floats32
from reticent.read_limit import read_limit
from reticent.validation import InputError, count


class Encoder(Protocol):
    """A fixed map from records to features. It was never trained on the private records."""

    def fingerprint(self) -> str:
        """SHA-256 of architecture, preparation of the input and weights: equal maps, equal text."""
        ...

    def encode(self, inputs: Array) -> Floats32:
        """Features (n, d) of images (n, height, width, channels) or of n texts."""
        ...


class FunctionEncoder:
    """A function from n records to features (n, d).

    Nobody can tell from a function what it computes: its weights may lie anywhere. So no two of
    these share a fingerprint, and their features are never kept in the cache.

    >>> FunctionEncoder(lambda images: images.reshape(len(images), -1)).encode(
    ...     np.ones((2, 3, 3, 1))
    ... )
    array([[1., 1., 1., 1., 1., 1., 1., 1., 1.],
           [1., 1., 1., 1., 1., 1., 1., 1., 1.]], dtype=float32)
    """

    def __init__(self, function: Callable[[Array], ArrayLike]) -> None:
        self._function = function
        self._fingerprint = uuid.uuid4().hex * 2

    def fingerprint(self) -> str:
        """64 random digits: equal for this object alone."""
        return self._fingerprint

    def encode(self, inputs: Array) -> Floats32:
        """What the function returns, as float32."""
        features = np.asarray(self._function(inputs))
        if features.dtype.kind not in "iuf":
            raise InputError(f"encoder must return real numbers, got an array of {features.dtype}")
        with np.errstate(over="ignore"):  # what becomes infinite is refused where it is used
            return features.astype(np.float32)


SMALLEST_SIDE: Final = 8
_CHANNELS: Final = (1, 3)


@dataclass(frozen=True, kw_only=True)
class ImageShape:
    """Images of 1 or 3 channels, at least 8 pixels high and wide."""

    channels: int
    height: int
    width: int

    def __post_init__(self) -> None:
        """Refuse what no encoder here can read."""
        if count("channels", self.channels) not in _CHANNELS:
            raise InputError(f"channels must be 1 or 3, got {self.channels}")
        count("height", self.height, at_least=SMALLEST_SIDE)
        count("width", self.width, at_least=SMALLEST_SIDE)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(height, width, channels), as images are stored."""
        return self.height, self.width, self.channels


def channels_last(shape: tuple[int, ...]) -> bool:
    """Whether images of this shape have their channels, one or three, last: 32×32×3, not 3×32×32.

    Tables of images hold them so; torch reads them first.
    """
    return shape[0] not in _CHANNELS and shape[-1] in _CHANNELS


VARIABLE: Final = "RETICENT_WEIGHTS"
"""A folder of files with the pinned hashes, where their packages are not installed."""


def weights(packaged: Callable[[], Path], *, sha256: str, encoder: str) -> bytes:
    """The content of the file with this SHA-256: of the user's folder, or else of its package.

    ``packaged`` imports the package and says where its file is.
    """
    local = _local(sha256)
    if local is not None:
        return local
    try:
        path = packaged()
    except ModuleNotFoundError as error:
        raise InputError(
            f"{error.name} must be installed for {encoder}: pip install 'reticent[encoders]', or"
            f" put its file with SHA-256 {sha256} into a folder and name that in {VARIABLE}"
        ) from None
    return pinned_bytes(path, sha256=sha256)


def pinned_bytes(path: Path, *, sha256: str) -> bytes:
    """The content of the file, if it has this SHA-256.

    Whoever can change a file of weights chooses what the features tell, and in a torch pickle what
    runs. The bytes are read once and handed on, so that what was checked is what is opened.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path.name} must be readable, got {error.strerror}: install 'reticent[encoders]' anew"
        ) from None
    digest = hashlib.sha256(content).hexdigest()
    if digest != sha256:
        raise InputError(
            f"{path.name} must have SHA-256 {sha256[:12]}…, got {digest[:12]}…:"
            " install 'reticent[encoders]' anew"
        )
    return content


def missing(package: str, *, encoder: str, extra: str = "encoders") -> InputError:
    """The one line about a package of code that an encoder needs, and the extra that brings it."""
    return InputError(f"{package} must be installed for {encoder}: pip install 'reticent[{extra}]'")


def _local(sha256: str) -> bytes | None:
    """The content of the user's own copy, where there is one with that hash."""
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        return None
    folder = Path(chosen).expanduser()
    if not folder.is_dir():
        raise InputError(f"{VARIABLE} must name a folder, got {chosen!r}")
    for file in sorted(folder.iterdir()):
        if file.is_file() and file.stat().st_size <= read_limit():
            content = file.read_bytes()
            if hashlib.sha256(content).hexdigest() == sha256:
                return content
    return None
