"""``reticent run``: the whole job on the user's own data."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli.gate import RunFailAbove, stop_above
from reticent.cli.ledger_options import (
    NOT_CHARGED,
    DataSet,
    LedgerPath,
    OpenAccount,
    charger,
)
from reticent.cli.options import Epsilon, Json, RelationName, Sign, relation_of, signer_of
from reticent.cli.output import print_json, print_line, print_warning
from reticent.cli.private_table import (
    Bound,
    Classes,
    Each,
    Embedding,
    EncoderName,
    Label,
    Norms,
    Person,
    Private,
    Records,
    each_of,
    listed,
    read_private,
    said_records,
)
from reticent.cli.progress import stages
from reticent.cli.summary import print_summary, stop_refuted, written_by
from reticent.guarantee import Relation
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.data import Dataset

Test = Annotated[
    Path, typer.Option(help="Records that no model saw, with labels: .npz, .csv or .parquet.")
]
Public = Annotated[
    Path | None,
    typer.Option(
        help="Public records without labels: all rows are centred and whitened by them.",
        show_default=False,
    ),
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
Delta = Annotated[float, typer.Option(help="The δ of the release.", show_default=False)]
Out = Annotated[Path, typer.Option(help="A folder for the page, results.json and the release.")]
Grid = Annotated[
    str | None,
    typer.Option(
        "--epsilons",
        help="The ε of the figures, comma-separated; by default ½ to 8 times --epsilon.",
        show_default=False,
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


def run(
    private: Private,
    label: Label,
    test: Test,
    epsilon: Epsilon,
    delta: Delta,
    relation: RelationName = None,
    classes: Classes = None,
    bound: Bound = None,
    records: Records = None,
    records_from_data: RecordsFromData = False,
    person: Person = None,
    max_records_per_person: Each = 1,
    public: Public = None,
    test_is_public: TestIsPublic = False,
    embedding: Embedding = None,
    encoder: EncoderName = None,
    norms: Norms = None,
    epsilons: Grid = None,
    draws: Draws = 5,
    shadows: Shadows = 32,
    seed: Seed = 0,
    jobs: Jobs = -1,
    unbounded: Unbounded = False,
    sign: Sign = None,
    out: Out = Path("reticent-run"),
    fail_above: RunFailAbove = None,
    ledger: LedgerPath = None,
    data_set: DataSet = None,
    open_account: OpenAccount = False,
    json: Json = False,
) -> None:
    """Tune, attack, protect, attack again and audit a classifier on your own features.

    Writes a page for whoever decides about publishing, results.json and the recommended release
    with its certificate; that one release is charged to --ledger before it is made. Without
    --classes or --bound the value is read from the private data, and so is N with
    --records-from-data: then no release is more than declared, and none has a public page or card.
    """
    from reticent.files import folder_for
    from reticent.results.gate import exceeded, limits_of
    from reticent.run import RunData, RunSpec, run_job
    from reticent.run.bounded import bounded
    from reticent.run.job import capped_run
    from reticent.run.spec import counted, longest_row
    from reticent.training.features import as_norms

    neighbours, limits = relation_of(relation), limits_of(fail_above or ())
    _refuse_silence(records, records_from_data, neighbours)
    signer = signer_of(sign)
    each = each_of(person, max_records_per_person)
    charge = charger(ledger, data_set, open_account)
    with folder_for(out) as target:
        form: dict[str, Any] = {"embedding": embedding, "encoder": encoder}
        names = None if classes is None else listed(classes)
        data = read_private(private, label=label, person=person, classes=names, **form)
        whose = _column_in(test, person)
        unseen = read_private(test, label=label, person=whose, classes=list(data.classes), **form)
        around = None if public is None else _features_of(public, label, person, form)
        roles = RunData.of(data, unseen, public=around, max_records_per_person=each, seed=seed)
        roles = dataclasses.replace(roles, test_is_public=test_is_public)
        missing = {"classes": classes, "bound": bound, "records": records}
        spec = RunSpec(
            epsilon=epsilon,
            delta=delta,
            relation=neighbours,
            records=counted(data, each) if records is None else records,
            bound=longest_row(roles.private) if bound is None else bound,
            inferred_from_data=tuple(name for name, value in missing.items() if value is None),
            norms=as_norms(norms or "clip"),
            epsilons=_grid(epsilons),
            draws=draws,
            shadows=shadows,
            max_records_per_person=each,
            seed=seed,
            jobs=jobs,
            unbounded=unbounded,
        )
        if spec.inferred_from_data:
            print_warning(_not_proven(spec.inferred_from_data))
        for line in bounded(*capped_run(roles, spec)).notes:
            print_warning(line)
        command = shlex.join(["reticent", *sys.argv[1:]])
        with stages() as stage:
            finished = run_job(roles, spec, command=command, stage=stage, charge=charge)
        written = written_by(finished, target, sign=signer)
    if json:
        print_json(finished.results.model_dump(mode="json"))
    else:
        print_summary(finished.results)
        print_line(f"written to {out}: {', '.join(written)}")
        if ledger is None:
            print_warning(NOT_CHARGED)
    stop_refuted(finished.results)
    stop_above(exceeded(finished.results, limits))


def _refuse_silence(records: int | None, from_data: bool, relation: Relation) -> None:
    """Under add-remove N is said, or it is said that the number of records may be told."""
    if records is not None and from_data:
        raise InputError(f"--records must be said once, got {records} and --records-from-data")
    if relation is Relation.ADD_REMOVE and not from_data:
        said_records(records, relation, otherwise=" (or --records-from-data)")


def _grid(typed: str | None) -> tuple[float, ...]:
    try:
        return () if typed is None else tuple(map(float, typed.split(",")))
    except ValueError:
        raise InputError(f"--epsilons must be numbers, comma-separated, got {typed!r}") from None


def _features_of(public: Path, label: str, person: str | None, form: dict[str, Any]) -> Dataset:
    """Public records; a label or a person that stands in the file is no feature of theirs."""
    found, whose = _column_in(public, label), _column_in(public, person)
    return read_private(public, label=found, person=whose, **form)


def _column_in(path: Path, name: str | None) -> str | None:
    """The column of this name, where the file has one."""
    from reticent.data.columns import open_columns

    return name if name is not None and name in open_columns(path).names else None


def _not_proven(inferred: tuple[str, ...]) -> str:
    options = ", ".join(f"--{name}" for name in inferred)
    return (
        f"declared, not proven: {', '.join(inferred)} read from the private data; say {options} for"
        " a proven release"
    )
