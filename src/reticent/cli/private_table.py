"""Options about a table of private features, and how it is read: the same words everywhere."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from reticent.cli.progress import progress_line
from reticent.guarantee import Relation
from reticent.mechanisms.registry import for_any_vector
from reticent.protect.registry import RECIPES, classifiers, regressors
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.data import Dataset
    from reticent.protect.used_encoder import UsedEncoder

Value = TypeVar("Value")
_NOISES = ", ".join(for_any_vector())
READS_TEXTS = ("minilm",)
"""Encoders of texts alone."""

Private = Annotated[Path, typer.Option(help="Private features: .npz, .csv or .parquet.")]
Label = Annotated[str | None, typer.Option(help="The column of labels.")]
Labels = Annotated[
    str | None,
    typer.Option(
        "--label",
        help="The column of labels; several columns of 0 and 1, comma-separated, where several"
        " labels may be true of a record. A name with a comma stands in double quotes.",
    ),
]
TargetRange = Annotated[
    str | None,
    typer.Option(
        "--target-range",
        help="The label is a number to predict (regression), within LOW,HIGH: public, never read"
        " off. Others are cut to it.",
    ),
]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        help="A TOML file of public facts: columns, ranges, classes, about how many records."
        " Tables are raw then, and label, classes, bound and features follow from it.",
    ),
]
FeatureColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--features",
        help="The columns of features, comma-separated; by default all but label and person.",
    ),
]
DropColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--drop", help="Columns that are no features, comma-separated, such as an identifier."
    ),
]
Classes = Annotated[
    str | None,
    typer.Option(
        help="All classes, comma-separated: public, never read off. A name with a comma stands in"
        " double quotes."
    ),
]
Bound = Annotated[
    float | None, typer.Option(help="Public bound on a row's norm; longer rows are clipped.")
]
Records = Annotated[
    int | None, typer.Option(help="Public normaliser N: about the number of records.")
]
Person = Annotated[str | None, typer.Option(help="The column that says whose record it is.")]
Each = Annotated[
    int, typer.Option("--max-records-per-person", help="Rows that one person keeps at most.")
]
Embedding = Annotated[
    str | None, typer.Option(help="A column of lists, or an array, that holds the features.")
]
EncoderName = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        help="Encode images or texts first: FILE.safetensors of pretrain, efficientnet-lite0, "
        "minilm, scattering (wavelets: no weights; scattering-maps for a network on top) or "
        "package.module:attribute. It must never have seen the private records, but for a released "
        "encoder, OUT of a private pretrain, whose guarantee is composed.",
    ),
]
EncoderPeople = Annotated[
    str | None,
    typer.Option(
        "--encoder-people",
        help="Whose records a released --encoder was made of: same, also where only some people are"
        " in both (both guarantees add up), or other (nobody is in both).",
    ),
]
EncodedText = Annotated[
    str | None,
    typer.Option(
        "--text", help="The column of texts, for an --encoder that reads texts, such as minilm."
    ),
]
TextColumn = Annotated[
    str | None,
    typer.Option(
        "--text",
        help="The column of texts, for a --model that reads texts: each is cut into tokens by"
        " itself, 32 of them or as many as --shape says.",
    ),
]
Norms = Annotated[
    str | None,
    typer.Option(
        help="clip: longer rows to the bound, the default; scale: every row to the bound."
    ),
]
Penalty = Annotated[
    float | None, typer.Option(help="λ, public; by default from the public numbers.")
]
LearnerName = Annotated[
    str | None,
    typer.Option(
        "--learner",
        help="The recipe; by default what plan says of the public numbers. "
        + "; ".join(f"{name}, {RECIPES.summary(name)}" for name in classifiers())
        + ". Of a number to predict: "
        + "; ".join(f"{name}, {RECIPES.summary(name)}" for name in regressors())
        + ".",
    ),
]
Prototypes = Annotated[
    bool,
    typer.Option(
        "--prototypes",
        help="The labels were made as clusters of the features, which is public: plan may then"
        " choose class means.",
    ),
]
NoiseName = Annotated[
    str | None,
    typer.Option(
        "--mechanism",
        help=f"The noise: {_NOISES}; by default what plan says, or gaussian where"
        " --learner is said.",
    ),
]
MechanismOption = Annotated[
    str,
    typer.Option(
        "--mechanism", help=f"The noise: {_NOISES}. Learners with noise of their own take no other."
    ),
]


def read_private(
    path: Path,
    *,
    label: str | None = None,
    person: str | None = None,
    embedding: str | None = None,
    classes: list[str] | None = None,
    encoder: str | None = None,
    text: str | None = None,
    features: list[str] | None = None,
    drop: list[str] | None = None,
) -> Dataset:
    """The table, with features from the encoder where one is named, record by record.

    In batches one record would move the last bits of others, and the guarantee would be about
    features instead of the table.
    """
    from reticent.data import read_table

    if encoder in READS_TEXTS and text is None:
        raise InputError(f"--text must name the column of texts that {encoder} reads, got none")
    data = read_table(
        path,
        label=label,
        person=person,
        embedding=embedding,
        classes=classes,
        text_column=text,
        features=features,
        drop=drop or (),
    )
    if encoder is None:
        if text is not None:
            raise InputError("--text must be said with --encoder, such as minilm, got it alone")
        return data
    from reticent.protect.released_encoder import encoder_from, looks_at_each_row
    from reticent.training.encoders.cache import cached_features

    opened_encoder = encoder_from(encoder)
    with progress_line("encoding") as progress:
        return cached_features(
            data,
            opened_encoder,
            progress=progress,
            record_by_record=not looks_at_each_row(opened_encoder),
        )


def used_encoder(encoder: str | None, people: str | None) -> UsedEncoder | None:
    """What a release on features of this encoder must say: None where the encoder is public."""
    from reticent.protect.released_encoder import encoder_from, use_encoder

    try:
        return use_encoder(None if encoder is None else encoder_from(encoder), people)
    except InputError as error:
        raise InputError(str(error).replace("encoder_people", "--encoder-people")) from None


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
    """The classes that were typed, as one line of a CSV file: quotes keep a comma in a name.

    >>> listed('yes,"no, or not yet"')
    ['yes', 'no, or not yet']
    """
    typed = required_option("--classes", classes)
    try:
        (row,) = csv.reader([typed], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        raise InputError(
            f"--classes must be names with commas between them, and quotes around whole names, got"
            f" {classes!r}"
        ) from None
    names = [name.strip() for name in row]
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


def required_records(records: int | None, relation: Relation, *, otherwise: str = "") -> int:
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
