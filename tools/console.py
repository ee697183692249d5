"""Runs the ``console`` blocks of the documentation and compares what they print.

A block holds commands, each after ``$ ``, and below each one what a terminal shows. ``...`` stands
for any text. A command that fails is followed by ``$ echo $?`` and its exit code. What it prints
may go to a file with ``> FILE`` at its end; no other syntax of a shell is known. Only ``reticent``
is run; the tools in ``NOT_RUN`` are for the reader, and any other command is refused.

Each command is a process of its own. It is forked from one that has imported the libraries, because
to import them takes longer than most commands (``tools/mutation/fork_server.py``).

A command that ends with ``&`` runs beside the following ones until the end of its block, which goes
on when it says that it is listening. The port 8600 of such a block is any free one in truth.
"""

import contextlib
import doctest
import functools
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.mutation.forks import ForkServer

NOT_RUN = frozenset({"cd", "git", "make", "pip", "python", "python3"})
WIDTH = 100
SECONDS = 600
ENTRY_POINT = (
    "import sys; sys.argv[0] = 'reticent'; from reticent.cli import main; sys.exit(main())"
)
IMPORTED = ("torch", "transformers.models.bert.modeling_bert", "matplotlib.figure",
            "reticent.cli.main", "reticent.ledger.ledger", "reticent.report.writing",
            "reticent.run.job", "reticent.audit.attack_run")  # fmt: skip
"""What commands import again and again; those that are not installed are left out."""
EXIT_CODE = "echo $?"
BESIDE = " &"
PORT = "8600"
SHELL_SYNTAX = frozenset({"|", "||", "&", "&&", ";", "<", ">", ">>", "2>", "2>&1"})
PROGRESS = re.compile(r"^reticent: (?:[^\n]*, after \d+ s|this run takes [^\n]*)\n", re.MULTILINE)
"""Lines that only a slow machine prints, or that depend on how fast it is."""
ASSIGNMENT = re.compile(r"[A-Z_]+=")


@dataclass(frozen=True, kw_only=True)
class Step:
    """One command and what the page says it prints."""

    command: str
    expected: str


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a command printed (standard output and error, as a terminal shows them)."""

    output: str
    exit_code: int


def steps(block: str) -> list[Step]:
    """The commands of a block in order; a trailing backslash continues a command."""
    found: list[Step] = []
    lines = iter(block.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command = command[:-1] + next(lines, "").removeprefix("> ").strip()
            found.append(Step(command=command, expected=""))
        elif found:
            step = found.pop()
            found.append(Step(command=step.command, expected=f"{step.expected}{line}\n"))
        elif line.strip():
            raise ValueError(f"a console block must begin with '$ ', got {line!r}")
    return found


def run(command: str, *, directory: Path) -> Outcome:
    """Runs one ``reticent`` command in a directory, without a terminal, 100 columns wide."""
    words, file = _redirected(shlex.split(command))
    if syntax := SHELL_SYNTAX.intersection(words):
        raise ValueError(f"a console command must do without {', '.join(syntax)}, got {command!r}")
    with tempfile.TemporaryDirectory() as scratch:
        shown, kept = Path(scratch, "shown"), Path(scratch, "kept")
        output = shown if file is None else kept
        exit_code = forked(words[1:], directory, output=output, errors=shown)
        if file is not None:
            shutil.copyfile(kept, directory / file)
        printed = shown.read_text(encoding="utf-8")
    return Outcome(output=PROGRESS.sub("", printed), exit_code=exit_code)


def forked(
    words: Sequence[str], directory: Path, *, output: Path, errors: Path, **environment: str
) -> int:
    """The exit code of ``reticent WORDS`` in a directory; what it prints goes to the two files.

    ``environment`` holds variables beside those of this process.
    """
    output.touch()
    errors.touch()
    exit_code = _fork_server(frozenset((_environment() | environment).items())).run_in(
        directory,
        ["-c", ENTRY_POINT, *words],
        output=str(output),
        errors=str(errors),
        deadline=time.monotonic() + SECONDS,
    )
    if exit_code is None:
        raise TimeoutError(f"a command must end in {SECONDS} s, got reticent {' '.join(words)}")
    return exit_code


@functools.lru_cache(maxsize=2)
def _fork_server(environment: frozenset[tuple[str, str]]) -> ForkServer:
    """One for each environment: libraries read it while they are imported."""
    return ForkServer(IMPORTED, Path(tempfile.gettempdir()), dict(environment))


@contextlib.contextmanager
def served(command: str, *, directory: Path) -> Iterator[str]:
    """Runs a command beside others; yields what it printed up to the line where it listens."""
    words = shlex.split(command)[1:-1]
    process = subprocess.Popen(
        [sys.executable, "-c", ENTRY_POINT, *words],
        cwd=directory,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    assert process.stdout is not None
    printed = ""
    try:
        for line in process.stdout:
            printed += line
            if line.startswith("listening"):
                break
        yield PROGRESS.sub("", printed)
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)


def _with_free_port(block: str) -> str:
    if not any(step.command.endswith(BESIDE) for step in steps(block)):
        return block
    with socket.create_server(("127.0.0.1", 0)) as found:
        return block.replace(PORT, str(found.getsockname()[1]))


def _environment() -> dict[str, str]:
    hidden = {"FORCE_COLOR", "GITHUB_ACTIONS", "PY_COLORS", "PYTEST_CURRENT_TEST"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    return environment | {"COLUMNS": str(WIDTH), "NO_COLOR": "1", "PYTHONUTF8": "1"}


def _redirected(words: list[str]) -> tuple[list[str], str | None]:
    """The command, and the file that standard output goes to."""
    if words[-2:-1] == [">"]:
        return words[:-2], words[-1]
    return words, None


def mismatch(block: str, *, directory: Path) -> str | None:
    """Runs a block; says what differs from the page, or None where all of it is true."""
    with contextlib.ExitStack() as beside:
        return _mismatch(_with_free_port(block), directory, beside)


def _mismatch(block: str, directory: Path, beside: contextlib.ExitStack) -> str | None:
    exit_code = 0
    stated = True
    for step in [*steps(block), Step(command="true", expected="")]:
        if step.command == EXIT_CODE:
            stated = True
            if problem := _difference(f"{exit_code}", step.expected):
                return f"$ {EXIT_CODE}\n{problem}"
            continue
        if not stated:
            return f"exit code {exit_code} is not stated: add '$ {EXIT_CODE}' and the code below"
        program = _program(step.command)
        if program == "reticent" and step.command.endswith(BESIDE):
            printed = beside.enter_context(served(step.command, directory=directory))
            if problem := _difference(printed, step.expected):
                return f"$ {step.command}\n{problem}"
        elif program == "reticent":
            outcome = run(step.command, directory=directory)
            if problem := _difference(outcome.output, step.expected):
                return f"$ {step.command}\n{problem}"
            exit_code, stated = outcome.exit_code, outcome.exit_code == 0
        elif program not in NOT_RUN | {"true"}:
            raise ValueError(
                f"a console command must be reticent or one of {sorted(NOT_RUN)}, "
                f"got {step.command!r}"
            )
    return None


def evaluate(example: Any) -> str | None:
    """Sybil's evaluator: runs a block in the directory of its page."""
    return mismatch(example.parsed, directory=Path.cwd())


def _program(command: str) -> str:
    words = [word for word in shlex.split(command) if not ASSIGNMENT.match(word)]
    return words[0] if words else ""


def _difference(got: str, expected: str) -> str | None:
    """None where they agree up to ``...``, trailing spaces and blank lines at the end."""
    got, expected = _trimmed(got), _trimmed(expected)
    checker = doctest.OutputChecker()
    if checker.check_output(expected, got, doctest.ELLIPSIS):
        return None
    example = doctest.Example("", expected)
    return checker.output_difference(example, got, doctest.ELLIPSIS | doctest.REPORT_NDIFF)


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines()) + "\n"
