"""``reticent audit`` on a release and its own data."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reticent.cli.main import BAD_INPUT, run
from reticent.protect import load

NAMES = tuple(f"d{i}" for i in range(10))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audited")
    X, y = load_digits(return_X_y=True)
    rows, labels = (X[:300] / 16 - 0.3).astype(np.float32), np.array(NAMES)[y[:300]]
    np.savez(folder / "train.npz", features=rows, digit=labels)
    return folder


@pytest.fixture
def command(capsys):
    def call(line):
        code = run(line.split())
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def released(command, folder, tmp_path):
    out = tmp_path / "head"
    code, _, errors = command(
        f"protect --private {folder}/train.npz --label digit --classes {','.join(NAMES)} --bound 1 "
        f"--records 300 --epsilon 4 --delta 1e-5 --relation add-remove --penalty 0.01 --out {out}"
    )
    assert code == 0, errors
    return out


def test_a_true_claim_is_not_refuted(command, folder, released):
    code, text, _ = command(
        f"audit {released} --private {folder}/train.npz --label digit --beta 1e-6 --runs 2000"
    )
    assert code == 0
    assert text.startswith("claim: ε ≤ 4")
    assert "verdict: not refuted" in text


def test_a_refuted_claim_exits_with_1(command, folder, released, monkeypatch):
    from reticent.audit import release

    def half_the_noise(worlds, start, runs, draw):
        rng, scale = np.random.default_rng(0), worlds.noise.scale / 20
        return worlds.ratios(start + scale * rng.normal(size=(runs, start.size)))

    monkeypatch.setattr(release, "drawn_ratios", half_the_noise)
    code, text, _ = command(
        f"audit {released} --private {folder}/train.npz --label digit --runs 2000 --json"
    )
    assert code == 1
    found = json.loads(text)
    assert found["verdict"] == "refuted"
    assert found["measured"]["epsilon"] > 4 > found["analytic"]["epsilon"]
    assert load(released).guarantee.epsilon == 4


def test_bad_input_gets_one_line(command, folder, released, tmp_path):
    line = f"audit {released} --private {folder}/train.npz --label digit"
    for wrong, message in (
        (f"{line} --beta 2", "beta must be"),
        (f"{line} --runs 1", "runs must be"),
        (f"audit {tmp_path}/none --private {folder}/train.npz --label digit", "none"),
        (line.replace("digit", "nothing"), "nothing"),
    ):
        code, _, errors = command(wrong)
        assert code == BAD_INPUT
        assert message in errors
        assert errors.strip().count("\n") == 0
