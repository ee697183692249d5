"""Processes out of one that has imported the libraries already."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

_SERVER = Path(__file__).with_name("fork_server.py")


class ForkServer:
    """A process that forks; it ends when this is forgotten."""

    def __init__(
        self, modules: Sequence[str], folder: Path, environment: Mapping[str, str]
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_SERVER), *modules],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        weakref.finalize(self, _closed, self._process)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._asked = self._process.stdin.fileno()
        self._answered = self._process.stdout.fileno()

    def run(
        self, command: Sequence[str], *, cache: Path, cpu: float, output: str, deadline: float
    ) -> tuple[int | None, float]:
        """The exit code, None where a limit of time ended the process, and core seconds spent.

        ``command`` is what would follow ``python``, and ``deadline`` is monotonic.
        """
        asked = {"command": command, "cache": str(cache), "cpu": cpu, "output": output}
        return self._ended(asked, deadline)

    def run_in(
        self, folder: Path, command: Sequence[str], *, output: str, errors: str, deadline: float
    ) -> int | None:
        """The exit code of a command in a folder, without limits but the deadline.

        What it prints goes to the files ``output`` and ``errors``, which may be one.
        """
        asked = {"command": command, "folder": str(folder), "output": output, "errors": errors}
        return self._ended(asked, deadline)[0]

    def _ended(self, asked: Mapping[str, Any], deadline: float) -> tuple[int | None, float]:
        """Asks for a process, and waits for its end."""
        self._ask(asked)
        child = int(self._answer()["pid"])
        late = not self._ready(deadline)
        if late:
            _end(child)
        ended = self._answer()
        _end(child)  # children that it left behind
        code = int(ended["code"])
        late = late or code in (-signal.SIGXCPU, -signal.SIGKILL)
        return None if late else code, float(ended["cpu"])

    def _ask(self, words: Mapping[str, Any]) -> None:
        os.write(self._asked, json.dumps(words).encode() + b"\n")

    def _answer(self) -> dict[str, Any]:
        """One line; nothing of the next is read, so that waiting for it stays possible."""
        line = b""
        while not line.endswith(b"\n"):
            part = os.read(self._answered, 1)
            if not part:
                code = self._process.wait()
                raise RuntimeError(f"the fork server must go on, got exit code {code}")
            line += part
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _ready(self, deadline: float) -> bool:
        """Whether an answer comes before then."""
        left = max(0.0, deadline - time.monotonic())
        return bool(select.select([self._answered], [], [], left)[0])


def _closed(process: subprocess.Popen[bytes]) -> None:
    """Without input it ends."""
    with process:
        pass


def _end(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
