"""Two tables of figures, compared: which figure a mutant changes most."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

Leaf = float | str | None
Table = Mapping[str, Leaf]

TOLERANCE = 1e-6
"""A figure has changed where it differs by more than this, relatively."""
EXPECTED = ("InputError", "NotCoveredError", "LedgerError", "BudgetExhausted")
"""What an unchanged package may raise: its own refusals."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """The figure that changed most, and how many did."""

    figure: str
    was: Leaf
    now: Leaf
    relative: float | None
    """None where a number became something else, or is there no more."""
    figures: int

    def to_dict(self) -> dict[str, object]:
        """As it stands in a JSON file; what is not finite is a text."""
        was, now = (_written(value) for value in (self.was, self.now))
        return {"figure": self.figure, "was": was, "now": now, "relative": self.relative}


def relative_change(was: Leaf, now: Leaf) -> float | None:
    """|was − now| over the larger of both; 0 for equal values, None where there is no such number.

    >>> relative_change(1.0, 1.5), relative_change("a", "a"), relative_change(1.0, "raises")
    (0.3333333333333333, 0.0, None)
    """
    if was == now:
        return 0.0
    if not isinstance(was, float) or not isinstance(now, float):
        return None
    if math.isnan(was) and math.isnan(now):
        return 0.0
    if not (math.isfinite(was) and math.isfinite(now)):
        return None
    return abs(was - now) / max(abs(was), abs(now))


def change_between(before: Table, after: Table, tolerance: float = TOLERANCE) -> Change | None:
    """What changed beyond the tolerance; None where nothing did."""
    changed: dict[str, float | None] = {}
    for name in dict.fromkeys((*before, *after)):
        moved = relative_change(before.get(name, "absent"), after.get(name, "absent"))
        if moved is None or moved > tolerance:
            changed[name] = moved
    if not changed:
        return None
    numbers = {name: moved for name, moved in changed.items() if moved is not None}
    largest = max(numbers, key=lambda name: numbers[name]) if numbers else next(iter(changed))
    return Change(
        figure=largest,
        was=before.get(largest, "absent"),
        now=after.get(largest, "absent"),
        relative=changed[largest],
        figures=len(changed),
    )


def steady(one: Table, other: Table) -> dict[str, Leaf]:
    """The figures that two runs of the unchanged package agree on."""
    return {name: one[name] for name in one if relative_change(one[name], other.get(name)) == 0}


def unexpected(table: Table) -> list[str]:
    """Figures of the unchanged package that are errors, but for its own refusals."""
    errors = {name: value for name, value in table.items() if str(value).startswith("raises ")}
    return [
        f"{name} {value}"
        for name, value in errors.items()
        if str(value).removeprefix("raises ") not in EXPECTED
    ]


def _written(value: Leaf) -> Leaf:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
