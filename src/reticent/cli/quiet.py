"""``--quiet``: an option of every command, and what it means for whatever prints."""

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from typing import Annotated, Any

import typer

_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)

Quiet = Annotated[
    bool,
    typer.Option("--quiet", help="Print the result alone: no progress, no notes, no lists."),
]


def is_quiet() -> bool:
    """Whether details are left out."""
    return _QUIET.get()


def with_quiet(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the option --quiet, which holds while it runs."""

    @functools.wraps(command)
    def quietly(*arguments: Any, quiet: bool = False, **options: Any) -> None:
        token = _QUIET.set(quiet)
        try:
            command(*arguments, **options)
        finally:
            _QUIET.reset(token)

    signature = inspect.signature(command, eval_str=True)
    option = inspect.Parameter(
        "quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Quiet
    )
    parameters = [*signature.parameters.values(), option]
    quietly.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return quietly
