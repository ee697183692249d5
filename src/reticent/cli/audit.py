"""``reticent audit``: does a claim stand? Exit code 1 where it is refuted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from reticent.cli import audit_options, private_table
from reticent.cli.backend import refuse_cluster
from reticent.cli.endpoint import CoinFiles, Decimals, LabelsOnly, Top, audit_endpoint
from reticent.cli.options import Delta, Json, Pure, delta_of
from reticent.cli.output import print_json, print_line, print_warning
from reticent.cli.progress import progress_line
from reticent.cli.table_form import TableForm, common_schema
from reticent.cli.task_attack import form_of_task
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.audit import FunctionAudit
    from reticent.audit.end_to_end.pairs import OwnTableAudit
    from reticent.audit.one_training import TrainingAudit
    from reticent.audit.release import ClaimAudit, ClaimsAudit
    from reticent.data import Schema

REFUTED = 1
PAIRS = 40


class _Form(NamedTuple):
    """What one form of the command needs, and what it may be told beside that."""

    needs: tuple[str, ...]
    takes: tuple[str, ...]


_TABLE = ("--person", "--embedding", "--encoder")
HELD = ("--label", "--classes", "--records")
"""What a schema says, so that nobody else has to."""
FORMS = {
    "RELEASED": _Form(
        needs=("--private",),
        takes=("--schema", "--label", *_TABLE, "--runs", "--candidates", "--jobs"),
    ),
    "--function": _Form(
        needs=("--one", "--other", "--epsilon"),
        takes=("--delta", "--pure", "--runs", "--seed", "--mechanism"),
    ),
    "--end-to-end": _Form(
        needs=("--private", "--label", "--classes", "--records", "--epsilon", "--relation"),
        takes=(
            *("--delta", "--pure", "--bound", "--penalty", "--norms", "--mechanism", "--centre"),
            *("--person", "--max-records-per-person", "--embedding", "--pairs", "--seed"),
            "--schema",
        ),
    ),
    "--endpoint": _Form(
        needs=("--members", "--nonmembers", "--classes"),
        takes=(
            *("--label", "--embedding", "--encoder", "--schema", "--delta", "--pure"),
            *("--top", "--decimals", "--labels-only"),
        ),
    ),
    "--train": _Form(
        needs=("--private", "--label", "--classes"),
        takes=(
            *("--embedding", "--encoder", "--bound", "--records", "--epsilon", "--delta"),
            *("--schema", "--pure", "--canaries", "--kind", "--seed"),
        ),
    ),
}


def audit(
    released: audit_options.Releases = None,
    private: audit_options.Private = None,
    schema: private_table.SchemaFile = None,
    label: audit_options.Label = None,
    person: private_table.Person = None,
    embedding: private_table.Embedding = None,
    encoder: private_table.EncoderName = None,
    function: audit_options.Function = None,
    one: audit_options.One = None,
    other: audit_options.Other = None,
    train: audit_options.Train = None,
    end_to_end: audit_options.EndToEnd = None,
    endpoint: audit_options.Endpoint = None,
    members: audit_options.Members = None,
    nonmembers: audit_options.NonMembers = None,
    top: Top = None,
    decimals: Decimals = None,
    labels_only: LabelsOnly = False,
    canaries: audit_options.Count = None,
    kind: audit_options.Kind = None,
    classes: private_table.Classes = None,
    bound: private_table.Bound = None,
    records: audit_options.Records = None,
    epsilon: audit_options.Claimed = None,
    delta: Delta = None,
    pure: Pure = False,
    relation: audit_options.Relation = None,
    mechanism: audit_options.Mechanism = None,
    penalty: private_table.Penalty = None,
    norms: audit_options.NormsName = None,
    centre: audit_options.Centre = None,
    max_records_per_person: audit_options.RecordsEach = None,
    pairs: audit_options.Pairs = None,
    beta: audit_options.Beta = 0.05,
    runs: audit_options.Runs = None,
    candidates: audit_options.Candidates = None,
    seed: audit_options.Seed = None,
    jobs: audit_options.Jobs = None,
    json: Json = False,
) -> None:
    """Try to refute a claim: of releases, a function, a training, a service, or protect itself.

    A release: the theorem by the worst pair that is found, the code by draws (of a learner with
    the noise inside, by all its noisy sums); several share β; one that protects persons is told
    --person, as protect was. A function: by the event that tells two inputs apart best. A training:
    by canaries in one run. A service: by records that coins put in or left out. Of protect: from
    neighbouring files, built from your table, to all that leaves, with its noise replaced. What
    is printed is as private as the records.
    """
    said = {
        "--private": private, "--schema": schema, "--label": label, "--person": person,
        "--embedding": embedding,
        "--encoder": encoder, "--one": one, "--other": other, "--classes": classes,
        "--bound": bound, "--records": records, "--canaries": canaries, "--kind": kind,
        "--epsilon": epsilon, "--delta": delta, "--pure": pure or None, "--runs": runs,
        "--candidates": candidates, "--seed": seed, "--relation": relation,
        "--mechanism": mechanism, "--penalty": penalty, "--norms": norms, "--centre": centre,
        "--max-records-per-person": max_records_per_person, "--pairs": pairs,
        "--members": members, "--nonmembers": nonmembers, "--top": top, "--decimals": decimals,
        "--labels-only": labels_only or None, "--jobs": jobs,
    }  # fmt: skip
    asked = {
        "RELEASED": released or None, "--function": function, "--train": train,
        "--end-to-end": end_to_end, "--endpoint": endpoint,
    }  # fmt: skip
    form = _form_of(asked, said)
    if form != "RELEASED":
        refuse_cluster(form)
    if form == "RELEASED":
        _finish_releases(_of_releases(list(released or ()), said, beta), json)
    elif form == "--end-to-end":
        _finish(_of_own_table(str(end_to_end), said), json)
    elif form == "--endpoint":
        _finish(_of_service(str(endpoint), said, beta), json)
    elif form == "--function":
        _finish_function(_of_function(str(function), said, beta), json)
    else:
        _finish(_of_training(str(train), said, beta), json)


def _form_of(asked: Mapping[str, object], said: Mapping[str, object]) -> str:
    """The one form that was asked for, with all that it needs and nothing that it has no use of."""
    named = [form for form, value in asked.items() if value is not None]
    if len(named) != 1:
        got = " and ".join(named) or "none"
        forms = "RELEASED, --function, --train, --endpoint and --end-to-end"
        raise InputError(f"one of {forms} must be said, got {got}")
    given = {option for option, value in said.items() if value is not None}
    needs, takes = FORMS[named[0]]
    held = HELD if "--schema" in given else ()
    if missing := [option for option in needs if option not in (*given, *held)]:
        raise InputError(f"{missing[0]} must be said with {named[0]}, got nothing")
    if idle := sorted(given - {*needs, *takes}):
        raise InputError(f"{idle[0]} must not be said with {named[0]}, which has no use for it")
    return named[0]


def _of_releases(paths: Sequence[Path], said: Mapping[str, Any], beta: float) -> ClaimsAudit:
    from reticent.audit.release_files import Effort, audit_files, refuse_persons
    from reticent.parallel import workers_are_remote
    from reticent.protect import load

    names = [str(path) for path in paths]
    if len(set(names)) < len(names):
        raise InputError("released must be different files, got one twice")
    releases = {name: load(name) for name in names}
    below = {str(one.recipe.to_dict().get("base") or "") for one in releases.values()} - {""}
    if len(below) == 1 and said["--encoder"] is None:
        said = {**said, "--encoder": below.pop()}
    form = form_of_task(
        _form(said, common_schema(list(releases.values()))), list(releases.values())
    )
    for name, released in releases.items():  # before the table is read: persons may be texts
        refuse_persons(name, released, named=form.person is not None)
    with progress_line("runs") as progress:
        return audit_files(
            releases,
            lambda classes: form.read(said["--private"], classes=classes),
            beta=beta,
            effort=Effort(
                runs=said["--runs"],
                candidates=said["--candidates"],
                progress=progress,
                jobs=said["--jobs"] or (-1 if workers_are_remote() else 1),
            ),
        )


_FOR_PROTECT = (
    *("--schema", "--label", "--classes", "--records", "--epsilon", "--relation", "--delta"),
    "--bound",
    *("--penalty", "--norms", "--mechanism", "--centre", "--person", "--max-records-per-person"),
    "--embedding",
)


def _of_own_table(learner: str, said: Mapping[str, Any]) -> OwnTableAudit:
    from reticent.audit.end_to_end.pairs import audit_own_table
    from reticent.run.end_to_end_commands import protect_command

    form = _form(said)
    words = ["protect", "--learner", learner, *(["--pure"] if said["--pure"] else [])]
    for option in _FOR_PROTECT:
        if said[option] is not None:
            words += [option, str(said[option])]
    with progress_line("pairs") as progress:
        return audit_own_table(
            said["--private"],
            lambda path: protect_command([*words, "--private", str(path)]),
            label=form.said_label(),
            person=form.person,
            schema=form.schema,
            pairs=PAIRS if said["--pairs"] is None else said["--pairs"],
            seed=said["--seed"] or 0,
            progress=progress,
        )


def _of_function(name: str, said: Mapping[str, Any], beta: float) -> FunctionAudit:
    from reticent.audit import audit_function
    from reticent.audit.user_code import open_function, open_input, this_folder_importable

    if said["--one"] == said["--other"]:
        raise InputError("--one and --other must be two inputs, got the same twice")
    delta = delta_of(said["--delta"], bool(said["--pure"]))
    with progress_line("runs") as progress, this_folder_importable():
        return audit_function(
            open_function("--function", name),
            open_input("--one", said["--one"]),
            open_input("--other", said["--other"]),
            epsilon=said["--epsilon"],
            delta=delta,
            runs=said["--runs"],
            noise=said["--mechanism"],
            beta=beta,
            seed=said["--seed"] or 0,
            progress=progress,
        )


def _of_training(name: str, said: Mapping[str, Any], beta: float) -> ClaimAudit:
    from reticent.audit.release_files import TrainingPlan, audit_named_training, needs_bound
    from reticent.audit.user_code import this_folder_importable

    form = _form(said)
    chosen = {"canaries": said["--canaries"], "kind": said["--kind"], "seed": said["--seed"]}
    plan = TrainingPlan(
        train=name,
        bound=form.said_bound(said["--bound"]) if needs_bound(name) else said["--bound"],
        epsilon=said["--epsilon"],
        delta=delta_of(said["--delta"], bool(said["--pure"])),
        records=form.said_records(said["--records"]),
        **{option: value for option, value in chosen.items() if value is not None},
    )
    data = form.read(said["--private"])
    with this_folder_importable():
        return audit_named_training(data, plan, beta=beta)


def _of_service(url: str, said: Mapping[str, Any], beta: float) -> TrainingAudit:
    from reticent.audit.attack_plan import View

    form = TableForm.of(
        said["--schema"],
        **{name: said[f"--{name}"] for name in ("label", "embedding", "encoder")},
    )
    form = form.or_label("label")
    shown = {name: said[f"--{name}"] for name in ("top", "decimals")}
    delta = 0.0 if said["--pure"] else said["--delta"]
    found, charged = audit_endpoint(
        url,
        CoinFiles(said["--members"], said["--nonmembers"], form),
        classes=said["--classes"],
        view=View(**shown, labels_only=bool(said["--labels-only"])),
        delta=delta,
        beta=beta,
    )
    print_warning(f"the service charged {charged:,} answers for this audit")
    return found


def _form(said: Mapping[str, Any], own: Schema | None = None) -> TableForm:
    options = ("label", "person", "embedding", "encoder", "classes")
    return TableForm.of_release(
        own, said["--schema"], **{name: said[f"--{name}"] for name in options}
    )


def _finish_function(found: FunctionAudit, json: bool) -> None:
    """The audit of a function is one line; here each part has its own."""
    from reticent.guarantee.rounding import upper_text

    lines = (
        f"claim: ε ≤ {upper_text(found.epsilon)}, δ ≤ {upper_text(found.delta)}",
        f"measured: {found.bound}",
        f"measured: {found.noise}" if found.noise is not None else None,
        f"event: {found.event}",
        f"runs: {found.runs:,} on each input, of which some chose the event",
        f"power: {found.found}" if not found.refuted else None,
    )
    for line in () if json else filter(None, lines):
        print_line(line, detail=True)
    if not json:
        print_line(f"verdict: {found.verdict}{found.condition}")
    _end(found, json)


def _finish_releases(found: ClaimsAudit, json: bool) -> None:
    """One release as it is; several with the verdict on all of them."""
    alone = next(iter(found.audits.values())) if len(found.audits) == 1 else None
    for text in () if json else str(alone or found).splitlines():
        print_line(text)
    if json:
        from reticent.results.conversions import audit_steps

        print_json(audit_steps(found).model_dump(mode="json"))
    if found.refuted:
        raise typer.Exit(REFUTED)


def _finish(found: ClaimAudit | OwnTableAudit, json: bool) -> None:
    for text in () if json else str(found).splitlines():
        print_line(text)
    _end(found, json)


def _end(found: ClaimAudit | FunctionAudit | OwnTableAudit, json: bool) -> None:
    if json:
        print_json(found.to_dict())
    if found.refuted:
        raise typer.Exit(REFUTED)
