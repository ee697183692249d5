"""``--quiet`` and ``--verbose``: options of commands, and what they mean for whatever prints."""

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Annotated, Any

import typer

from reticent.cli.option_groups import with_options
from reticent.validation import InputError

_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)
_VERBOSE: ContextVar[bool] = ContextVar("verbose", default=False)

Quiet = Annotated[
    bool, typer.Option("--quiet", help="Print the result alone: no progress, no notes, no lists.")
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", help="Say when each stage begins, and how long the last one took."),
]


def is_quiet() -> bool:
    """Whether details are left out."""
    return _QUIET.get()


def is_verbose() -> bool:
    """Whether each stage of long work is told of."""
    return _VERBOSE.get()


def with_quiet(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the option --quiet, which holds while it runs."""
    return _heeded(command, {"quiet": (Quiet, False)})


def with_verbosity(command: Callable[..., None]) -> Callable[..., None]:
    """A command of long work with the options --quiet and --verbose, one of which may be said."""
    return _heeded(command, {"quiet": (Quiet, False), "verbose": (Verbose, False)})


def _heeded(
    command: Callable[..., None], options: dict[str, tuple[Any, bool]]
) -> Callable[..., None]:
    @functools.wraps(command)
    def heeding(*arguments: Any, quiet: bool = False, verbose: bool = False, **more: Any) -> None:
        if quiet and verbose:
            raise InputError("--quiet and --verbose must not be said together, got both")
        tokens = _QUIET.set(quiet), _VERBOSE.set(verbose)
        try:
            command(*arguments, **more)
        finally:
            _QUIET.reset(tokens[0])
            _VERBOSE.reset(tokens[1])

    return with_options(heeding, options)
