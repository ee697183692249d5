"""All commands of the program, in the order in which they are listed."""

import os
from typing import Annotated

import typer

import reticent
from reticent.cli import (
    account,
    attack,
    audit,
    calibrate,
    card,
    client,
    compare,
    compare_protections,
    demo,
    export,
    fit,
    keygen,
    ledger,
    plan,
    pretrain,
    protect,
    released,
    report,
    reproduce,
    run,
    schema,
    serve,
    train,
)
from reticent.cli.backend import with_backend
from reticent.cli.quiet import with_quiet, with_verbosity
from reticent.read_limit import DEFAULT, VARIABLE, size_of

app = typer.Typer(
    name="reticent",
    help="What a model tells about its training data, how to make it tell less, and proof.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"reticent {reticent.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[  # noqa: ARG001 - its callback answers
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
    read_limit: Annotated[
        str | None,
        typer.Option(
            envvar=VARIABLE,
            help=f"Memory that reading one file may take, such as 16G; {DEFAULT} unless said.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """What a model tells about its training data, how to make it tell less, and proof."""
    if read_limit is not None:
        size_of(read_limit)  # refused now, not when a file is read
        os.environ[VARIABLE] = read_limit  # for worker processes too


app.command("demo")(with_verbosity(demo.demo))
app.command("run")(with_verbosity(with_backend(run.run)))
app.command("plan")(with_quiet(plan.plan))
app.command("calibrate")(with_quiet(calibrate.calibrate))
app.command("account")(with_quiet(account.account))
app.command("pretrain")(with_verbosity(pretrain.pretrain))
app.add_typer(schema.app, name="schema")
app.command("fit")(with_verbosity(fit.fit))
app.command("protect")(with_verbosity(protect.protect))
app.command("train")(with_verbosity(train.train))
app.command("predict")(with_quiet(released.predict))
app.command("export")(with_quiet(export.export))
app.command("verify")(with_quiet(released.verify))
app.command("keygen")(with_quiet(keygen.keygen))
app.command("attack")(with_verbosity(with_backend(attack.attack)))
app.command("audit")(with_verbosity(with_backend(audit.audit)))
app.command("report")(with_quiet(report.report))
app.command("card")(with_quiet(card.card))
app.command("compare")(with_quiet(compare.compare))
app.command("compare-protections")(with_verbosity(compare_protections.compare_protections))
app.add_typer(ledger.app, name="ledger")
app.command("plan-answers")(with_quiet(serve.plan_answers))
app.command("serve")(with_quiet(serve.serve))
app.add_typer(client.app, name="client")
app.command("reproduce")(with_verbosity(with_backend(reproduce.reproduce)))
