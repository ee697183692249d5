r"""JSON that somebody else wrote: read whole and in one meaning, or refused in one line.

Python's reader takes NaN, turns 1e999 into infinity, lets the last of two equal keys win, returns
half a character for ``"\ud800"`` and ends in ``RecursionError`` on many brackets. Each of these
would be found later, at a place that does not expect it. No text of the file is repeated.
"""

import json
import math
from pathlib import Path
from typing import Any, Final, NoReturn

from reticent.read_limit import bounded_bytes
from reticent.validation import InputError

MOST_BYTES: Final = 1 << 25
"""Of one document; Python objects take some thirty times as much memory as a text of brackets."""
MOST_NESTING: Final = 64
_MOST_DIGITS: Final = 308
"""Of a whole number: a longer one is no float, and more than 4,300 Python does not read."""


class NotJsonError(InputError):
    """A text that is no JSON at all: perhaps it was meant to be something else."""


def parsed(document: str | bytes, *, source: str) -> Any:
    """The value of a JSON text; ``source`` names the text in the one line that refuses it.

    >>> parsed('{"epsilon": 1.5}', source="a.json")
    {'epsilon': 1.5}
    >>> parsed('{"epsilon": 1, "epsilon": 2}', source="a.json")
    Traceback (most recent call last):
    ...
    reticent.validation.InputError: a.json must name each field once, got one twice
    """
    text = _decoded(document, source)
    reading = _Reading(source)
    try:
        value = json.loads(
            text,
            parse_float=reading.number,
            parse_int=reading.whole,
            parse_constant=reading.constant,
            object_pairs_hook=reading.distinct,
        )
    except RecursionError:
        raise reading.too_deep() from None
    except json.JSONDecodeError as error:
        at = error.pos
        raise NotJsonError(f"{source} must be JSON, got another text from {at} on") from None
    reading.refuse_deep(value)
    if isinstance(document, str) or "\\ud" in text.lower():  # UTF-8 itself holds no such half
        reading.refuse_halves(value)
    return value


def parsed_object(document: str | bytes, *, source: str) -> dict[str, Any]:
    """The same for a text that must be an object: ``{…}``."""
    value = parsed(document, source=source)
    if not isinstance(value, dict):
        raise InputError(f"{source} must be a JSON object, got a {_KINDS[type(value)]}")
    return value


def read(path: Path, *, role: str | None = None, most: int = MOST_BYTES) -> Any:
    """The value in a file of at most ``most`` bytes; ``role`` says what the file is for."""
    source = f"{role} {path}" if role else str(path)
    return parsed(bounded_bytes(path, most=most, role=role), source=source)


def safetensors_metadata(content: bytes, *, source: str) -> dict[str, str]:
    """The texts in the header of a safetensors file: its length in 8 bytes, then JSON."""
    length = int.from_bytes(content[:8], "little")
    if not 2 <= length <= min(len(content) - 8, MOST_BYTES):
        raise InputError(f"{source} must be a whole safetensors file, got another")
    header = parsed_object(content[8 : 8 + length], source=f"the header of {source}")
    metadata = header.get("__metadata__") or {}
    if not isinstance(metadata, dict) or not all(
        isinstance(text, str) for text in metadata.values()
    ):
        raise InputError(f"the header of {source} must hold texts as metadata, got others")
    return metadata


class _Reading:
    """What each part of one text is made of; whatever is not JSON's is refused."""

    def __init__(self, source: str) -> None:
        self._source = source

    def number(self, digits: str) -> float:
        value = float(digits)
        if not math.isfinite(value):
            raise InputError(f"{self._source} must hold finite numbers, got one beyond 1.8e308")
        return value

    def whole(self, digits: str) -> int:
        if len(digits.lstrip("-")) > _MOST_DIGITS:
            raise InputError(
                f"{self._source} must hold whole numbers of at most {_MOST_DIGITS} digits, got more"
            )
        return int(digits)

    def constant(self, name: str) -> NoReturn:
        raise InputError(f"{self._source} must hold finite numbers, got {name}")

    def distinct(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) < len(pairs):
            raise InputError(f"{self._source} must name each field once, got one twice")
        return fields

    def refuse_deep(self, value: Any) -> None:
        level = [value] if isinstance(value, (list, dict)) else []
        for _ in range(MOST_NESTING):
            level = [part for whole in level for part in _parts(whole)]
            if not level:
                return
        raise self.too_deep()

    def refuse_halves(self, value: Any) -> None:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InputError(
                f"{self._source} must hold whole characters, got half of a surrogate pair"
            ) from None

    def too_deep(self) -> InputError:
        return InputError(
            f"{self._source} must be nested at most {MOST_NESTING} levels deep, got more"
        )


_KINDS: Final[dict[type, str]] = {
    list: "list",
    str: "text",
    int: "number",
    float: "number",
    bool: "truth value",
    type(None): "null",
}


def _parts(value: Any) -> list[Any]:
    """What stands inside a list or an object, if anything can stand inside it in turn."""
    inside = value.values() if isinstance(value, dict) else value
    return [part for part in inside if isinstance(part, (list, dict))]


def _decoded(document: str | bytes, source: str) -> str:
    if len(document) > MOST_BYTES:
        raise InputError(
            f"{source} must be JSON of at most {MOST_BYTES} bytes, got {len(document)}"
        )
    if isinstance(document, str):
        return document
    try:
        return document.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{source} must be JSON in UTF-8, got byte {error.start} that is not"
        ) from None
