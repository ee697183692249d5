"""Raw texts or images in a request, where the service holds the encoder that makes features.

Each is encoded by itself, so its features depend on nothing else that was sent. Requests are told
apart by what was sent, not by its features: machines may round those differently.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from reticent.arrays import Array, Floats
from reticent.service import problems
from reticent.service.problems import Refused
from reticent.training.encoders.base import Encoder, ImageShape
from reticent.validation import InputError

MOST_TEXT: Final = 2000
"""Characters of one text."""
MOST_ENCODING: Final = 64
"""Requests of one process that wait for the encoder; more are refused at once."""
TEXTS: Final = "texts"
IMAGES: Final = "images"
_SHAPE = re.compile(r"([1-9]\d{0,3})x([1-9]\d{0,3})x([13])")
_PIXEL: Final = frozenset((int,))


@dataclass(frozen=True)
class RawKind:
    """Which raw inputs are taken: texts, or images of one shape."""

    shape: ImageShape | None

    @classmethod
    def named(cls, text: str) -> RawKind:
        """From "texts", or height x width x channels such as "28x28x1"."""
        if text == TEXTS:
            return cls(None)
        found = _SHAPE.fullmatch(text)
        if found is None:
            raise InputError(
                f"--raw must be texts, or the shape of images such as 28x28x1, got {text!r}"
            )
        height, width, channels = map(int, found.groups())
        return cls(ImageShape(height=height, width=width, channels=channels))

    @property
    def field(self) -> str:
        """Its name in a request."""
        return TEXTS if self.shape is None else IMAGES

    @property
    def most_bytes(self) -> int:
        """Of one input in JSON: a character is 12 bytes at most, a pixel 4 and its brackets."""
        if self.shape is None:
            return 12 * MOST_TEXT + 8
        height, width, channels = self.shape.shape
        return height * width * (5 * channels + 4) + 4 * height + 8

    def example(self) -> Array:
        """An input that is nobody's, to see what the encoder makes of it."""
        if self.shape is None:
            return np.array(["text"])
        return np.zeros((1, *self.shape.shape), np.uint8)

    def read(self, values: Any, most: int) -> Array:
        """The inputs of a request, which are checked here and nowhere else."""
        if not isinstance(values, list) or not 1 <= len(values) <= most:
            raise Refused(problems.WRONG_RAW)
        found = [self._one(value) for value in values]
        return np.array(found) if self.shape is None else np.stack(found)

    def _one(self, value: Any) -> Any:
        if self.shape is None:
            fits = isinstance(value, str) and 1 <= len(value) <= MOST_TEXT and "\x00" not in value
            if not fits:
                raise Refused(problems.WRONG_RAW)
            return value
        height, width, channels = self.shape.shape
        if not _nested(value, height):
            raise Refused(problems.WRONG_RAW)
        for line in value:
            if not _nested(line, width) or not all(_nested(pixel, channels) for pixel in line):
                raise Refused(problems.WRONG_RAW)
        numbers = [number for line in value for pixel in line for number in pixel]
        if not set(map(type, numbers)) <= _PIXEL or not 0 <= min(numbers) <= max(numbers) <= 255:
            raise Refused(problems.WRONG_RAW)
        return np.array(numbers, np.uint8).reshape(height, width, channels)

    def schema(self, most: int) -> dict[str, Any]:
        """As a JSON schema."""
        if self.shape is None:
            one: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": MOST_TEXT}
            one["pattern"] = "^[^\\u0000]*$"
        else:
            one = {"type": "integer", "minimum": 0, "maximum": 255}
            for length in reversed(self.shape.shape):
                one = {"type": "array", "items": one, "minItems": length, "maxItems": length}
        return {"type": "array", "items": one, "minItems": 1, "maxItems": most}


class RawInputs:
    """An encoder that is packaged with the model, and which inputs it takes."""

    def __init__(self, kind: RawKind, encoder: Encoder, *, features: int) -> None:
        self.kind = kind
        self._encoder = encoder
        self._waiting = 0
        width = np.shape(encoder.encode(kind.example()))[-1]
        if width != features:
            raise InputError(
                f"--encoder must make the {features} features of the model, got {width}"
            )

    async def encoded(self, inputs: Array) -> Floats:
        """Features of each input, in a thread of their own."""
        if self._waiting >= MOST_ENCODING:
            raise Refused(problems.OVERLOADED, {"Retry-After": "1"})
        self._waiting += 1
        try:
            return await asyncio.to_thread(self._encoded, inputs)
        finally:
            self._waiting -= 1

    def _encoded(self, inputs: Array) -> Floats:
        """One by one: the features of an input are a function of it alone."""
        try:
            rows = [self._encoder.encode(inputs[one : one + 1]) for one in range(len(inputs))]
        except InputError:  # its text may hold what was sent
            raise Refused(problems.WRONG_RAW) from None
        found = np.ascontiguousarray(np.concatenate(rows), dtype=np.float64)
        if found.ndim != 2 or not np.isfinite(found).all():
            raise Refused(problems.WRONG_RAW)
        return found

    def names(self, inputs: Array) -> list[bytes]:
        """What each input is told apart by."""
        tag = self.kind.field.encode()
        return [hashlib.sha256(tag + b"\x00" + _bytes(one)).digest() for one in inputs]


def _bytes(value: Any) -> bytes:
    return str(value).encode() if isinstance(value, str) else value.tobytes()


def _nested(value: Any, length: int) -> bool:
    return isinstance(value, list) and len(value) == length
