"""``reticent run``: the whole job on the user's own data."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli import (
    gate,
    option_groups,
    output,
    private_table,
    progress,
    quiet,
    release_output,
    stopped_run,
    table_form,
    task_run,
)
from reticent.cli import options as shared
from reticent.cli.ledger_options import NOT_CHARGED, LedgerOptions
from reticent.cli.summary import print_summary, stop_refuted, written_by
from reticent.guarantee import Relation
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.data import Dataset
    from reticent.results import Results
    from reticent.run import RunData, RunSpec

Test = Annotated[
    Path, typer.Option(help="Records that no model saw, with labels: .npz, .csv or .parquet.")
]
Public = Annotated[
    Path | None,
    typer.Option(help="Public records without labels: all rows are centred and whitened by them."),
]
TestIsPublic = Annotated[
    bool,
    typer.Option(
        "--test-is-public",
        help="The test records are public: the page for publication then shows the accuracy.",
    ),
]
RecordsFromData = Annotated[
    bool,
    typer.Option(
        "--records-from-data",
        help="Count the private records for N: the release then tells their number, and is declared"
        " at most.",
    ),
]
Out = Annotated[Path, typer.Option(help="A folder for the page, results.json and the release.")]
Grid = Annotated[
    str | None,
    typer.Option(
        "--epsilons",
        help="The ε of the figures, comma-separated; by default ½ to 8 times --epsilon.",
    ),
]
Draws = Annotated[int, typer.Option(help="Releases of each kind, to show their spread.")]
Shadows = Annotated[int, typer.Option(help="Shadow models of the attacks.")]
Seed = Annotated[int, typer.Option(help="Of everything but protecting noise.")]
Jobs = Annotated[int, typer.Option(help="Processes; -1 for every core.")]
Unbounded = Annotated[
    bool,
    typer.Option(
        "--unbounded",
        help="Measure all of a large table and repeat as often as for a small one: hours, and tens"
        " of GiB.",
    ),
]

Compare = Annotated[
    bool,
    typer.Option(
        "--compare-protections",
        help="A section with every other place for noise at this ε and δ, under the same attacks.",
    ),
]


@option_groups.with_option_groups
def run(
    private: private_table.Private,
    test: Test,
    epsilon: shared.Epsilon,
    table: table_form.LabelTableOptions,
    account: LedgerOptions,
    delta: shared.Delta = None,
    pure: shared.Pure = False,
    relation: shared.RelationName = None,
    bound: private_table.Bound = None,
    records: private_table.Records = None,
    records_from_data: RecordsFromData = False,
    max_records_per_person: private_table.Each = 1,
    public: Public = None,
    test_is_public: TestIsPublic = False,
    encoder_people: private_table.EncoderPeople = None,
    norms: private_table.Norms = None,
    learner: private_table.LearnerName = None,
    prototypes: private_table.Prototypes = False,
    epsilons: Grid = None,
    draws: Draws = 5,
    shadows: Shadows = 32,
    seed: Seed = 0,
    jobs: Jobs = -1,
    unbounded: Unbounded = False,
    compare_protections: Compare = False,
    sign: shared.Sign = None,
    out: Out = Path("reticent-run"),
    replace: shared.Replace = False,
    fail_above: gate.RunFailAbove = None,
    json: shared.Json = False,
) -> None:
    """Tune, attack, protect, attack again and audit a model of your own features.

    It tells classes; a number where --target-range or the schema says its range; or several labels
    at once.

    Writes a page for whoever decides about publishing, results.json and the recommended release
    with its certificate; that one release is charged to --ledger before it is made. Without
    --classes or --bound the value is read from the private data, and so is N with
    --records-from-data: then no release is more than declared, and none has a public page or card.
    After a stop the same command starts from what was fitted before, and is charged once.
    """
    from reticent.files import folder_for
    from reticent.protect.sealed_pair import paths_of
    from reticent.results.gate import exceeded, limits_of
    from reticent.run import RunData, RunSpec, job, run_job
    from reticent.run.spec import counted, longest_row
    from reticent.run.stages import PLACED
    from reticent.training.features import as_norms

    form = table.form(public=public)
    form.required_labels()
    neighbours, limits = shared.relation_of(relation), limits_of(fail_above or ())
    records = form.records_or(records)
    _refuse_silence(records, records_from_data, neighbours)
    signer = shared.signer_of(sign)
    each = private_table.each_of(form.person, max_records_per_person)
    stopped = stopped_run.StoppedRun(out, account.charger(), charged_to=account.account)
    release_output.refuse_earlier(
        [*paths_of(out / job.KEPT), out / "results.json"], replace=replace
    )
    with folder_for(out) as target:
        data, unseen, public_data = _tables(form, private, test, public)
        roles = RunData.of(data, unseen, public=public_data, max_records_per_person=each, seed=seed)
        roles = dataclasses.replace(roles, test_is_public=test_is_public)
        bound = form.bound_or(bound)
        spec = RunSpec(
            epsilon=epsilon,
            delta=shared.delta_of(delta, pure),
            relation=neighbours,
            records=counted(data, each) if records is None else records,
            bound=longest_row(roles.private) if bound is None else bound,
            inferred_from_data=_inferred(form, bound=bound, records=records),
            norms=as_norms(norms or "clip"),
            learner=learner if form.task == "classification" else None,
            prototypes=prototypes,
            epsilons=_grid(epsilons),
            draws=draws,
            shadows=shadows,
            max_records_per_person=each,
            seed=seed,
            jobs=jobs,
            unbounded=unbounded,
            compare_protections=_comparable(compare_protections, form.task),
            encoder=private_table.used_encoder(table.encoder, encoder_people),
        )
        _warn(roles, spec)
        command = shlex.join(["reticent", *sys.argv[1:]])
        if form.task != "classification":
            with stopped.following():
                task = task_run.run_task_command(
                    *((roles, spec), form, learner),
                    command=command,
                    charge=stopped.charge,
                    limits=limits,
                )
            written = task_run.written_task(task, target, sign=signer)
            stopped.ended()
            task_run.end_task(task, (out, written), limits, json=json, charged=account.is_named)
            return
        if not json:
            _say_time(roles, spec)
        with progress.stages(named=PLACED) as stage, stopped.following():
            finished = run_job(roles, spec, command=command, stage=stage, charge=stopped.charge)
        written = written_by(finished, target, sign=signer)
        stopped.ended()
    _print_run(finished.results, (out, written), json=json, charged=account.is_named)
    stop_refuted(finished.results)
    gate.stop_above(exceeded(finished.results, limits))


def _print_run(
    results: Results, written: tuple[Path, list[str]], *, json: bool, charged: bool
) -> None:
    """The document as JSON, or what it says in short."""
    if json:
        output.print_json(results.model_dump(mode="json"))
        return
    if not charged:
        output.print_warning(NOT_CHARGED)
    print_summary(results, *written)


def _tables(
    form: table_form.TableForm, private: Path, test: Path, public: Path | None
) -> tuple[Dataset, Dataset, Dataset | None]:
    """The private records, those that no model saw, and public ones."""
    data = form.read_private(private)
    person_column = None if form.schema else _column_in(test, form.person)
    unseen = form.read(test, person=person_column, classes=list(data.classes))
    return data, unseen, None if public is None else _features_of(public, form)


def _inferred(form: table_form.TableForm, **options: Any) -> tuple[str, ...]:
    """What nobody said, and a schema with facts that were taken from the private records."""
    classes = form.classes if form.task == "classification" else form.labels
    missing = [name for name, value in {"classes": classes, **options}.items() if value is None]
    facts = () if form.schema is None or not form.schema.inferred else ("schema",)
    return (*missing, *facts)


def _warn(roles: RunData, spec: RunSpec) -> None:
    """What keeps a release from being proven, from being measured whole, or from meaning much."""
    from reticent.run.bounded import bounded
    from reticent.run.job import capped_run

    if spec.inferred_from_data:
        output.print_warning(_not_proven(spec.inferred_from_data))
    for line in bounded(*capped_run(roles, spec)).notes:
        output.print_warning(line)
    shared.warn_of_weakness(epsilon=spec.epsilon, delta=spec.delta, records=spec.records)


def _say_time(roles: RunData, spec: RunSpec) -> None:
    """One line about how long it will take, from public sizes and a measured fixed job."""
    from reticent.run import duration, job
    from reticent.run.bounded import bounded

    if quiet.is_quiet():
        return
    data, spec = job.capped_run(roles, spec)
    output.print_warning(
        duration.line_of(duration.Work.of(data, bounded(data, spec)), jobs=spec.jobs)
    )


def _comparable(asked: bool, task: str) -> bool:
    """Other places for noise are of classifiers."""
    if asked and task != "classification":
        raise InputError(
            f"--compare-protections must be of a table with classes, got the task {task}: leave it"
            " out"
        )
    return asked


def _refuse_silence(records: int | None, from_data: bool, relation: Relation) -> None:
    """Under add-remove N is said, or it is said that the number of records may be told."""
    if records is not None and from_data:
        raise InputError(f"--records must be said once, got {records} and --records-from-data")
    if relation is Relation.ADD_REMOVE and not from_data:
        private_table.required_records(records, relation, otherwise=" (or --records-from-data)")


def _grid(typed: str | None) -> tuple[float, ...]:
    try:
        return () if typed is None else tuple(map(float, typed.split(",")))
    except ValueError:
        raise InputError(f"--epsilons must be numbers, comma-separated, got {typed!r}") from None


def _features_of(public: Path, form: table_form.TableForm) -> Dataset:
    """Public records; a label or a person that stands in the file is no feature of theirs."""
    label_column, person_column = _column_in(public, form.label), _column_in(public, form.person)
    return form.read(public, label=label_column, person=person_column, classes=None)


def _column_in(path: Path, name: str | None) -> str | None:
    """The column of this name, where the file has one."""
    from reticent.data.columns import open_columns

    return name if name is not None and name in open_columns(path).names else None


def _not_proven(inferred: tuple[str, ...]) -> str:
    options = ", ".join(f"--{name}" for name in inferred)
    if "schema" in inferred:
        options = "them"
    return (
        f"declared, not proven: {', '.join(inferred)} read from the private data; say {options} for"
        " a proven release"
    )
