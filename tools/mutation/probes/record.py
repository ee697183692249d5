"""The table of figures: names and plain values, an error standing for the value it replaces."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from reticent.guarantee import Event, Guarantee, Sensitivity

Leaf = float | str | None


class Figures:
    """Figures by name."""

    def __init__(self) -> None:
        self.values: dict[str, Leaf] = {}

    def add(self, name: str, compute: Callable[..., object], /, *given: Any, **named: Any) -> None:
        """What ``compute`` returns, number by number; where it raises, the type of the error."""
        try:
            leaves = dict(_leaves(name, compute(*given, **named)))
        except Exception as error:  # noqa: BLE001 - any error of a mutant is a figure of it
            leaves = {name: f"raises {type(error).__name__}"}
        for key, leaf in leaves.items():
            if key in self.values:
                raise ValueError(f"figures must have different names, got {key} twice")
            self.values[key] = leaf


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Leaf]]:
    """All plain values within, each under its own name."""
    if isinstance(value, (Event, Guarantee, Sensitivity)):
        yield from _leaves(name, _numbers(value))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        yield from _leaves(name, fields)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _leaves(f"{name}.{key}", part)
    elif isinstance(value, np.ndarray):
        yield from _leaves(name, value.tolist())
    elif isinstance(value, (list, tuple)):
        for place, part in enumerate(value):
            yield from _leaves(f"{name}[{place}]", part)
    elif isinstance(value, np.generic):
        yield name, value.item()
    elif value is None or isinstance(value, (bool, int, float, str)):
        yield name, value if value is None or isinstance(value, str) else float(value)
    else:
        yield name, str(value)


def _numbers(value: Event | Guarantee | Sensitivity) -> Mapping[str, object]:
    """Without the sentences; a guarantee also as the line that is printed."""
    plain = dict(value.to_dict())
    for words in ("checked", "stated", "source", "composed_of"):
        plain.pop(words, None)
    return plain | {"printed": str(value)} if isinstance(value, Guarantee) else plain


def each(function: Callable[[Any], object], values: Iterable[object]) -> list[object]:
    """Of every value by itself: one that raises leaves the others."""
    found: list[object] = []
    for value in values:
        try:
            found.append(function(value))
        except Exception as error:  # noqa: BLE001 - as above
            found.append(f"raises {type(error).__name__}")
    return found
