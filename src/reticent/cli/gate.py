"""``--fail-above`` of the commands that measure: exit code 3, and one line that says why."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.validation import printable

if TYPE_CHECKING:
    from reticent.results.gate import Excess

GATE = 3

_HELP = (
    "Exit with 3 where the low end of a figure's interval is above the limit: auc=0.55,"
    " balanced-accuracy=0.55, leakage=0.1, tpr@0.01=0.05{more}. A number alone is an AUC. May be"
    " given several times."
)


def _option(more: str) -> Any:
    help_text = _HELP.format(more=more)
    return typer.Option("--fail-above", metavar="FIGURE=LIMIT", help=help_text)


FailAbove = Annotated[list[str] | None, _option("")]
"""Of one model's attacks."""
RunFailAbove = Annotated[
    list[str] | None,
    _option(", loss=0.07 (utility), balanced-loss=0.1, recall-loss=0.3 (of each class), epsilon=2"),
]
"""Of the recommended release of a run."""


def stop_above(excesses: "Sequence[Excess]") -> None:
    """End with 3 and one line on the error stream where anything is above its limit."""
    from reticent.results.gate import in_one_line

    if excesses:
        typer.echo(f"reticent: {printable(in_one_line(excesses))}", err=True)
        raise typer.Exit(GATE)
