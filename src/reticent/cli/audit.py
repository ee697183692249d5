"""``reticent audit``: does a release keep its claim? Exit code 1 where it is refuted."""

from __future__ import annotations

from typing import Annotated

import typer

from reticent.cli.options import Json
from reticent.cli.output import print_json, print_line
from reticent.cli.private_table import Embedding, EncoderName, Label, Private, read_private
from reticent.cli.released import Released
from reticent.validation import InputError

REFUTED = 1

Beta = Annotated[float, typer.Option(help="The probability that the measured bound is wrong.")]
Runs = Annotated[
    int | None,
    typer.Option(
        help="Releases drawn in each of two worlds; by default as many as finding noise of half"
        " the scale needs, where that is affordable.",
        show_default=False,
    ),
]
Candidates = Annotated[
    int, typer.Option(help="Records removed, and built, in search of the worst neighbours.")
]


def audit(
    released: Released,
    private: Private,
    label: Label,
    embedding: Embedding = None,
    encoder: EncoderName = None,
    beta: Beta = 0.05,
    runs: Runs = None,
    candidates: Candidates = 32,
    json: Json = False,
) -> None:
    """Audit a released softmax head on its own data: the theorem by a pair, the code by draws.

    What is printed is computed from the private records without noise: keep it private.
    """
    from reticent.audit import audit_release
    from reticent.pipeline.protecting import private_rows
    from reticent.protect import ReleasedHead, load

    head = load(released)
    if not isinstance(head, ReleasedHead):
        raise InputError("released must hold a softmax head's noisy weights, got another learner's")
    names = [str(name) for name in head.classes_]
    form = {"embedding": embedding, "encoder": encoder}
    rows, labels = private_rows(read_private(private, label=label, classes=names, **form), 1)
    found = audit_release(head, rows, labels, beta=beta, runs=runs, candidates=candidates)
    if json:
        print_json(found.to_dict())
    else:
        for text in str(found).splitlines():
            print_line(text)
    if found.refuted_by is not None:
        raise typer.Exit(REFUTED)
