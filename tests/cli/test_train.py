"""train: a network on a user's own file, stopped at any moment and gone on with."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reticent.cli.main import BAD_INPUT, run
from reticent.protect import verify
from tools.training_kills import kill_many

CLASSES = ",".join(map(str, range(10)))
KILLS = 3


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    path = tmp_path_factory.mktemp("digits") / "digits.npz"
    X, y = load_digits(return_X_y=True)
    np.savez(path, features=(X / 16).astype(np.float32), label=y.astype(str))
    return path


def training(digits, out, more=""):
    return (
        f"train --private {digits} --label label --embedding features --classes {CLASSES}"
        f" --epsilon 4 --delta 1e-5 --relation add-remove --records 1797 --out {out} {more}"
    ).split()


def test_a_network_is_trained_verified_and_asked(digits, tmp_path, capsys):
    out = tmp_path / "net"
    assert run(training(digits, out, "--epochs 6 --batch 300")) == 0
    text = capsys.readouterr().out
    assert text.startswith("ε ≤ 4, δ ≤ 1e-5 (proven; neighbours: add-remove; unit: one record)")
    assert verify(out).problems == ()
    queries = f"predict {out} --queries {digits} --label label --embedding features"
    assert run(queries.split()) == 0
    assert [one.name for one in tmp_path.iterdir() if "training" in one.name] == []


def test_fast_mode_is_declared(digits, tmp_path, capsys):
    assert run(training(digits, tmp_path / "net", "--epochs 1 --fast")) == 0
    assert "(declared;" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--model nowhere:nothing", "network 'nowhere:nothing' must be importable"),
        ("--shape 1x28x28", "shape must hold 64 numbers"),
        ("--model conv", "shape must be channels×height×width"),
        ("--epochs nan", "epochs must give"),
        ("--batch 0", "batch must be"),
        ("--mechanism nothing", "must be one of"),
        ("--resume", "--resume must be said of a training that was stopped"),
        ("--data-set digits", "--data-set must be said with --ledger"),
    ],
)
def test_bad_input_is_one_line(digits, tmp_path, capsys, more, message):
    assert run(training(digits, tmp_path / "net", more)) == BAD_INPUT
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_killed_at_any_step_it_goes_on_and_is_charged_once():
    """kill -9 at random steps: the planned steps in their order, and one charge."""
    found = kill_many(KILLS)
    assert found.kills == KILLS
    assert found.counted == found.released == found.planned
    assert found.charged == 1
    assert found.lost <= KILLS * found.planned // 50


def test_a_stopped_training_must_be_gone_on_with_by_its_name(digits, tmp_path, capsys):
    (tmp_path / ".net.training").write_bytes(b"")
    assert run(training(digits, tmp_path / "net")) == BAD_INPUT
    assert "is a training that was stopped: go on with --resume" in capsys.readouterr().err
