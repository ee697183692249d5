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
    compare,
    demo,
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
    train,
)
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


app.command("demo")(demo.demo)
app.command("run")(run.run)
app.command("plan")(plan.plan)
app.command("calibrate")(calibrate.calibrate)
app.command("account")(account.account)
app.command("pretrain")(pretrain.pretrain)
app.command("fit")(fit.fit)
app.command("protect")(protect.protect)
app.command("train")(train.train)
app.command("predict")(released.predict)
app.command("verify")(released.verify)
app.command("keygen")(keygen.keygen)
app.command("attack")(attack.attack)
app.command("audit")(audit.audit)
app.command("report")(report.report)
app.command("card")(card.card)
app.command("compare")(compare.compare)
app.add_typer(ledger.app, name="ledger")
app.command("reproduce")(reproduce.reproduce)
