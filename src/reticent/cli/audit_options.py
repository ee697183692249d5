"""The options of ``reticent audit``: what is audited, and what the forms of the command take."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from reticent.cli import options, private_table
from reticent.cli.endpoint import KEY_VARIABLE, Decimals, LabelsOnly, Top
from reticent.mechanisms.registry import for_any_vector

_NOISES = ", ".join(for_any_vector())

Releases = Annotated[
    list[Path] | None,
    typer.Argument(help="Released models, OUT of protect: one or more, of the same data."),
]
Beta = Annotated[
    float, typer.Option(help="The probability that true claims are refuted, all together.")
]


@dataclass(frozen=True, kw_only=True)
class AuditedOptions:
    """What is audited, where it is no release: one of these."""

    function: Annotated[
        str | None,
        typer.Option(
            help="Audit a function of your own by drawing it: package.module:function (also of the"
            " current folder) or path.py:function."
        ),
    ] = None
    train: Annotated[
        str | None,
        typer.Option(
            help="Audit a training by one run with canaries: noisy-gradient, class-means, adassp,"
            " lda, or a function of rows and labels that returns a fitted classifier, named as"
            " above."
        ),
    ] = None
    endpoint: Annotated[
        str | None,
        typer.Option(
            help="Audit what a reticent service promises through its own door, with the key in"
            f" {KEY_VARIABLE}; --classes in the order of its logits. Protected answers are charged."
        ),
    ] = None
    end_to_end: Annotated[
        str | None,
        typer.Option(
            help="Audit protect from the file to what leaves, on neighbours of your own table:"
            " weights, noisy-gradient, class-means, adassp or lda.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """What one form of the command takes or another."""

    private: Annotated[
        Path | None, typer.Option(help="Private features: .npz, .csv or .parquet.")
    ] = None
    schema: private_table.SchemaFile = None
    label: Annotated[str | None, typer.Option(help="The column of labels.")] = None
    person: private_table.Person = None
    embedding: private_table.Embedding = None
    encoder: private_table.EncoderName = None
    one: Annotated[
        str | None,
        typer.Option(
            help="Its input: JSON, a .npy, .npz, .csv or .parquet file, or module:attribute."
        ),
    ] = None
    other: Annotated[str | None, typer.Option(help="A neighbouring input, in the same form.")] = (
        None
    )
    members: Annotated[
        Path | None, typer.Option(help="Records that a fair coin put into its training.")
    ] = None
    nonmembers: Annotated[Path | None, typer.Option(help="Those that the coin left out.")] = None
    top: Top = None
    decimals: Decimals = None
    labels_only: LabelsOnly = False
    canaries: Annotated[int | None, typer.Option(help="How many canaries; by default 200.")] = None
    kind: Annotated[
        str | None, typer.Option(help="orthogonal, mislabelled or max-norm; by default orthogonal.")
    ] = None
    classes: private_table.Classes = None
    bound: private_table.Bound = None
    records: Annotated[
        int | None, typer.Option(help="The public N of a learner: about its records.")
    ] = None
    epsilon: Annotated[
        float | None, typer.Option(help="The ε that a function or training claims.")
    ] = None
    delta: options.Delta = None
    pure: options.Pure = False
    relation: Annotated[str | None, typer.Option(help="add-remove or replace-one.")] = None
    mechanism: Annotated[
        str | None,
        typer.Option(
            help=f"The noise: {_NOISES}. With --function: gaussian, if you know that such"
            " noise is added; fewer runs are needed then, and the verdict rests on it."
        ),
    ] = None
    penalty: private_table.Penalty = None
    norms: Annotated[str | None, typer.Option(help="clip or scale.")] = None
    centre: Annotated[str | None, typer.Option(help="none or mean.")] = None
    max_records_per_person: Annotated[
        int | None, typer.Option(help="Rows that one person keeps at most.")
    ] = None
    pairs: Annotated[
        int | None, typer.Option(help="Pairs of neighbouring files; by default 40.")
    ] = None
    runs: Annotated[
        int | None,
        typer.Option(
            help="Runs in each of two worlds. By default of a function or a head as many as"
            " finding noise of half the scale needs, where that is affordable; 50 of a learner"
            " with the noise inside."
        ),
    ] = None
    candidates: Annotated[
        int | None,
        typer.Option(
            help="Records or persons removed, and built, in search of the worst neighbours; by"
            " default 32."
        ),
    ] = None
    seed: Annotated[int | None, typer.Option(help="Of the auditor's own draws; by default 0.")] = (
        None
    )
    jobs: Annotated[
        int | None,
        typer.Option(help="Releases that are audited at a time; -1 for every core. By default 1."),
    ] = None
