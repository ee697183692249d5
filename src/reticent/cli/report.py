"""``reticent report``: what a run found, as one page with figures and tables."""

from pathlib import Path
from typing import Annotated

import typer

from reticent.cli import options, output
from reticent.validation import InputError

Document = Annotated[Path, typer.Argument(metavar="RESULTS", help="results.json of a run.")]
Out = Annotated[
    Path | None, typer.Option(help="The folder to write to; by default that of RESULTS.")
]
Public = Annotated[
    bool, typer.Option("--public", help="Leave out all that the guarantee does not cover.")
]
Released = Annotated[
    Path | None, typer.Option(help="For --public: the release, by default the one beside RESULTS.")
]


def report(
    results: Document,
    out: Out = None,
    public: Public = False,
    released: Released = None,
    json: options.Json = False,
) -> None:
    """One page for who decides: what leaks, what protection costs, what is promised.

    Writes report.html, and its figures and tables as files. The page is internal: accuracies and
    attacks on private records are not covered by any guarantee. --public writes
    report-public.html, which can be published with the model: what it says is what the certificate
    beside RESULTS says, verified now. There is none where a public number was read off the data,
    where an audit refuted the claim, or where the verdict is not to publish.
    """
    from reticent.report import publication, write_report
    from reticent.results.task_results import TaskResults, read_any_results

    if out is not None and out.suffix.lower() in (".html", ".htm"):
        raise InputError(f"--out must be a folder, got {out}: the page in it is report.html")
    document = read_any_results(results)
    if not public and released is not None:
        raise InputError("--released must be said with --public, got it alone")
    if public and released is None:
        released = publication.release_beside(results, document)
    if isinstance(document, TaskResults):
        from reticent.report.task_page import write_task_report

        written = write_task_report(document, out or results.parent, released=released)
    else:
        written = write_report(document, out or results.parent, public=public, released=released)
    page = next(path for path in written if path.suffix == ".html")
    if json:
        output.print_json(
            {"page": str(page), "written": [str(path) for path in written], "public": public}
        )
        return
    kind = "measures" if isinstance(document, TaskResults) else "accuracies"
    kinds = {".svg": "figures", ".csv": "tables"}
    counts = {
        kind: sum(path.suffix == suffix for path in written) for suffix, kind in kinds.items()
    }
    output.print_line(f"{page}: {counts['figures']} figures, {counts['tables']} tables")
    output.print_line(
        "public: only what the guarantee covers"
        if public
        else f"internal: {kind}, attacks and audits in it are not covered by any guarantee"
    )
