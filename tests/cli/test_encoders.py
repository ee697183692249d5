"""A released encoder through the commands: pretrain, verify, audit, card, protect, and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from reticent.cli.main import BAD_INPUT, run

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(120, 6)) + np.eye(6)[0]
LABELS = (ROWS[:, 1] > 0).astype(int)
TERMS = "--epsilon 4 --delta 1e-5 --relation add-remove --records 120"
SMALL = "--method prototypes --privacy proven --components 3 --clusters 2 --rounds 2"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.savez(tmp_path / "rows.npz", rows=ROWS)
    np.savez(tmp_path / "labelled.npz", rows=ROWS, label=LABELS)
    np.savez(tmp_path / "none.npz", rows=ROWS[:0])
    return tmp_path


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("RETICENT_CACHE", str(folder / "cache"))

    def call(line: str, *, code: int = 0) -> str:
        found = run(line.split())
        captured = capsys.readouterr()
        assert found == code, captured
        return captured.out if code == 0 else captured.err

    return call


def pretrained(command, **changes):
    private = changes.get("private", "rows.npz")
    more = changes.get("more", "")
    return command(
        f"pretrain --private {private} --embedding rows {SMALL} {TERMS} {more} --out encoder"
    )


HEAD = (
    "protect --private labelled.npz --label label --embedding rows --classes 0,1 --learner"
    " class-means --records 120 --epsilon 1 --delta 1e-5 --out head"
)


def test_an_encoder_goes_through_every_command(command, folder):
    printed = pretrained(command)
    assert "ε ≤ 4, δ ≤ 1e-5 (proven; neighbours: add-remove; unit: one record)" in printed
    assert "[bounds.moments.second_moment]" in printed
    assert command("verify encoder").startswith("holds: ε ≤ 4")
    audited = command("audit encoder --private rows.npz --embedding rows --runs 10")
    assert "not refuted" in audited
    assert "prototypes" in command("card --released encoder")
    printed = command(f"{HEAD} --relation add-remove --encoder encoder --encoder-people same")
    assert "encoder, of same people: ε ≤ 4" in printed
    assert "both together: ε ≤ 4." in printed
    verified = command("verify head")
    assert "both together: ε ≤ 4." in verified
    assert "its records are of the same people" in verified
    document = json.loads((folder / "head.json").read_text())
    assert document["terms"]["encoder"]["certificate"]["recipe"] == "prototypes"
    assert "its records are of the same people" in command("card --released head")
    found = json.loads(
        command("predict head --queries labelled.npz --label label --embedding rows"
                " --encoder encoder --json")
    )  # fmt: skip
    assert len(found["predictions"]) == 120
    for printed in (found, json.loads(command("verify head --json"))):
        assert printed["guarantee"]["epsilon"] == 1
        assert printed["encoder_guarantee"]["epsilon"] == 4
        assert 4 < printed["composed_guarantee"]["epsilon"] <= 5


@pytest.mark.slow
def test_a_run_on_an_encoder_shows_both_guarantees(command, folder):
    others = np.random.default_rng(5).normal(size=(120, 6)) + np.eye(6)[0]
    np.savez(folder / "test.npz", rows=others, label=(others[:, 1] > 0).astype(int))
    pretrained(command)
    command(
        "run --private labelled.npz --test test.npz --label label --embedding rows --classes 0,1"
        " --bound 2 --records 120 --learner class-means --epsilon 1 --delta 1e-5"
        " --relation add-remove --epsilons 1 --draws 2 --shadows 10 --jobs 1 --out out"
        " --encoder encoder --encoder-people other"
    )
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    shown = page.split('id="together">')[1].split("</dl>")[0]
    assert "This release</dt><dd>ε ≤ 1, δ ≤ 1e-5 (proven;" in shown
    assert "(prototypes, of other people)</dt><dd>ε ≤ 4, δ ≤ 1e-5" in shown
    assert "Both together</dt><dd>ε ≤ 4, δ ≤ 1e-5" in shown
    card = command("card out/results.json --released out/released")
    assert "**Both together:** ε ≤ 4, δ ≤ 1e-5" in card
    assert "pre-trained on are not protected" not in card


def test_queries_go_through_the_encoder_of_the_model(command):
    pretrained(command)
    command(f"{HEAD} --relation add-remove --encoder encoder --encoder-people same")
    pretrained(command, more="--replace")  # other noise: another of that name
    asked = "predict head --queries labelled.npz --label label --embedding rows"
    line = command(f"{asked} --encoder encoder", code=2)
    assert line == "reticent: --encoder must be the one that the model was made on, got encoder\n"


def test_a_model_on_an_encoder_says_so_where_none_is_named(command, capsys, folder):
    pretrained(command)
    command(f"{HEAD} --relation add-remove --encoder encoder --encoder-people same")
    features = json.loads((folder / "head.json").read_text())["numbers"]["features"]
    np.savez(folder / "features.npz", rows=np.zeros((3, features)))
    assert run(["predict", "head", "--queries", "features.npz", "--embedding", "rows"]) == 0
    captured = capsys.readouterr()
    assert "the model was made on features of a released encoder (prototypes)" in captured.err
    assert "both together: ε ≤ 4." in captured.out


def test_an_encoder_is_attacked_by_its_views(command, folder):
    others = np.random.default_rng(5).normal(size=(60, 6)) + np.eye(6)[0]
    np.savez(folder / "others.npz", rows=others)
    pretrained(command)
    asked = "attack --target encoder --members rows.npz --nonmembers others.npz --embedding rows"
    names = ["encoder-set", "encoder-vector", "encoder-threshold"]
    found = json.loads(command(f"{asked} --json"))
    assert [one["name"] for one in found["attacks"]] == [*names, "encoder-lira-online"]
    assert found["claim"]["epsilon"] == 4
    assert found["target"].startswith("released gaussian prototypes")
    assert "views: masks of the inputs" in found["notes"]
    own = np.random.default_rng(6).normal(size=(240, 6))
    np.savez(folder / "own.npz", rows=own)
    found = json.loads(command(f"{asked} --shadow own.npz --shadows 1 --json"))
    assert [one["name"] for one in found["attacks"]] == names
    assert "at least 2" in found["left_out"]["encoder-lira-offline"]


def test_the_empty_table_ends_in_an_encoder(command):
    assert "(proven;" in pretrained(command, private="none.npz")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"{HEAD} --relation add-remove --encoder encoder", "--encoder-people must be said: same"),
        (
            f"{HEAD} --relation add-remove --encoder encoder --encoder-people mine",
            "--encoder-people must be same or other, got",
        ),
        (
            f"{HEAD} --relation replace-one --encoder encoder --encoder-people same",
            "relation must be that of the encoder, add-remove, got replace-one",
        ),
        (
            f"{HEAD} --relation add-remove --encoder-people same",
            "--encoder-people must be said of a released encoder alone",
        ),
        (f"{HEAD} --relation add-remove --encoder nothing", "encoder must be efficientnet-lite0"),
        (
            "predict encoder --queries rows.npz --embedding rows",
            "must hold a model that predicts, got an encoder",
        ),
        (
            "attack --target encoder --members labelled.npz --nonmembers labelled.npz"
            " --embedding rows",
            "members must differ from the rest, got records that are on both sides",
        ),
        (
            "attack --target encoder --members rows.npz --nonmembers labelled.npz"
            " --embedding rows --top 3",
            "--top must not be said for a released encoder, which tells no classes",
        ),
        (
            "attack --target encoder --members rows.npz --nonmembers labelled.npz"
            " --embedding rows --attacks loss",
            "attacks must be all for an encoder, which is attacked by its views alone",
        ),
        (
            "attack --target encoder --members none.npz --nonmembers labelled.npz --embedding rows",
            "must be records, got none",
        ),
        (
            "attack --target encoder --members rows.npz --nonmembers labelled.npz"
            " --embedding rows --shadows 0",
            "shadow_count must be >= 1, got 0",
        ),
        (
            "audit encoder head --private labelled.npz --embedding rows",
            "head.json must be a readable file",
        ),
    ],
)
def test_bad_input_gets_one_line(command, line, message):
    pretrained(command)
    found = command(line, code=BAD_INPUT)
    assert message in found
    assert len(found.splitlines()) == 1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--epochs 3", "epochs must not be given to prototypes, which has no use for it"),
        ("--components 0", "components must be >= 1, got 0"),
        ("--encoder numpy:zeros", "base must be one of efficientnet-lite0"),
    ],
)
def test_options_that_it_does_not_take_are_refused(command, more, message):
    line = "pretrain --private rows.npz --embedding rows --method prototypes --privacy proven"
    found = command(f"{line} {TERMS} {more} --out encoder", code=BAD_INPUT)
    assert message in found


def test_an_audit_of_a_head_needs_labels(command):
    command(f"{HEAD} --relation add-remove")
    found = command("audit head --private labelled.npz --embedding rows", code=BAD_INPUT)
    assert "--label must be said" in found


@pytest.mark.slow
def test_the_closed_form_of_images_goes_through_every_command(command, folder):
    """Filters and views are put below it without a word, and the certificate names them."""
    images = RNG.integers(0, 256, size=(40, 8, 8, 1), dtype=np.uint8)
    np.savez(folder / "images.npz", images=images)
    np.savez(folder / "known.npz", images=images, label=LABELS[:40])
    printed = command(
        "pretrain --private images.npz --embedding images --method closed-form --privacy proven"
        f" --augmentation digits --components 8 --projection 4 {TERMS} --out closed"
    )
    assert "ε ≤ 4, δ ≤ 1e-5 (proven; neighbours: add-remove; unit: one record)" in printed
    assert "[bounds.moments.view_moments]" in printed
    assert command("verify closed").startswith("holds: ε ≤ 4")
    recipe = json.loads((folder / "closed.json").read_text())["numbers"]
    assert (recipe["base"], recipe["stacked"], recipe["views"]) == ("gabor-digit-views", True, 3)
    printed = command(
        "protect --private known.npz --label label --embedding images --classes 0,1 --learner"
        " class-means --records 40 --epsilon 1 --delta 1e-5 --relation add-remove --out head"
        " --encoder closed --encoder-people same"
    )
    assert "both together: ε ≤ 4." in printed


def test_the_closed_form_of_rows_takes_masked_views(command, folder):
    line = (
        "pretrain --private rows.npz --embedding rows --method closed-form --privacy proven"
        f" {TERMS} --views 2 --projection 0 --out closed"
    )
    assert "second moment" in command(line)
    recipe = json.loads((folder / "closed.json").read_text())["numbers"]
    assert (recipe["base"], recipe["stacked"], recipe["embedding"]) == ("", False, 0)
    line = line.replace("closed-form", "prototypes").replace("--projection 0 ", "")
    assert "views must not be given to prototypes" in command(f"{line}2", code=BAD_INPUT)
