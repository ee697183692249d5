"""Folders of timm: what is trained, whose gradient it is, what is read and what is refused."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from reticent.training.fine_tuning import timm_library
from reticent.training.fine_tuning.partly import grouped
from reticent.training.fine_tuning.timm_folder import timm_source
from reticent.training.fine_tuning.timm_images import TimmLast, TimmNetwork
from reticent.training.networks import (
    network,
    public_weights,
    reads_images,
    reads_texts,
    token_encoder,
)
from reticent.validation import InputError
from tests.training.fine_tuning.test_texts import assert_gradients_of_each_alone
from tests.training.fine_tuning.tiny_timm import SIDE, write_tiny_timm

SHAPE = (12, 10, 3)


@pytest.fixture(scope="module")
def resnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_timm(tmp_path_factory.mktemp("resnet"))


@pytest.fixture
def folder(resnet: Path, tmp_path: Path) -> Path:
    """One of its own, to be changed."""
    for one in resnet.iterdir():
        (tmp_path / one.name).write_bytes(one.read_bytes())
    return tmp_path


def images(records: int = 6, shape: tuple[int, ...] = SHAPE) -> torch.Tensor:
    return torch.rand(records, *shape, generator=torch.Generator().manual_seed(3))


def trained(model: nn.Module) -> set[str]:
    return {name for name, one in model.named_parameters() if one.requires_grad}


def test_the_last_block_is_trained_and_its_batch_norms_are_public_constants(resnet: Path) -> None:
    model = network(str(resnet), SHAPE, 3, seed=0)
    block = "above.network.layer4.0."
    convolutions = {f"{block}{one}.weight" for one in ("conv1", "conv2", "downsample.1")}
    assert trained(model) == convolutions | {"head.weight", "head.bias"}
    assert not any(one.training for one in model.modules())
    batch_norms = [one for one in model.above.modules() if isinstance(one, nn.BatchNorm2d)]
    assert len(batch_norms) == 3
    assert trained(network(f"{resnet}#head", SHAPE, 3, seed=0)) == {"head.weight", "head.bias"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["test_resnet", "test_efficientnet", "test_vit3", "test_convnext", "test_vit_relpos"]
)
def test_gradients_are_those_of_each_image_alone(name: str, tmp_path: Path) -> None:
    model = network(str(write_tiny_timm(tmp_path, name)), SHAPE, 3, seed=0)
    assert isinstance(model, TimmLast)
    assert_gradients_of_each_alone(model, images(), clip=0.1)


@pytest.mark.parametrize("part", ["", "#last", "#head"])
def test_training_begins_at_the_public_network(resnet: Path, part: str) -> None:
    """Its features of images that timm's own numbers prepare: size, mean and std."""
    model = network(f"{resnet}{part}", SHAPE, 3, seed=0)
    assert isinstance(model, TimmNetwork)
    source = timm_source(resnet)
    cfg = json.loads((resnet / "config.json").read_text())["pretrained_cfg"]
    mean, std = (torch.tensor(cfg[one])[:, None, None] for one in ("mean", "std"))
    rows = images()
    resized = nn.functional.interpolate(
        rows.permute(0, 3, 1, 2), (SIDE, SIDE), mode=cfg["interpolation"], antialias=True
    )
    prepared = (resized.clamp(0, 1) - mean) / std
    whole = source.features.network
    model.head = nn.Identity()  # type: ignore[assignment]
    with torch.no_grad():
        expected = whole.forward_head(whole.forward_features(prepared), pre_logits=True)
        ((_, inputs),) = grouped(model, rows)
        np.testing.assert_allclose(model(inputs).numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)


def test_an_image_is_the_same_with_its_channels_first_grey_or_with_nonsense(resnet: Path) -> None:
    rows = images(2)
    last = network(str(resnet), SHAPE, 3, seed=0)
    first = network(str(resnet), (3, 12, 10), 3, seed=0)
    grey = network(str(resnet), (12, 10, 1), 3, seed=0)
    with torch.no_grad():
        expected = last.public_part(rows[:1])
        assert torch.equal(first.public_part(rows[:1].permute(0, 3, 1, 2)), expected)
        same = rows[:1, :, :, :1]
        assert torch.equal(grey.public_part(same), last.public_part(same.expand(-1, -1, -1, 3)))
        nonsense = torch.full((1, *SHAPE), torch.nan)
        assert torch.equal(last.public_part(nonsense), last.public_part(torch.zeros(1, *SHAPE)))


def test_files_are_named_by_their_hashes_and_a_folder_is_of_images(resnet: Path) -> None:
    named = public_weights(f"{resnet}#head")
    for name in ("config.json", "model.safetensors"):
        assert f"{name} sha256:{hashlib.sha256((resnet / name).read_bytes()).hexdigest()}" in named
    assert timm_source(resnet).public_weights == named
    assert reads_images(str(resnet))
    assert not reads_texts(str(resnet))
    with pytest.raises(InputError, match="given to an encoder of texts"):
        token_encoder(str(resnet), 8)


@pytest.mark.parametrize("pickle", ["pytorch_model.bin", "model.pth"])
def test_pickles_are_refused_with_the_remedy(folder: Path, pickle: str) -> None:
    (folder / "model.safetensors").rename(folder / pickle)
    with pytest.raises(InputError, match=f"{pickle} is a pickle.*save the weights as safetensors"):
        network(str(folder), SHAPE, 3, seed=0)


def changed(folder: Path, **numbers: Any) -> str:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | numbers))
    return str(folder)


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [
        ({"architecture": "nothing"}, "an architecture that timm has, got 'nothing'"),
        ({"architecture": "hf-hub:timm/resnet18"}, "an architecture that timm has"),
        ({"architecture": 7}, "an architecture that timm has"),
        ({"model_args": {"pretrained": True}}, "model_args of the network alone, got 'pretrained'"),
        ({"model_args": {"checkpoint_path": "/x"}}, "model_args of the network alone"),
        ({"model_args": {"nothing": 1}}, "arguments that timm takes"),
        ({"model_args": [1]}, "an object as model_args"),
        ({"pretrained_cfg": []}, "an object as pretrained_cfg"),
        ({"pretrained_cfg": {"input_size": [3, 10**6, 10**6]}}, "sides of 8 to 2048 pixels"),
        ({"pretrained_cfg": {"mean": [0.5]}}, "a mean of 3 numbers"),
        ({"pretrained_cfg": {"std": [0, 1, 1]}}, "of which no std is 0"),
        ({"model_args": {"num_classes": 7}}, "must hold the weights of config.json, got others"),
    ],
)
def test_other_configurations_are_refused_in_one_line(
    folder: Path, numbers: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InputError) as error:
        network(changed(folder, **numbers), SHAPE, 3, seed=0)
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


def test_weights_parts_and_shapes_that_are_none(folder: Path) -> None:
    with pytest.raises(InputError, match="part must be one of last, head, got 'lora'"):
        network(f"{folder}#lora", SHAPE, 3, seed=0)
    with pytest.raises(InputError, match="with 1 or 3 channels, got"):
        network(str(folder), (8, 8, 2), 3, seed=0)
    (folder / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(InputError, match="must be a safetensors file"):
        network(str(folder), SHAPE, 3, seed=0)


def test_a_network_whose_block_cannot_be_cut_off_serves_a_head(tmp_path: Path) -> None:
    folder = write_tiny_timm(tmp_path, "test_vit")  # its tokens follow the size of an image
    with pytest.raises(InputError, match=r"cut below its last block.*say FOLDER#head"):
        network(str(folder), SHAPE, 3, seed=0)
    assert trained(network(f"{folder}#head", SHAPE, 3, seed=0)) == {"head.weight", "head.bias"}


def test_without_timm_one_line_names_the_extra(
    resnet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(InputError, match=r"timm must be installed for the folder .*reticent\[timm"):
        network(str(resnet), SHAPE, 3, seed=0)


def test_nothing_stands_for_torchvision_after_the_import() -> None:
    assert timm_library.imported_timm().__name__ == "timm"
    assert not [one for one in sys.meta_path if isinstance(one, timm_library._Finder)]
    stood_in = sys.modules.get("torchvision")
    assert not isinstance(stood_in, timm_library._Module)
