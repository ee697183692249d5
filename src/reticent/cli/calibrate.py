"""``reticent calibrate``: the noise that each mechanism needs for one (ε, δ)."""

from typing import TYPE_CHECKING, Annotated

import typer

from reticent.cli import events, output
from reticent.cli import options as shared
from reticent.guarantee import Relation, Sensitivity, rounding
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.mechanisms import Calibrated

L1 = Annotated[float | None, typer.Option(help="The L1 sensitivity.")]
L2 = Annotated[float | None, typer.Option(help="The L2 sensitivity.")]
Dimension = Annotated[
    int | None, typer.Option(help="The number of entries; the std of l2-laplace needs it.")
]


def calibrate(
    epsilon: shared.Epsilon,
    delta: shared.Delta = None,
    pure: shared.Pure = False,
    l1: L1 = None,
    l2: L2 = None,
    dimension: Dimension = None,
    times: shared.Times = 1,
    sampling_rate: shared.SamplingRate = None,
    sample_size: shared.SampleSize = None,
    population: shared.Population = None,
    relation: shared.RelationName = None,
    json: shared.Json = False,
) -> None:
    """The noise that each mechanism needs for one (ε, δ) and one sensitivity.

    With --times or sampling, the noise of each of that many releases (which needs --relation).
    """
    from reticent.accounting.calibration import calibrated_steps
    from reticent.mechanisms import calibrated

    spent = shared.delta_of(delta, pure)
    if (sample_size is None) != (population is None):
        raise InputError("--sample-size and --population must be given together, got one of them")
    if l1 is None and l2 is None:
        raise InputError("the sensitivity must be said, --l1 or --l2 (or both), got neither")
    stepwise = times != 1 or sampling_rate is not None or sample_size is not None
    sensitivity = Sensitivity(
        l1=l1,
        l2=l2,
        relation=shared.relation_of(relation) if stepwise or relation else Relation.AS_DECLARED,
        source="typed on the command line",
    )
    if stepwise:
        rows = calibrated_steps(
            sensitivity,
            epsilon=epsilon,
            delta=spent,
            steps=lambda event: events.sampled_steps(
                event, times, sampling_rate, sample_size, population
            ),
        )
    else:
        rows = calibrated(sensitivity, epsilon=epsilon, delta=spent, dimension=dimension)
    if not rows:
        raise InputError("no mechanism reaches this: with --pure give --l1, else give --l2 or --l1")
    if json:
        output.print_json({"mechanisms": [row.to_dict() for row in rows]})
        return
    _print(rows)


def _print(rows: "list[Calibrated]") -> None:
    claim = rows[0].guarantee
    output.print_table(
        f"Noise for ε = {rounding.upper_text(claim.epsilon)}",
        ("mechanism", "by", "scale", "std", "δ", "grade"),
        [_cells(way) for row in rows for way in (row, *row.alternatives)],
    )
    output.print_line(f"neighbours: {claim.relation}; unit: {claim.unit}")


def _cells(row: "Calibrated") -> tuple[str, ...]:
    return (
        row.mechanism,
        row.route,
        rounding.scale_text(row.scale),
        "needs --dimension" if row.std is None else rounding.scale_text(row.std),
        rounding.upper_text(row.guarantee.delta),
        str(row.guarantee.grade),
    )
