"""SIGTERM and SIGHUP end the program as Ctrl-C does: workers first, then what was begun.

Python runs a signal's handler between two steps of the main thread, which may be long in coming
where compiled code computes. So a thread of its own sees the signal too, and ends the process after
some seconds if the main thread has not: then it kills the workers and removes what is unfinished.
"""

import os
import signal
import sys
import threading
from functools import partial
from types import FrameType
from typing import Final, NoReturn

from reticent.files import clear_unfinished

SECONDS: Final = 3.0
"""For the main thread to end in good order; whoever sent the signal waits no longer than 5."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)
_received: list[int] = []


def end_on_signals() -> None:
    """Install the handlers; a signal that is ignored (``nohup``) stays ignored."""
    if threading.current_thread() is not threading.main_thread():
        return
    heeded = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    for number in heeded:
        signal.signal(number, _interrupt)
    if heeded:
        # joblib's tracker clears what killed workers leave, and would say so in several lines.
        sys.warnoptions.append("ignore:resource_tracker")
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        watch = threading.Thread(target=_watch, args=(reading, frozenset(heeded)), daemon=True)
        watch.start()
        os.register_at_fork(after_in_child=partial(_forget, heeded))


def _forget(heeded: list[signal.Signals]) -> None:
    """In a forked child: it would write its own signals into the pipe that its parent reads."""
    signal.set_wakeup_fd(-1)
    for number in heeded:
        signal.signal(number, signal.SIG_DFL)


def received() -> int | None:
    """The signal that asked the program to end, if one did."""
    return _received[0] if _received else None


def leave(number: int) -> NoReturn:
    """End now, with the code of that signal: no thread or worker is waited for."""
    try:
        _kill_workers()
        clear_unfinished()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    finally:  # whatever went wrong, a reader that has gone among it
        os._exit(128 + number)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    """As Ctrl-C: every ``finally`` on the way out is run. Workers must not be waited for."""
    if not _received:
        _received.append(number)
        _kill_workers()
        raise KeyboardInterrupt


def _kill_workers() -> None:
    """If there can be any: a command without workers does not load what starts them."""
    if "reticent.parallel" in sys.modules:
        sys.modules["reticent.parallel"].kill_workers()


def _watch(pipe: int, heeded: frozenset[signal.Signals]) -> None:
    """Wait for a signal, then for the main thread, and then no longer."""
    while True:
        seen = [number for number in os.read(pipe, 16) if number in heeded]
        if seen:
            threading.Event().wait(SECONDS)
            leave(seen[0])
