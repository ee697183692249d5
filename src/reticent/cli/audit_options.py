"""The options of ``reticent audit`` that no other command has."""

from pathlib import Path
from typing import Annotated

import typer

from reticent.cli.endpoint import KEY_VARIABLE
from reticent.mechanisms.registry import for_any_vector

_NOISES = ", ".join(for_any_vector())

Releases = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Released models, OUT of protect: one or more, of the same data.", show_default=False
    ),
]
Private = Annotated[
    Path | None,
    typer.Option(help="Private features: .npz, .csv or .parquet.", show_default=False),
]
Label = Annotated[str | None, typer.Option(help="The column of labels.", show_default=False)]
Function = Annotated[
    str | None,
    typer.Option(
        help="Audit a function of your own by drawing it: package.module:function (also of the"
        " current folder) or path.py:function.",
        show_default=False,
    ),
]
One = Annotated[
    str | None,
    typer.Option(
        help="Its input: JSON, a .npy, .npz, .csv or .parquet file, or module:attribute.",
        show_default=False,
    ),
]
Other = Annotated[
    str | None, typer.Option(help="A neighbouring input, in the same form.", show_default=False)
]
Train = Annotated[
    str | None,
    typer.Option(
        help="Audit a training by one run with canaries: noisy-gradient, class-means, adassp, lda,"
        " or a function of rows and labels that returns a fitted classifier, named as above.",
        show_default=False,
    ),
]
Endpoint = Annotated[
    str | None,
    typer.Option(
        help="Audit what a reticent service promises through its own door, with the key in"
        f" {KEY_VARIABLE}; --classes in the order of its logits. Protected answers are charged.",
        show_default=False,
    ),
]
Members = Annotated[
    Path | None,
    typer.Option(help="Records that a fair coin put into its training.", show_default=False),
]
NonMembers = Annotated[
    Path | None,
    typer.Option("--nonmembers", help="Those that the coin left out.", show_default=False),
]
EndToEnd = Annotated[
    str | None,
    typer.Option(
        "--end-to-end",
        help="Audit protect from the file to what leaves, on neighbours of your own table: weights,"
        " noisy-gradient, class-means, adassp or lda.",
        show_default=False,
    ),
]
Pairs = Annotated[
    int | None,
    typer.Option(help="Pairs of neighbouring files; by default 40.", show_default=False),
]
RecordsEach = Annotated[
    int | None,
    typer.Option(
        "--max-records-per-person", help="Rows that one person keeps at most.", show_default=False
    ),
]
Relation = Annotated[
    str | None, typer.Option(help="add-remove or replace-one.", show_default=False)
]
Mechanism = Annotated[
    str | None,
    typer.Option(
        help=f"The noise: {_NOISES}. With --function: gaussian, if you know that such"
        " noise is added; fewer runs are needed then, and the verdict rests on it.",
        show_default=False,
    ),
]
Centre = Annotated[str | None, typer.Option(help="none or mean.", show_default=False)]
Count = Annotated[
    int | None,
    typer.Option("--canaries", help="How many canaries; by default 200.", show_default=False),
]
Kind = Annotated[
    str | None,
    typer.Option(
        help="orthogonal, mislabelled or max-norm; by default orthogonal.", show_default=False
    ),
]
Records = Annotated[
    int | None,
    typer.Option(help="The public N of a learner: about its records.", show_default=False),
]
Claimed = Annotated[
    float | None,
    typer.Option(help="The ε that a function or training claims.", show_default=False),
]
Beta = Annotated[
    float, typer.Option(help="The probability that true claims are refuted, all together.")
]
Runs = Annotated[
    int | None,
    typer.Option(
        help="Runs in each of two worlds. By default of a function or a head as many as finding"
        " noise of half the scale needs, where that is affordable; 50 of a learner with the noise"
        " inside.",
        show_default=False,
    ),
]
Candidates = Annotated[
    int | None,
    typer.Option(
        help="Records or persons removed, and built, in search of the worst neighbours; by default"
        " 32.",
        show_default=False,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        help="Releases that are audited at a time; -1 for every core. By default 1.",
        show_default=False,
    ),
]
NormsName = Annotated[
    str | None, typer.Option("--norms", help="clip or scale.", show_default=False)
]
Seed = Annotated[
    int | None,
    typer.Option(help="Of the auditor's own draws; by default 0.", show_default=False),
]
