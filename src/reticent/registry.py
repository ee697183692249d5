"""One kind of registry for recipes, attacks, mechanisms and studies: names to things.

Things of the package are named by ``module:attribute`` and imported when they are first asked for,
so that a list of names costs nothing. Plug-ins come by ``register``, or by entry points of the
groups ``reticent.recipes``, ``.attacks``, ``.mechanisms`` and ``.studies`` of installed packages.
"""

import importlib
from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, NamedTuple, TypeVar

from reticent.validation import InputError

Thing = TypeVar("Thing")


class Lazy(NamedTuple):
    """A thing of the package that is imported when it is needed, and what a help says of it."""

    target: str
    """``module:attribute``"""
    summary: str = ""
    group: str = ""
    """Which of its kind it is, where there are several."""


class Registry(Mapping[str, Thing], Generic[Thing]):
    """Things of one kind by name, those of the package first.

    >>> numbers = Registry("number", {"pi": Lazy("math:pi", "the ratio of a circle")})
    >>> numbers.register("two", 2)
    >>> list(numbers), numbers["two"], numbers.is_own("two"), numbers.summary("pi")
    (['pi', 'two'], 2, False, 'the ratio of a circle')
    """

    def __init__(
        self, kind: str, own: Mapping[str, Lazy | Thing], *, entry_group: str = ""
    ) -> None:
        self.kind = kind
        self._entry_group = entry_group or f"reticent.{kind}s"
        self._own: dict[str, Lazy | Thing] = dict(own)
        self._others: dict[str, Any] = {}
        self._loaded: dict[str, Thing] = {}
        self._entry_points_read = False

    def register(self, name: str, thing: Thing) -> None:
        """Add a plug-in; a name that is taken is refused."""
        if name in self:
            raise InputError(f"{self.kind} must have a name of its own, got {name!r} again")
        self._others[name] = thing

    def unregister(self, name: str) -> None:
        """Take a plug-in out again."""
        self._others.pop(name, None)
        self._loaded.pop(name, None)

    def is_own(self, name: str) -> bool:
        """Whether the package itself brings it."""
        return name in self._own

    @property
    def others(self) -> tuple[str, ...]:
        """The names of plug-ins, in the order of their registration."""
        return tuple(name for name in self if name not in self._own)

    def named(self, name: object) -> Thing:
        """The thing of this name; another is refused with the list of those that are there."""
        if not isinstance(name, str) or name not in self:
            raise InputError(f"{self.kind} must be one of {', '.join(self)}, got {name!r}")
        return self[name]

    def summary(self, name: str) -> str:
        """What a help text says of it: its line's, or a plug-in's own ``summary``."""
        line = self._own.get(name)
        return line.summary if isinstance(line, Lazy) else getattr(self[name], "summary", "")

    def group(self, name: str, attribute: str) -> str:
        """Which of its kind it is: of a plug-in, its attribute of this name."""
        line = self._own.get(name)
        return line.group if isinstance(line, Lazy) else getattr(self[name], attribute, "")

    def __getitem__(self, name: str) -> Thing:
        self._read_entry_points()
        if name not in self._loaded:
            self._loaded[name] = _loaded(
                self._own[name] if name in self._own else self._others[name]
            )
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        self._read_entry_points()
        return iter((*self._own, *self._others))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in list(self)

    def _read_entry_points(self) -> None:
        if self._entry_points_read:
            return
        self._entry_points_read = True
        for point in entry_points(group=self._entry_group):
            if point.name not in self._own:
                self._others.setdefault(point.name, point)


def _loaded(entry: Any) -> Any:
    """What a line of the registry or an entry point names, or the thing itself."""
    if isinstance(entry, EntryPoint):
        return entry.load()
    if isinstance(entry, Lazy):
        module, _, attribute = entry.target.partition(":")
        return getattr(importlib.import_module(module), attribute)
    return entry
