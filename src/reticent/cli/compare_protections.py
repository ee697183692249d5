"""``reticent compare-protections``: every place for noise on one data set, on one plot."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reticent.cli import output, private_table
from reticent.cli.options import Delta, Epsilon, Json, Pure, RelationName, delta_of, relation_of
from reticent.cli.progress import progress_line
from reticent.protect.registry import classifiers

if TYPE_CHECKING:
    from reticent.results.protections import Protections

Test = Annotated[
    Path,
    typer.Option(
        help="Records that no model saw, with labels: half of them are PATE's public records."
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(help="A folder for protections.html, .json and .csv; none by default."),
]
Chosen = Annotated[
    str | None,
    typer.Option(
        "--protections",
        help=f"Those to compare, comma-separated: {', '.join(classifiers())}, smoothing,"
        " algorithm-5.2; by default all but network, which takes many minutes, smoothing, which"
        " promises nothing about records, and algorithm-5.2, whose ε is as it was printed.",
    ),
]
AndPure = Annotated[bool, typer.Option("--and-pure", help="Each at δ = 0 too, by Laplace noise.")]
Draws = Annotated[int, typer.Option(help="Releases of each protection.")]
Attacks = Annotated[
    str,
    typer.Option(help="Attacks by the names of attack, comma-separated: the same on each of them."),
]
Shadows = Annotated[
    int,
    typer.Option(help="Shadow models of attacks that need some, each made as its protection was."),
]


def compare_protections(
    private: private_table.Private,
    label: private_table.Label,
    test: Test,
    epsilon: Epsilon,
    delta: Delta = None,
    pure: Pure = False,
    relation: RelationName = None,
    classes: private_table.Classes = None,
    records: private_table.Records = None,
    protections: Chosen = None,
    and_pure: AndPure = False,
    draws: Draws = 5,
    attacks: Attacks = "loss,confidence",
    shadows: Shadows = 16,
    embedding: private_table.Embedding = None,
    encoder: private_table.EncoderName = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Every place for noise, at one (ε, δ): how useful it is, and what attacks find.

    What is printed is computed from private records without noise, and as private as they are.
    Nothing is charged: publish none of these releases; protect makes one that is.
    """
    from reticent.run.protections import ProtectionsSpec
    from reticent.run.protections import compare_protections as compared

    names = private_table.listed(classes)
    spec = ProtectionsSpec(
        epsilon=epsilon,
        delta=delta_of(delta, pure),
        relation=relation_of(relation),
        records=private_table.required_option("--records", records),
        draws=draws,
        protections=_parts(protections),
        attacks=_parts(attacks),
        shadows=shadows,
        pure=and_pure,
    )
    tables = [
        private_table.read_private(
            path, label=label, embedding=embedding, classes=names, encoder=encoder
        )
        for path in (private, test)
    ]
    with progress_line("protections") as progress:
        comparison = compared(tables[0], tables[1], spec, progress=progress)
    written = []
    if out is not None:
        from reticent.report.protections import write_protections

        written = write_protections(comparison, out)
    if json:
        output.print_json(comparison.model_dump(mode="json"))
        return
    print_protections(comparison, written)


def print_protections(comparison: "Protections", written: Sequence[Path]) -> None:
    """A row for each protection, notes, and which of them lose a class."""
    table = comparison.table()
    output.print_table(table.title, table.columns, table.rows)
    for note in table.notes:
        output.print_line(f"note: {note}", detail=True)
    for warning in comparison.warnings:
        output.print_line(f"warning: {warning}")
    for path in written:
        output.print_line(f"written: {path}")


def _parts(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())
