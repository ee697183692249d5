"""``reticent plan``: which learner, what it will cost, how many records it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from reticent.cli.options import Delta, Epsilon, Json, Pure, RelationName, delta_of, relation_of
from reticent.cli.output import print_json, print_line, print_table

if TYPE_CHECKING:
    from reticent.protect.plan import Advice

Number = Annotated[int, typer.Option("--records", help="About how many private records there are.")]
Features = Annotated[int, typer.Option(help="The number of features of a record.")]
ClassCount = Annotated[int, typer.Option("--classes", help="The number of classes.")]
Radius = Annotated[
    float,
    typer.Option(
        "--bound",
        help="The public bound on a row's norm. Learners scale rows, so it costs nothing.",
    ),
]
Each = Annotated[int, typer.Option("--records-each", help="The most records of one person.")]
Prototypes = Annotated[
    bool,
    typer.Option(
        "--prototypes",
        help="The labels are clusters of the features. Say so only if that is public.",
    ),
]
Losses = Annotated[
    list[float] | None,
    typer.Option(
        "--loss",
        help="Also: from how many records on the loss would be below this. May be repeated.",
        show_default="0.05 and 0.02",
    ),
]


def plan(
    records: Number,
    features: Features,
    classes: ClassCount,
    epsilon: Epsilon,
    delta: Delta = None,
    pure: Pure = False,
    relation: RelationName = None,
    bound: Radius = 1.0,
    records_each: Each = 1,
    prototypes: Prototypes = False,
    loss: Losses = None,
    json: Json = False,
) -> None:
    """Which learner to use and what it will cost, from public numbers: no record is read."""
    from reticent.protect.plan import Situation, records_needed
    from reticent.protect.plan import plan as advice_for

    situation = Situation(
        records=records,
        features=features,
        classes=classes,
        epsilon=epsilon,
        delta=delta_of(delta, pure),
        relation=relation_of(relation),
        bound=bound,
        records_each=records_each,
        prototypes=prototypes,
    )
    advice = advice_for(situation)
    wanted = loss or ([] if advice.loss is None else [0.05, 0.02])
    needed = [(value, *records_needed(situation, value)) for value in wanted]
    if json:
        rows = [{"loss": value, "likely": a, "surely": b} for value, a, b in needed]
        print_json(advice.to_dict() | {"records_needed": rows})
        return
    _print(advice, needed)


def _print(advice: Advice, needed: list[tuple[float, int | None, int | None]]) -> None:
    print_line(f"use: {advice.learner}, {advice.mechanism} noise")
    for line in advice.why:
        print_line(f"why: {line}")
    print_line(f"noise on a logit: std at most {advice.logit_noise:.2g}")
    if advice.loss is None:
        print_line("utility loss: not predicted here (measured for noisy gradients and δ > 0 only)")
    else:
        print_line(f"utility loss: {advice.loss}, a range that held in 9 of 10 measured cells")
    print_line(f"next: {_command(advice)}")
    if needed:
        print_table(
            "Records needed",
            ("loss below", "likely from", "almost surely from"),
            [(f"{value:g}", *map(_shown, numbers)) for value, *numbers in needed],
        )


def _shown(records: int | None) -> str:
    return "not measured" if records is None else str(records)


def _command(advice: Advice) -> str:
    from reticent.protect.plan import WEIGHTS

    asked = advice.situation
    budget = f"--delta {asked.delta}" if asked.delta else "--pure"
    bound = f" --bound {asked.bound:g}" if advice.learner == WEIGHTS else ""  # others refuse it
    return (
        f"reticent protect --private FILE --learner {advice.learner} --mechanism {advice.mechanism}"
        f" --epsilon {asked.epsilon} {budget} --relation {asked.relation}"
        f" --records {asked.records}{bound} …"
    )
