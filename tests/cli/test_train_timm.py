"""train --model FOLDER of timm: from images to a verified release, stopped and gone on with."""

import numpy as np
import pytest

from reticent.cli.main import BAD_INPUT, run
from reticent.ledger import Ledger
from reticent.protect import PrivateNetwork, load, verify
from reticent.protect.network_run import NetworkRun
from reticent.training.networks import public_weights
from tests.training.fine_tuning.tiny_timm import write_tiny_timm

RECORDS = 16


@pytest.fixture(scope="module")
def colours(tmp_path_factory):
    """Images of 12 × 12 pixels, red or green, beside a network of timm."""
    folder = tmp_path_factory.mktemp("colours")
    labels = np.arange(RECORDS) % 2
    images = np.random.default_rng(0).integers(0, 60, (RECORDS, 12, 12, 3), dtype=np.uint8)
    images[np.arange(RECORDS), :, :, labels] += 150
    np.savez(folder / "images.npz", images=images, grey=images[..., 0], label=labels.astype(str))
    write_tiny_timm(folder / "resnet")
    return folder


def training(colours, out, more=""):
    return (
        f"train --private {colours / 'images.npz'} --label label --embedding images --classes 0,1"
        f" --model {colours / 'resnet'} --epsilon 8 --delta 1e-3 --relation add-remove"
        f" --records {RECORDS} --batch 8 --epochs 1 --out {out} {more}"
    ).split()


@pytest.mark.slow
def test_from_a_folder_to_a_proven_release_that_is_verified_and_asked(colours, tmp_path, capsys):
    out = tmp_path / "net"
    assert run(training(colours, out)) == 0
    assert "(proven; neighbours: add-remove" in capsys.readouterr().out
    assert run(["verify", str(out)]) == 0
    released = load(out)
    assert released.recipe.record_shape == (12, 12, 3)
    assert released.recipe.public_weights == public_weights(str(colours / "resnet"))
    assert all(name.startswith(("head.", "above.network.layer4.")) for name in released.tensors)
    queries = f"predict {out} --queries {colours / 'images.npz'} --label label --embedding images"
    assert run(queries.split()) == 0
    assert f"on {RECORDS} rows" in capsys.readouterr().out


@pytest.mark.slow
def test_a_head_share_and_grey_images(colours, tmp_path, capsys):
    out = tmp_path / "net"
    more = "--fast --head-share 0.5 --embedding grey"
    assert run(training(colours, out, more)) == 0
    assert "head gradients" in " ".join(capsys.readouterr().out.split())
    assert verify(out).problems == ()
    assert load(out).recipe.record_shape == (12, 12, 1)


def test_stopped_it_goes_on_and_is_charged_once(colours, tmp_path, capsys, monkeypatch):
    book, out = tmp_path / "ledger.db", tmp_path / "net"
    with Ledger.open(book, create=True) as ledger:
        ledger.set_budget("images", epsilon=8.0, delta=1e-3, relation="add-remove")
    command = training(colours, out, f"--fast --ledger {book} --data-set images")

    def stopped(self, mean):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(NetworkRun, "step", stopped)
        assert run(command) != 0
    assert not out.with_suffix(".json").exists()
    assert run([*command, "--resume"]) == 0
    assert verify(out).problems == ()
    with Ledger.open(book) as ledger:
        assert len(ledger.entries("images")) == 1
    capsys.readouterr()


def test_other_weights_in_the_folder_are_found(colours, tmp_path, capsys):
    moved = write_tiny_timm(tmp_path / "resnet")
    out = tmp_path / "net"
    assert run(training(colours, out, f"--fast --model {moved}#head")) == 0
    assert verify(out).problems == ()
    write_tiny_timm(moved, seed=1)
    assert any("public_weights" in problem for problem in verify(out).problems)
    capsys.readouterr()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--shape 3x12x12", "shape must be 12x12x3, as the table holds it"),
        ("--model {0}/resnet#lora", "part must be one of last, head, got 'lora'"),
        ("--text question", "--embedding must not be given beside --text"),
    ],
)
def test_bad_input_is_one_line(colours, tmp_path, capsys, more, message):
    assert run(training(colours, tmp_path / "net", more.format(colours))) == BAD_INPUT
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_estimator_takes_flat_images_and_their_shape(colours):
    with np.load(colours / "images.npz") as file:
        rows, labels = file["images"].reshape(RECORDS, -1) / 255, file["label"]
    model = PrivateNetwork(
        classes=["0", "1"],
        records=RECORDS,
        epsilon=8.0,
        delta=1e-3,
        relation="add-remove",
        architecture=f"{colours / 'resnet'}#head",
        shape="12x12x3",
        batch=8,
        epochs=1,
        exact=False,
    ).fit(rows, labels)
    assert model.predict(rows).shape == (RECORDS,)
