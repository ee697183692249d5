"""``reticent schema``: draft a file of public facts, and say in words what follows from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reticent.cli.options import Json
from reticent.cli.output import print_json, print_line, print_table, print_warning
from reticent.cli.quiet import with_quiet
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.data import Schema
    from reticent.data.schema.inspection import Inspected

DOES_NOT_FIT = 1
HASH_SHOWN = 32
"""Letters of a hash: all 64 are wider than a narrow terminal."""

app = typer.Typer(
    name="schema",
    help="The public facts of a table: draft a file of them, and see what follows from it.",
    no_args_is_help=True,
)

PublicTable = Annotated[
    Path | None, typer.Option("--from", help="A public table of the same columns.")
]
PrivateTable = Annotated[
    Path | None,
    typer.Option(
        "--from-private",
        help="The private table itself: every fact is marked, and releases are declared at most.",
    ),
]
Label = Annotated[
    str | None,
    typer.Option(help="The column of labels; several that are true or false, comma-separated."),
]
Person = Annotated[str | None, typer.Option(help="The column that says whose record it is.")]
Source = Annotated[str | None, typer.Option(help="Where the public table comes from, in words.")]
TICKETS = "tickets"
ExampleName = Annotated[str, typer.Argument(help="adult or tickets.")]
ExampleOut = Annotated[
    Path | None, typer.Option("--out", help="A folder for the tables of tickets.")
]
Out = Annotated[Path, typer.Option(help="Where to write the draft.")]
SchemaPath = Annotated[Path, typer.Argument(help="The schema: a TOML file.")]
TablePath = Annotated[
    Path | None, typer.Argument(help="A table to look at; what is said of it is private.")
]


@app.command()
@with_quiet
def init(
    public: PublicTable = None,
    private: PrivateTable = None,
    label: Label = None,
    person: Person = None,
    source: Source = None,
    out: Out = Path("schema.toml"),
    json: Json = False,
) -> None:
    """Draft a schema from a table: roles, types, ranges and lists, each to be looked at.

    From a public table its ranges and lists are public facts. From the private one they are marked,
    and every release by such a schema is declared, not proven. A label with more than 20 different
    numbers is drafted as a number to predict; yes/no, true/false, t/f and 0/1 as true or false.
    """
    from reticent.cli.table_form import column_names
    from reticent.data.schema.column import PRIVATE
    from reticent.data.schema.draft import draft_schema
    from reticent.files import writable_file, write_atomic

    if (public is None) == (private is None):
        raise InputError("--from or --from-private must be said, one of them")
    if private is not None and source is not None:
        raise InputError("--source must not be given beside --from-private, which is the source")
    if out.exists():
        raise InputError(f"--out must be a new file, got {out}, which is there")
    writable_file(out)
    table = public or private
    assert table is not None
    where = PRIVATE if private is not None else source or f"the public table {table.name}"
    names = column_names([label]) if label is not None else []
    draft = draft_schema(table, label=names, person=person, source=where)
    write_atomic(out, draft.text.encode())
    if json:
        print_json({"schema": str(out), "notes": list(draft.notes), "source": where})
        return
    for note in draft.notes:
        print_line(note, detail=True)
    if private is not None:
        print_warning(
            "warning: every fact in it was taken from the private table: releases by it are"
            " declared, not proven; replace facts by public ones, and say their source"
        )
    print_line(f"written to {out}: look at every line, then reticent schema check {out}")


@app.command()
@with_quiet
def example(name: ExampleName = "adult", out: ExampleOut = None) -> None:
    """Print a schema that comes with the package, or write raw tables to try everything on.

    adult is the schema of UCI Adult, by its public codebook. tickets are four tables of a help
    desk, made up, with texts, dates and gaps, written to --out.
    """
    from reticent.data.schema.schema import EXAMPLES, example_path

    if name == TICKETS:
        _write_tickets(out)
        return
    if name not in EXAMPLES:
        raise InputError(f"name must be one of {', '.join((*EXAMPLES, TICKETS))}, got {name!r}")
    if out is not None:
        raise InputError("--out must be said with tickets, the example that has tables")
    typer.echo(example_path(name).read_text(encoding="utf-8"), nl=False)


def _write_tickets(out: Path | None) -> None:
    from reticent.data.schema.example_tables import TABLES, write_example_tables
    from reticent.files import writable_folder

    if out is None:
        raise InputError("--out must name a folder for the tables of tickets, got nothing")
    if taken := [table.name for table in TABLES if (out / table.name).exists()]:
        raise InputError(f"--out must not hold {taken[0]} already, got {out}")
    written = write_example_tables(writable_folder(out))
    print_line(f"written to {out}: {', '.join(path.name for path in written)}")


@app.command()
@with_quiet
def check(schema: SchemaPath, table: TablePath = None, json: Json = False) -> None:
    """Say what each column becomes, what follows, and what is still read off the private table.

    With a TABLE also how many gaps, invalid cells and cells out of range it has, and which columns
    are constants or identifiers; exit code 1 where the table does not fit.
    """
    from reticent.data import Schema
    from reticent.data.schema.inspection import inspect_table, named_notes

    facts = Schema.load(schema)
    inspection = None if table is None else inspect_table(table, facts)
    fits = inspection is None or not (
        inspection.problems or (inspection.invalid and facts.invalid == "refuse")
    )
    if json:
        print_json(_document(facts, inspection, fits))
    else:
        _print(facts, named_notes(facts))
        if inspection is not None and table is not None:
            _print_table(table, facts, inspection)
    if not fits:
        raise typer.Exit(DOES_NOT_FIT)


def _print(schema: Schema, notes: tuple[str, ...]) -> None:
    rows = [
        (column.name, column.words(), column.source if column.kind is not None else "–")
        for column in schema.columns
    ]
    print_table(schema.title or "Columns", ("column", "becomes", "by"), rows, detail=True)
    print_line(
        f"a record becomes {len(schema.names)} features of norm at most {schema.bound:.6g}, the"
        " bound that follows",
        detail=True,
    )
    if schema.classes:
        print_line(f"classes: {', '.join(schema.classes)}", detail=True)
    if schema.records is not None:
        print_line(f"records: about {schema.records}, by {schema.records_source}", detail=True)
    for note in notes:
        print_line(f"note: {note}", detail=True)
    if schema.inferred:
        print_line(f"read off the private table: {', '.join(schema.inferred)}")
        print_line("so every release is declared, not proven")
    else:
        print_line("nothing is read off the private table: releases can be proven")
    print_line(f"sha256: {schema.sha256[:HASH_SHOWN]}…, all of it with --json", detail=True)


def _print_table(table: Path, schema: Schema, inspection: Inspected) -> None:
    print_line(detail=True)
    print_line(f"{table.name}, computed from its records: keep it private", detail=True)
    for line in inspection.problems:
        print_line(f"  - {line}")
    for line in inspection.notes:
        print_line(f"  - {line}", detail=True)
    if inspection.invalid:
        outcome = "the table is refused" if schema.invalid == "refuse" else "they do not count"
        print_line(f"invalid records: {inspection.invalid}; {outcome}")
    elif not inspection.problems:
        print_line("every record is valid")


def _document(schema: Schema, inspection: Inspected | None, fits: bool) -> dict[str, object]:
    document: dict[str, object] = {
        "sha256": schema.sha256,
        "features": list(schema.names),
        "bound": schema.bound,
        "classes": list(schema.classes),
        "records": schema.records,
        "inferred": list(schema.inferred),
        "facts": [fact._asdict() for fact in schema.facts],
    }
    if inspection is not None:
        document["table"] = {
            "fits": fits,
            "invalid": inspection.invalid,
            "notes": list(inspection.notes),
            "problems": list(inspection.problems),
        }
    return document
