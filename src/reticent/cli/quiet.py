"""``--quiet`` and ``--verbose``: options of commands, and what they mean for whatever prints."""

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from typing import Annotated, Any

import typer

from reticent.validation import InputError

_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)
_VERBOSE: ContextVar[bool] = ContextVar("verbose", default=False)

Quiet = Annotated[
    bool,
    typer.Option("--quiet", help="Print the result alone: no progress, no notes, no lists."),
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
    return _with_options(command, {"quiet": Quiet})


def with_verbosity(command: Callable[..., None]) -> Callable[..., None]:
    """A command of long work with the options --quiet and --verbose, one of which may be said."""
    return _with_options(command, {"quiet": Quiet, "verbose": Verbose})


def _with_options(command: Callable[..., None], options: dict[str, Any]) -> Callable[..., None]:
    @functools.wraps(command)
    def told(*arguments: Any, quiet: bool = False, verbose: bool = False, **more: Any) -> None:
        if quiet and verbose:
            raise InputError("--quiet and --verbose must not be said together, got both")
        tokens = _QUIET.set(quiet), _VERBOSE.set(verbose)
        try:
            command(*arguments, **more)
        finally:
            _QUIET.reset(tokens[0])
            _VERBOSE.reset(tokens[1])

    signature = inspect.signature(command, eval_str=True)
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=option)
        for name, option in options.items()
    ]
    parameters = [*signature.parameters.values(), *added]
    told.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return told
