"""Functions and inputs of the user's own, by the names that were typed.

Importing runs the user's code, and calling it runs it again. Whatever it raises becomes one line
with the type of the error alone: its message may hold a private value.
"""

import contextlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeVar

import numpy as np

from reticent.arrays import Array
from reticent.attacks.targets import imported
from reticent.data.archive import archive, single_array
from reticent.data.columns import open_columns
from reticent.strict_json import NotJsonError, parsed
from reticent.validation import InputError, line

Answer = TypeVar("Answer")

_TABLES: Final = (".csv", ".csv.gz", ".parquet")
_FILES: Final = (".npy", ".npz", *_TABLES)
_ANYTHING: Final = (Exception, SystemExit)
"""What other people's code raises; a module that ends the program must not end the audit with 0."""


@contextlib.contextmanager
def this_folder_importable() -> Iterator[None]:
    """Modules of the current folder can be imported inside, as in ``python -m``.

    What the user's code prints goes to the error stream, lest it stand in a JSON document.
    """
    before = list(sys.path)
    sys.path.insert(0, str(Path.cwd()))
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        sys.path[:] = before


def open_function(role: str, name: str) -> Callable[..., Any]:
    """A function by ``package.module:function`` or ``path.py:function``.

    It is wrapped: what it raises becomes one line.
    """
    function = open_object(role, name)
    if not callable(function):
        raise InputError(f"{role} must be a function, got {name!r}, a {type(function).__name__}")

    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except _ANYTHING as error:
            raise InputError(_raised(f"{role} must return an answer", error)) from None

    return call


def open_object(role: str, name: str) -> Any:
    """Any object by ``package.module:attribute`` or ``path.py:attribute``."""
    text = line(role, name)
    file, _, attribute = text.rpartition(":")
    if not file.endswith(".py"):
        return _imported(lambda: imported(role, text), f"{role} {text!r} must be importable")
    module = _imported(lambda: _module_of(role, Path(file)), f"{role} {text!r} must be importable")
    if not hasattr(module, attribute):
        raise InputError(f"{role} must be in {file}, got {attribute!r}, which it does not have")
    return getattr(module, attribute)


def open_input(role: str, text: str) -> Any:
    """An input: a file of arrays, JSON, or an object by its name.

    A .npy, .csv or .parquet file is one array, and a .npz file the array in it or a dictionary of
    several. JSON is plain values. Arrays cannot be written to: every run must see the same input.
    """
    path = Path(line(role, text))
    if path.name.lower().endswith(_FILES):
        return _read(role, path)
    with contextlib.suppress(NotJsonError):
        return parsed(text, source=role)
    if ":" in text:
        return open_object(role, text)
    raise InputError(
        f"{role} must be JSON, a file ({', '.join(_FILES)}) or module:attribute, got {text!r}"
    )


def _imported(call: Callable[[], Answer], rule: str) -> Answer:
    try:
        return call()
    except InputError:
        raise
    except _ANYTHING as error:
        raise InputError(_raised(rule, error)) from None


def _raised(rule: str, error: BaseException) -> str:
    return f"{rule}, got {type(error).__name__} from its code"


def _module_of(role: str, path: Path) -> ModuleType:
    """The module of a file; a second object of the file comes from the same module."""
    if not path.is_file():
        raise InputError(f"{role} must be in a file that exists, got {str(path)!r}")
    name = f"audited:{path.resolve()}"  # no other module can have it
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    sys.path.insert(1, str(path.resolve().parent))  # it may import its neighbours
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _read(role: str, path: Path) -> Any:
    if path.name.lower().endswith(_TABLES):
        return _frozen(_table(path))
    if not path.is_file():
        raise InputError(f"{role} must be a file that exists, got {str(path)!r}")
    if path.suffix.lower() == ".npy":
        return _frozen(single_array(path, role=role))
    parts = {name: _frozen(array) for name, array in archive(path).items()}
    return next(iter(parts.values())) if len(parts) == 1 else parts


def _table(path: Path) -> Array:
    """A column for each name; a table of one column is one row of numbers."""
    table = open_columns(path)
    columns = [table.column(name, role="column") for name in table.names]
    if len({(column.shape, column.dtype.kind in "iuf") for column in columns}) != 1:
        raise InputError(f"{table.file} must hold columns of numbers, got texts or lists too")
    if columns[0].dtype.kind not in "iuf":
        raise InputError(f"{table.file} must hold numbers, got texts")
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array
