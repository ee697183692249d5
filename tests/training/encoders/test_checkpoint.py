"""Encoders as files: what is written comes back; what is not ours, or not whole, is refused."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from reticent.training.encoders.convolutional import (
    ConvolutionalConfig,
    ConvolutionalEncoder,
    ResNet18Config,
    ResNet18Encoder,
)
from reticent.training.encoders.torch_encoder import (
    FORMAT,
    TorchEncoder,
    load_encoder,
    read_sealed,
    save_encoder,
    write_sealed,
)
from reticent.validation import InputError

SMALL = {"channels": 1, "height": 8, "width": 9, "filters": 3}


@pytest.fixture(params=["conv", "resnet18"])
def encoder(request):
    if request.param == "conv":
        module = ConvolutionalEncoder(ConvolutionalConfig(**SMALL, dimension=5))
    else:
        module = ResNet18Encoder(ResNet18Config(**SMALL))
    return TorchEncoder(module, name=f"a {request.param}")


@pytest.fixture
def saved(tmp_path):
    module = ConvolutionalEncoder(ConvolutionalConfig(**SMALL))
    return save_encoder(TorchEncoder(module, name="small"), tmp_path / "small")


def test_there_and_back(encoder, tmp_path):
    path = save_encoder(encoder, tmp_path / "v1.2")
    assert path == tmp_path / "v1.2.safetensors"
    assert [found.name for found in tmp_path.iterdir()] == ["v1.2.safetensors"]
    for given in (path, tmp_path / "v1.2"):
        loaded = load_encoder(given)
        assert loaded.fingerprint() == encoder.fingerprint()
        assert loaded.name == encoder.name
        pixels = np.random.default_rng(0).random((3, 8, 9, 1))
        np.testing.assert_array_equal(loaded.encode(pixels), encoder.encode(pixels))


def test_equal_encoders_are_equal_files(encoder, tmp_path):
    first = save_encoder(encoder, tmp_path / "first").read_bytes()
    again = save_encoder(load_encoder(tmp_path / "first"), tmp_path / "second").read_bytes()
    assert first == again


def test_a_changed_weight_is_refused(saved):
    content = bytearray(saved.read_bytes())
    content[-3] ^= 1
    saved.write_bytes(content)
    with pytest.raises(InputError, match="must be as it was written, got a changed file"):
        load_encoder(saved)


def test_a_changed_configuration_is_refused(saved):
    content = saved.read_bytes()
    assert content.count(b'\\"name\\": \\"small\\"') == 1
    saved.write_bytes(content.replace(b'\\"name\\": \\"small\\"', b'\\"name\\": \\"large\\"'))
    with pytest.raises(InputError, match="must be as it was written, got a changed file"):
        load_encoder(saved)


@pytest.mark.parametrize("length", [0, 7, 100, 1000, -1])
def test_a_truncated_file_is_refused(saved, length):
    saved.write_bytes(saved.read_bytes()[:length])
    with pytest.raises(InputError, match="must be a whole safetensors file"):
        load_encoder(saved)


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {"reticent": "no JSON"},
        {"reticent": "[1]"},
        {"reticent": "[" * 100_000},
        {"reticent": json.dumps({"format": "reticent-simclr-state-1"})},
    ],
)
def test_a_foreign_file_is_refused(saved, metadata):
    save_file(load_file(saved), saved, metadata=metadata)
    with pytest.raises(InputError, match=f"must be a file of format {FORMAT}, got another file"):
        load_encoder(saved)


@pytest.mark.parametrize("content", [b"PK\x03\x04 a pickle in a zip file", b"\x80\x04."])
def test_a_pickle_is_refused(tmp_path, content):
    (tmp_path / "x.safetensors").write_bytes(content)
    with pytest.raises(InputError, match="must be a whole safetensors file"):
        load_encoder(tmp_path / "x")


def test_no_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match="must be readable"):
        load_encoder(tmp_path / "nothing")
    (tmp_path / "folder.safetensors").mkdir()
    with pytest.raises(InputError, match=r"folder\.safetensors must be"):
        load_encoder(tmp_path / "folder")


def resealed(path, *, document=None, config=None, tensors=None):
    """The file with another content and a seal that fits: only the checks behind it are left."""
    old, weights = read_sealed(path, format=FORMAT)
    new = old | (document or {})
    new["config"] = new["config"] | config if config else new["config"]
    write_sealed(path, weights | (tensors or {}), new, format=FORMAT)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"document": {"architecture": "vit"}}, "must be one of conv, strided, resnet18"),
        ({"document": {"more": 1}}, "must be an encoder of this version"),
        ({"document": {"preparation": "none"}}, "must be an encoder of this version"),
        ({"document": {"name": "two\nlines"}}, "name must be a text of one line"),
        ({"document": {"config": [1]}}, "must be one of conv, strided, resnet18"),
        ({"config": {"depth": 3}}, "must have the fields of its architecture"),
        ({"config": {"channels": "1"}}, "channels must be a whole number"),
        ({"config": {"dimension": 64}}, "must hold the weights of its architecture"),
        ({"config": {"filters": 10**13}}, "must hold the weights|possible size"),
        ({"config": {"filters": 10**40}}, "possible size"),
        ({"tensors": {"extra": torch.zeros(1)}}, "must hold the weights of its architecture"),
        ({"tensors": {"dense.bias": torch.zeros(128).double()}}, "must hold float32 weights"),
    ],
)
def test_a_sealed_file_that_is_wrong_inside_is_refused(saved, change, message):
    load_encoder(saved)
    resealed(saved, **change)
    with pytest.raises(InputError, match=message) as caught:
        load_encoder(saved)
    assert "\n" not in str(caught.value)


def test_a_users_module_is_not_saved(tmp_path):
    with pytest.raises(
        InputError, match="must be one of conv, strided, resnet18, got the module 'mine'"
    ):
        save_encoder(TorchEncoder(nn.Flatten(), name="mine"), tmp_path / "mine")
    assert list(tmp_path.iterdir()) == []


def test_weights_that_are_not_finite_are_not_saved(tmp_path):
    module = ConvolutionalEncoder(ConvolutionalConfig(**SMALL))
    with torch.no_grad():
        module.dense.bias[3] = torch.nan
    with pytest.raises(InputError, match="must have finite weights"):
        save_encoder(TorchEncoder(module, name="broken"), tmp_path / "broken")


def test_a_folder_that_does_not_exist_is_refused(tmp_path, encoder):
    with pytest.raises(InputError, match="must be writable"):
        save_encoder(encoder, tmp_path / "nowhere" / "x")
