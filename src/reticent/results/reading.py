"""Documents from files: one reading of them, and nothing in them that only a process can know.

Whoever can write a file can write *proven* into it. A grade that was read is therefore declared at
most, as ``Guarantee.from_dict`` has it, and the page of a file says so. The page of a run that has
just ended holds the minted release itself.
"""

import os
import re
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from reticent.guarantee import Grade
from reticent.read_limit import bounded_bytes
from reticent.strict_json import MOST_BYTES, parsed
from reticent.validation import InputError, printable

Kind = TypeVar("Kind", bound=BaseModel)
_GRADE: Final = re.compile(rf"\({Grade.PROVEN}\b")
"""As this package writes the grade behind an ε, in names and sentences."""


def read_value(kind: type[Kind], path: Path, what: str) -> Kind:
    """The values of a file, which must be ``what``; one line says where it is not."""
    return value_of(kind, read_json(path, what), path, what)


def read_json(path: Path, what: str) -> Any:
    """The plain values of a file: texts that may be shown, grades that a file may have."""
    if os.path.isfile(inside := Path(path) / "results.json"):
        raise InputError(f"{path} must be {what}, got a folder: name {inside}")
    content = bounded_bytes(Path(path), most=MOST_BYTES)
    return as_read(parsed(content, source=f"{path}, {what},"))


def value_of(kind: type[Kind], values: Any, path: Path, what: str) -> Kind:
    """Plain values as those of a document."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the document"
        raise InputError(
            f"{path} must be {what}, got one where {where} is wrong: {first['msg']}"
        ) from None


def as_read(value: Any, key: str | None = None) -> Any:
    """Plain values as a file may say them: declared at most, and in characters that can be shown.

    >>> as_read({"grade": "proven", "name": "gaussian, ε = 1 (proven)"})
    {'grade': 'declared', 'name': 'gaussian, ε = 1 (declared)'}
    """
    if isinstance(value, dict):
        return {printable(name): as_read(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return [as_read(part) for part in value]
    if not isinstance(value, str):
        return value
    if key == "grade" and value == Grade.PROVEN:
        return str(Grade.DECLARED)
    return _GRADE.sub(f"({Grade.DECLARED}", printable(value))
