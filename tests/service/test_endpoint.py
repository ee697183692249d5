"""A service attacked through its own door, and what it charges for that."""

import numpy as np
import pytest

from reticent.cli.main import run
from reticent.service.endpoint import EndpointTarget
from reticent.validation import InputError
from tests.service.conftest import rows


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
