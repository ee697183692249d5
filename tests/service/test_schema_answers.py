"""Protected answers to raw records: the plan's schema prepares them, one by one, before the ledger.

From the commands of a user to answers: the head is fitted on a raw table by the same schema.
"""

import json

import numpy as np
import pytest

from reticent.cli.main import BAD_INPUT
from reticent.cli.main import run as reticent
from reticent.data import Schema, read_by_schema
from reticent.ledger.clients import Clients
from reticent.ledger.storage import Storage
from reticent.protect.answers.files import load_plan
from reticent.service.asking import ask_table
from reticent.service.client import Service
from reticent.service.serving import PrivateTable, ServeSpec, built
from reticent.validation import InputError
from tests.cli.test_schema import HEADER, SCHEMA, record
from tests.service.conftest import running
from tests.service.test_answers import refused

TERMS = ["--epsilon", "4", "--delta", "1e-5", "--relation", "add-remove", "--queries", "300"]
VALID = {"age": 41, "weight": 70.5, "city": "Bern", "smoker": True, "born": "1979-01-01"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A raw table, a fit and a plan by its schema, and a client."""
    here = tmp_path_factory.mktemp("schema")
    (here / "facts.toml").write_text(SCHEMA)
    rng = np.random.default_rng(3)
    for name, size in (("private", 400), ("queries", 70)):
        lines = [";".join(map(str, record(rng, i))) for i in range(size)]
        (here / f"{name}.csv").write_text("\n".join([";".join(HEADER), *lines]) + "\n")
    facts = ["--schema", str(here / "facts.toml")]
    fit = ["fit", "--private", str(here / "private.csv"), *facts, "--penalty", "0.05"]
    assert reticent([*fit, "--out", str(here / "head")]) == 0
    ledger = ["--ledger", str(here / "l.sqlite"), "--data-set", "people"]
    assert reticent([*planning(here, *facts), *ledger]) == 0
    clients = Clients(Storage.open(str(here / "l.sqlite"), create=False))
    clients.add("alice", data_set="people", limit=None)
    (here / "key").write_text(clients.new_key("alice", scopes=("ask", "read"))[0])
    return here


def planning(folder, *more, out="plan.json"):
    names = ["plan-answers", "--fit", str(folder / "head"), "--mechanism", "gaussian"]
    return [*names, *TERMS, *more, "--out", str(folder / out)]


def spec(folder, **changes):
    given = {
        "name": "model", "plan": folder / "plan.json", "fit": folder / "head",
        "ledger": str(folder / "l.sqlite"), "data_set": "people",
        "private": PrivateTable(path=folder / "private.csv"),
    }  # fmt: skip
    return ServeSpec(**(given | changes))


@pytest.fixture(scope="module")
def alice(folder):
    with running(built(spec(folder))) as url:
        service = Service(url, (folder / "key").read_text())
        service.url = url
        yield service


def test_raw_records_are_answered_proven_and_known_again_as_the_row_they_become(folder, alice):
    first = alice.ask_records([VALID], idempotency_key="k")
    assert (first["charged"], first["each"]["grade"]) == (1, "proven")
    same = VALID | {"weight": "70,50", "smoker": "true", "born": "1979-01-01T00:00"}
    again = alice.ask_records([same], idempotency_key="k")  # other cells, the same row
    assert (again["replayed"], again["logits"]) == (True, first["logits"])
    row = read_by_schema_row(folder, VALID)
    assert alice.ask(row[None])["logits"] == first["logits"]  # the row itself: for nothing
    assert alice.ask_records([VALID | {"age": 42}])["charged"] == 1


def read_by_schema_row(folder, record):
    cells = {**record, "weight": "70,5", "smoker": "true", "case number": 1, "ill": 0}
    path = folder / "one.csv"
    path.write_text(";".join(HEADER) + "\n" + ";".join(str(cells[name]) for name in HEADER) + "\n")
    return read_by_schema(path, Schema.load(folder / "facts.toml"), purpose="queries").features[0]


def test_a_raw_table_is_asked_from_the_command_line(folder, alice):
    found = ask_table(alice.url, folder / "queries.csv", key=alice._key)
    assert (len(found.answers), found.charged) == (70, 70)
    assert set(found.answers) <= {"0", "1"}
    assert ask_table(alice.url, folder / "queries.csv", key=alice._key).charged == 0


def test_records_are_refused_before_anything_is_charged(alice):
    before = alice.budget()["used"]
    for wrong in ({"age": "zqxjkv"}, {"age": None}, {"smoker": 3}, {"born": "1979-13-01"}):
        body = json.dumps({"records": [VALID, VALID | wrong]}).encode()
        assert refused(alice.call, "POST", "/v1/answers", body) == ("invalid-records", 422)
    assert alice.budget()["used"] == before


def test_the_guarantee_states_the_schema_and_the_certificate_holds_it(folder, alice):
    facts = Schema.load(folder / "facts.toml")
    assert alice.certificate()["schema"]["sha256"] == facts.sha256
    assert set(facts.stated) <= set(alice.guarantee()["guarantee"]["stated"])


def test_a_fact_from_the_private_table_makes_answers_declared(folder):
    """The same facts, but for the source of one."""
    private = SCHEMA.replace('unit = "years"', 'unit = "years"\nsource = "private table"')
    (folder / "read-off.toml").write_text(private)
    assert reticent(planning(folder, "--schema", str(folder / "read-off.toml"), out="r.json")) == 0
    model, _ = spec(folder, plan=folder / "r.json").model()
    model.close()
    assert str(model.guarantee.grade) == "declared"
    assert any("read from the private data" in line for line in model.guarantee.stated)


def test_a_head_from_a_file_is_declared_and_states_the_schema(folder):
    model, _ = spec(folder, private=None).model()
    model.close()
    assert str(model.guarantee.grade) == "declared"
    assert set(Schema.load(folder / "facts.toml").stated) <= set(model.guarantee.stated)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (('"Bern", "Chur"', '"Bern", "Chur", "Rom"'), "got 9 and"),
        (('classes = ["0", "1"]', 'classes = ["1", "0"]'), "must have the classes of the head"),
        (("records = 400", 'records = 400\ninvalid = "leave-out"'), "got leave-out"),
    ],
)
def test_a_schema_that_does_not_fit_the_head_is_refused(folder, capsys, change, line):
    (folder / "other.toml").write_text(SCHEMA.replace(*change))
    words = planning(folder, "--schema", str(folder / "other.toml"), out="other.json")
    if line == "got leave-out":
        words[words.index("add-remove")] = "replace-one"
    assert reticent(words) == BAD_INPUT
    assert line in capsys.readouterr().err


def test_a_changed_schema_in_a_plan_is_refused(folder):
    plan = json.loads((folder / "plan.json").read_text())
    plan["schema"]["facts"]["records"] = 401
    (folder / "changed.json").write_text(json.dumps(plan))
    with pytest.raises(InputError, match="hash of its facts"):
        load_plan(folder / "changed.json")


def test_beside_the_plans_schema_nothing_is_said_of_the_table(folder):
    table = PrivateTable(path=folder / "private.csv", label="ill")
    with pytest.raises(InputError, match="--label must not be given"):
        spec(folder, private=table).model()
