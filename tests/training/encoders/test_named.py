"""A text names an encoder, or one line says why not."""

import numpy as np
import pytest

from reticent.training.encoders.base import FunctionEncoder
from reticent.training.encoders.named import encoder_of
from reticent.training.encoders.pretrained import EfficientNetLite0, MiniLM
from reticent.training.encoders.scattering import Scattering
from reticent.training.encoders.torch_encoder import TorchEncoder
from reticent.validation import InputError

MODULE = """
import functools
import torch
from torch import nn
from reticent.training.encoders.pretrained import MiniLM

def flat(images):
    return images.reshape(len(images), -1)

def first(images, column=0):
    return flat(images)[:, column, None]

class Model(nn.Module):
    def __init__(self, scale=3.0):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(scale))

    def forward(self, images):
        return self.scale * images.flatten(1)

class Needy(nn.Module):
    def __init__(self, width):
        super().__init__()

class Holder:
    module = Model(5.0)

module = Model(2.0)
encoder = MiniLM()
NUMBER = 3

def build(scale=4.0):
    return Model(scale)

def build_function():
    return flat

def build_builder():
    return build

def build_number():
    return NUMBER
"""
IMAGES = np.arange(8, dtype=np.float32).reshape(2, 2, 2, 1)


@pytest.fixture
def code(tmp_path, monkeypatch):
    (tmp_path / "users_code_for_named.py").write_text(MODULE)
    (tmp_path / "users_broken_code.py").write_text("import no_such_package_anywhere\n")
    monkeypatch.syspath_prepend(tmp_path)
    return "users_code_for_named"


def test_pretrained_names():
    assert isinstance(encoder_of("efficientnet-lite0"), EfficientNetLite0)
    assert isinstance(encoder_of("minilm"), MiniLM)
    assert encoder_of("minilm").fingerprint() != encoder_of("efficientnet-lite0").fingerprint()
    assert encoder_of("scattering").fingerprint() == Scattering(grid=4).fingerprint()
    assert encoder_of("scattering-maps").fingerprint() == Scattering(grid=None).fingerprint()


@pytest.mark.parametrize(
    ("attribute", "scale"), [("module", 2), ("Model", 3), ("build", 4), ("Holder.module", 5)]
)
def test_a_torch_module(code, attribute, scale):
    found = encoder_of(f"{code}:{attribute}")
    assert isinstance(found, TorchEncoder)
    assert found.name == f"{code}:{attribute}"
    assert np.array_equal(found.encode(IMAGES), scale * IMAGES.reshape(2, 4))


@pytest.mark.parametrize(("attribute", "width"), [("flat", 4), ("first", 1), ("build_function", 4)])
def test_a_function(code, attribute, width):
    found = encoder_of(f"{code}:{attribute}")
    assert isinstance(found, FunctionEncoder)
    assert np.array_equal(found.encode(IMAGES), IMAGES.reshape(2, 4)[:, :width])


def test_two_functions_never_share_a_fingerprint(code):
    name = f"{code}:flat"
    assert encoder_of(name).fingerprint() != encoder_of(name).fingerprint()


def test_a_function_must_return_numbers():
    with pytest.raises(InputError, match="must return real numbers, got an array of <U1"):
        FunctionEncoder(lambda images: np.full((len(images), 2), "a")).encode(IMAGES)


def test_an_encoder_is_taken_as_it_is(code):
    assert isinstance(encoder_of(f"{code}:encoder"), MiniLM)


def test_a_checkpoint(tmp_path, code):
    from reticent.training.encoders.convolutional import ConvolutionalConfig, ConvolutionalEncoder
    from reticent.training.encoders.torch_encoder import save_encoder

    config = ConvolutionalConfig(channels=1, height=8, width=8)
    saved = TorchEncoder(ConvolutionalEncoder(config), name="mine")
    path = save_encoder(saved, tmp_path / "encoder: the first")
    assert encoder_of(str(path)).fingerprint() == saved.fingerprint()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "encoder must be a non-empty text"),
        (
            "resnet",
            "encoder must be efficientnet-lite0, minilm, scattering, scattering-maps, .*FILE",
        ),
        ("weights.pt", "must not be a pickle, .* got 'weights.pt': save it as safetensors"),
        ("/a/Weights.PTH", "must not be a pickle"),
        ("model.pkl", "save it as safetensors"),
        ("model.bin", "save it as safetensors"),
        ("missing.safetensors", r"missing\.safetensors must be readable"),
        ("no_such_package:thing", "must be importable, got No module named 'no_such_package'"),
        ("users_broken_code:thing", "No module named 'no_such_package_anywhere'"),
        ("{code}:thing", "got no such attribute"),
        ("{code}:NUMBER", "must be a torch module or a function, got int"),
        ("{code}:build_number", "must be a torch module or a function, got int"),
        ("{code}:build_builder", "must return a torch module, got another function"),
        ("{code}:", "must be a torch module or a function, got module"),
        ("{code}:Needy", "must be built without arguments, got a class that needs some"),
        ("not a name:thing", "must be written package.module:attribute"),
        ("a:b:c", "must be written package.module:attribute"),
    ],
)
def test_refusals_are_one_line(code, text, message):
    with pytest.raises(InputError, match=message) as caught:
        encoder_of(text.format(code=code))
    assert "\n" not in str(caught.value)
