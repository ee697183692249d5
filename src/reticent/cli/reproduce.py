"""``reticent reproduce``: the papers' tables and figures, published value beside ours."""

import json as json_text
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reticent.cli.options import Json
from reticent.cli.output import print_json, print_line, print_table, print_titled
from reticent.cli.progress import progress_line
from reticent.files import write_atomic
from reticent.validation import InputError, count

if TYPE_CHECKING:
    from reticent.studies import Outcome, Trained

Paper = Annotated[str | None, typer.Argument(help="A paper; without it, all are listed.")]
Item = Annotated[
    str | None, typer.Argument(help="One of its items; without it, all that need no training.")
]
On = Annotated[str | None, typer.Option(help="The data that an item is trained on, by name.")]
Data = Annotated[Path | None, typer.Option(help="The data folder; by default RETICENT_DATA.")]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Also write the tables of a trained item as JSON, with date, versions and seeds."
        " After a stop the same command goes on from FILE.part.",
    ),
]
Figures = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Also draw the figures of an item that has any, as SVG: dpcl figures.",
    ),
]
Jobs = Annotated[int, typer.Option(help="How many refits run at a time.")]
Quick = Annotated[
    bool,
    typer.Option(
        "--quick",
        help="One item of every paper, or of one, at a small size on data that come with packages.",
    ),
]


def reproduce(
    paper: Paper = None,
    item: Item = None,
    on: On = None,
    data: Data = None,
    out: Out = None,
    figures: Figures = None,
    jobs: Jobs = 1,
    quick: Quick = False,
    json: Json = False,
) -> None:
    """The papers' tables and figures: published value beside ours, with the verdict."""
    from reticent.studies import exact_items, items, study, trained

    if quick:
        _refuse_whole_options(item=item, on=on, data=data, out=out, figures=figures)
        _quick(paper, jobs, json)
        return
    if paper is None:
        _list(json)
        return
    items(paper)
    training_study = None if item is None else trained(paper, item)
    if item is None or training_study is None:
        _refuse_training_options(on=on, data=data, out=out, figures=figures)
        names = exact_items(paper) if item is None else [item]
        results = [study(paper, name) for name in names]
    else:
        if figures is not None:
            _refuse_undrawn(f"{paper} {item}", training_study)
        outcome = _trained(f"{paper} {item}", training_study, on, data, out, jobs)
        results = list(outcome.tables)
        if figures is not None:
            _draw(training_study, outcome, figures)
    if json:
        print_json({"paper": paper, "items": [result.to_dict() for result in results]})
        return
    for result in results:
        print_titled(result)
    for written in (out, figures):
        if written is not None:
            print_line(f"written: {written}")


def _trained(
    name: str, item: "Trained", on: str | None, data: Path | None, out: Path | None, jobs: int
) -> "Outcome":
    from reticent.studies import Cells, Run, Steps, record

    chosen = item.chosen(on)
    if chosen in item.in_folder and data is None and not os.environ.get("RETICENT_DATA"):
        raise InputError(f"--data must name the folder with {chosen}, got none: {name} reads it")
    cells = Cells(None if out is None else out.with_name(f"{out.name}.part"))
    with progress_line(f"{name} on {chosen}") as advance:
        outcome = item.run(
            chosen,
            Run(
                folder=data,
                jobs=count("jobs", jobs),
                steps=Steps(advance=advance),
                cells=cells,
            ),
        )
    if out is not None:
        folder = " --data DIR" if chosen in item.in_folder else ""
        command = f"reticent reproduce {name} --on {chosen}{folder}"
        text = json_text.dumps(
            record(outcome, command=command), ensure_ascii=False, allow_nan=False, indent=2
        )
        write_atomic(out, f"{text}\n".encode())
        cells.drop()
    return outcome


def _refuse_undrawn(name: str, item: "Trained") -> None:
    """Before anything is trained: an item without figures, or no library that draws them."""
    from reticent.plot import need_matplotlib

    if item.drawn is None:
        raise InputError(f"--figures goes with dpcl figures, got {name}: it has tables alone")
    need_matplotlib()


def _draw(item: "Trained", outcome: "Outcome", folder: Path) -> None:
    from reticent.studies import record

    folder.mkdir(parents=True, exist_ok=True)
    made = item.drawn(record(outcome, command="")) if item.drawn else {}
    for file, text in made.items():
        write_atomic(folder / file, text.encode())


def _refuse_training_options(**given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise InputError(
                f"--{name} goes with an item that trains, got it with exact ones: name such an item"
            )


def _refuse_whole_options(**given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise InputError(
                f"--quick must stand without {'an item' if name == 'item' else f'--{name}'}, got"
                f" {value}: it runs items of its own choice, and keeps nothing"
            )


def _quick(paper: str | None, jobs: int, json: bool) -> None:
    from reticent.studies import Run, Steps, index
    from reticent.studies.quick import quick_papers, quick_rows

    known = quick_papers()
    if paper is not None and paper not in known:
        raise InputError(f"paper must be one of {', '.join(known)} with --quick, got {paper!r}")
    wanted = known if paper is None else (paper,)
    with progress_line("reproduce --quick") as advance:
        made = quick_rows(wanted, Run(jobs=count("jobs", jobs), steps=Steps(advance=advance)))
    if json:
        print_json({"quick": [row._asdict() for row in made]})
        return
    print_titled(index.table(made, columns=index.SHOWN, title="Quick: small sizes, nothing kept"))


def _list(json: bool) -> None:
    from reticent.studies import STUDIES, Trained, index, items, papers

    if json:
        listed = {paper: items(paper) for paper in papers()}
        print_json({**listed, "index": [row._asdict() for row in index.stored()]})
        return
    print_titled(index.table(index.stored(), columns=index.SHOWN))
    rows = []
    for name in (f"{paper} {item}" for paper in papers() for item in items(paper)):
        paper, _, item = name.partition(" ")
        entry = STUDIES[name]
        summary = (", ".join(entry.on), entry.what) if isinstance(entry, Trained) else None
        rows.append((paper, item, *(summary or ("–", entry.__doc__ or ""))))
    print_table("What can be reproduced", ("paper", "item", "trained on", "what"), rows)
