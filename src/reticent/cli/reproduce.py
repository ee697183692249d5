"""``reticent reproduce``: the papers' tables and figures, published value beside ours."""

from __future__ import annotations

from typing import Annotated

import typer

from reticent.cli.options import Json
from reticent.cli.output import print_json, print_table, print_titled
from reticent.studies import STUDIES, study
from reticent.validation import InputError


def reproduce(
    paper: Annotated[
        str | None, typer.Argument(help="A paper; without it, all are listed.", show_default=False)
    ] = None,
    item: Annotated[
        str | None,
        typer.Argument(help="One of its items; without it, all of them.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """The papers' tables and figures: published value beside ours, with the verdict."""
    if paper is None:
        _list(json)
        return
    if paper not in STUDIES:
        raise InputError(f"paper must be one of {', '.join(STUDIES)}, got {paper!r}")
    names = list(STUDIES[paper]) if item is None else [item]
    results = [study(paper, name) for name in names]
    if json:
        print_json({"paper": paper, "items": [result.to_dict() for result in results]})
        return
    for result in results:
        print_titled(result)


def _list(json: bool) -> None:
    if json:
        print_json({paper: list(items) for paper, items in STUDIES.items()})
        return
    rows = [
        (paper, item, function.__doc__ or "")
        for paper, items in STUDIES.items()
        for item, function in items.items()
    ]
    print_table("What can be reproduced", ("paper", "item", "what"), rows)
