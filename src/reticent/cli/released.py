"""``reticent verify`` and ``predict``: what anybody can do with a released head."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli.options import Json
from reticent.cli.output import print_json, print_line, print_table
from reticent.cli.private_table import (
    Embedding,
    EncoderName,
    Person,
    TextColumn,
    read_private,
    read_texts,
    refuse_beside_text,
)
from reticent.cli.protect import print_assumptions
from reticent.guarantee.rounding import upper_text
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.protect import Release

MISMATCH = 1

Released = Annotated[Path, typer.Argument(help="The released head: OUT of protect.")]
Key = Annotated[
    Path | None,
    typer.Option(
        help="The public key that must have signed: KEY.pub of keygen.", show_default=False
    ),
]
Queries = Annotated[Path, typer.Option(help="Features to classify: .npz, .csv or .parquet.")]
Truth = Annotated[
    str | None,
    typer.Option("--label", help="The column of labels, to count hits.", show_default=False),
]


def verify(released: Released, key: Key = None, json: Json = False) -> None:
    """Compute ε anew from a certificate's public numbers; exit code 1 where it does not follow.

    Both lists of assumptions are computed anew, and the files may hold what the recipe names and
    nothing else. With --key they must be signed by that key, too.
    """
    from reticent.protect import verify as verify_head
    from reticent.protect.signing import read_public_key

    found = verify_head(released, key=None if key is None else read_public_key(key))
    if json:
        print_json(
            {
                "holds": found.holds,
                "epsilon": found.epsilon,
                "problems": list(found.problems),
                "signed_by": found.signed_by,
                "guarantee": found.guarantee.to_dict(),
            }
        )
    elif found.holds:
        print_line(f"holds: {found.guarantee}")
        print_line(f"computed anew from the public numbers: ε = {upper_text(found.epsilon)}")
        print_line(_signature(found.signed_by, asked=key is not None))
        print_assumptions(found.guarantee)
    for problem in () if json else found.problems:
        print_line(f"does not hold: {problem}")
    if not found.holds:
        raise typer.Exit(MISMATCH)


def _signature(signed_by: str | None, *, asked: bool) -> str:
    if signed_by is None:
        return "unsigned: the files do not say whose claim it is"
    return f"signed by {'your key' if asked else 'a key, --key says whether by yours:'} {signed_by}"


def predict(
    released: Released,
    queries: Queries,
    label: Truth = None,
    person: Person = None,
    embedding: Embedding = None,
    encoder: EncoderName = None,
    text: TextColumn = None,
    json: Json = False,
) -> None:
    """Classify with a released head; free, because the head is public."""
    from reticent.protect import load

    refuse_beside_text(text, embedding=embedding, encoder=encoder)
    head = load(released)
    if head.recipe.task != "classification":
        if label is not None:
            raise InputError(
                f"--label must not be given for a {head.recipe.task}: it has no classes"
            )
        rows = read_private(queries, person=person, embedding=embedding, encoder=encoder)
        _print_numbers(head.predict(rows.features), str(head.guarantee), json)
        return
    names = None if label is None else [str(name) for name in head.classes_]
    if text is None:
        data = read_private(
            queries,
            label=label,
            person=person,
            embedding=embedding,
            classes=names,
            encoder=encoder,
        )
    else:
        data = read_texts(
            queries,
            text=text,
            model=str(head.recipe.to_dict().get("architecture", head.recipe.name)),
            length=head.features,
            label=label,
            person=person,
            classes=names,
        )
    chosen = head.predict(data.features)
    truth = None if data.labels is None else head.classes_[data.labels]
    _print_predictions(head, chosen, truth, json)


def _print_numbers(values: Any, guarantee: str, json: bool) -> None:
    if json:
        print_json({"predictions": values.tolist()})
        return
    for value in values.tolist():
        print_line(f"{value:.6g}")
    print_line(f"model: {guarantee}")


def _print_predictions(head: Release, chosen: Any, truth: Any, json: bool) -> None:
    accuracy = None if truth is None or len(truth) == 0 else float((chosen == truth).mean())
    if json:
        found = {} if accuracy is None else {"accuracy": accuracy}
        print_json({"predictions": chosen.tolist(), **found})
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
