"""``reticent attack``: who can tell the members of a model, and how well."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from reticent.attacks.registry import ATTACKS
from reticent.cli import (
    attack_output,
    encoder_attack,
    gate,
    option_groups,
    options,
    output,
    private_table,
    progress,
    table_form,
)
from reticent.cli.endpoint import KEY_VARIABLE, Decimals, LabelsOnly, Top, open_endpoint
from reticent.cli.task_attack import Form, attack_task, form_of_task, opened_task, refuse_for_task
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.attacks import Records, Target
    from reticent.audit.attack_plan import AttackPlan
    from reticent.audit.attack_run import Attacked
    from reticent.data import Dataset
    from reticent.protect import Release

Endpoint = Annotated[
    str | None,
    typer.Option(
        help="In place of --target: the address of a reticent service, asked as one of its clients"
        f" with the key in {KEY_VARIABLE}; --classes in the order of its logits. Protected answers"
        " are charged."
    ),
]
TargetName = Annotated[
    str | None,
    typer.Option(
        "--target",
        help="OUT of fit or protect (or its folder); a .csv or .parquet of probabilities, one"
        " column for each class, a row for each member and then for each non-member; or"
        " module:attribute, a fitted model, torch module or function.",
    ),
]
Members = Annotated[Path, typer.Option(help="Records it was trained on: .npz, .csv or .parquet.")]
NonMembers = Annotated[
    Path, typer.Option("--nonmembers", help="Others of the same kind, in the same form.")
]
Shadow = Annotated[
    Path | None,
    typer.Option(
        help="The adversary's own records, about twice as many as the members; no member is one."
    ),
]
Population = Annotated[
    Path | None, typer.Option(help="Records that RMIA compares with; by default those of --shadow.")
]
Classes = Annotated[
    str | None,
    typer.Option(
        help="What a function or torch module answers, column by column, comma-separated."
    ),
]
Names = Annotated[
    str,
    typer.Option(
        help="all (those that are possible), or names, comma-separated: " + ", ".join(ATTACKS) + "."
    ),
]
ShadowCount = Annotated[
    int | None,
    typer.Option("--shadows", help="How many shadow models: 32 unless said, of an encoder 4."),
]
ShadowModel = Annotated[
    str | None,
    typer.Option(
        help="softmax, mlp or logistic; or module:function of (X, y, seed) that trains a model as"
        " the target was trained, and returns it. By default what the target is, else mlp."
    ),
]
Slices = Annotated[
    bool, typer.Option("--slices", help="The strongest attack by class and by confidence.")
]
ScoresOut = Annotated[
    Path | None, typer.Option(help="Write each record's scores: .csv or .parquet, a private file.")
]
Confidence = Annotated[float, typer.Option(help="That all intervals hold together.")]
Seed = Annotated[int, typer.Option(help="Of the shadow models and of the attacks' own draws.")]
Jobs = Annotated[int, typer.Option(help="Shadow models trained at a time; -1 takes every core.")]


_SHADOWS = 32
_SHADOW_ENCODERS = 4


@dataclass(frozen=True, kw_only=True)
class TargetTableOptions(table_form.PersonTableOptions):
    """How the records are read."""

    label: Annotated[
        str | None, typer.Option(help="The column of labels.", show_default="label")
    ] = None


@option_groups.with_option_groups
def attack(
    members: Members,
    nonmembers: NonMembers,
    table: TargetTableOptions,
    target: TargetName = None,
    endpoint: Endpoint = None,
    shadow: Shadow = None,
    population: Population = None,
    classes: Classes = None,
    max_records_per_person: private_table.Each = 1,
    attacks: Names = "all",
    shadows: ShadowCount = None,
    shadow_model: ShadowModel = None,
    top: Top = None,
    decimals: Decimals = None,
    labels_only: LabelsOnly = False,
    slices: Slices = False,
    fail_above: gate.FailAbove = None,
    scores_out: ScoresOut = None,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    jobs: Jobs = -1,
    json: options.Json = False,
) -> None:
    """Attack a model: can members be told from others, by whom, and how well?

    Membership is used to measure the attacks, and never given to one of them. Shadow models are
    trained on --shadow; those of online attacks on random halves of the records themselves. With
    --person the first rows of each person count, as in fit and protect. Of a released regression,
    or of several labels, loss (the squared error) and lira-online are made; of a released encoder
    EncoderMI and LiRA on views of the records, which need no labels.
    """
    from reticent.attacks.open_target import described
    from reticent.audit import attack_plan, attack_report, user_code, write_scores
    from reticent.results.gate import attack_limits_of, exceeded_by_attacks

    encoder = encoder_attack.opened_encoder(target) if endpoint is None else None
    plan = attack_plan.AttackPlan(
        attacks=_names(attacks),
        shadow_model=_shadow_model(shadow_model),
        shadow_count=_shadow_count(shadows, encoder),
        view=attack_plan.View(top=top, decimals=decimals, labels_only=labels_only),
        confidence=confidence,
        seed=seed,
        jobs=jobs,
    )
    limits = attack_limits_of(fail_above or (), fprs=attack_report.FPRS)
    _refuse_early(scores_out)
    told = opened_task(target) if endpoint is None and encoder is None else None
    with user_code.this_folder_importable():
        opened: Any = encoder or told or _opened(target, endpoint, classes, labels_only=labels_only)
    tables = table.form_of(getattr(getattr(opened, "model", opened), "schema", None))
    files = _Files(members, nonmembers, shadow, population)
    of_classes = {
        "--population": population, "--classes": classes, "--top": top, "--decimals": decimals,
        "--labels-only": labels_only, "--shadow-model": shadow_model, "--slices": slices,
    }  # fmt: skip
    each = private_table.each_of(tables.person, max_records_per_person)
    if encoder is not None:
        encoder_attack.refuse_for_encoder(of_classes)
        own = (members, nonmembers, shadow)
        outcome = encoder_attack.attack_released_encoder(encoder, own, Form(tables, each), plan)
    elif told is not None:
        refuse_for_task(told, {"--shadow": shadow} | of_classes)
        form = Form(form_of_task(tables, [told]), each)
        outcome = attack_task(told, (members, nonmembers), form, plan)
    else:
        outcome = _attacked(opened, files, Form(tables.or_label("label"), each), plan)
    if scores_out is not None:
        write_scores(
            scores_out,
            list(outcome.scores.values()),
            labels=outcome.records.labels,
            members=outcome.inside,
        )
    above = exceeded_by_attacks(outcome, limits)
    if json:
        output.print_json(
            attack_output.step_of(opened, outcome, slices, above).model_dump(mode="json")
        )
    else:
        attack_output.print_attacked(outcome, described(opened), plan)
        attack_output.print_rest(outcome, slices, scores_out)
    gate.stop_above(above)


class _Files(NamedTuple):
    """Records that are scored, and those of the adversary's own."""

    members: Path
    nonmembers: Path
    shadow: Path | None
    population: Path | None


def _attacked(target: Target, files: _Files, form: Form, plan: AttackPlan) -> Attacked:
    """All attacks of the plan on a model of classes."""
    from reticent.audit import attack_run, user_code

    tables = form.tables
    if tables.schema is None and tables.embedding is None and tables.text is None:
        _refuse_other_order(tables.required_label(), *files)
    inner = _records(files.members, target, form)
    outer = _records(files.nonmembers, target, form, start=len(inner))
    own = {
        name: None if path is None else _records(path, target, form)
        for name, path in (("shadow", files.shadow), ("population", files.population))
    }
    with progress.stages() as stage, user_code.this_folder_importable():
        return attack_run.attack_model(target, inner, outer, **own, plan=plan, stage=stage)


def _shadow_count(said: int | None, encoder: Release | None) -> int:
    """As it was said; an encoder is dearer to make than a head."""
    otherwise = _SHADOWS if encoder is None else _SHADOW_ENCODERS
    return otherwise if said is None else said


def _shadow_model(name: str | None) -> Any:
    """A kind of ours by its name, or the function that a text with a colon names."""
    from reticent.audit.user_code import open_function, this_folder_importable

    if name is None or ":" not in name:
        return name
    with this_folder_importable():
        return open_function("--shadow-model", name)


def _opened(
    target: str | None, endpoint: str | None, classes: str | None, *, labels_only: bool
) -> Target:
    from reticent.attacks.open_target import open_target

    if (target is None) == (endpoint is None):
        raise InputError("--target or --endpoint must be said, got both or neither")
    if target is not None:
        return open_target(
            target, classes=None if classes is None else private_table.listed(classes)
        )
    assert endpoint is not None
    return open_endpoint(endpoint, classes, labels_only=labels_only)


def _names(attacks: str) -> Any:
    return "all" if attacks == "all" else tuple(name.strip() for name in attacks.split(","))


def _refuse_early(scores_out: Path | None) -> None:
    """Before hours of work."""
    if scores_out is None:
        return
    if scores_out.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(f"--scores-out must end in .csv or .parquet, got {scores_out.name!r}")
    if scores_out.is_dir() or not scores_out.parent.is_dir():
        raise InputError(f"--scores-out must be a file in a folder that exists, got {scores_out}")
    if not os.access(scores_out.parent, os.W_OK):
        raise InputError(f"--scores-out must be in a folder to write to, got {scores_out.parent}")


def _refuse_other_order(label: str, first: Path, *files: Path | None) -> None:
    """The same columns in another order would be other features, and tell the files apart."""
    from reticent.data.columns import open_columns

    names = open_columns(first, texts=[label]).names
    order = [name for name in names if name != label]
    for path in files:
        own = order if path is None else open_columns(path, texts=[label]).names
        if sorted(own) == sorted(names) and [name for name in own if name != label] != order:
            raise InputError(
                f"{path} must have its columns in the order of {first.name}, got another"
            )


def _records(path: Path, target: Target, form: Form, *, start: int = 0) -> Records:
    """Features and labels of a file; labels alone do where the target's answers were written."""
    from reticent.attacks import Records, targets
    from reticent.attacks.open_target import labels_alone
    from reticent.protect.table import cap_rows_per_person

    answered = isinstance(
        target, targets.AnsweredTarget
    )  # each row has its answer: none may be left out
    label = form.tables.required_label()
    alone = labels_alone(path, label=label, start=start) if answered else None
    if alone is not None:
        return alone
    data = form.tables.read(path, classes=[str(name) for name in target.classes])
    data = _in_order_of(target, data)
    if data.persons is not None and not answered:
        data = data.take(cap_rows_per_person(data.persons, form.max_records_per_person or 1))
    return Records.of(data)


def _in_order_of(target: Target, data: Dataset) -> Dataset:
    """With the columns in the order of a release that names them."""
    from dataclasses import replace

    from reticent.protect import Release, feature_names

    model = getattr(target, "model", None)
    if not isinstance(model, Release):
        return data
    rows = feature_names.in_order(data.inputs, data.columns, model.columns)
    return data if rows is data.inputs else replace(data, inputs=rows, columns=model.columns)
