"""Lu et al., Table 1: five bounds, where their conditions hold and where they do not."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from reticent.bounds.published.lu_bounds import TABLE_1, Setting
from reticent.results.table import Table
from reticent.validation import InputError

PENALTY, RECORDS = 0.01, 10_000
FORMULAS = ("2ρ/(λn)", "C‖x‖ρ/(λn)", "2ρ/(λn)", "2ηρ/(1−(1−ηλ)ⁿ)", "2ρ/(λn)")


def _head(classes: int, norm: float) -> Setting:
    """A linear head: ρ = √2‖x‖ and β = ‖x‖²/2 for softmax; ‖x‖ and ‖x‖²/4 for two classes."""
    return Setting(
        rho=norm if classes == 2 else math.sqrt(2) * norm,
        penalty=PENALTY,
        records=RECORDS,
        classes=classes,
        largest_norm=norm,
        smoothness=norm**2 / (4 if classes == 2 else 2),
    )


_TEN = _head(10, 5.0)
SETTINGS: Mapping[str, Setting] = {
    "two classes, ‖x‖ ≤ 1": _head(2, 1.0),
    "ten classes, ‖x‖ ≤ 5": _TEN,
    "ten classes, falling steps": replace(_TEN, steps="decreasing"),
    "ten classes, η = 0.08": replace(_TEN, steps="constant", step_length=0.08),
    "a network": replace(_TEN, convex=False),
}


def bounds() -> Table:
    """Table 1: five bounds on the change of all weights, and which condition fails where."""
    rows = [
        (where, name, formula, *_cells(bound, setting))
        for where, setting in SETTINGS.items()
        for (name, bound), formula in zip(TABLE_1.items(), FORMULAS, strict=True)
    ]
    return Table(
        title=f"Lu et al., Table 1 at λ = {PENALTY:g}, n = {RECORDS:,}",
        columns=("trained", "bound", "formula", "value", "condition that fails"),
        rows=tuple(rows),
        notes=(
            "Grade published: formulas as Table 1 has them, for a linear head.",
            "Theorem 4 has the right constant for an averaged convex loss at its exact minimiser, "
            "and asks for nothing else. The paper's network is not convex and its loss (Eq. 23) is "
            "no average, so no bound of the table is about it.",
        ),
    )


def _cells(bound: Callable[[Setting], float], setting: Setting) -> tuple[str, str]:
    try:
        return f"{bound(setting):.4g}", ""
    except InputError as error:
        return "–", str(error)
