"""What every loader returns: records, labels, classes and where they come from."""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.arrays import Array, Floats, Integers
from reticent.data.cells import is_whole, plain_cells
from reticent.validation import InputError, text, texts

if TYPE_CHECKING:
    from reticent.data.schema import Schema

LabelTask = Literal["classification", "regression", "multilabel"]
"""One class of several, one number, or several labels that are true or false each."""
_FEATURES: Final = 2  # axes: record, feature
_IMAGES: Final = 4  # axes: record, height, width, channel
_CHUNK: Final = 1 << 24
_LARGEST: Final = 2**63 - 1  # of int64: a person with a larger number would become another one


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Records with their labels, checked once: nothing in here is NaN, infinite or out of range.

    There may be no records at all.

    ``inputs`` has one of three shapes: features (n, d), images (n, height, width, channels), both
    float64, float32 or uint8, or n texts. ``labels`` number the ``classes``; without classes they
    are real numbers (regression), and None where the publisher gave none. Where several labels may
    be true of a record, they are a column of 0 and 1 for each of the ``classes`` (``task``).
    ``public_classes`` is
    False where the classes were read off the labels: then their list is private too. ``schema`` is
    that of the raw table where the features were prepared by one.

    >>> data = Dataset(
    ...     name="two",
    ...     source="by hand",
    ...     inputs=np.float32([[0, 1], [1, 0]]),
    ...     labels=[1, 0],
    ...     classes=("no", "yes"),
    ... )
    >>> len(data), data.labels, data.features.dtype
    (2, array([1, 0]), dtype('float32'))
    """

    name: str
    source: str
    inputs: Array
    labels: Array | None = None
    classes: tuple[str, ...] = ()
    public_classes: bool = True
    persons: Array | None = None
    columns: tuple[str, ...] = ()
    schema: "Schema | None" = None

    def __post_init__(self) -> None:
        """Check every field and make the arrays read-only."""
        text("name", self.name)
        text("source", self.source)
        self._set("classes", _distinct("classes", texts("classes", self.classes)))
        self._set("columns", texts("columns", self.columns))
        self._set("inputs", _read_only(_inputs(self.inputs, self.columns)))
        if self.labels is not None:
            self._set("labels", _read_only(_labels(self.labels, len(self), self.classes)))
        if self.persons is not None:
            self._set("persons", _read_only(persons_array(self.persons, len(self))))

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def features(self) -> NDArray[np.floating[Any]]:
        """Features (n, d); images are flattened, and their bytes divided by 255.

        They are float64 where the inputs are (a user's table), and float32 otherwise.
        """
        if self.inputs.dtype.kind == "U":
            raise InputError(f"{self.name} must be encoded before it has features, got texts")
        flat = self.inputs.reshape(len(self), math.prod(self.inputs.shape[1:]))
        if flat.dtype == np.float64:
            return flat
        features: NDArray[np.float32] = flat.astype(np.float32, copy=False)
        is_pixels = self.inputs.ndim == _IMAGES and flat.dtype == np.uint8
        return np.divide(features, np.float32(255), out=features) if is_pixels else features

    @property
    def task(self) -> LabelTask:
        """What is to be learnt of the labels; classification where there are none."""
        if self.labels is None or self.labels.ndim == 1:
            return "classification" if self.labels is None or self.classes else "regression"
        return "multilabel"

    @property
    def images(self) -> Array:
        """The images (n, height, width, channels), as stored."""
        if self.inputs.ndim != _IMAGES:
            raise InputError(f"{self.name} must hold images, got shape {self.inputs.shape}")
        return self.inputs

    @property
    def texts(self) -> NDArray[np.str_]:
        """The records as texts; refused where they are numbers."""
        if self.inputs.dtype.kind != "U":
            raise InputError(f"{self.name} must hold texts, got shape {self.inputs.shape}")
        return self.inputs

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the content, equal on every platform; name and source do not count.

        Not for publication where the data are private: a hash of them is a release without noise.
        """
        digest = hashlib.sha256()
        for part in _content(self):
            digest.update(part)
        return digest.hexdigest()

    def take(self, rows: ArrayLike, *, name: str | None = None) -> "Dataset":
        """The records at these positions, in this order."""
        chosen = _rows(rows, len(self))
        return replace(
            self,
            name=self.name if name is None else name,
            inputs=self.inputs[chosen],
            labels=None if self.labels is None else self.labels[chosen],
            persons=None if self.persons is None else self.persons[chosen],
        )

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)


def persons_array(value: ArrayLike, length: int) -> Array:
    """One person for each record: whole numbers or texts.

    In a list the person 1 is the person "1". Who somebody is depends on the own cell alone.
    """
    persons = np.asarray(plain_cells(value))
    if persons.shape != (length,):
        raise InputError(f"persons must have shape ({length},), got {persons.shape}")
    if persons.dtype.kind == "O":
        return _persons_of_cells(persons.tolist())
    if persons.dtype.kind not in "iuU":
        raise InputError(f"persons must be whole numbers or texts, got an array of {persons.dtype}")
    if persons.dtype.kind == "U":
        return persons
    wraps = persons.dtype == np.uint64 and persons.max(initial=0) > _LARGEST
    return persons.astype(np.str_ if wraps else np.int64)


def _persons_of_cells(cells: list[Any]) -> Array:
    for row, cell in enumerate(cells):
        if not is_whole(cell) and not isinstance(cell, str):
            raise InputError(f"persons must be whole numbers or texts, got another in {where(row)}")
    if all(is_whole(cell) and abs(int(cell)) <= _LARGEST for cell in cells):
        return np.array(cells, dtype=np.int64)
    return np.array([str(cell) for cell in cells], dtype=np.str_)


def where(row: int) -> str:
    """How every message of this package names a record."""
    return f"row {row} (counting from 0)"


def _inputs(value: Array, columns: tuple[str, ...]) -> Array:
    inputs = np.asarray(value)
    if inputs.ndim == 0 or 0 in inputs.shape[1:]:
        raise InputError(f"inputs must have features, got shape {inputs.shape}")
    if inputs.ndim == 1 and inputs.dtype.kind == "U":
        return inputs
    if inputs.dtype not in (np.float64, np.float32, np.uint8):
        raise InputError(f"inputs must be float64, float32, uint8 or texts, got {inputs.dtype}")
    if inputs.ndim not in (_FEATURES, _IMAGES):
        raise InputError(
            f"inputs must have shape (n, d) or (n, height, width, channels), got {inputs.shape}"
        )
    if columns and (inputs.ndim != _FEATURES or len(columns) != inputs.shape[1]):
        raise InputError(f"columns must name each feature, got {len(columns)} for {inputs.shape}")
    if inputs.dtype != np.uint8:
        _refuse_not_finite(inputs, columns)
    return inputs


def _refuse_not_finite(inputs: Array, columns: tuple[str, ...]) -> None:
    for start in range(0, len(inputs), 4096):
        wrong = np.argwhere(~np.isfinite(inputs[start : start + 4096]))
        if len(wrong):
            row, place = start + int(wrong[0][0]), tuple(map(int, wrong[0][1:]))
            kind = "NaN" if np.isnan(inputs[(row, *place)]) else "infinity"
            named = repr(columns[place[0]]) if columns else _place(place)
            form = " as float32" if inputs.dtype == np.float32 else ""
            raise InputError(
                f"inputs must be finite{form}, got {kind} in {where(row)}, column {named}"
            )


def _place(place: tuple[int, ...]) -> str:
    return str(place[0]) if len(place) == 1 else str(place)


def _labels(value: ArrayLike, length: int, classes: tuple[str, ...]) -> Array:
    labels = np.asarray(value)
    if labels.ndim == 2 and classes:
        return _label_matrix(labels, (length, len(classes)))
    if labels.shape != (length,):
        raise InputError(f"labels must have shape ({length},), got {labels.shape}")
    if not classes:
        return _targets(labels)
    if labels.dtype.kind not in "iu":
        raise InputError(f"labels must number the classes, got an array of {labels.dtype}")
    wrong = np.flatnonzero((labels < 0) | (labels >= len(classes)))
    if len(wrong):
        raise InputError(
            f"labels must number one of {len(classes)} classes from 0,"
            f" got another in {where(int(wrong[0]))}"
        )
    return labels.astype(np.int64)


def _label_matrix(labels: Array, shape: tuple[int, int]) -> Integers:
    """Several labels of each record: 1 where a label is true of it."""
    if labels.shape != shape:
        raise InputError(
            f"labels must have shape {shape}, one column per label, got {labels.shape}"
        )
    if labels.dtype.kind not in "biu":
        raise InputError(f"labels must be 0 or 1, got an array of {labels.dtype}")
    wrong = np.argwhere((labels != 0) & (labels != 1))
    if len(wrong):
        row, column = map(int, wrong[0])
        raise InputError(f"labels must be 0 or 1, got another in {where(row)}, column {column}")
    return labels.astype(np.int64)


def _targets(labels: Array) -> Floats:
    if labels.dtype.kind != "f":
        raise InputError(
            f"labels without classes must be real numbers, got an array of {labels.dtype}"
        )
    wrong = np.flatnonzero(~np.isfinite(labels))
    if len(wrong):
        raise InputError(f"labels must be finite, got NaN or infinity in {where(int(wrong[0]))}")
    return labels.astype(np.float64)


def _distinct(name: str, values: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(values)) < len(values):
        raise InputError(f"{name} must differ, got {len(set(values))} names for {len(values)}")
    return values


def _rows(value: ArrayLike, length: int) -> Integers:
    rows = np.asarray(value)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":  # an array of none is typed, a list is not
        raise InputError(
            f"rows must be a list of positions, got {rows.dtype} of shape {rows.shape}"
        )
    if rows.size and (rows.min() < 0 or rows.max() >= length):
        raise InputError(f"rows must be in 0 … {length - 1}, got {rows.min()} … {rows.max()}")
    return rows.astype(np.int64)


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


def _content(data: Dataset) -> Iterator[bytes]:
    """The bytes that are hashed: each array after its type and shape, little-endian."""
    for field, array in (
        ("inputs" if data.inputs.dtype != np.float64 else "inputs in float64", data.inputs),
        ("labels", data.labels),
        ("persons", data.persons),
    ):
        if array is not None:
            yield f"{field}:{array.dtype.kind}{array.shape};".encode()
            yield from _array_bytes(array)
    for field, names in (("classes", data.classes), ("columns", data.columns)):
        yield f"{field}:{len(names)};".encode()
        yield from _texts_bytes(names)


def _array_bytes(array: Array) -> Iterator[bytes]:
    if array.dtype.kind == "U":
        yield from _texts_bytes(array.tolist())
        return
    step = max(1, _CHUNK // max(1, array[:1].nbytes))
    for start in range(0, len(array), step):
        part = array[start : start + step]
        yield np.ascontiguousarray(part, dtype=part.dtype.newbyteorder("<")).tobytes()


def _texts_bytes(values: tuple[str, ...] | list[str]) -> Iterator[bytes]:
    for value in values:
        written = value.encode("utf-8", "surrogatepass")
        yield f"{len(written)}:".encode() + written
