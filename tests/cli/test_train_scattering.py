"""train --model scattering-head: a proven head on wavelets, by the name of a network."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reticent.cli.main import BAD_INPUT, run
from reticent.ledger import Ledger
from reticent.protect import load, verify
from reticent.studies import scattering

CLASSES = ",".join(map(str, range(10)))


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
    same = f"--encoder scattering --learner noisy-gradient --longest-step 8 {charged}"
    assert run(["protect", *training(images, other, same)[1:]]) == 0
    trained, protected = load(out), load(other)
    assert trained.guarantee == protected.guarantee
    assert trained.recipe == protected.recipe
    assert trained.recipe.features == 81 * 2 * 2
    assert trained.recipe.longest_step == scattering.SPECS["mnist"].longest_step == 8
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


@pytest.mark.slow
def test_convolutions_on_wavelets_are_a_proven_network(images, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RETICENT_CACHE", str(tmp_path / "cache"))
    out = tmp_path / "network"
    assert run(training(images, out, "--model scattering-conv --epochs 1 --batch 300")) == 0
    assert "δ ≤ 1e-5 (proven;" in capsys.readouterr().out
    assert load(out).recipe.features == 81 * 2 * 2
    assert verify(out).problems == ()
    asked = f"predict {out} --queries {images} --label label --embedding features"
    assert run([*asked.split(), "--encoder", "scattering-maps"]) == 0
