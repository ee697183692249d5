"""Options that several commands share: the same words everywhere."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reticent.guarantee import Relation
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.protect.signing import Signer

Epsilon = Annotated[float, typer.Option(help="The ε to reach.")]
Delta = Annotated[float | None, typer.Option(help="The δ; or say --pure.")]
Pure = Annotated[bool, typer.Option("--pure", help="δ = 0: pure differential privacy.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
Replace = Annotated[bool, typer.Option("--replace", help="Write over an earlier release at --out.")]
Sign = Annotated[
    Path | None,
    typer.Option(
        "--sign",
        metavar="KEY",
        help="Sign the release with this private key, of keygen: whoever has KEY.pub can see that"
        " it is yours.",
    ),
]
RelationName = Annotated[
    str | None,
    typer.Option(
        "--relation",
        help="Which data sets are neighbours: add-remove or replace-one. There is no default.",
    ),
]
Times = Annotated[int, typer.Option(help="How many such releases are made on the same data.")]
SamplingRate = Annotated[
    float | None,
    typer.Option(help="Each release sees a Poisson sample: each record with this probability."),
]
SampleSize = Annotated[
    int | None,
    typer.Option(
        help="Each release sees this many records, drawn without replacement (with --population)."
    ),
]
Population = Annotated[int | None, typer.Option(help="The number of records to sample from.")]


def delta_of(delta: float | None, pure: bool) -> float:
    """δ as the user said it; saying nothing, or both, is refused."""
    if delta is None and not pure:
        raise InputError("delta must be said: --delta, or --pure for 0; got neither")
    if delta is not None and pure:
        raise InputError(f"delta must be said once, got --delta {delta} and --pure")
    return 0.0 if delta is None else delta


def warn_of_weakness(*, epsilon: float, delta: float, records: int) -> None:
    """A line for each of ε and δ that promises little, before anything is released."""
    from reticent.cli.output import print_warning
    from reticent.guarantee.weakness import weaknesses

    for line in weaknesses(epsilon=epsilon, delta=delta, records=records):
        print_warning(f"warning: {line}")


def signer_of(path: Path | None) -> "Signer | None":
    """The key to sign with, read before anything is spent; None where nobody signs."""
    from reticent.protect.signing import read_signer

    return None if path is None else read_signer(path)


def relation_of(name: str | None) -> Relation:
    """The neighbouring relation as the user said it."""
    allowed = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
    if name not in allowed:
        raise InputError(f"--relation must be {' or '.join(allowed)}, got {name or 'nothing'}")
    return Relation(name)
