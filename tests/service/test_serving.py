"""The commands: plans and heads as files, released models, who may listen where."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from reticent.cli.main import run
from reticent.data import Dataset
from reticent.protect import ReleaseRequest, load, release_encoder, save
from reticent.service.client import Service, ServiceError
from reticent.service.listening import Listen
from reticent.service.serving import ServeSpec
from reticent.validation import InputError
from tests.service.conftest import rows, running

TERMS = ["--epsilon", "2", "--delta", "1e-5", "--relation", "add-remove"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Private records, a fit of them, a plan, a ledger, a client with a key, a released head."""
    here = tmp_path_factory.mktemp("serving")
    y = np.arange(120) % 3
    features = np.random.default_rng(0).normal(size=(120, 5)) / 4 + np.eye(3, 5)[y]
    lines = [",".join([*map(str, row), "xyz"[c]]) for row, c in zip(features, y, strict=True)]
    (here / "p.csv").write_text("\n".join(["a,b,c,d,e,label", *lines]))
    with contextlib.chdir(here):  # tests of other files start programs where they are
        yield filled(here, features)


def filled(here, features):
    """What the commands write there."""
    table = ["--private", "p.csv", "--label", "label"]
    head = ["--classes", "x,y,z", "--bound", "2", "--records", "120", "--penalty", "0.1"]
    assert run(["fit", *table, *head, "--out", "head"]) == 0
    ledger = ["--ledger", "l.sqlite", "--data-set", "people"]
    plan = ["plan-answers", "--fit", "head", "--queries", "30", *TERMS, "--out", "plan.json"]
    assert run([*plan, *ledger]) == 0
    assert (
        run(["client", "add", "l.sqlite", "alice", "--data-set", "people", "--answers", "9"]) == 0
    )
    assert run(["protect", *table, *head, *TERMS, "--out", "released"]) == 0
    assert run(["client", "add", "keys.sqlite", "bob", "--create"]) == 0
    np.savez(here / "narrow.npz", features=np.random.default_rng(1).normal(size=(200, 4)))
    forge(here)
    unlabelled = Dataset(name="d", source="s", inputs=features)
    small = {"recipe": "prototypes", "components": 2, "clusters": 2, "records": 120}
    terms = {"epsilon": 8, "delta": 1e-5, "relation": "add-remove"}
    save(release_encoder(unlabelled, ReleaseRequest.of(**terms, **small)), here / "encoder")
    return here


def forge(folder):
    """A copy of the released head whose certificate claims less than its noise gives."""
    for ending in (".json", ".safetensors"):
        (folder / f"forged{ending}").write_bytes((folder / f"released{ending}").read_bytes())
    document = json.loads((folder / "forged.json").read_text())
    document["guarantee"]["epsilon"] = 0.1
    (folder / "forged.json").write_text(json.dumps(document))


def key_of(capsys, database, name):
    capsys.readouterr()
    assert run(["client", "key", database, name, "--json", "--days", "2"]) == 0
    return json.loads(capsys.readouterr().out)["key"]


def answering(plan="plan.json", fit="head", ledger="l.sqlite"):
    """The words of a service of protected answers."""
    given = {"--answers": plan, "--fit": fit, "--ledger": ledger, "--data-set": "people"}
    return [word for pair in given.items() for word in pair]


def spec_of(folder, **changes):
    given = {
        "name": "model", "plan": folder / "plan.json", "fit": folder / "head",
        "ledger": str(folder / "l.sqlite"), "data_set": "people",
    }  # fmt: skip
    return ServeSpec(**(given | changes))


def served(spec):
    from reticent.service.asgi import application

    return running(application(*spec.model()))


def test_a_head_from_a_file_is_declared_with_the_reason(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    key = key_of(capsys, "l.sqlite", "alice")
    with served(spec_of(folder)) as url:
        alice = Service(url, key)
        answer = alice.ask(rows(1))
        assert answer["each"]["grade"] == "declared"
        promised = alice.guarantee()["guarantee"]
        assert promised["checked"] == []
        assert any("read from a file" in line for line in promised["stated"])
        assert set(answer["labels"]) <= {"x", "y", "z"}


def test_a_head_fitted_here_is_proven(folder, capsys, monkeypatch):
    from reticent.service.serving import PrivateTable

    monkeypatch.chdir(folder)
    key = key_of(capsys, "l.sqlite", "alice")
    table = PrivateTable(path=folder / "p.csv", label="label")
    with served(spec_of(folder, private=table)) as url:
        assert Service(url, key).ask(rows(1, seed=2))["each"]["grade"] == "proven"


def test_a_private_head_that_others_can_read_is_refused(folder, monkeypatch):
    monkeypatch.chdir(folder)
    path = folder / "head.fit.safetensors"
    path.chmod(0o640)
    try:
        with pytest.raises(
            InputError, match=r"must be its owner's alone, got mode 0640.*chmod 600"
        ):
            spec_of(folder).model()
    finally:
        path.chmod(0o600)


def test_a_plan_with_less_noise_is_refused(folder, monkeypatch):
    monkeypatch.chdir(folder)
    plan = json.loads((folder / "plan.json").read_text())
    plan["scale"] *= 0.9
    (folder / "less.json").write_text(json.dumps(plan))
    with pytest.raises(InputError, match="scale must let 30 charges fit"):
        spec_of(folder, plan=folder / "less.json").model()


def test_a_plan_for_another_budget_is_refused(folder, monkeypatch):
    monkeypatch.chdir(folder)
    plan = ["plan-answers", "--fit", "head", "--queries", "31", *TERMS, "--out", "other.json"]
    assert run([*plan, "--epsilon", "3"]) == 0
    with pytest.raises(InputError, match="budget of 'people' must be that of the plan"):
        spec_of(folder, plan=folder / "other.json").model()


def test_a_released_model_is_free_and_says_what_predict_says(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    released = load(folder / "released")
    with served(ServeSpec(name="open", released=folder / "released")) as url:
        anybody = Service(url)
        for _ in range(2):
            told = anybody.ask(rows(4))
            assert told["labels"] == released.predict(rows(4)).tolist()
            assert told["logits"] == released.logits(rows(4)).tolist()
            assert (told["charged"], told["receipt"], told["each"]) == (0, None, None)
        assert anybody.budget(10)["fits"] is True
        assert anybody.certificate()["recipe"]
        with pytest.raises(ServiceError, match="forbidden"):
            anybody.call("GET", "/openapi.json")
    key = key_of(capsys, "keys.sqlite", "bob")
    with served(ServeSpec(name="m", released=folder / "released", keys="keys.sqlite")) as url:
        with pytest.raises(ServiceError, match="unauthorized"):
            Service(url).ask(rows(1))
        assert Service(url, key).ask(rows(1))["charged"] == 0


def test_a_released_model_whose_certificate_does_not_hold_is_refused(folder, monkeypatch):
    monkeypatch.chdir(folder)
    with pytest.raises(InputError):
        ServeSpec(name="m", released=folder / "forged").model()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["released"], "--keys must name a database"),
        (["released", "--no-keys", "--host", "0.0.0.0"], "host must be this machine's own"),
        (["released", "--no-keys", "--ledger", "l.sqlite"], "--ledger must be said with --answers"),
        (["released", "--no-keys", "--name", "a/b"], "name must be 1 to 64"),
        (["released", "--no-keys", "--rate", "nan"], "rate must be"),
        (["released", "--no-keys", "--tls-cert", "x"], "said together"),
        (["released", "--answers", "plan.json"], "got both or none"),
        (["released", "--no-keys", "--public", "p.csv"], "p.csv"),
        (["released", "--no-keys", "--public", "narrow.npz"], "5 features of the model, got 4"),
        (["released", "--no-keys", "--port", "99999"], "port must be 0 to 65535"),
        (["released", "--keys", "none.sqlite"], "--keys must be a database of"),
        (["nothing", "--no-keys"], "nothing.json must be a readable file"),
        (["forged", "--no-keys"], "forged must match its certificate"),
        (["encoder", "--no-keys"], "must be a model that predicts, got one of prototypes"),
        (["released", "--no-keys", "--tls-cert", "no", "--tls-key", "no"], "--tls-cert must be"),
        (["released", "--no-keys", "--tls-cert", "p.csv", "--tls-key", "p.csv"], "in PEM"),
        (["released", "--no-keys", "--raw", "texts", "--encoder", "scattering"], "--raw must be"),
        ([], "got both or none"),
        (["--answers", "plan.json"], "--fit must be said"),
        (["--answers", "plan.json", "--fit", "head", "--ledger", "l.sqlite"], "--data-set must"),
        (answering(plan="none.json"), "plan none.json must be a readable file"),
        (answering(plan="p.csv"), "must be JSON"),
        (answering(fit="none"), "none.fit.safetensors must be readable"),
        (answering(ledger="none.sqlite"), "ledger must exist"),
        (answering(ledger="p.csv"), "must be usable, got: file is not a database"),
        (answering(ledger="postgresql://127.0.0.1:1/x"), "Connection refused"),
        ([*answering(), "--private", "p.csv"], "--label must be said with --private"),
        ([*answering(), "--private", "none.csv", "--label", "label"], "none.csv"),
    ],
)
def test_bad_input_is_one_line(folder, monkeypatch, capsys, options, line):
    """Before it says that it listens."""
    monkeypatch.chdir(folder)
    port = [] if "--port" in options else ["--port", "0"]
    assert run(["serve", *options, *port]) == 2
    told = capsys.readouterr()
    assert line in told.err
    assert len(told.err.splitlines()) == 1
    assert "listening" not in told.out


def test_a_port_that_is_taken_is_one_line(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert run(["serve", "released", "--no-keys", "--port", port]) == 2
    assert f"port {port} must be free to listen on" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (["client", "add", "l.sqlite", "alice"], "a name of its own"),
        (["client", "add", "l.sqlite", "x", "--answers", "3"], "got one without data set"),
        (["client", "add", "l.sqlite", "x", "--data-set", "nobody"], "data set must be in"),
        (["client", "add", "none.sqlite", "x"], "ledger must exist"),
        (["client", "key", "l.sqlite", "nobody"], "client must be in the ledger"),
        (["client", "key", "l.sqlite", "alice", "--scopes", "all"], "scopes must be some of"),
        (["client", "key", "l.sqlite", "alice", "--days", "nan"], "days must be"),
        (["client", "revoke", "l.sqlite", "reticent_000000"], "key must be one that is not"),
        (["client", "revoke", "l.sqlite", "ret"], "first 15 letters"),
        (["client", "limit", "l.sqlite", "alice", "--answers", "0"], "limit must be >= 1"),
        (["plan-answers", "--fit", "p.csv", "--queries", "3", *TERMS, "--out", "x"], "must be"),
    ],
)
def test_bad_clients_and_plans(folder, monkeypatch, capsys, command, line):
    monkeypatch.chdir(folder)
    assert run(command) == 2
    told = capsys.readouterr().err
    assert line in told
    assert len(told.splitlines()) == 1


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "example.org"])
def test_beyond_this_machine_only_over_tls(host):
    with pytest.raises(InputError, match="host must be this machine's own without TLS"):
        Listen(host=host)
    assert Listen(host=host, behind_proxy=True).host == host


@pytest.mark.slow
def test_the_command_serves_with_two_workers_and_drains(folder, capsys, monkeypatch):
    """As a user starts it; SIGTERM ends it in good order, and nothing typed stands in its log."""
    monkeypatch.chdir(folder)
    key = key_of(capsys, "l.sqlite", "alice")
    command = [
        sys.executable, "-m", "reticent", "serve", "--answers", "plan.json", "--fit", "head",
        "--ledger", "l.sqlite", "--data-set", "people", "--port", "0", "--workers", "2",
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        told = []
        while not told or "listening on" not in told[-1]:
            told.append(process.stdout.readline())
            assert told[-1], "".join(told)
        alice = Service(told[-1].split()[2].rstrip(","), key)
        until = time.monotonic() + 120
        while True:
            try:
                alice.call("GET", "/v2/health/ready")
                break
            except OSError:
                assert time.monotonic() < until
                time.sleep(0.2)
        first = alice.ask(rows(1, seed=7), idempotency_key="zqxjkv")
        assert alice.ask(rows(1, seed=7), idempotency_key="zqxjkv")["labels"] == first["labels"]
    finally:
        process.send_signal(signal.SIGTERM)
        rest = process.communicate(timeout=60)[0]
    text = "".join(told) + rest
    assert "declared: the head was read from a file" in text
    assert "a released head serves better here" in text
    assert "zqxjkv" not in text
    assert "Traceback" not in text
