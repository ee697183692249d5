"""train --model: a function of one's own, and public weights of images; to the last command."""

import re

import numpy as np
import pytest
import torch
from torch import nn

from reticent.cli.main import BAD_INPUT, run
from reticent.protect import load
from reticent.training import networks
from reticent.training.networks import public_weights

RECORDS = 40
CLAIM = "ε ≤ 1000, δ ≤ 0.001 (proven; neighbours: add-remove; unit: one record)"
"""Of little privacy: the noise is too small then to undo what was learnt."""


def tiny(shape: tuple[int, ...], classes: int) -> nn.Module:
    """What somebody might write: channels last to first, a convolution, a head."""
    high, wide, channels = shape

    class Turned(nn.Module):
        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return images.permute(0, 3, 1, 2)

    maps = (high - 2) * (wide - 2) * 4
    return nn.Sequential(
        Turned(), nn.Conv2d(channels, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(maps, classes)
    )


@pytest.fixture(scope="module")
def colours(tmp_path_factory):
    """Images of 8 × 8 pixels, red or green."""
    path = tmp_path_factory.mktemp("colours") / "images.npz"
    labels = np.arange(RECORDS) % 2
    images = np.random.default_rng(0).integers(0, 60, (RECORDS, 8, 8, 3), dtype=np.uint8)
    images[np.arange(RECORDS), :, :, labels] += 150
    np.savez(path, images=images, label=labels.astype(str))
    return path


def training(colours, model, out, more="", epochs=6):
    return (
        f"train --private {colours} --label label --embedding images --classes 0,1 --model {model}"
        f" --epsilon 1000 --delta 1e-3 --relation add-remove --records {RECORDS} --batch 20"
        f" --epochs {epochs} --out {out} {more}"
    ).split()


def accuracy(capsys, colours, out):
    """What ``predict`` says, which must not fail."""
    queries = f"predict {out} --queries {colours} --label label --embedding images"
    assert run(queries.split()) == 0
    found = re.search(r"accuracy ([\d.]+) on 40 rows", capsys.readouterr().out)
    assert found is not None
    return float(found[1])


@pytest.mark.slow
@pytest.mark.parametrize("more", ["--shape 8x8x3", "--augmentation natural --views 2"])
def test_a_function_of_ones_own_is_trained_verified_and_asked(
    colours, tmp_path, capsys, monkeypatch, more
):
    """Whoever reads the certificate elsewhere says first that the code is to be trusted.

    Where views are asked for, records are images: their shape is that of the array.
    """
    out, model = tmp_path / "net", f"{__name__}:tiny"
    assert run(training(colours, model, out, f"--clip 1 {more}", epochs=40)) == 0
    assert capsys.readouterr().out.startswith(CLAIM)
    monkeypatch.setattr(networks, "_trusted", set())
    assert run(["verify", str(out)]) == BAD_INPUT
    assert f"set {networks.TRUST_VARIABLE} to it" in " ".join(capsys.readouterr().err.split())
    monkeypatch.setenv(networks.TRUST_VARIABLE, model)
    assert run(["verify", str(out)]) == 0
    assert capsys.readouterr().out.startswith("holds:")
    assert load(out).recipe.views == (2 if "views" in more else 0)
    assert accuracy(capsys, colours, out) >= 0.95


@pytest.mark.slow
def test_efficientnet_is_fine_tuned_verified_and_asked(colours, tmp_path, capsys):
    out = tmp_path / "net"
    assert run(training(colours, "efficientnet-lite0-last", out, "--clip 1")) == 0
    assert capsys.readouterr().out.startswith(CLAIM)
    assert run(["verify", str(out)]) == 0
    capsys.readouterr()
    recipe = load(out).recipe
    assert recipe.public_weights == public_weights("efficientnet-lite0-last")
    assert recipe.record_shape == (8, 8, 3)
    assert accuracy(capsys, colours, out) > 0  # twelve noisy steps on random samples may learn none
