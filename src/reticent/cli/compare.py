"""``reticent compare``: two runs side by side."""

from pathlib import Path
from typing import Annotated

import typer

from reticent.cli.options import Json
from reticent.cli.output import print_json, print_line, print_table

One = Annotated[Path, typer.Argument(help="results.json of a run.")]
Other = Annotated[Path, typer.Argument(help="results.json of another.")]


def compare(one: One, other: Other, json: Json = False) -> None:
    """Two runs side by side: data, claims, accuracies, recalls, attacks, audits, differences.

    What is printed is as private as the two documents.
    """
    from reticent.report.compare import compared
    from reticent.results import read_results

    comparison = compared(read_results(one), read_results(other))
    if json:
        print_json(comparison.to_dict())
        return
    rows = [(row.name, row.one, row.other, row.difference) for row in comparison.rows]
    print_table("Two runs", ("", "first", "second", "difference"), rows)
    for note in comparison.notes:
        print_line(f"note: {note}")
    for warning in comparison.warnings:
        print_line(f"warning: {warning}")
