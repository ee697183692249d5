"""From a data set of images or texts to a data set of features, each computed once.

What an encoder made of 256 records is one file, whose name is a hash of these records, the encoder
and the format. So an interrupted run goes on where it stopped, and a changed record or encoder is
never answered with old features. Features of private data are private, and so are hashes of them:
the folder is open to its owner alone.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

import numpy as np
import safetensors
from safetensors.numpy import save

from reticent.arrays import Array, Floats32
from reticent.data.dataset import Dataset
from reticent.files import clear_partial, write_atomic
from reticent.training.encoders.base import Encoder, FunctionEncoder
from reticent.validation import InputError

VARIABLE: Final = "RETICENT_CACHE"
CHUNK: Final = 256  # records: seconds of work for a network on a processor
_FORMAT: Final = "reticent-features-1"
_TENSOR: Final = "features"
_SEAL: Final = "sha256"

Progress = Callable[[int, int], None]
"""Called with the number of records done and of all records."""


def cached_features(
    data: Dataset,
    encoder: Encoder,
    *,
    folder: str | os.PathLike[str] | Literal[False] | None = None,
    progress: Progress | None = None,
    record_by_record: bool = False,
) -> Dataset:
    """The same records, labels, classes and persons, with float32 features (n, d) as inputs.

    Neighbouring data sets are those that differ in one record *of the result*. It is not the same
    to say that they differ in one image or text: where an encoder works in batches, removing one
    record moves the features of others by rounding errors (measured: up to 5e-7). A guarantee
    speaks of feature records; ``record_by_record`` makes both statements equal for every encoder
    whose answer depends on its input alone, at the price of batches of one. Commands on private
    tables do so.

    Args:
        data: Images, texts, or features that the encoder accepts.
        encoder: A frozen encoder. What a ``FunctionEncoder`` answers is not kept.
        folder: Where features are kept; False for nowhere; None for the folder that the variable
            RETICENT_CACHE names, or else ``reticent`` in the user's cache folder.
        progress: Called after every 256 records with the numbers done and in all.
        record_by_record: Show the encoder one record at a time.

    >>> from reticent.data import load
    >>> flatten = FunctionEncoder(lambda images: images.reshape(len(images), -1))
    >>> cached_features(load("digits"), flatten, folder=False).inputs.shape
    (1797, 64)
    """
    keep = folder is not False and not isinstance(encoder, FunctionEncoder)
    place = cache_folder(folder or None) if keep else None
    encode = one_by_one(encoder) if record_by_record else encoder.encode
    identity = f"{_FORMAT}; {encoder.fingerprint()}; {'one' if record_by_record else CHUNK}"
    parts: list[Floats32] = []
    for inputs in _chunks(data.inputs):
        path = None if place is None else place / _file_name(inputs, identity)
        parts.append(_features(inputs, encode, path))
        if progress is not None:
            progress(sum(map(len, parts)), len(data))
    if not parts:  # no records: as many features as of any, so that nothing tells the two apart
        parts = [_checked(encode(_any_record(data.inputs)), 1)[:0]]
    source = f"{data.source}; features by encoder {encoder.fingerprint()[:12]}"
    return replace(data, inputs=_joined(parts), source=source, columns=(), schema=None)


def cache_folder(folder: str | os.PathLike[str] | None = None, *, kind: str = "features") -> Path:
    """The folder of features inside the given or the usual one, made where it is missing.

    Only its owner can read it (mode 0700), and write: whoever writes there chooses the features.
    What else is kept there has a folder of its own ``kind``.
    """
    path = (Path(folder).expanduser() if folder else usual_folder()) / kind
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)  # one that was there before; refused by the system if another user's
    except OSError as error:
        raise _unusable(path, error) from None
    return path


def usual_folder() -> Path:
    """What RETICENT_CACHE names, or else ``reticent`` in the user's cache folder; not made here."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser()
    caches = os.environ.get("XDG_CACHE_HOME")
    # The XDG rules: a path that is not absolute is to be ignored.
    absolute = caches and Path(caches).is_absolute()
    return (Path(caches) if caches and absolute else Path.home() / ".cache") / "reticent"


def _chunks(inputs: Array) -> Iterator[Array]:
    for start in range(0, len(inputs), CHUNK):
        yield inputs[start : start + CHUNK]


def _any_record(inputs: Array) -> Array:
    """A record of this kind that is nobody's."""
    if inputs.dtype.kind == "U":
        return np.array(["text"])
    return np.zeros((1, *inputs.shape[1:]), dtype=inputs.dtype)


def one_by_one(encoder: Encoder) -> Callable[[Array], Floats32]:
    """The encoder's map, shown one record at a time: no record moves the features of another."""
    smaller = getattr(encoder, "in_batches_of", None)  # else each would be one of a full batch
    alone: Encoder = encoder if smaller is None else smaller(1)

    def encode(inputs: Array) -> Floats32:
        if len(inputs) == 0:
            return _checked(alone.encode(_any_record(inputs)), 1)[:0]
        rows = [_checked(alone.encode(inputs[row : row + 1]), 1) for row in range(len(inputs))]
        return _joined(rows)

    return encode


def _features(inputs: Array, encode: Callable[[Array], Floats32], path: Path | None) -> Floats32:
    """From the file, if it is there and whole; otherwise computed, and written."""
    stored = None if path is None else _read(path)
    if stored is not None and len(stored) == len(inputs):
        return stored
    features = _checked(encode(inputs), len(inputs))
    if path is not None:
        _write(path, features)
    return features


def _checked(features: Floats32, length: int) -> Floats32:
    array = np.asarray(features)
    if array.ndim != 2 or len(array) != length or array.dtype.kind != "f":
        raise InputError(
            f"encoder must return real numbers (n, d) with n = {length},"
            f" got {array.dtype} of shape {array.shape}"
        )
    with np.errstate(over="ignore"):
        numbers = np.ascontiguousarray(array, dtype=np.float32)
    if not np.isfinite(numbers).all():
        raise InputError("encoder must return finite features, got NaN or infinity")
    return numbers


def _joined(parts: list[Floats32]) -> Floats32:
    widths = sorted({part.shape[1] for part in parts})
    if len(widths) > 1:
        raise InputError(f"encoder must return features of one width, got {widths}")
    return np.concatenate(parts)


def _file_name(inputs: Array, identity: str) -> str:
    # The checksum of a data set counts types and shapes too. Labels would only make it miss.
    records = Dataset(name="records", source="a part of a data set", inputs=inputs).checksum
    return hashlib.sha256(f"{identity}; {records}".encode()).hexdigest() + ".safetensors"


def _seal(path: Path, features: Floats32) -> str:
    """SHA-256 of the features and of what they answer: a file under another name is not whole."""
    digest = hashlib.sha256(f"{path.name}{features.shape}".encode())
    digest.update(np.ascontiguousarray(features, dtype="<f4").data)
    return digest.hexdigest()


def _read(path: Path) -> Floats32 | None:
    """The features in a whole file; None where it is missing or damaged, which costs only time."""
    try:
        with safetensors.safe_open(path, framework="np") as file:
            seal = (file.metadata() or {}).get(_SEAL)
            features: Floats32 = file.get_tensor(_TENSOR)
    except (OSError, safetensors.SafetensorError):
        return None
    is_features = features.dtype == np.float32 and features.ndim == 2
    return features if is_features and seal == _seal(path, features) else None


def _write(path: Path, features: Floats32) -> None:
    """Whole or not at all: two processes that write the same file leave one of two equal files."""
    content = save({_TENSOR: features}, metadata={_SEAL: _seal(path, features)})
    clear_partial(path.parent, ".")
    write_atomic(path, content, private=True)


def _unusable(folder: Path, error: OSError) -> InputError:
    return InputError(
        f"cache folder {str(folder)!r} must be yours and writable, got {error.strerror}:"
        f" give another, or set {VARIABLE}"
    )
