"""Types of arrays that signatures name; arrays and mappings that stay as they are."""

import mmap
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy import typing as npt

ArrayLike = npt.ArrayLike
Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]
Progress = Callable[[int, int], object]
"""Called with how much is done, and how much there is."""


def frozen(array: Array) -> Array:
    """A copy whose memory belongs to an immutable object: it cannot be made writable again."""
    plain = np.ascontiguousarray(array)
    copied: Array = np.frombuffer(plain.tobytes(), dtype=plain.dtype).reshape(plain.shape)
    return copied


def is_file_backed(array: Array) -> bool:
    """Whether the numbers are a file's own, mapped into memory (``np.memmap``), and no copy.

    >>> is_file_backed(np.zeros(3))
    False
    """
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return isinstance(owner, mmap.mmap)


Value = TypeVar("Value")


class FrozenMapping(Mapping[str, Value]):
    """A mapping that nobody can change: ``MappingProxyType`` hands its dict to a foreign ``==``."""

    __slots__ = ("_items",)
    _items: tuple[tuple[str, Value], ...]

    def __init__(self, values: Mapping[str, Value]) -> None:
        object.__setattr__(self, "_items", tuple(dict(values).items()))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} must stay as it is, got a new {name!r}")

    def __getitem__(self, name: str) -> Value:
        return dict(self._items)[name]

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in self._items])

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return dict(self._items) == dict(other) if isinstance(other, Mapping) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._items)

    def __repr__(self) -> str:
        return repr(dict(self._items))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self._items),)
