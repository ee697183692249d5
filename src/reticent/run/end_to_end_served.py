"""``serve --private``: answers of a private head over HTTP, from the user's file to the reply.

The commands of a service's owner, in their order: ``fit``, ``plan-answers``, ``client add`` and
``key``, and ``serve``, which listens here until three questions are answered.
"""

import contextlib
import dataclasses
import http.client
import io
import json
import logging
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from reticent.audit.end_to_end.adversarial import LABEL, PERSON
from reticent.audit.end_to_end.releases import QUERIES, Audited, answer_mechanism, questions
from reticent.audit.end_to_end.replay import Covered, Published, Release
from reticent.audit.end_to_end.settings import Settings
from reticent.guarantee import Guarantee
from reticent.run.end_to_end_calls import as_words, command, folder_beside
from reticent.run.end_to_end_heads import delta_words, fit_command
from reticent.strict_json import parsed_object

_PEOPLE: Final = "people"
_READER: Final = "reader"
_ADDRESS: Final = re.compile(r"http://127\.0\.0\.1:\d+")
_LARGEST_BOUND: Final = 1e30
"""Beyond it, and below its inverse, ``fit`` plans a penalty that ``serve`` refuses as a number."""
_SECONDS: Final = 30.0
_SAID: Final = ("labels", "logits", "charged", "left")
"""What a reply says beside its receipt, which holds the time."""


def _served(settings: Settings) -> Release:
    """A service with one client, which asks and then ends it."""
    bound = min(max(settings.bound, 1 / _LARGEST_BOUND), _LARGEST_BOUND)
    settings = dataclasses.replace(settings, bound=bound)

    def release(path: Path) -> Published:
        with folder_beside(path) as folder:
            fit = fit_command(settings, path, folder)
            plan, ledger = folder / "plan.json", str(folder / "ledger.sqlite")
            command([*_plan_words(settings, fit), "--ledger", ledger, "--out", str(plan)])
            command(["client", "add", ledger, _READER, "--data-set", _PEOPLE])
            key = command(["client", "key", ledger, _READER]).split()[0]
            words = ["serve", *_table(settings, path), "--fit", str(fit), "--answers", str(plan)]
            words += ["--ledger", ledger, "--data-set", _PEOPLE, "--port", "0"]
            printed, replies = _while_served(words, key, settings.shape.width)
        return _published(printed, replies)

    return release


def _plan_words(settings: Settings, fit: Path) -> list[str]:
    gaussian = "gdp" if settings.mechanism == "gaussian" else "zcdp"
    options: dict[str, Any] = {
        "--fit": fit,
        "--queries": QUERIES,
        "--epsilon": settings.epsilon,
        "--relation": settings.relation,
        "--mechanism": answer_mechanism(settings),
        "--filter": gaussian if settings.delta else "basic",
        "--data-set": _PEOPLE,
    }
    if settings.shape.persons:
        options |= {"--max-records-per-person": settings.max_records_per_person}
    return ["plan-answers", *as_words(options), *delta_words(settings)]


def _table(settings: Settings, path: Path) -> list[str]:
    options: dict[str, Any] = {"--private": path, "--label": LABEL}
    options |= {"--person": PERSON} if settings.shape.persons else {}
    options |= {"--embedding": settings.shape.features[0]} if settings.shape.embedded else {}
    return as_words(options)


def _while_served(words: list[str], key: str, width: int) -> tuple[str, dict[str, Any]]:
    """What the command prints until its client, in a thread of its own, has asked and ended it."""
    out, ended = io.StringIO(), threading.Event()

    def ask() -> dict[str, Any]:
        while not (address := _ADDRESS.search(out.getvalue())):
            if ended.wait(0.01):
                return {}  # refused, or broken before it listened
        try:
            return _told(address[0], key, width, ended)
        finally:
            if not ended.is_set():
                os.kill(os.getpid(), signal.SIGTERM)

    with handlers_kept(), ThreadPoolExecutor(1) as thread:
        asking = thread.submit(ask)
        try:
            printed = command(words, out=out)
        finally:
            ended.set()
        return _ADDRESS.sub("ADDRESS", printed), asking.result()


def _told(address: str, key: str, width: int, ended: threading.Event) -> dict[str, Any]:
    """What is promised, and the replies to all questions at once."""
    while not ended.is_set():  # it listens before it answers, and a signal now would end us all
        try:
            promised = _called(address, key, "GET", "/v1/guarantee")
        except OSError:
            time.sleep(0.01)
            continue
        asked = {"inputs": questions(width).tolist()}
        return {"promised": promised, "reply": _called(address, key, "POST", "/v1/answers", asked)}
    return {}


def _called(
    address: str, key: str, method: str, path: str, asked: dict[str, Any] | None = None
) -> dict[str, Any]:
    """One request of a client: commands stand above this package, their clients as well."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    headers |= {"Idempotency-Key": "the-audit-asks-once"} if asked else {}
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=_SECONDS)
    try:
        connection.request(method, path, None if asked is None else json.dumps(asked), headers)
        response = connection.getresponse()
        content = response.read()
    finally:
        connection.close()
    if response.status != http.HTTPStatus.OK:
        raise RuntimeError(f"the service answered {response.status}: {content.decode()}")
    return parsed_object(content, source="reply")


@contextlib.contextmanager
def handlers_kept() -> Iterator[None]:
    """A service takes the signals of its process over, and its log; both are given back.

    New log settings close every handler there is, and absl's closes the error stream that it was
    made with unless that is ``sys.stderr``, which is redirected while a command runs.
    """
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    waking = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    handlers: list[Any] = vars(logging)["_handlerList"]  # weak references: all that would be closed
    kept = handlers[:]
    handlers.clear()
    try:
        yield
    finally:
        handlers[:0] = kept
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        for number, handler in before.items():
            signal.signal(number, handler)


def _published(printed: str, replies: dict[str, Any]) -> Published:
    """What all answers promise together and each by itself; the words of command and replies."""
    promised, reply = replies["promised"], replies["reply"]
    each = Guarantee.from_dict(promised["each"])
    reply_text = json.dumps([promised, {name: reply.get(name) for name in _SAID}], sort_keys=True)
    return Published(
        claims=(
            Covered(Guarantee.from_dict(promised["guarantee"])),
            *(Covered(each, (place,)) for place in range(QUERIES)),
        ),
        outputs=(printed + reply_text).encode(),
    )


COMMANDS: Final[dict[str, Audited]] = {"serve (command)": Audited(build=_served)}
