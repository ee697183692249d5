"""``reticent protect``, ``verify`` and ``predict``: a head's weights, released once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reticent.cli.options import Delta, Epsilon, Json, Pure, RelationName, delta_of, relation_of
from reticent.cli.output import print_json, print_line, print_table
from reticent.guarantee import Guarantee
from reticent.guarantee.rounding import scale_text, upper_text
from reticent.validation import InputError

MISMATCH = 1

Private = Annotated[Path, typer.Option(help="Private features: .npz, .csv or .parquet.")]
Label = Annotated[str, typer.Option(help="The column of labels.")]
Classes = Annotated[str, typer.Option(help="All classes, comma-separated: public, never read off.")]
Bound = Annotated[
    float, typer.Option(help="Public bound on a row's norm; longer rows are clipped.")
]
Records = Annotated[int, typer.Option(help="Public normaliser N: about the number of records.")]
Out = Annotated[Path, typer.Option(help="Where to write OUT.safetensors and OUT.json.")]
Person = Annotated[
    str | None, typer.Option(help="The column that says whose record it is.", show_default=False)
]
Each = Annotated[int, typer.Option("--records-each", help="Rows that one person keeps at most.")]
Embedding = Annotated[
    str | None, typer.Option(help="A column of lists that holds the features.", show_default=False)
]
MechanismOption = Annotated[
    str, typer.Option("--mechanism", help="gaussian, logistic, laplace or l2-laplace.")
]
Penalty = Annotated[
    float | None, typer.Option(help="λ; by default from the public numbers.", show_default=False)
]
Released = Annotated[Path, typer.Argument(help="The released head: OUT of protect.")]


def protect(
    private: Private,
    label: Label,
    classes: Classes,
    bound: Bound,
    records: Records,
    epsilon: Epsilon,
    out: Out,
    delta: Delta = None,
    pure: Pure = False,
    relation: RelationName = None,
    mechanism: MechanismOption = "gaussian",
    penalty: Penalty = None,
    person: Person = None,
    records_each: Each = 1,
    embedding: Embedding = None,
    json: Json = False,
) -> None:
    """Fit a softmax head on private features and release its weights once, with a proven ε."""
    from reticent.data import read_table
    from reticent.pipeline.protecting import Wanted, protect_head
    from reticent.protect import save

    wanted = Wanted(
        epsilon=epsilon,
        delta=delta_of(delta, pure),
        relation=relation_of(relation),
        records=records,
        bound=bound,
        mechanism=mechanism,
        penalty=penalty,
        records_each=records_each,
    )
    names = [name.strip() for name in classes.split(",")]
    data = read_table(private, label=label, person=person, embedding=embedding, classes=names)
    released = protect_head(data, wanted)
    weights, certificate = save(released, out)
    if json:
        print_json(
            {
                "weights": str(weights),
                "certificate": str(certificate),
                "mechanism": released.mechanism,
                "scale": released.scale,
                "public": released.public.to_dict(),
                "guarantee": released.guarantee.to_dict(),
            }
        )
        return
    print_line(str(released.guarantee))
    print_line(
        f"{released.mechanism} noise of scale {scale_text(released.scale)}, penalty "
        f"{released.public.penalty:.6g}; written to {weights} and {certificate}"
    )
    _print_assumptions(released.guarantee)


def verify(released: Released, json: Json = False) -> None:
    """Compute ε anew from a certificate's public numbers; exit code 1 where it does not follow."""
    from reticent.protect import verify as verify_head

    found = verify_head(released)
    if json:
        print_json(
            {
                "holds": found.holds,
                "epsilon": found.epsilon,
                "problems": list(found.problems),
                "guarantee": found.guarantee.to_dict(),
            }
        )
    elif found.holds:
        print_line(f"holds: {found.guarantee}")
        print_line(f"computed anew from the public numbers: ε = {upper_text(found.epsilon)}")
        _print_assumptions(found.guarantee)
    for problem in () if json else found.problems:
        print_line(f"does not hold: {problem}")
    if not found.holds:
        raise typer.Exit(MISMATCH)


def predict(
    released: Released,
    queries: Annotated[Path, typer.Option(help="Features to classify: .npz, .csv or .parquet.")],
    label: Annotated[str, typer.Option(help="The column of labels, to count hits.")],
    person: Person = None,
    embedding: Embedding = None,
    json: Json = False,
) -> None:
    """Classify with a released head; free, because the head is public."""
    from reticent.data import read_table
    from reticent.protect import load

    head = load(released)
    data = read_table(
        queries, label=label, person=person, embedding=embedding, classes=list(head.classes_)
    )
    if data.labels is None:
        raise InputError(f"{queries} must have labels, got none")
    chosen = head.predict(data.features)
    truth = head.classes_[data.labels]
    accuracy = float((chosen == truth).mean())
    if json:
        print_json({"predictions": chosen.tolist(), "accuracy": accuracy})
        return
    rows = [
        (str(name), str((chosen == name).sum()), str((truth == name).sum()))
        for name in head.classes_
    ]
    print_table("Predictions", ("class", "predicted", "true"), rows)
    print_line(f"accuracy {accuracy:.4f} on {len(truth)} rows; model: {head.guarantee}")


def _print_assumptions(claim: Guarantee) -> None:
    print_line("checked by the code:")
    for line in claim.checked:
        print_line(f"  - {line}")
    print_line("stated by you:")
    for line in claim.stated:
        print_line(f"  - {line}")
