"""A service in this process: real uvicorn on a real socket, over either database."""

import contextlib
import socket
import threading
import time

import numpy as np
import pytest
import uvicorn

from reticent.ledger import Ledger
from reticent.ledger.clients import Clients
from reticent.protect.answers import private_answers, set_answer_budget
from reticent.protect.answers.served import ServedAnswers
from reticent.service.asgi import application
from reticent.service.client import Service
from reticent.service.door import Door, RateLimit
from reticent.service.models import ProtectedModel
from tools.postgres_server import postgres
from tools.service_kills import answer_plan, private_head

DATA_SET = "patients"


@pytest.fixture(scope="session")
def server():
    with postgres() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, tmp_path):
    """An empty place for a ledger in either database."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.sqlite")
    return request.getfixturevalue("server").fresh()


@pytest.fixture(scope="session")
def head():
    return private_head()


@contextlib.contextmanager
def running(app):
    """The address of an application that is served until the block ends."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, lifespan="on", timeout_graceful_shutdown=5
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.005)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


class Protected:
    """A protected service with what tests look at behind it."""

    def __init__(
        self, where, head, *, queries=50, mechanism="exponential", rate=1e9, keep=None,
        detector=None,
    ):  # fmt: skip
        self.where = where
        self.plan = answer_plan(head, queries, mechanism)
        with Ledger.open(where, create=True) as ledger:
            set_answer_budget(ledger, DATA_SET, self.plan)
        self.ledger = Ledger.open(where)
        self.served = ServedAnswers(private_answers(head, self.plan), self.ledger, account=DATA_SET)
        if keep is not None:
            self.served.book._keep = keep
        self.model = ProtectedModel(self.served, "model", ledger=self.ledger)
        self.clients = Clients(self.ledger._storage)
        door = Door(self.clients, rate=RateLimit(rate), data_set=DATA_SET, also=self.model.refresh)
        self.app = application(self.model, door, detector)
        self.url = None

    def client(self, name, *, limit=None, scopes=("ask", "read"), days=None):
        self.clients.add(name, data_set=DATA_SET, limit=limit)
        key, _ = self.clients.new_key(name, scopes=scopes, days=days)
        return Service(self.url, key)


@pytest.fixture
def protected(head):
    """A function that starts a protected service; all of them end with the test."""
    with contextlib.ExitStack() as stack:

        def start(where, **options):
            found = Protected(where, head, **options)
            found.url = stack.enter_context(running(found.app))
            return found

        yield start


def rows(number, *, seed=0):
    return np.random.default_rng([seed, number]).normal(size=(number, 5))
