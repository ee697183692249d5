"""train: a network on a user's own file, stopped at any moment and gone on with."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reticent.cli.main import BAD_INPUT, run
from reticent.ledger import Ledger
from reticent.protect import load, verify
from reticent.studies import scattering

CLASSES = ",".join(map(str, range(10)))
KILLS = 5


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


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "ledger.db"
    with Ledger.open(path, create=True) as book:
        book.set_budget("digits", epsilon=8.0, delta=1e-4, relation="add-remove")
    return path


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
def test_killed_at_any_step_it_goes_on_and_is_charged_once(digits, tmp_path, ledger):
    """kill -9 at random moments; each time the training goes on, and the ledger has one charge."""
    out, rng = tmp_path / "net", random.Random(11)
    charged = f"--epochs 400 --ledger {ledger} --data-set digits"
    checkpoint = tmp_path / ".net.training"
    kills = 0
    while kills < KILLS:
        more = f"{charged} --resume" if checkpoint.exists() else charged
        process = subprocess.Popen(
            [sys.executable, "-m", "reticent", *training(digits, out, more)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        while process.poll() is None:
            if checkpoint.exists() and checkpoint.stat().st_mtime_ns > before:
                break
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 1.0))
        process.send_signal(signal.SIGKILL)
        if process.wait() == 0:
            break
        kills += 1
        assert not out.with_suffix(".json").exists()
    if not out.with_suffix(".json").exists():
        assert run(training(digits, out, f"{charged} --resume")) == 0
    with Ledger.open(ledger) as book:
        assert len(book.entries("digits")) == 1
    assert load(out).recipe.steps_taken == 2808
    assert not checkpoint.exists()


def test_a_stopped_training_must_be_gone_on_with_by_its_name(digits, tmp_path, capsys):
    (tmp_path / ".net.training").write_bytes(b"")
    assert run(training(digits, tmp_path / "net")) == BAD_INPUT
    assert "is a training that was stopped: go on with --resume" in capsys.readouterr().err


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    path = tmp_path_factory.mktemp("images") / "images.npz"
    X, y = load_digits(return_X_y=True)
    pixels = (15 * X.reshape(-1, 8, 8)).astype(np.uint8)
    np.savez(path, features=pixels[:600], label=y[:600].astype(str))
    return path


@pytest.mark.slow
def test_a_scattering_head_is_protect_by_another_name(images, tmp_path, ledger, monkeypatch):
    monkeypatch.setenv("RETICENT_CACHE", str(tmp_path / "cache"))
    charged = f"--ledger {ledger} --data-set digits"
    out, other = tmp_path / "head", tmp_path / "other"
    assert run(training(images, out, f"--model scattering-head {charged}")) == 0
    same = f"--encoder scattering --learner noisy-gradient --longest-step 4 {charged}"
    assert run(["protect", *training(images, other, same)[1:]]) == 0
    trained, protected = load(out), load(other)
    assert trained.guarantee == protected.guarantee
    assert trained.recipe == protected.recipe
    assert trained.recipe.features == 81 * 2 * 2
    assert trained.recipe.longest_step == scattering.SPECS["mnist"].longest_step == 4
    assert verify(out).problems == ()
    with Ledger.open(ledger) as book:
        events = [entry.event for entry in book.entries("digits")]
    assert len(events) == 2
    assert events[0] == events[1]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--epochs 20", "--epochs must not be given to scattering-head, which has no use"),
        ("--learning-rate 0.5", "--learning-rate must not be given to scattering-head"),
        ("--fast", "--fast must not be given to scattering-head"),
        ("--encoder minilm", "--encoder must be scattering for scattering-head, got 'minilm'"),
    ],
)
def test_a_scattering_head_has_no_steps_of_dp_sgd(images, tmp_path, capsys, more, message):
    out = tmp_path / "head"
    assert run(training(images, out, f"--model scattering-head {more}")) == BAD_INPUT
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
