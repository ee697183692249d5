"""``reticent account``: the ε of a composition."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from reticent.cli import options as shared
from reticent.cli import output
from reticent.cli.events import MechanismName, read_event, release_event, sampled_steps
from reticent.guarantee import Event, rounding
from reticent.validation import InputError

Mechanism = Annotated[
    MechanismName | None,
    typer.Option(metavar="NAME", help=f"The kind of one release: {', '.join(MechanismName)}."),
]
Noise = Annotated[
    float | None,
    typer.Option(
        "--noise-multiplier",
        help="Scale of the noise over the sensitivity (gaussian and -l2: L2, else L1).",
    ),
]
Cost = Annotated[
    float | None, typer.Option(help="ε of one pure or exponential release, ρ of a zcdp one.")
]
Events = Annotated[Path | None, typer.Option(help="A JSON file that describes the event instead.")]


def account(
    mechanism: Mechanism = None,
    noise_multiplier: Noise = None,
    cost: Cost = None,
    times: shared.Times = 1,
    sampling_rate: shared.SamplingRate = None,
    sample_size: shared.SampleSize = None,
    population: shared.Population = None,
    events: Events = None,
    relation: shared.RelationName = None,
    delta: shared.Delta = None,
    pure: shared.Pure = False,
    json: shared.Json = False,
) -> None:
    """The ε of a composition of releases, by every method side by side."""
    from reticent import accounting

    if (mechanism is None) == (events is None):
        raise InputError("the event must be said once: --mechanism or --events")
    event: Event
    if events is not None:
        others = (noise_multiplier, cost, sampling_rate, sample_size, population)
        if times != 1 or any(other is not None for other in others):
            raise InputError("--events must stand alone: write repetition and sampling in the file")
        event = read_event(events)
    elif mechanism is not None:
        release = release_event(mechanism, noise_multiplier, cost)
        event = sampled_steps(release, times, sampling_rate, sample_size, population)
    privacy_cost = accounting.account(
        event, relation=shared.relation_of(relation), delta=shared.delta_of(delta, pure)
    )
    claim = privacy_cost.guarantee()
    compared = accounting.side_by_side(
        event, relation=privacy_cost.relation, delta=privacy_cost.delta
    )
    if json:
        side = {name: asdict(one) for name, one in compared.items()}
        output.print_json(
            privacy_cost.to_dict() | {"side_by_side": side, "guarantee": claim.to_dict()}
        )
        return
    rows = [
        (name, "–" if one.epsilon is None else rounding.upper_text(one.epsilon), one.note)
        for name, one in compared.items()
    ]
    output.print_table(
        f"ε at δ = {privacy_cost.delta}", ("method", "ε", "counted as, or why not"), rows
    )
    output.print_line(f"best by {privacy_cost.method}: {claim}")
