"""``reticent verify`` and ``predict``: what anybody can do with a released head."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent import protect
from reticent.cli import option_groups, private_table, release_output
from reticent.cli.options import Json
from reticent.cli.output import print_json, print_line, print_table, print_warning
from reticent.cli.table_form import PersonTableOptions
from reticent.cli.task_predictions import TaskPredictions, other_task, stated_labels
from reticent.files import writable_file, write_atomic
from reticent.guarantee.rounding import upper_text
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.data import Dataset

MISMATCH = 1

Released = Annotated[Path, typer.Argument(help="The released head: OUT of protect.")]
Key = Annotated[
    Path | None, typer.Option(help="The public key that must have signed: KEY.pub of keygen.")
]
Queries = Annotated[
    Path,
    typer.Option(
        help="Records to answer: .npz, .csv or .parquet; raw where the release has a schema."
    ),
]
Truth = Annotated[
    str | None,
    typer.Option(
        "--label", help="The column of labels, or the columns of several, to measure the answers."
    ),
]


def verify(released: Released, key: Key = None, json: Json = False) -> None:
    """Compute ε anew from a certificate's public numbers; exit code 1 where it does not follow.

    Both lists of assumptions are computed anew, and the files may hold what the recipe names and
    nothing else. With --key they must be signed by that key, too.
    """
    from reticent.protect.signing import read_public_key

    verification = protect.verify(released, key=None if key is None else read_public_key(key))
    if json:
        print_json(
            {
                "holds": verification.holds,
                "epsilon": verification.epsilon,
                "problems": list(verification.problems),
                "weaknesses": list(verification.weaknesses),
                "signed_by": verification.signed_by,
                "guarantee": verification.guarantee.to_dict(),
                **(_composed_document(released) if verification.holds else {}),
            }
        )
    elif verification.holds:
        print_line(f"holds: {verification.guarantee}")
        _print_composed(released)
        print_line(f"computed anew from the public numbers: ε = {upper_text(verification.epsilon)}")
        for line in verification.weaknesses:
            print_line(f"warning: {line}")
        print_line(_signature(verification.signed_by, asked=key is not None))
        release_output.print_assumptions(verification.guarantee)
    for problem in () if json else verification.problems:
        print_line(f"does not hold: {problem}")
    if not verification.holds:
        raise typer.Exit(MISMATCH)


def _print_composed(path: Path) -> None:
    release_output.print_composed(protect.load(path))


def _composed_document(path: Path) -> dict[str, Any]:
    return release_output.composed_document(protect.load(path))


def _signature(signed_by: str | None, *, asked: bool) -> str:
    if signed_by is None:
        return "unsigned: the files do not say whose claim it is"
    return f"signed by {'your key' if asked else 'a key, --key says whether by yours:'} {signed_by}"


PredictionsOut = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="Write a .csv file: for each row its number, the answer, and the probability of each"
        " class; of several labels a column each.",
    ),
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class QueryOptions(PersonTableOptions):
    """How queries are read: labels only measure the answers, texts may be a network's tokens."""

    label: Truth = None
    text: private_table.TextColumn = None


@option_groups.with_option_groups
def predict(
    released: Released,
    queries: Queries,
    table: QueryOptions,
    out: PredictionsOut = None,
    json: Json = False,
) -> None:
    """Answer with a released model; free, because it is public.

    Where the release was made by a schema, its certificate holds it: raw records are prepared by
    it, each by itself. Else columns are taken by their names where the release has names; others
    are refused. With --text a text goes to the --encoder, or to the network that was trained on
    tokens.
    """
    refuse_no_csv(out)
    head = protect.load(released)
    if head.recipe.task == "encoding":
        raise InputError(f"{released} must hold a model that predicts, got an encoder: --encoder")
    release_output.refuse_other_encoder(head, table.encoder)
    form = table.form_of(head.schema)
    if task := other_task(head):
        form = dataclasses.replace(form, **stated_labels(head, form, table.label))
        data = form.read(queries, queries=True)
        predictions = TaskPredictions.of(head, task, _arranged(head, data), data.labels)
        write_answers(out, predictions.columns, predictions.rows)
        predictions.show(written=out is not None, json=json)
        return
    names = None if table.label is None else [str(name) for name in head.classes_]
    if table.text is None or table.encoder is not None:
        data = form.read(queries, queries=True, classes=names)
    else:
        if table.embedding is not None:
            raise InputError("--embedding must not be given beside --text, got both")
        data = private_table.read_texts(
            queries,
            text=table.text,
            model=str(head.recipe.to_dict().get("architecture", head.recipe.name)),
            length=head.features,
            label=table.label,
            person=table.person,
            classes=names,
        )
    rows = _arranged(head, data)
    chosen = head.predict(rows)
    if out is not None:
        columns = ("row", "predicted", *(f"probability of {name}" for name in head.classes_))
        answers = zip(chosen.tolist(), head.predict_proba(rows).tolist(), strict=True)
        write_answers(out, columns, ([answer, *chances] for answer, chances in answers))
    truth = None if data.labels is None else head.classes_[data.labels]
    _print_predictions(head, chosen, truth, json)


def _arranged(head: protect.Release, data: Dataset) -> Any:
    """The features of a table in the order of the release's."""
    from reticent.protect.feature_names import in_order

    return in_order(data.features.astype("float64", copy=False), data.columns, head.columns)


def refuse_no_csv(out: Path | None) -> None:
    """A file for answers ends in .csv and can be written."""
    if out is not None and writable_file(out).suffix != ".csv":
        raise InputError(f"--out must be a .csv file, got {out}")


def write_answers(out: Path | None, columns: tuple[str, ...], rows: Iterable[list[Any]]) -> None:
    """A CSV file of answers, whole or not at all."""
    if out is None:
        return
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(columns)
    table.writerows([number, *row] for number, row in enumerate(rows))
    write_atomic(out, text.getvalue().encode())
    print_warning(f"written to {out}")


def _print_predictions(head: protect.Release, chosen: Any, truth: Any, json: bool) -> None:
    accuracy = None if truth is None or len(truth) == 0 else float((chosen == truth).mean())
    if json:
        measured = {} if accuracy is None else {"accuracy": accuracy}
        answers = {"predictions": chosen.tolist(), **measured}
        print_json(
            answers
            | {"guarantee": head.guarantee.to_dict()}
            | release_output.composed_document(head)
        )
        return
    columns = ("class", "predicted") if truth is None else ("class", "predicted", "true")
    counted = [chosen] if truth is None else [chosen, truth]
    rows = [
        (str(name), *(str((answers == name).sum()) for answers in counted))
        for name in head.classes_
    ]
    print_table("Predictions", columns, rows)
    hits = "" if accuracy is None else f"accuracy {accuracy:.4f} on {len(chosen)} rows; "
    print_line(f"{hits}model: {head.guarantee}")
    release_output.print_composed(head)
