"""Raw texts or images in a request, where the service holds the encoder that makes features.

Each is encoded by itself, so its features depend on nothing else that was sent. Requests are told
apart by what was sent, not by its features: machines may round those differently.
"""

import asyncio
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from reticent.arrays import Array, Floats
from reticent.service import problems
from reticent.training.encoders.base import Encoder, ImageShape
from reticent.validation import InputError

MOST_TEXT: Final = 2000
"""Characters of one text."""
MOST_ENCODING: Final = 64
"""Requests of one process that wait for an encoder; more are refused at once."""
TEXTS: Final = "texts"
IMAGES: Final = "images"
_SHAPE = re.compile(r"([1-9]\d{0,3})x([1-9]\d{0,3})x([13])")
INTEGERS: Final = frozenset((int,))
"""JSON numbers without a point; truth values are none."""
NUMBERS: Final = frozenset((int, float))


@dataclass(frozen=True)
class RawKind:
    """Which raw inputs are taken: texts, or images of one shape."""

    shape: ImageShape | None

    @classmethod
    def named(cls, text: str) -> "RawKind":
        """From "texts", or height x width x channels such as "28x28x1"."""
        if text == TEXTS:
            return cls(None)
        match = _SHAPE.fullmatch(text)
        if match is None:
            raise InputError(
                f"--raw must be texts, or the shape of images such as 28x28x1, got {text!r}"
            )
        height, width, channels = map(int, match.groups())
        return cls(ImageShape(height=height, width=width, channels=channels))

    def __str__(self) -> str:
        """As ``named`` reads it."""
        return TEXTS if self.shape is None else "x".join(map(str, self.shape.shape))

    @property
    def field(self) -> str:
        """Its name in a request."""
        return TEXTS if self.shape is None else IMAGES

    @property
    def most_bytes(self) -> int:
        """Of one input in JSON: a character is 12 bytes at most, a number of a pixel 7 (255.0)."""
        if self.shape is None:
            return 12 * MOST_TEXT + 8
        height, width, channels = self.shape.shape
        return height * width * (7 * channels + 4) + 4 * height + 8

    def example(self) -> Array:
        """An input that is nobody's, to see what the encoder makes of it."""
        if self.shape is None:
            return np.array(["text"])
        return np.zeros((1, *self.shape.shape), np.uint8)

    def read(self, values: Any, most: int) -> Array:
        """The inputs of a native request, which are checked here and nowhere else."""
        if not isinstance(values, list) or not 1 <= len(values) <= most:
            raise problems.Refused(problems.WRONG_RAW)
        if self.shape is None:
            return texts_of(values)
        return self.images_of(elements(values, (len(values), *self.shape.shape)), INTEGERS)

    def images_of(self, pixels: list[Any] | None, types: frozenset[type]) -> Array:
        """Images whose pixels stand in one list: whole numbers of 0 to 255, of these JSON types."""
        assert self.shape is not None
        fits = (
            pixels is not None
            and set(map(type, pixels)) <= types
            and 0 <= min(pixels) <= max(pixels) <= 255
            and all(pixel == int(pixel) for pixel in pixels)
        )
        if not fits:
            raise problems.Refused(problems.WRONG_RAW)
        return np.array(pixels, np.uint8).reshape(-1, *self.shape.shape)

    def schema(self, most: int) -> dict[str, Any]:
        """The JSON schema of a request's inputs: at most ``most`` texts or images."""
        if self.shape is None:
            one: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": MOST_TEXT}
            one["pattern"] = "^[^\\u0000]*$"
        else:
            one = {"type": "integer", "minimum": 0, "maximum": 255}
            for length in reversed(self.shape.shape):
                one = {"type": "array", "items": one, "minItems": length, "maxItems": length}
        return {"type": "array", "items": one, "minItems": 1, "maxItems": most}


class EncodingQueue:
    """Work that takes long, in threads, for so many requests of a process at once."""

    def __init__(self, most: int = MOST_ENCODING) -> None:
        self._most = most
        self._waiting = 0

    async def run(self, work: Callable[[], Floats]) -> Floats:
        """What the work gives; a request beyond the limit is refused at once."""
        if self._waiting >= self._most:
            raise problems.Refused(problems.OVERLOADED, {"Retry-After": "1"})
        self._waiting += 1
        try:
            return await asyncio.to_thread(work)
        finally:
            self._waiting -= 1


class RawInputs:
    """An encoder that is packaged with the model, and which inputs it takes."""

    def __init__(self, kind: RawKind, encoder: Encoder, *, features: int) -> None:
        self.kind = kind
        self._encoder = encoder
        width = np.shape(_tried(encoder, kind))[-1]
        if width != features:
            raise InputError(
                f"--encoder must make the {features} features of the model, got {width}"
            )

    def encoded(self, inputs: Array) -> Floats:
        """Features of each input, one by one: they are a function of it alone."""
        try:
            rows = [self._encoder.encode(inputs[one : one + 1]) for one in range(len(inputs))]
        except InputError:  # its text may hold what was sent
            raise problems.Refused(problems.WRONG_RAW) from None
        features = np.ascontiguousarray(np.concatenate(rows), dtype=np.float64)
        if features.ndim != 2 or not np.isfinite(features).all():
            raise problems.Refused(problems.WRONG_RAW)
        return features

    def names(self, inputs: Array) -> list[bytes]:
        """What each input is told apart by."""
        tag = self.kind.field.encode()
        return [hashlib.sha256(tag + b"\x00" + _bytes(one)).digest() for one in inputs]


def _tried(encoder: Encoder, kind: RawKind) -> Array:
    """What the encoder makes of an example; one that reads other inputs says so."""
    try:
        return encoder.encode(kind.example())
    except InputError as error:
        raise InputError(f"--raw must be what the --encoder reads, got {kind}: {error}") from None


def texts_of(values: list[Any]) -> Array:
    """Texts of 1 to 2,000 characters."""
    for value in values:
        fits = isinstance(value, str) and 1 <= len(value) <= MOST_TEXT and "\x00" not in value
        if not fits:
            raise problems.Refused(problems.WRONG_RAW)
    return np.array(values)


def elements(values: Any, shape: Sequence[int]) -> list[Any] | None:
    """What nested lists of this shape hold, row by row; None where they have another.

    >>> elements([[1, 2], [3, 4]], (2, 2))
    [1, 2, 3, 4]
    """
    level = [values]
    for length in shape:
        if any(type(one) is not list or len(one) != length for one in level):
            return None
        level = [inner for one in level for inner in one]
    return level


def _bytes(value: Any) -> bytes:
    return str(value).encode() if isinstance(value, str) else value.tobytes()
