"""``reticent plan``: which learner, what it will cost, how many records it needs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli import options as shared
from reticent.cli.output import print_json, print_line, print_table
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.data import Schema
    from reticent.protect.plan import Advice
    from reticent.protect.plan_help import Change, ColumnCost
    from reticent.protect.plan_queries import QueryAdvice, Way
    from reticent.protect.terms import Terms

Number = Annotated[
    int | None, typer.Option("--records", help="About how many private records there are.")
]
Features = Annotated[int | None, typer.Option(help="The number of features of a record.")]
ClassCount = Annotated[int | None, typer.Option("--classes", help="The number of classes.")]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        help="A TOML file of public facts: features, classes, bound and records follow from it.",
    ),
]
Radius = Annotated[
    float | None,
    typer.Option(
        "--bound",
        help="The public bound on a row's norm. Learners scale rows, so it costs nothing.",
        show_default="1",
    ),
]
Each = Annotated[
    int | None,
    typer.Option(
        "--max-records-per-person",
        help="The most records of one person, where persons are to be protected.",
    ),
]
Prototypes = Annotated[
    bool,
    typer.Option(
        "--prototypes",
        help="The labels are clusters of the features. Say so only if that is public.",
    ),
]
RarestShare = Annotated[
    float | None, typer.Option(help="About the share of the rarest class, where that is public.")
]
Losses = Annotated[
    list[float] | None,
    typer.Option(
        "--loss",
        help="Also: from how many records on the loss would be below this. May be repeated.",
        show_default="0.05 and 0.02",
    ),
]
Queries = Annotated[
    int | None,
    typer.Option(
        help="Also: whether so many queries are better served by weights that are released once or"
        " by an answer each."
    ),
]


def plan(
    epsilon: shared.Epsilon,
    schema: SchemaFile = None,
    records: Number = None,
    features: Features = None,
    classes: ClassCount = None,
    delta: shared.Delta = None,
    pure: shared.Pure = False,
    relation: shared.RelationName = None,
    bound: Radius = None,
    max_records_per_person: Each = None,
    prototypes: Prototypes = False,
    rarest_share: RarestShare = None,
    loss: Losses = None,
    queries: Queries = None,
    json: shared.Json = False,
) -> None:
    """Which learner to use and what it will cost, from public numbers: no record is read."""
    from reticent.data import Schema
    from reticent.protect.plan import Situation, records_needed
    from reticent.protect.plan import plan as advice_for
    from reticent.protect.plan_help import LARGE_LOSS, column_costs, what_would_help
    from reticent.protect.plan_queries import plan_queries
    from reticent.protect.terms import Terms

    facts = None if schema is None else Schema.load(schema)
    if schema is not None and facts is not None and facts.task != "classification":
        terms = Terms(
            epsilon=epsilon,
            delta=shared.delta_of(delta, pure),
            relation=shared.relation_of(relation),
            max_records_per_person=max_records_per_person,
        )
        idle: dict[str, Any] = {
            "features": features,
            "classes": classes,
            "bound": bound,
            "queries": queries,
            "loss": loss,
            "rarest-share": rarest_share,
            "prototypes": prototypes or None,
        }
        print_task_plan(facts, terms, (schema, records, idle), json=json)
        return
    public = _numbers(facts, records=records, features=features, classes=classes, bound=bound)
    public |= _label_facts(facts, rarest_share=rarest_share, prototypes=prototypes)
    situation = Situation(
        **public,
        epsilon=epsilon,
        delta=shared.delta_of(delta, pure),
        relation=shared.relation_of(relation),
        max_records_per_person=max_records_per_person,
    )
    advice = advice_for(situation)
    costs = () if facts is None else column_costs(facts, situation)
    large = advice.loss is not None and advice.loss.likely > LARGE_LOSS
    changes = what_would_help(situation, costs) if large else []
    wanted = loss or ([] if advice.loss is None else [0.05, 0.02])
    needed = [(value, *records_needed(situation, value)) for value in wanted]
    served = None if queries is None else plan_queries(situation, queries)
    if json:
        rows = [{"loss": value, "likely": a, "surely": b} for value, a, b in needed]
        more: dict[str, Any] = {} if served is None else {"served": served.to_dict()}
        more |= {"columns": [asdict(one) for one in costs]} if costs else {}
        more |= {"would_help": [one.to_dict() for one in changes]} if changes else {}
        print_json(advice.to_dict() | {"records_needed": rows} | more)
        return
    _print(advice, needed, schema)
    print_columns(costs)
    print_changes(changes)
    shared.warn_of_weakness(epsilon=epsilon, delta=situation.delta, records=situation.records)
    if served is not None:
        _print_served(served)


def print_task_plan(
    facts: Schema, terms: Terms, options: tuple[Path, int | None, dict[str, Any]], *, json: bool
) -> None:
    """What to use for a number, or for several labels, and what it will cost."""
    from reticent.protect.task_plan import plan_task

    path, records, idle = options
    for name, value in idle.items():
        if value is not None:
            raise InputError(f"--{name} must not be given for {facts.task}: no use for it here")
    if facts.records is not None and records is not None:
        raise InputError("--records must not be given beside --schema, which holds it")
    many = facts.records or records
    if many is None:
        raise InputError("--records must be said: the schema does not hold it")
    advice = plan_task(facts, terms, many)
    if json:
        print_json(advice.to_dict())
        return
    print_line(f"use: {advice.learner}, {advice.mechanism} noise, for {facts.task}")
    for line in advice.lines:
        print_line(line)
    print_line(advice.loss_line)
    budget = f"--delta {terms.delta}" if terms.delta else "--pure"
    print_line(
        f"next: reticent protect --private FILE --schema {quote(str(path))} --epsilon"
        f" {terms.epsilon} {budget} --relation {terms.relation}"
        f"{'' if facts.records else f' --records {many}'} --out released"
    )
    shared.warn_of_weakness(epsilon=terms.epsilon, delta=terms.delta, records=many)


def _label_facts(
    facts: Schema | None, *, rarest_share: float | None, prototypes: bool
) -> dict[str, Any]:
    """How rare the rarest class is and how labels were made: as said, or as the schema says."""
    own = None if facts is None else facts.label_facts
    if own is None:
        return {"rarest_share": rarest_share, "prototypes": prototypes}
    if own.rarest_share is not None and rarest_share is not None:
        raise InputError("--rarest-share must not be given beside --schema, which holds it")
    share = rarest_share if own.rarest_share is None else own.rarest_share
    return {"rarest_share": share, "prototypes": prototypes or own.clusters}


def _numbers(facts: Schema | None, **options: Any) -> dict[str, Any]:
    """N, d, C and R: as said, or as they follow from the schema."""
    if facts is None:
        for name in ("records", "features", "classes"):
            if options[name] is None:
                raise InputError(f"--{name} must be said (or --schema): it is public")
        return options | {"bound": 1.0 if options["bound"] is None else options["bound"]}
    held = {
        "records": facts.records,
        "features": len(facts.names),
        "classes": len(facts.classes) or None,
        "bound": facts.bound,
    }
    for name, value in held.items():
        if value is not None and options[name] is not None:
            raise InputError(f"--{name} must not be given beside --schema, which holds it")
        if value is None and options[name] is None:
            raise InputError(f"--{name} must be said: the schema does not hold it")
    return {name: options[name] if value is None else value for name, value in held.items()}


def _print(
    advice: Advice,
    needed: list[tuple[float, int | None, int | None]],
    schema: Path | None,
) -> None:
    print_line(f"use: {advice.learner}, {advice.mechanism} noise")
    for line in advice.why:
        print_line(f"why: {line}")
    print_line(f"noise on a logit: std at most {advice.logit_noise:.2g}")
    if advice.loss is None:
        print_line("utility loss: not predicted here (class means were not measured at δ > 0)")
    else:
        held = "9" if advice.situation.delta > 0 else "8"
        print_line(f"utility loss: {advice.loss}, a range that held in {held} of 10 measured cells")
    print_line(f"next: {_command(advice, schema)}")
    if needed:
        print_table(
            "Records needed",
            ("loss below", "likely from", "almost surely from"),
            [(f"{value:g}", *map(_shown, numbers)) for value, *numbers in needed],
        )


def _print_served(served: QueryAdvice) -> None:
    print_line()
    number = f"{served.queries} {'query' if served.queries == 1 else 'queries'}"
    print_line(f"{number} of a convex head: {_named(served.for_logits)}")
    if served.for_labels != served.for_logits:
        print_line(f"if labels are enough: {_named(served.for_labels)}")
    for line in served.why:
        print_line(f"why: {line}")
    rows = [
        (way.release, way.mechanism, way.gives, f"{way.logit_noise:.3g}", way.composed_by or "–")
        for way in served.ways
    ]
    columns = ("release", "noise", "gives", "std", "composed by")
    print_table("Noise on one logit, at one head", columns, rows)


def _named(way: Way) -> str:
    return f"{way.release}, {way.mechanism}, std {way.logit_noise:.3g} on a logit"


def _shown(records: int | None) -> str:
    return "not measured" if records is None else str(records)


def _command(advice: Advice, schema: Path | None) -> str:
    from reticent.protect import RECIPES

    asked = advice.situation
    budget = f"--delta {asked.delta}" if asked.delta else "--pure"
    takes = RECIPES[advice.learner].options
    bound = f" --bound {asked.bound:g}" if "bound" in takes else ""
    numbers = f"--records {asked.records}{bound}"
    if schema is not None:
        from reticent.data import Schema

        held = Schema.load(schema).records is not None
        numbers = f"--schema {quote(str(schema))}" + ("" if held else f" --records {asked.records}")
    own = len(RECIPES[advice.learner].noises) == 1  # it has no other
    noise = "" if own else f" --mechanism {advice.mechanism}"
    each = asked.max_records_per_person
    person = "" if schema is not None else " --person COLUMN"  # which a schema names
    person_options = "" if each is None else f"{person} --max-records-per-person {each}"
    labels = "" if schema is not None else " --label COLUMN --classes NAMES"
    return (
        f"reticent protect --private FILE --learner {advice.learner}{noise}"
        f" --epsilon {asked.epsilon} {budget} --relation {asked.relation}"
        f" {numbers}{person_options}{labels} --out released"
    )


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
