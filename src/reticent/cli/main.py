"""The program's entry: exit codes, and one line for every error.

0 done; 1 a claim was refuted, a budget is exhausted or ``verify`` found a mismatch; 2 bad input;
3 a ``--fail-above`` gate; 70 internal error; 130 interrupted; 143 ended by SIGTERM, 129 by SIGHUP.
"""

import errno
import functools
import io
import os
import re
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import typer

from reticent.cli.app import app
from reticent.cli.option_groups import option_name
from reticent.cli.termination import end_on_signals, leave, received
from reticent.ledger.errors import BudgetExhausted
from reticent.validation import InputError, printable

REFUSED = 1
BAD_INPUT = 2
INTERNAL_ERROR = 70
INTERRUPTED = 130
_MOST_LETTERS = 1000
_ARGUMENT = re.compile(r"([a-z_]+) must\b")
"""The name that a message of the library begins with."""
_FILE_ERRORS = frozenset(
    {
        errno.EACCES,
        errno.EPERM,
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.ENAMETOOLONG,
        errno.ELOOP,
        errno.EROFS,
        errno.ENOSPC,
        errno.EDQUOT,
    }
)
"""Reasons for which a system refuses a path or a write, none of them a fault of the program."""
_OTHER_NAMES = {"radius": "bound", "recipe": "learner", "noise": "mechanism"}
"""Where the library's word is not the command line's."""


def _usage_error() -> type[Exception]:
    """The base of the parser's errors; typer carries a parser of its own and does not name it."""
    bases: list[type[Exception]] = list(typer.BadParameter.__mro__)
    return next(kind for kind in bases if kind.__name__ == "ClickException")


USAGE_ERROR = _usage_error()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    _silence_libraries()
    _escape_what_cannot_be_written()
    end_on_signals()
    code = run(list(sys.argv[1:] if arguments is None else arguments))
    if (ended_by := received()) is not None:
        leave(ended_by)
    sys.exit(code)


def _silence_libraries() -> None:
    """Warnings of libraries say nothing to a user; a developer asks for them in Python's way."""
    if sys.warnoptions or os.environ.get("RETICENT_DEBUG"):
        return
    warnings.simplefilter("ignore")
    warnings.showwarning = lambda *_, **__: None  # a library that is imported later sets its own
    os.environ["PYTHONWARNINGS"] = "ignore"  # of worker processes


def _escape_what_cannot_be_written() -> None:
    """Where the locale has no ε (ASCII, Latin-1), it is printed as an escape: nothing is lost."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit code."""
    try:
        return _call(arguments)
    except USAGE_ERROR as error:
        return _fail(str(error.format_message()), BAD_INPUT)  # type: ignore[attr-defined]
    except BudgetExhausted as error:
        return _fail(str(error), REFUSED)
    except InputError as error:
        return _fail(in_typed_words(str(error), arguments), BAD_INPUT)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", INTERRUPTED)
    except Exception as error:
        # The last resort, so that a user sees one line; no private value is in it.
        if os.environ.get("RETICENT_DEBUG"):
            raise
        return _internal(error)


def _file_refused(error: OSError) -> str:
    """What the system said of a file that was named: a path and a reason, no content."""
    if error.filename is None:
        return f"output must be written to a place that takes it, got: {error.strerror}"
    name = os.fsdecode(error.filename)
    return f"{name} must be a file or folder that can be used, got: {error.strerror}"


def _parser() -> Any:
    """The program as typer makes it of all commands, which takes as long as many a command."""
    return _parser_of(len(app.registered_commands) + len(app.registered_groups))


@functools.cache
def _parser_of(commands: int) -> Any:  # noqa: ARG001 - with one more it is another
    return typer.main.get_command(app)


def _call(arguments: list[str]) -> int:
    try:
        code = _parser().main(arguments or ["--help"], prog_name="reticent", standalone_mode=False)
    except typer.Exit as stop:
        code = stop.exit_code
    except BrokenPipeError:
        # The reader (`| head`) has gone: nothing more to say, and nothing to complain about.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if code == INTERRUPTED:  # the parser catches Ctrl-C itself and says nothing
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def in_typed_words(message: str, arguments: Sequence[str]) -> str:
    """A message of the library with the option's name where it begins with an argument's.

    >>> in_typed_words("epsilon must be > 0, got nan", ["calibrate"])
    '--epsilon must be > 0, got nan'
    >>> in_typed_words("shares must add up to 1, got 2", ["calibrate"])
    'shares must add up to 1, got 2'
    """
    named = _ARGUMENT.match(message)
    command = next((word for word in arguments if not word.startswith("-")), "")
    subcommand = getattr(_parser(), "commands", {}).get(command)
    if named is None or subcommand is None:
        return message
    name = _OTHER_NAMES.get(named[1], named[1])
    option = option_name(name)
    typed = {text for parameter in subcommand.params for text in parameter.opts}
    return f"{option}{message[named.end(1) :]}" if option in typed else message


def _internal(error: Exception) -> int:
    if received() is not None:  # whatever the end of a worker made of it
        return _fail("interrupted", INTERRUPTED)
    if isinstance(error, OSError) and error.errno in _FILE_ERRORS:
        return _fail(_file_refused(error), BAD_INPUT)
    kind = type(error).__name__
    return _fail(f"internal error: {kind}; run again with RETICENT_DEBUG=1", INTERNAL_ERROR)


def _fail(message: str, code: int) -> int:
    print(f"reticent: {one_line(message)}", file=sys.stderr)
    return code


def one_line(message: str) -> str:
    """A message for a terminal: no line break, control or turned text that a file brought in."""
    plain = printable(" ".join(message.split()))
    return plain if len(plain) <= _MOST_LETTERS else f"{plain[:_MOST_LETTERS]} …"
