"""timm, also beside a torch without torchvision.

timm reads images by torchvision, and of that no build for the CPU builds of torch is on the public
index: the published one asks for operators that only its own torch has, and breaks transformers
beside another. No network calls it. So where it is missing, a class that cannot be built stands for
all its names while timm is imported, and not afterwards.
"""

import importlib.util
import sys
from collections.abc import Iterator, MutableSequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from reticent.training.encoders.base import missing

_MISSING: Final = "torchvision"


def imported_timm(asked_by: str = "a network of timm") -> Any:
    """The module ``timm``; ``asked_by`` says in the error what needs it."""
    try:
        with _stand_in():
            import timm
    except ModuleNotFoundError as error:
        raise missing(str(error.name), encoder=asked_by, extra="timm") from None
    return timm


class _EveryName(type):
    """A class that has any attribute, each a class of its own: members of enumerations."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _EveryName(name, (cls,), {})


class _Absent(metaclass=_EveryName):
    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError(f"{_MISSING} is not installed")


class _Module(ModuleType):
    __path__: MutableSequence[str] = []  # noqa: RUF012 - nothing is ever added

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Absent


class _Finder(MetaPathFinder, Loader):
    def find_spec(self, fullname: str, *_: Any) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname.partition(".")[0] == _MISSING else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is to be run: every name is there."""


@contextmanager
def _stand_in() -> Iterator[None]:
    if "timm" in sys.modules or importlib.util.find_spec(_MISSING) is not None:
        yield
        return
    finder = _Finder()
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [one for one in sys.modules if one.partition(".")[0] == _MISSING]:
            del sys.modules[name]
