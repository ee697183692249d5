"""``reticent attack`` and ``audit`` on releases that tell numbers, or several labels at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reticent.cli import progress, table_form
from reticent.cli.task_predictions import other_task, stated_labels
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.audit import attack_plan, attack_run
    from reticent.data import Dataset
    from reticent.protect import Release

TASKS = ("regression", "multilabel")


def opened_task(target: str | None) -> Release | None:
    """The release that the text names, where it tells numbers or several labels; else None."""
    from reticent.attacks.open_target import released_at
    from reticent.protect import load

    path = None if target is None else released_at(target)
    if path is None:
        return None
    released = load(path)
    return released if other_task(released) in TASKS else None


def form_of_task(form: table_form.TableForm, releases: Sequence[Release]) -> table_form.TableForm:
    """How the table of these releases is read: its labels are what all of them tell."""
    tasks = {other_task(one) or "classification" for one in releases} - {"encoding", "statistic"}
    if len(tasks) > 1:
        raise InputError(f"released must be of one task, got {' and '.join(sorted(tasks))}")
    if not tasks:
        return form
    first = next(one for one in releases if (other_task(one) or "classification") in tasks)
    task = tasks.pop()
    if task == "classification":
        form.required_label()
        return form
    if form.schema is not None:
        return form
    if task == "regression":
        form = form.or_label("label")
        numbers = first.recipe.to_dict()
        centre, half = float(numbers.get("target_centre", 0.0)), float(numbers["target_bound"])
        return replace(form, label=form.labels[0], target=(centre - half, centre + half))
    stated_labels(first, form, ",".join(form.labels) or None)
    return replace(form, label=None, labels=[str(name) for name in first.classes_])


def refuse_for_task(released: Release, options: Mapping[str, Any]) -> None:
    """What only an attack on classes has a use for, in one line that says what can be done."""
    given = [option for option, value in options.items() if value not in (None, False)]
    if given:
        raise InputError(
            f"{given[0]} must not be said for a {other_task(released)} release: loss and"
            " lira-online are made on"
            " it, with shadows trained as it was, on halves of the records"
        )


class Form(NamedTuple):
    """How records are read, and how many of a person count."""

    tables: table_form.TableForm
    max_records_per_person: int | None


def attack_task(
    released: Release, files: tuple[Path, Path], form: Form, plan: attack_plan.AttackPlan
) -> attack_run.Attacked:
    """Both attacks on a release, by the files of its members and of others."""
    from reticent.run.tasks.attacking import attack_outputs

    members, others = (_task_records(path, released, form) for path in files)
    with progress.stages() as stage:
        return attack_outputs(released, members, others, plan=plan, stage=stage)


def _task_records(path: Path, released: Release, form: Form) -> Dataset:
    """Features in the order of the release, and labels; the first rows of each person."""
    from reticent.protect import feature_names, table

    data = form.tables.read(path)
    rows = feature_names.in_order(data.inputs, data.columns, released.columns)
    if rows is not data.inputs:
        data = replace(data, inputs=rows, columns=released.columns)
    if data.persons is None:
        return data
    return data.take(table.cap_rows_per_person(data.persons, form.max_records_per_person or 1))
