"""``python fork_server.py MODULE…``: imports these once, then forks a process for each request.

A request is a line of JSON: ``command`` as after ``python`` and ``output`` file; where they are
said also a file for ``errors``, the ``folder`` to run in, ``cache`` of machine code and ``cpu`` in
seconds of one core. Two lines answer it: the process's id, and how it ended. What the modules cost
to import is paid once; a package that is mutated is never among them.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import resource
import runpy
import sys
import threading
import types
from contextlib import suppress
from typing import Any

_MEMORY = 10_000_000 * 1024
"""Bytes: a mutant may ask for all there is."""


def main(modules: list[str]) -> int:
    """Serves until its input ends."""
    for name in modules:
        with suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(asked)
        _answer({"pid": child})
        _, status, usage = os.wait4(child, 0)
        code = os.waitstatus_to_exitcode(status)
        _answer({"code": code, "cpu": usage.ru_utime + usage.ru_stime})
    return 0


def _answer(words: dict[str, Any]) -> None:
    print(json.dumps(words), flush=True)


def _become(asked: dict[str, Any]) -> None:
    """The process that was asked for; does not return."""
    os.setsid()
    output = os.open(asked["output"], os.O_WRONLY | os.O_APPEND)
    errors = os.open(asked.get("errors", asked["output"]), os.O_WRONLY | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for new, old in ((nothing, 0), (output, 1), (errors, 2)):
        os.dup2(new, old)
    os.chdir(asked.get("folder", "."))
    if "cpu" in asked:
        _limit(int(asked["cpu"]))
    if "cache" in asked:
        os.environ["NUMBA_CACHE_DIR"] = asked["cache"]
        if "numba" in sys.modules:
            sys.modules["numba"].core.config.reload_config()
    code: object = 1
    try:
        _run(asked["command"])
        code = 0
    except SystemExit as end:
        code = end.code
        if isinstance(code, str):
            print(code, file=sys.stderr)
    except BaseException as error:  # noqa: BLE001 - what Python does with an error of a program
        sys.excepthook(type(error), error, error.__traceback__)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def _limit(seconds: int) -> None:
    """Of one core, and of memory."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def _run(command: list[str]) -> None:
    """``-c code``, ``-m module``, ``-P script`` or a script, as Python runs them."""
    if command[0] == "-c":
        sys.path.insert(0, "")
        sys.argv = ["-c", *command[2:]]
        program = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(command[1], vars(program))
        return
    if command[0] == "-m":
        sys.path.insert(0, os.getcwd())
        sys.argv = command[1:]
        runpy.run_module(command[1], run_name="__main__", alter_sys=True)
        return
    script = command[1:] if command[0] == "-P" else command
    sys.argv = script
    if command[0] != "-P":
        sys.path.insert(0, os.path.dirname(os.path.abspath(script[0])))
    runpy.run_path(script[0], run_name="__main__")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
