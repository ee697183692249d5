"""All commands of the program, by what they are for."""

import os
from collections.abc import Callable
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
from reticent.cli.help_pages import SectionedCommand, SectionedGroup
from reticent.cli.quiet import with_quiet, with_verbosity
from reticent.read_limit import DEFAULT, VARIABLE, size_of

app = typer.Typer(
    name="reticent",
    help="What a model tells about its training data, how to make it tell less, and proof.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    cls=SectionedGroup,
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
        ),
    ] = None,
) -> None:
    """What a model tells about its training data, how to make it tell less, and proof."""
    if read_limit is not None:
        size_of(read_limit)  # refused now, not when a file is read
        os.environ[VARIABLE] = read_limit  # for worker processes too


PANELS: dict[str, dict[str, Callable[..., None] | typer.Typer]] = {
    "Start here": {
        "demo": with_verbosity(demo.demo),
        "run": with_verbosity(with_backend(run.run)),
        "schema": schema.app,
        "plan": with_quiet(plan.plan),
    },
    "Release a model": {
        "fit": with_verbosity(fit.fit),
        "protect": with_verbosity(protect.protect),
        "train": with_verbosity(train.train),
        "pretrain": with_verbosity(pretrain.pretrain),
        "predict": with_quiet(released.predict),
        "export": with_quiet(export.export),
        "keygen": with_quiet(keygen.keygen),
    },
    "Check a claim": {
        "verify": with_quiet(released.verify),
        "attack": with_verbosity(with_backend(attack.attack)),
        "audit": with_verbosity(with_backend(audit.audit)),
        "calibrate": with_quiet(calibrate.calibrate),
        "account": with_quiet(account.account),
    },
    "Tell others": {
        "report": with_quiet(report.report),
        "card": with_quiet(card.card),
        "compare": with_quiet(compare.compare),
        "compare-protections": with_verbosity(compare_protections.compare_protections),
        "reproduce": with_verbosity(with_backend(reproduce.reproduce)),
    },
    "Serve and keep count": {
        "plan-answers": with_quiet(serve.plan_answers),
        "serve": with_quiet(serve.serve),
        "client": client.app,
        "ledger": ledger.app,
    },
}
"""Every command, under the heading that ``reticent --help`` lists it by."""

for _panel, _commands in PANELS.items():
    for _name, _command in _commands.items():
        if isinstance(_command, typer.Typer):
            app.add_typer(_command, name=_name, rich_help_panel=_panel, cls=SectionedGroup)
        else:
            app.command(_name, rich_help_panel=_panel, cls=SectionedCommand)(_command)
