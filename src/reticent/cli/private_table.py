"""Options about a table of private features, and how it is read: the same words everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from reticent.cli.progress import progress_line
from reticent.guarantee import Relation
from reticent.mechanisms.registry import MECHANISMS
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.data import Dataset

Value = TypeVar("Value")

Private = Annotated[Path, typer.Option(help="Private features: .npz, .csv or .parquet.")]
Label = Annotated[str, typer.Option(help="The column of labels.")]
Classes = Annotated[
    str | None,
    typer.Option(help="All classes, comma-separated: public, never read off.", show_default=False),
]
Bound = Annotated[
    float | None,
    typer.Option(help="Public bound on a row's norm; longer rows are clipped.", show_default=False),
]
Records = Annotated[
    int | None,
    typer.Option(help="Public normaliser N: about the number of records.", show_default=False),
]
Person = Annotated[
    str | None, typer.Option(help="The column that says whose record it is.", show_default=False)
]
Each = Annotated[
    int, typer.Option("--max-records-per-person", help="Rows that one person keeps at most.")
]
Embedding = Annotated[
    str | None,
    typer.Option(
        help="A column of lists, or an array, that holds the features.", show_default=False
    ),
]
EncoderName = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        help="Encode images or texts first: FILE.safetensors of pretrain, efficientnet-lite0, "
        "minilm, scattering (wavelets: no weights; scattering-maps for a network on top) or "
        "package.module:attribute. It must never have seen the private records.",
        show_default=False,
    ),
]
TextColumn = Annotated[
    str | None,
    typer.Option(
        "--text",
        help="The column of texts, for a --model that reads texts: each is cut into tokens by"
        " itself, 32 of them or as many as --shape says.",
        show_default=False,
    ),
]
Norms = Annotated[
    str | None,
    typer.Option(
        help="clip: longer rows to the bound, the default; scale: every row to the bound.",
        show_default=False,
    ),
]
Penalty = Annotated[
    float | None,
    typer.Option(help="λ, public; by default from the public numbers.", show_default=False),
]
MechanismOption = Annotated[
    str, typer.Option("--mechanism", help=f"The noise: {', '.join(MECHANISMS)}.")
]


def read_private(
    path: Path,
    *,
    label: str | None = None,
    person: str | None = None,
    embedding: str | None = None,
    classes: list[str] | None = None,
    encoder: str | None = None,
) -> Dataset:
    """The table, with features from the encoder where one is named."""
    from reticent.data import read_table

    data = read_table(path, label=label, person=person, embedding=embedding, classes=classes)
    if encoder is None:
        return data
    from reticent.training.encoders.cache import cached_features
    from reticent.training.encoders.named import encoder_of

    with progress_line("encoding") as progress:
        return cached_features(data, encoder_of(encoder), progress=progress)


def refuse_beside_text(text: str | None, **given: str | None) -> None:
    """A record is a text or something else."""
    for name, value in given.items():
        if text is not None and value is not None:
            raise InputError(f"--{name} must not be given beside --text, got both")


def read_texts(
    path: Path,
    *,
    text: str,
    model: str,
    length: int,
    label: str | None = None,
    person: str | None = None,
    classes: list[str] | None = None,
) -> Dataset:
    """The table with its texts as the rows of tokens that a model reads, each text by itself."""
    from dataclasses import replace

    from reticent.data import read_table
    from reticent.training.networks import token_encoder

    encoder = token_encoder(model, length)
    data = read_table(path, label=label, person=person, classes=classes, text_column=text)
    return replace(data, inputs=encoder.encode(data.inputs), columns=())


def listed(classes: str | None) -> list[str]:
    """The classes that were typed."""
    names = [name.strip() for name in required_option("--classes", classes).split(",")]
    if len(names) < 2 or "" in names or len(set(names)) < len(names):
        raise InputError(f"--classes must be at least two different names, got {classes!r}")
    return names


def each_of(person: str | None, max_records_per_person: int) -> int | None:
    """The most rows that a person keeps where --person names a column, None where it does not.

    Nobody knows whose rows to count without a column of persons.
    """
    if person is not None:
        return max_records_per_person
    if max_records_per_person != 1:
        raise InputError(
            "--max-records-per-person must be said with --person, the column that says whose"
        )
    return None


def said_records(records: int | None, relation: Relation, *, otherwise: str = "") -> int:
    """N as the user said it; one line says why nobody else can."""
    if records is not None:
        return records
    from reticent.protect.terms import ASK_FOR_RECORDS

    hides = relation is Relation.ADD_REMOVE
    why = ASK_FOR_RECORDS if hides else "it is public, and nothing is read off the data"
    raise InputError(f"--records must be said, about how many there are{otherwise}: {why}")


def required_option(option: str, value: Value | None) -> Value:
    """The value of an option that has no default."""
    if value is None:
        raise InputError(f"{option} must be said: it is public, and nothing is read off the data")
    return value
