"""``reticent calibrate``: the noise that each mechanism needs for one (ε, δ)."""

from __future__ import annotations

from typing import Annotated

import typer

from reticent.cli.options import Delta, Epsilon, Json, Pure, delta_of
from reticent.cli.output import print_json, print_line, print_table
from reticent.guarantee import Sensitivity
from reticent.guarantee.rounding import upper_text
from reticent.mechanisms import Calibrated, calibrated
from reticent.validation import InputError

L1 = Annotated[float | None, typer.Option(help="The L1 sensitivity.", show_default=False)]
L2 = Annotated[float | None, typer.Option(help="The L2 sensitivity.", show_default=False)]
Dimension = Annotated[
    int | None,
    typer.Option(help="The number of entries; the std of l2-laplace needs it.", show_default=False),
]


def calibrate(
    epsilon: Epsilon,
    delta: Delta = None,
    pure: Pure = False,
    l1: L1 = None,
    l2: L2 = None,
    dimension: Dimension = None,
    json: Json = False,
) -> None:
    """The noise that each mechanism needs for one (ε, δ) and one sensitivity."""
    sensitivity = Sensitivity(l1=l1, l2=l2, source="typed on the command line")
    spent = delta_of(delta, pure)
    rows = calibrated(sensitivity, epsilon=epsilon, delta=spent, dimension=dimension)
    if not rows:
        raise InputError("--l1 must be given with --pure for laplace and logistic, got only --l2")
    if json:
        print_json({"mechanisms": [row.to_dict() for row in rows]})
        return
    print_table(
        f"Noise for ε = {epsilon} under L1 = {l1} and L2 = {l2}",
        ("mechanism", "by", "scale", "std", "ε", "δ", "grade"),
        [_cells(way) for row in rows for way in (row, *row.alternatives)],
    )
    print_line(f"neighbours: {rows[0].guarantee.relation}; unit: {rows[0].guarantee.unit}")


def _cells(row: Calibrated) -> tuple[str, ...]:
    claim = row.guarantee
    return (
        row.mechanism,
        row.route,
        upper_text(row.scale),
        "needs --dimension" if row.std is None else upper_text(row.std),
        upper_text(claim.epsilon),
        upper_text(claim.delta),
        str(claim.grade),
    )
