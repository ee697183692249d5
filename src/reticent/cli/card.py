"""``reticent card``: the privacy section of a model card, and an annex of evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reticent.cli import options, output
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.report.evidence import Evidence
    from reticent.results.task_results import TaskResults

Document = Annotated[
    Path | None, typer.Argument(metavar="RESULTS", help="results.json of a run; or --released.")
]
Released = Annotated[
    Path | None,
    typer.Option(
        help="The released model, OUT of protect: its ε is computed anew. With --public, by default"
        " the one beside RESULTS."
    ),
]
AttackFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--attack",
        help="What attack --json printed, on the release or on the model before it; may be given"
        " several times. Without RESULTS.",
    ),
]
AuditFile = Annotated[
    Path | None, typer.Option("--audit", help="What audit --json printed. Without RESULTS.")
]
Out = Annotated[Path | None, typer.Option(help="Where to write the card; else printed.")]
Annex = Annotated[
    Path | None,
    typer.Option(help="Where to write evidence along the questions of EDPB Opinion 28/2024."),
]
Public = Annotated[bool, typer.Option("--public", help="Leave out all that no guarantee covers.")]
HuggingFace = Annotated[
    bool,
    typer.Option(
        "--hugging-face",
        help="With --public: a whole README.md for a model repository, with its YAML header.",
    ),
]


def card(
    results: Document = None,
    released: Released = None,
    attack: AttackFiles = None,
    audit: AuditFile = None,
    out: Out = None,
    annex: Annex = None,
    public: Public = False,
    hugging_face: HuggingFace = False,
    json: options.Json = False,
) -> None:
    """Write the privacy section of a model card, as Markdown: what is promised, tried and open.

    It is internal with the results of attacks and audits, which no guarantee covers. With --public
    it says what the certificate says, verified now, and is refused where report --public is.
    """
    from reticent.files import write_together
    from reticent.report.annex import annex as annex_of
    from reticent.report.card import card as card_of
    from reticent.report.card import model_card

    if hugging_face and not public:
        raise InputError("--hugging-face must be given with --public: a model card is published")
    task = None if results is None else _task_document(results)
    if task is not None and results is not None:
        if attack or audit is not None:
            raise InputError(_BESIDE)
        evidence, utility = _task_evidence(task, results, released, public=public)
    else:
        evidence = _evidence(results, released, tuple(attack or ()), audit, public=public)
        utility = None
    section = (
        model_card(evidence, utility=utility)
        if hugging_face
        else card_of(evidence, public=public, utility=utility)
    )
    texts = {"card": section, "annex": annex_of(evidence, public=public)}
    paths = {"card": out, "annex": annex}
    asked = {path: texts[name].encode() for name, path in paths.items() if path is not None}
    write_together(asked, private=not public)
    if json:
        output.print_json(
            {name: texts[name] for name in texts if name == "card" or annex is not None}
        )
    elif out is None:
        typer.echo(texts["card"], nl=False)
    kind = "public: what the guarantee covers" if public else "internal: not for publication"
    for name, path in () if json else paths.items():
        if path is not None and out is not None:
            output.print_line(f"{name} written to {path}; {kind}")


_BESIDE = "--attack and --audit must not be given beside RESULTS, which has its own"


def _task_document(results: Path) -> TaskResults | None:
    """The document, where it is that of a run on a number or on several labels."""
    from reticent.results.task_results import TaskResults, read_any_results

    document = read_any_results(results)
    return document if isinstance(document, TaskResults) else None


def _task_evidence(
    task: TaskResults, results: Path, released: Path | None, *, public: bool
) -> tuple[Evidence, str | None]:
    """Evidence by the certificate of the release, and the measures of its task."""
    from reticent.report import publication, task_page

    beside = publication.release_beside(results, task) if released is None else released
    if public:
        task_page.refuse_unpublishable_task(task)
    return task_page.task_evidence(task, beside), None if public else task_page.task_utility(task)


def _evidence(
    results: Path | None,
    released: Path | None,
    attacks: tuple[Path, ...],
    audit: Path | None,
    *,
    public: bool,
) -> Evidence:
    from reticent.report.evidence import of_certificate, of_results, with_steps
    from reticent.report.publication import release_beside
    from reticent.results import read_results, steps

    if results is not None:
        if attacks or audit is not None:
            raise InputError(_BESIDE)
        document = read_results(results)
        if public and released is None:
            released = release_beside(results, document)
        return of_results(document, released)
    if released is None:
        raise InputError("RESULTS or --released must be given, got neither")
    alone = of_certificate(released)
    return with_steps(
        alone,
        tuple(map(steps.read_attack, attacks)),
        None if audit is None else steps.read_audit(audit, alone.title),
    )
