"""``reticent attack`` on a released encoder: who was among the records that it was made of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reticent.cli import progress
from reticent.cli.task_attack import Form
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.audit import attack_plan, attack_run
    from reticent.data import Dataset
    from reticent.protect import Release


def opened_encoder(target: str | None) -> Release | None:
    """The release that the text names, where it makes features; else None."""
    from reticent.attacks.open_target import released_at
    from reticent.protect import load
    from reticent.protect.registry import ENCODING

    path = None if target is None else released_at(target)
    if path is None:
        return None
    released = load(path)
    return released if released.recipe.task == ENCODING else None


def refuse_for_encoder(said: Mapping[str, object]) -> None:
    """What only an attack on classes has a use for, in one line that says what can be done."""
    given = [option for option, value in said.items() if value not in (None, False)]
    if given:
        raise InputError(
            f"{given[0]} must not be said for a released encoder, which tells no classes: it is"
            " attacked by how alike its features of views of a record are, with shadow encoders"
            " made as it was"
        )


def attack_released_encoder(
    released: Release,
    files: tuple[Path, Path, Path | None],
    form: Form,
    plan: attack_plan.AttackPlan,
) -> attack_run.Attacked:
    """All attacks on encoders, by the files of members, of others and of the adversary's own."""
    from reticent.audit.encoder_attack import attack_encoder

    members, others, shadow = (
        None if path is None else _records(path, released, form) for path in files
    )
    assert members is not None
    assert others is not None
    with progress.stages() as stage:
        return attack_encoder(released, members, others, shadow=shadow, plan=plan, stage=stage)


def _records(path: Path, released: Release, form: Form) -> Dataset:
    """Images, texts or rows in the order of the release; the first rows of each person."""
    from dataclasses import replace

    from reticent.protect import feature_names, table

    data = form.tables.read(path)
    if data.columns:
        rows = feature_names.in_order(data.inputs, data.columns, released.columns)
        if rows is not data.inputs:
            data = replace(data, inputs=rows, columns=released.columns)
    if data.persons is None:
        return data
    return data.take(table.cap_rows_per_person(data.persons, form.max_records_per_person or 1))
