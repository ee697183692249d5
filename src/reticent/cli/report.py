"""``reticent report``: what a run found, as one page with figures and tables."""

from pathlib import Path
from typing import Annotated

import typer

from reticent.cli.options import Json
from reticent.cli.output import print_json, print_line

Document = Annotated[
    Path, typer.Argument(metavar="RESULTS", help="results.json of a run.", show_default=False)
]
Out = Annotated[
    Path | None,
    typer.Option(help="The folder to write to; by default that of RESULTS.", show_default=False),
]
Public = Annotated[
    bool, typer.Option("--public", help="Leave out all that the guarantee does not cover.")
]


def report(results: Document, out: Out = None, public: Public = False, json: Json = False) -> None:
    """One page for who decides: what leaks, what protection costs, what is promised.

    Writes report.html, and its figures and tables as files. The page is internal: accuracies and
    attacks on private records are not covered by any guarantee. --public writes
    report-public.html, which can be published with the model.
    """
    from reticent.report import write_report
    from reticent.results import read_results

    written = write_report(read_results(results), out or results.parent, public=public)
    page = next(path for path in written if path.suffix == ".html")
    if json:
        print_json(
            {"page": str(page), "written": [str(path) for path in written], "public": public}
        )
        return
    kinds = {".svg": "figures", ".csv": "tables"}
    counts = {
        kind: sum(path.suffix == suffix for path in written) for suffix, kind in kinds.items()
    }
    print_line(f"{page}: {counts['figures']} figures, {counts['tables']} tables")
    print_line(
        "public: only what the guarantee covers"
        if public
        else "internal: accuracies, attacks and audits in it are not covered by any guarantee"
    )
