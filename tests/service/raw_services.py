"""Services that take raw inputs, released and protected: texts, images and records of a schema."""

from dataclasses import dataclass

import numpy as np

from reticent.data import Dataset, Schema
from reticent.data.schema.json_records import json_cells
from reticent.data.schema.prepare import prepared_cells
from reticent.ledger import Ledger
from reticent.ledger.clients import Clients
from reticent.ledger.storage import Storage
from reticent.protect import ReleaseRequest, release_table
from reticent.protect.answers import (
    calibrated_answers,
    numbers_of,
    private_answers,
    set_answer_budget,
)
from reticent.protect.answers.served import ServedAnswers
from reticent.protect.table import HeadSpec, fit_head
from reticent.service.asgi import application
from reticent.service.client import Service
from reticent.service.door import Door, RateLimit
from reticent.service.models import ProtectedModel, ReleasedModel
from reticent.service.raw import RawInputs, RawKind
from reticent.training.encoders.base import FunctionEncoder

DATA_SET = "people"
SIDE = 8
SCHEMA = Schema.from_dict(
    {
        "source": "a codebook",
        "records": 60,
        "columns": {
            "age": {"type": "number", "range": [0, 100]},
            "city": {"type": "category", "values": ["Bern", "Chur"], "gap": "indicator"},
            "smoker": {"type": "true-false"},
            "born": {"type": "date", "span": ["1920-01-01", "2020-12-31"]},
            "dose": {"type": "numbers", "length": 2, "range": [0, 10]},
            "ill": {"role": "label", "classes": ["no", "yes"]},
        },
    }
)


def record(number):
    """One of many raw records."""
    return {
        "age": number % 100,
        "city": ("Bern", "Chur", None)[number % 3],
        "smoker": number % 2 == 0,
        "born": f"19{20 + number % 80}-03-04",
        "dose": [number % 10, 0.5],
    }


def text_features(texts):
    """Five features of a text."""
    return np.array([[len(one), *(one.count(letter) for letter in "abcd")] for one in texts]) / 50


def image_features(images):
    """Five features of an image."""
    flat = images.reshape(len(images), -1) / 255
    return np.stack([flat[:, start::5].mean(axis=1) for start in range(5)], axis=1)


ENCODERS = {"texts": text_features, f"{SIDE}x{SIDE}x1": image_features}
KINDS = {"texts": "texts", "images": f"{SIDE}x{SIDE}x1", "records": None}


def private_table(kind):
    """Sixty private records of this kind of input."""
    if kind == "records":
        labelled = [record(i) | {"ill": ("no", "yes")[i % 2]} for i in range(60)]
        return prepared_cells(json_cells(labelled, SCHEMA.form), SCHEMA)
    rows = np.random.default_rng(0).normal(size=(60, 5))
    labels = np.arange(60) % 2
    return Dataset(name="d", source="s", inputs=rows, labels=labels, classes=("no", "yes"))


@dataclass
class RawService:
    """A service, and what tests look at behind it."""

    kind: str
    app: object
    model: object
    clients: Clients
    ledger: Ledger | None
    url: str = ""
    asker: Service | None = None

    def charges(self):
        return 0 if self.ledger is None else self.ledger.account(DATA_SET).charges

    def begin(self, url):
        """From now on it is at this address; somebody may ask and see everything."""
        self.url = url
        self.clients.add("asker", data_set=DATA_SET if self.ledger else None, limit=None)
        key, _ = self.clients.new_key("asker", scopes=("ask", "read", "admin"))
        self.asker = Service(url, key)
        return self


def _encoded(model, kind):
    if KINDS[kind] is not None:
        encoder = FunctionEncoder(ENCODERS[KINDS[kind]])
        model.raw = RawInputs(RawKind.named(KINDS[kind]), encoder, features=5)
    return model


def released_service(kind, folder):
    """A released head."""
    request = ReleaseRequest.of(
        epsilon=4, delta=1e-5, relation="add-remove", records=60, recipe="class-means"
    )
    model = _encoded(ReleasedModel(release_table(private_table(kind), request), "model"), kind)
    clients = Clients(Storage.open(str(folder / "keys.sqlite"), create=True))
    app = application(model, Door(clients, rate=RateLimit(1e9)))
    return RawService(kind, app, model, clients, None)


def protected_service(kind, folder, *, queries=10_000):
    """A private head that answers by a plan."""
    data = private_table(kind)
    schema = data.schema
    bound = 3.0 if schema is None else schema.bound
    head = fit_head(data, HeadSpec(records=60, bound=bound, penalty=0.1))
    plan = calibrated_answers(
        numbers_of(head), epsilon=4.0, delta=1e-5, relation="add-remove", queries=queries,
        mechanism="gaussian", filter="zcdp",
    )  # fmt: skip
    where = str(folder / "ledger.sqlite")
    with Ledger.open(where, create=True) as ledger:
        set_answer_budget(ledger, DATA_SET, plan)
    ledger = Ledger.open(where)
    served = ServedAnswers(private_answers(head, plan, schema=schema), ledger, account=DATA_SET)
    model = _encoded(ProtectedModel(served, "model", ledger=ledger, schema=schema), kind)
    clients = Clients(ledger._storage)
    door = Door(clients, rate=RateLimit(1e9), data_set=DATA_SET, also=model.refresh)
    return RawService(kind, application(model, door), model, clients, ledger)


STARTED = {"released": released_service, "protected": protected_service}
