"""What ``reticent plan`` prints of columns, and of what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reticent.cli.output import print_line, print_table

if TYPE_CHECKING:
    from reticent.protect.plan_help import Change, ColumnCost

_COLUMNS = 12
"""That are printed; --json has all of them."""


def print_columns(costs: tuple[ColumnCost, ...]) -> None:
    """The columns of a schema, the costliest first."""
    if not costs:
        return
    few = "" if len(costs) <= _COLUMNS else f", {_COLUMNS} of {len(costs)}"
    print_table(
        f"What each column costs{few}: noise goes on each feature, R² is the squared bound",
        ("column", "features", "part of R²", "loss without it"),
        [
            (
                one.name,
                str(one.features),
                f"{one.bound_share:.1%}",
                "–" if one.without is None else str(one.without),
            )
            for one in costs[:_COLUMNS]
        ],
    )


def print_changes(changes: list[Change]) -> None:
    """What would lower a large loss."""
    if not changes:
        return
    print_table(
        "What would help, by public numbers alone",
        ("change", "predicted loss"),
        [(one.what, str(one.loss)) for one in changes],
    )
    print_line("Fewer features tell less without protection, too: that is not in these losses.")
