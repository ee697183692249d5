"""``reticent audit``: does a claim stand? Exit code 1 where it is refuted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from reticent.cli import backend, table_form, task_attack
from reticent.cli.audit_options import AuditedOptions, AuditOptions, Beta, Releases
from reticent.cli.endpoint import CoinFiles, audit_endpoint
from reticent.cli.option_groups import option_name, typed, with_option_groups
from reticent.cli.options import Json, delta_of
from reticent.cli.output import print_json, print_line, print_warning
from reticent.cli.private_table import required_option
from reticent.cli.progress import progress_line
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.audit import FunctionAudit, one_training
    from reticent.audit.end_to_end.pairs import OwnTableAudit
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


@with_option_groups
def audit(
    audited: AuditedOptions,
    options: AuditOptions,
    released: Releases = None,
    beta: Beta = 0.05,
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
    form = _form_of({"RELEASED": released} if released else {}, audited, options)
    if form != "RELEASED":
        backend.refuse_cluster(form)
    if form == "RELEASED":
        _finish_releases(_of_releases(list(released or ()), options, beta), json)
    elif form == "--end-to-end":
        _finish(_of_own_table(str(audited.end_to_end), options), json)
    elif form == "--endpoint":
        _finish(_of_service(str(audited.endpoint), options, beta), json)
    elif form == "--function":
        _finish_function(_of_function(str(audited.function), options, beta), json)
    else:
        _finish(_of_training(str(audited.train), options, beta), json)


def _form_of(released: Mapping[str, object], audited: AuditedOptions, options: AuditOptions) -> str:
    """The one form that was asked for, with all that it needs and nothing that it has no use of."""
    named = [*released, *map(option_name, typed(audited))]
    if len(named) != 1:
        got = " and ".join(named) or "none"
        forms = "RELEASED, --function, --train, --endpoint and --end-to-end"
        raise InputError(f"one of {forms} must be said, got {got}")
    given = set(map(option_name, typed(options)))
    needs, takes = FORMS[named[0]]
    held = HELD if "--schema" in given else ()
    if missing := [option for option in needs if option not in (*given, *held)]:
        raise InputError(f"{missing[0]} must be said with {named[0]}, got nothing")
    if idle := sorted(given - {*needs, *takes}):
        raise InputError(f"{idle[0]} must not be said with {named[0]}, which has no use for it")
    return named[0]


def _of_releases(paths: Sequence[Path], options: AuditOptions, beta: float) -> ClaimsAudit:
    from reticent.audit.release_files import Effort, audit_files, refuse_persons
    from reticent.parallel import workers_are_remote
    from reticent.protect import load

    names = [str(path) for path in paths]
    if len(set(names)) < len(names):
        raise InputError("released must be different files, got one twice")
    releases = {name: load(name) for name in names}
    below = {str(one.recipe.to_dict().get("base") or "") for one in releases.values()} - {""}
    if len(below) == 1 and options.encoder is None:
        options = replace(options, encoder=below.pop())
    form = task_attack.form_of_task(
        _form(options, table_form.common_schema(list(releases.values()))), list(releases.values())
    )
    for name, released in releases.items():  # before the table is read: persons may be texts
        refuse_persons(name, released, named=form.person is not None)
    with progress_line("runs") as progress:
        return audit_files(
            releases,
            lambda classes: form.read(
                required_option("--private", options.private), classes=classes
            ),
            beta=beta,
            effort=Effort(
                runs=options.runs,
                candidates=options.candidates,
                progress=progress,
                jobs=options.jobs or (-1 if workers_are_remote() else 1),
            ),
        )


_FOR_PROTECT = (
    *("--schema", "--label", "--classes", "--records", "--epsilon", "--relation", "--delta"),
    "--bound",
    *("--penalty", "--norms", "--mechanism", "--centre", "--person", "--max-records-per-person"),
    "--embedding",
)


def _of_own_table(learner: str, options: AuditOptions) -> OwnTableAudit:
    from reticent.audit.end_to_end.pairs import audit_own_table
    from reticent.run.end_to_end_calls import protect_command

    form = _form(options)
    words = ["protect", "--learner", learner, *(["--pure"] if options.pure else [])]
    for name, value in typed(options).items():
        if option_name(name) in _FOR_PROTECT:
            words += [option_name(name), str(value)]
    with progress_line("pairs") as progress:
        return audit_own_table(
            required_option("--private", options.private),
            lambda path: protect_command([*words, "--private", str(path)]),
            label=form.required_label(),
            person=form.person,
            schema=form.schema,
            pairs=PAIRS if options.pairs is None else options.pairs,
            seed=options.seed or 0,
            progress=progress,
        )


def _of_function(name: str, options: AuditOptions, beta: float) -> FunctionAudit:
    from reticent.audit import audit_function, user_code

    if options.one == options.other:
        raise InputError("--one and --other must be two inputs, got the same twice")
    delta = delta_of(options.delta, options.pure)
    with progress_line("runs") as progress, user_code.this_folder_importable():
        return audit_function(
            user_code.open_function("--function", name),
            user_code.open_input("--one", required_option("--one", options.one)),
            user_code.open_input("--other", required_option("--other", options.other)),
            epsilon=required_option("--epsilon", options.epsilon),
            delta=delta,
            runs=options.runs,
            noise=options.mechanism,
            beta=beta,
            seed=options.seed or 0,
            progress=progress,
        )


def _of_training(name: str, options: AuditOptions, beta: float) -> ClaimAudit:
    from reticent.audit import release_files, user_code

    form = _form(options)
    plan = release_files.TrainingPlan(
        train=name,
        bound=form.bound_or(options.bound) if release_files.needs_bound(name) else options.bound,
        epsilon=options.epsilon,
        delta=delta_of(options.delta, options.pure),
        records=form.records_or(options.records),
        **typed(options, ("canaries", "kind", "seed")),
    )
    data = form.read(required_option("--private", options.private))
    with user_code.this_folder_importable():
        return release_files.audit_named_training(data, plan, beta=beta)


def _of_service(url: str, options: AuditOptions, beta: float) -> one_training.TrainingAudit:
    from reticent.audit.attack_plan import View

    form = table_form.TableForm.of(
        options.schema, label=options.label, embedding=options.embedding, encoder=options.encoder
    )
    form = form.or_label("label")
    files = (
        required_option("--members", options.members),
        required_option("--nonmembers", options.nonmembers),
    )
    training_audit, charged = audit_endpoint(
        url,
        CoinFiles(*files, form),
        classes=options.classes,
        view=View(top=options.top, decimals=options.decimals, labels_only=options.labels_only),
        delta=0.0 if options.pure else options.delta,
        beta=beta,
    )
    print_warning(f"the service charged {charged:,} answers for this audit")
    return training_audit


def _form(options: AuditOptions, own: Schema | None = None) -> table_form.TableForm:
    names = ("schema", "label", "person", "embedding", "encoder", "classes")
    return table_form.TableForm.of_release(own, **{name: getattr(options, name) for name in names})


def _finish_function(function_audit: FunctionAudit, json: bool) -> None:
    """The audit of a function is one line; here each part has its own."""
    from reticent.guarantee.rounding import upper_text

    lines = (
        f"claim: ε ≤ {upper_text(function_audit.epsilon)}, δ ≤ {upper_text(function_audit.delta)}",
        f"measured: {function_audit.bound}",
        f"measured: {function_audit.noise}" if function_audit.noise is not None else None,
        f"event: {function_audit.event}",
        f"runs: {function_audit.runs:,} on each input, of which some chose the event",
        f"power: {function_audit.detectable_faults}" if not function_audit.refuted else None,
    )
    for line in () if json else filter(None, lines):
        print_line(line, detail=True)
    if not json:
        print_line(f"verdict: {function_audit.verdict}{function_audit.condition}")
    _end(function_audit, json)


def _finish_releases(claims_audit: ClaimsAudit, json: bool) -> None:
    """One release as it is; several with the verdict on all of them."""
    alone = next(iter(claims_audit.audits.values())) if len(claims_audit.audits) == 1 else None
    for text in () if json else str(alone or claims_audit).splitlines():
        print_line(text)
    if json:
        from reticent.results.conversions import audit_steps

        print_json(audit_steps(claims_audit).model_dump(mode="json"))
    if claims_audit.refuted:
        raise typer.Exit(REFUTED)


def _finish(outcome: ClaimAudit | OwnTableAudit, json: bool) -> None:
    for text in () if json else str(outcome).splitlines():
        print_line(text)
    _end(outcome, json)


def _end(outcome: ClaimAudit | FunctionAudit | OwnTableAudit, json: bool) -> None:
    if json:
        print_json(outcome.to_dict())
    if outcome.refuted:
        raise typer.Exit(REFUTED)
