"""A service attacked through its own door, and what it charges for that."""

import json
from typing import ClassVar

import numpy as np
import pytest

from reticent.cli.main import run
from reticent.guarantee import Guarantee
from reticent.service.asgi import application
from reticent.service.door import Door, RateLimit
from reticent.service.endpoint import EndpointTarget
from reticent.service.models import Model, Prediction
from reticent.validation import InputError
from tests.service.conftest import rows, running


def files(folder, number=40):
    data = rows(2 * number, seed=4)
    labels = np.arange(2 * number) % 3
    for name, part in (("in", slice(0, number)), ("out", slice(number, None))):
        np.savez(folder / f"{name}.npz", features=data[part], label=labels[part])
    return ["--members", str(folder / "in.npz"), "--nonmembers", str(folder / "out.npz")]


def test_attack_of_an_endpoint(protected, tmp_path, monkeypatch, capsys):
    service = protected(str(tmp_path / "l.sqlite"), queries=1_000, mechanism="gaussian")
    alice = service.client("alice", limit=80)
    monkeypatch.setenv("RETICENT_API_KEY", alice._key)
    asked = ["attack", "--endpoint", service.url, "--classes", "0,1,2", *files(tmp_path)]
    assert run([*asked, "--attacks", "loss,confidence"]) == 0
    assert "EndpointTarget: 40 members, 40 others" in capsys.readouterr().out
    assert alice.budget()["used"] == 80  # each record once, however many attacks there are
    assert run([*asked, "--attacks", "label-noise"]) == 2
    assert "budget-exhausted" in capsys.readouterr().err


def test_labels_alone(protected, tmp_path):
    service = protected(str(tmp_path / "l.sqlite"))
    alice = service.client("alice")
    with pytest.raises(InputError, match="--labels-only must be said"):
        EndpointTarget(alice, "012", labels_only=False).logits(rows(2))
    target = EndpointTarget(alice, "012", labels_only=True)
    assert (target.logits(rows(2)).max(axis=1) == 0).all()
    with pytest.raises(InputError, match="--classes must be those of the service"):
        EndpointTarget(alice, "xyz", labels_only=True).logits(rows(2))


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ([], "--target or --endpoint must be said"),
        (["--endpoint", "ftp://x", "--classes", "a,b"], "url must begin with http"),
        (["--endpoint", "http://127.0.0.1:1"], "--classes must be said"),
        (["--endpoint", "http://127.0.0.1:1", "--classes", "0,1,2"], "must be reachable"),
    ],
)
def test_bad_input_is_one_line(tmp_path, capsys, monkeypatch, options, line):
    monkeypatch.setattr("reticent.service.client.TRIES", 1)
    assert run(["attack", *options, *files(tmp_path), "--attacks", "loss"]) == 2
    assert line in capsys.readouterr().err


class Leaky(Model):
    """A service that promises ε = 0.1 and is surer of what it was trained on."""

    name, features, kind, each = "leaky", 5, "released", None
    gives = frozenset(("labels", "logits"))
    certificate: ClassVar = {}
    guarantee = Guarantee(epsilon=0.1, delta=1e-5, relation="add-remove", grade="declared")

    def __init__(self, members):
        self.members = {row.tobytes() for row in members}

    async def answer(self, caller, rows, *, key, names=None):
        inside = [row.tobytes() in self.members for row in rows]
        logits = [[2.0, 0.0, 0.0] if one else [0.0, 0.5, 0.0] for one in inside]
        return Prediction(labels=[0 if one else 1 for one in inside], values=None, logits=logits)

    async def budget(self, caller, answers):
        return {"used": 0, "limit": None, "left": None}

    async def overview(self):
        return {}

    def refresh(self):
        """Nothing to do."""

    def close(self):
        """Nothing to do."""


def coins(folder, number=100):
    """Records that a coin put in, and others; all of one label, as the leak is."""
    inside = np.random.default_rng(11).random(number) < 0.5
    data = rows(number, seed=8)
    for name, part in (("in", inside), ("out", ~inside)):
        np.savez(folder / f"{name}.npz", features=data[part], label=np.zeros(part.sum(), int))
    files = ["--members", str(folder / "in.npz"), "--nonmembers", str(folder / "out.npz")]
    return data[inside], ["--classes", "0,1,2", *files]


@pytest.mark.parametrize("view", [[], ["--decimals", "1"], ["--top", "1"], ["--labels-only"]])
def test_a_service_that_leaks_is_refuted_through_its_door(tmp_path, capsys, view):
    """100 coins guessed rightly have probability 2^−100 under what it promises."""
    inside, options = coins(tmp_path)
    with running(application(Leaky(inside), Door(None, rate=RateLimit(1e9)))) as url:
        assert run(["audit", "--endpoint", url, *options, *view]) == 1
    told = capsys.readouterr().out
    assert "canaries: 100 given ones" in told
    assert "verdict: refuted" in told


def test_a_protected_service_is_not_refuted_and_charges_for_its_audit(
    protected, tmp_path, monkeypatch, capsys
):
    service = protected(str(tmp_path / "l.sqlite"), queries=200, mechanism="gaussian")
    alice = service.client("alice")
    monkeypatch.setenv("RETICENT_API_KEY", alice._key)
    _, options = coins(tmp_path)
    # No record was trained on. Guesses at fair coins refute ε = 1 with probability 6e-8 at this β;
    # at β = 1e-6 not even 100 right ones would, as δ = 1e-5 takes all of it.
    assert run(["audit", "--endpoint", service.url, *options, "--beta", "0.01", "--json"]) == 0
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert (found["verdict"], found["canaries"]) == ("not refuted", 100)
    assert found["claim"]["epsilon"] == service.served.guarantee.epsilon
    assert "the service charged 100 answers" in told.err
    assert alice.budget()["used"] == 100


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ([], "--members must be said with --endpoint"),
        (["--members", "in.npz", "--nonmembers", "out.npz"], "--classes must be said"),
        (["--members", "in.npz", "--nonmembers", "out.npz", "--classes", "0,1,2"], "reachable"),
        (["--runs", "3", "--members", "i", "--nonmembers", "o", "--classes", "0,1"], "--runs must"),
    ],
)
def test_bad_audits_are_one_line(tmp_path, capsys, monkeypatch, options, line):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("reticent.service.client.TRIES", 1)
    coins(tmp_path)
    assert run(["audit", "--endpoint", "http://127.0.0.1:1", *options]) == 2
    told = capsys.readouterr().err
    assert line in told
    assert len(told.splitlines()) == 1
