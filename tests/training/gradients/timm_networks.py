"""Networks of timm beside a torch without torchvision.

timm reads images by torchvision, of which no build for this CPU torch is on the public index: the
published one asks for operators that only its own torch has, and breaks transformers beside it. No
network calls it, so where it is missing a class that cannot be built stands for all its names
while timm is imported. The networks are timm's own.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from torch import nn

_MISSING = "torchvision"


class _EveryName(type):
    """A class that has any attribute, each a class of its own: members of enumerations."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _EveryName(name, (cls,), {})


class _Absent(metaclass=_EveryName):
    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError("torchvision is not installed")


class _Module(ModuleType):
    __path__: Sequence[str] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Absent


class _Finder(MetaPathFinder, Loader):
    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name.partition(".")[0] == _MISSING else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


@contextmanager
def _for_torchvision() -> Iterator[None]:
    if importlib.util.find_spec(_MISSING) is not None:
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


def timm_network(name: str, **options: Any) -> nn.Module:
    """``timm.create_model`` with random weights."""
    with _for_torchvision():
        import timm
    model: nn.Module = timm.create_model(name, pretrained=False, **options)
    return model
