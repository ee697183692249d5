"""pretrain --private: a proven encoder from a file, the paper's claims with verdicts, refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reticent.cli.main import BAD_INPUT, run
from reticent.protect import ReleasedEncoder, load, use_encoder
from reticent.protect.published.dpcl_steps import DPCLRun
from reticent.protect.terms import RESUMED
from reticent.training.encoders.torch_encoder import load_encoder
from reticent.validation import InputError

ROWS = load_digits().data[:40] / 16
IMAGES = (load_digits().images[:40] * 15).astype(np.uint8)
TERMS = "--epsilon 4 --delta 1e-5 --relation add-remove --records 40"

Command = Callable[[str], tuple[int, str, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    def call(line: str) -> tuple[int, str, str]:
        code = run(line.split())
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    np.savez(tmp_path / "rows.npz", rows=ROWS)
    return tmp_path / "rows.npz"


@pytest.fixture
def images(tmp_path: Path) -> Path:
    np.savez(tmp_path / "images.npz", images=IMAGES, label=np.arange(40))
    return tmp_path / "images.npz"


def test_a_proven_encoder_is_written_logged_and_used(
    command: Command, rows: Path, tmp_path: Path
) -> None:
    line = (
        f"pretrain --private {rows} --embedding rows --method spectral --privacy proven {TERMS}"
        f" --batch 20 --epochs 1 --projection 4 --out {tmp_path}/encoder"
    )
    code, out, err = command(line)
    assert code == 0, err
    assert "ε ≤ 4, δ ≤ 1e-5 (proven; neighbours: add-remove; unit: one record)" in out
    assert "not charged to a ledger" in err
    features = ReleasedEncoder(load(tmp_path / "encoder")).encode(ROWS)
    assert features.shape == (40, 64)
    log = [json.loads(one) for one in (tmp_path / "encoder.log.jsonl").read_text().splitlines()]
    assert [one["step"] for one in log] == [1, 2]
    assert set(log[0]) == {"step", "gradient_norm", "coupling_norm"}  # of noisy answers alone
    assert command(f"verify {tmp_path}/encoder")[0] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "encoder.json",
        "encoder.log.jsonl",
        "encoder.safetensors",
        "rows.npz",
    ]


@pytest.mark.parametrize("method", ["simclr", "barlow"])
@pytest.mark.parametrize("privacy", ["naive", "published"])
def test_the_paper_is_run_and_its_verdicts_are_printed(
    command: Command, images: Path, tmp_path: Path, method: str, privacy: str
) -> None:
    code, out, err = command(
        f"pretrain --private {images} --embedding images --method {method} --privacy {privacy}"
        f" --epsilon 50 --delta 1e-5 --batch 8 --epochs 0.4 --out {tmp_path}/e --json"
    )
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    assert found["guarantee"]["grade"] == ("declared" if privacy == "naive" else "published")
    assert found["guarantee"]["relation"] == "replace-one"
    assert json.loads((tmp_path / "e.claim.json").read_text())["verdicts"] == found["verdicts"]
    log = [json.loads(one) for one in (tmp_path / "e.log.jsonl").read_text().splitlines()]
    assert [one["step"] for one in log] == [1, 2]
    more = {"coupling_norm"} if privacy == "published" else set()
    assert set(log[0]) == {"step", "gradient_norm"} | more  # of noisy answers alone
    assert found["log"] == f"{tmp_path}/e.log.jsonl"
    assert not list(tmp_path.glob(".*"))
    if privacy == "published":
        assert found["composed_first"]["the paper's accountant"] > 50
        assert ["false" in one for one in found["verdicts"]] == [True, True]


def test_what_has_no_proven_claim_is_no_public_encoder(
    command: Command, images: Path, tmp_path: Path
) -> None:
    """A head on its features would be called proven, though the encoder saw the same records."""
    line = "--method simclr --privacy published --epsilon 50 --delta 1e-5 --batch 8 --epochs 0.4"
    made = command(f"pretrain --private {images} --embedding images {line} --out {tmp_path}/e")
    assert made[0] == 0
    encoder = f"{tmp_path}/e.safetensors"
    terms = "--classes 0,1 --records 40 --epsilon 2 --delta 1e-5 --relation add-remove"
    table = f"--private {images} --label label --embedding images --encoder {encoder}"
    for asked in (
        f"protect {table} {terms} --learner class-means",
        f"train {table} {terms} --model mlp --epochs 1",
    ):
        code, _, err = command(f"{asked} --out {tmp_path}/head")
        assert code == BAD_INPUT
        assert "got one made of private records (ε ≤ 50, δ ≤ 1e-5 (published;" in err, asked
        assert not (tmp_path / "head.json").exists()
    opened = load_encoder(encoder)
    assert opened.encode(IMAGES[..., None]).shape[0] == 40
    for one in (opened, opened.in_batches_of(3)):
        with pytest.raises(InputError, match="got one made of private records"):
            use_encoder(one, None)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--out e", "--public or --private must be said"),
        ("--public digits --private x.npz --out e", "--public or --private must be said"),
        ("--private x.npz --out e", "--privacy must be naive, published or proven"),
        ("--public digits --privacy proven --out e", "--privacy must be naive, published or"),
        ("--public digits --epsilon 3 --out e", "--epsilon must be said with --private"),
        ("--private x.npz --privacy proven --method moco --out e", "--method must be one of"),
        ("--private x.npz --privacy maybe --out e", "--privacy must be one of none, naive"),
        (
            f"--private x --privacy proven --method simclr --way logit-clipping {TERMS} --out e",
            "relation must be replace-one, with one record a person, for --way logit-clipping",
        ),
        (
            "--private x --public y --privacy proven --method simclr --way logit-clipping"
            f" {TERMS.replace('add-remove', 'replace-one')} --out e",
            "--public must be given with --way public-negatives, got logit-clipping",
        ),
        (
            f"--private x.npz --privacy proven --method simclr --way luck {TERMS} --out e",
            "way must be one of public-negatives, released-embeddings, logit-clipping, got 'luck'",
        ),
        (
            f"--private x.npz --privacy proven --method barlow --way luck {TERMS} --out e",
            "--way must be said with --method simclr, got barlow",
        ),
        (
            f"--private x.npz --public y.npz --privacy proven --method barlow {TERMS} --out e",
            "they go together for --method simclr --privacy proven alone",
        ),
        (
            f"--private x.npz --privacy naive --method spectral {TERMS} --out e",
            "take --privacy proven",
        ),
        (
            "--private x.npz --privacy proven --method spectral --delta 1e-5 --out e",
            "--epsilon must be said",
        ),
        (
            "--private x.npz --privacy proven --method spectral --epsilon 1 --out e",
            "delta must be said",
        ),
        (
            "--private x.npz --privacy proven --method spectral --epsilon nan --delta 1e-5"
            " --relation add-remove --records 40 --out e",
            "epsilon must be",
        ),
        (
            "--private x.npz --privacy proven --method spectral --epsilon 1 --delta 1e-5"
            " --relation add-remove --out e",
            "--records must be said",
        ),
        (
            "--private x.npz --privacy published --epsilon 9 --delta 1e-5 --ledger l --out e",
            "--ledger must be said with --privacy proven",
        ),
        ("--public digits --epochs 1.5 --out e", "--epochs must be a whole number"),
    ],
)
def test_bad_input_is_one_line(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = command(f"pretrain {line}")
    assert code == BAD_INPUT
    assert message in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_numbers_of_another_method_are_refused(
    command: Command, images: Path, tmp_path: Path
) -> None:
    code, _, err = command(
        f"pretrain --private {images} --embedding images --method simclr --privacy naive"
        f" --epsilon 50 --delta 1e-5 --projection 8 --out {tmp_path}/e"
    )
    assert code == BAD_INPUT
    assert "must not be given with --privacy naive" in err
    code, _, err = command(
        f"pretrain --private {images} --embedding images --method spectral --privacy proven"
        f" {TERMS} --temperature 0.5 --out {tmp_path}/e"
    )
    assert code == BAD_INPUT
    assert "temperature must not be given to spectral" in err


@pytest.mark.slow
def test_simclr_says_which_way_it_takes_and_takes_public_rows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.savez("private.npz", rows=rng.normal(size=(40, 4)))
    np.savez("public.npz", rows=rng.normal(size=(20, 4)))
    line = (
        "pretrain --private private.npz --embedding rows --method simclr --privacy proven"
        " --epsilon 3 --delta 1e-5 --relation add-remove --records 40 --batch 20 --epochs .5"
    )
    assert run(f"{line} --public public.npz --out told".split()) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("--way public-negatives is taken: each private image is told from")
    assert "(proven; neighbours: add-remove" in printed
    assert run(["verify", "told"]) == 0
    numbers = json.loads((tmp_path / "told.json").read_text())["numbers"]
    assert (numbers["negatives"], len(numbers["public"]) > 0) == (20, True)
    assert run(f"{line} --way public-negatives --out alone".split()) == 0
    printed = capsys.readouterr().out
    assert "no --public images: synthetic ones are the negatives" in printed


def test_a_stopped_training_of_the_paper_goes_on_with_resume_and_says_so(
    command: Command, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = (
        f"pretrain --private {images} --embedding images --method simclr --privacy naive"
        f" --epsilon 50 --delta 1e-5 --batch 8 --epochs 0.6 --out {tmp_path}/e"
    )
    step, taken = DPCLRun.step, []

    def stopped(run: DPCLRun, places: Any, number: int) -> None:
        if number == 2 and not taken:
            taken.append(number)
            raise KeyboardInterrupt
        step(run, places, number)

    monkeypatch.setattr(DPCLRun, "step", stopped)
    assert command(line)[0] != 0
    assert not (tmp_path / "e.safetensors").exists()
    code, _, err = command(line)
    assert code == BAD_INPUT
    assert "go on with --resume" in err
    code, _, err = command(f"{line} --resume --json")
    assert code == 0, err
    claim = json.loads((tmp_path / "e.claim.json").read_text())
    assert RESUMED in claim["guarantee"]["stated"]
    assert len((tmp_path / "e.log.jsonl").read_text().splitlines()) == 3
    assert not list(tmp_path.glob(".e.*"))
