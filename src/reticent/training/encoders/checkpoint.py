"""Trained encoders as files: architecture and weights in one safetensors file, never a pickle."""

from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final, NamedTuple

from reticent.training.encoders.convolutional import ConvolutionalConfig, ConvolutionalEncoder
from reticent.training.encoders.image_shape import ImageShape
from reticent.training.encoders.resnet import ResNet18Config, ResNet18Encoder
from reticent.training.encoders.sealed_file import read_sealed, write_sealed
from reticent.training.encoders.torch_encoder import PREPARATION, TorchEncoder
from reticent.training.encoders.torch_extra import nn, torch
from reticent.validation import InputError

FORMAT: Final = "reticent-encoder-1"
_ENDING: Final = ".safetensors"
_FIELDS: Final = {"architecture", "config", "name", "preparation"}


class _Architecture(NamedTuple):
    config: type[ImageShape]
    module: type[nn.Module]


_ARCHITECTURES: Final = {
    "conv": _Architecture(ConvolutionalConfig, ConvolutionalEncoder),
    "resnet18": _Architecture(ResNet18Config, ResNet18Encoder),
}


def save_encoder(encoder: TorchEncoder, path: str | Path) -> Path:
    """Write architecture and weights to PATH.safetensors, and return that path."""
    config = encoder.config
    known = [name for name, kind in _ARCHITECTURES.items() if type(config) is kind.config]
    if config is None or not known:
        raise InputError(
            f"encoder must be one of {', '.join(_ARCHITECTURES)}, got the module {encoder.name!r}:"
            " save your own module with torch"
        )
    if not all(tensor.isfinite().all() for tensor in encoder.weights().values()):
        raise InputError("encoder must have finite weights, got NaN or infinity")
    document = {
        "architecture": known[0],
        "config": asdict(config),
        "name": encoder.name,
        "preparation": PREPARATION,
    }
    target = encoder_path(path)
    write_sealed(target, encoder.weights(), document, format=FORMAT)
    return target


def load_encoder(path: str | Path) -> TorchEncoder:
    """The encoder in PATH.safetensors; a foreign, truncated or changed file is refused."""
    source = encoder_path(path)
    document, tensors = read_sealed(source, format=FORMAT)
    if set(document) != _FIELDS or document["preparation"] != PREPARATION:
        raise InputError(f"{source} must be an encoder of this version, got other fields")
    module = _empty_module(document["architecture"], document["config"], source)
    if any(tensor.dtype != torch.float32 for tensor in tensors.values()):
        raise InputError(f"{source} must hold float32 weights, got another type")
    try:
        module.load_state_dict(tensors, assign=True)
    except RuntimeError:
        raise InputError(
            f"{source} must hold the weights of its architecture, got others"
        ) from None
    return TorchEncoder(module, name=document["name"])


def encoder_path(path: str | Path) -> Path:
    """PATH.safetensors, whether the ending was given or not."""
    base = Path(path)
    return base if base.suffix == _ENDING else base.with_name(base.name + _ENDING)


def _empty_module(architecture: object, config: Any, source: Path) -> nn.Module:
    """The module without memory for its weights: a file that lies about its size costs nothing."""
    kind = _ARCHITECTURES.get(str(architecture))
    if kind is None or not isinstance(config, dict):
        raise InputError(f"{source} must be one of {', '.join(_ARCHITECTURES)}, got another")
    if set(config) != {field.name for field in fields(kind.config)}:
        raise InputError(f"{source} must have the fields of its architecture, got others")
    checked = kind.config(**config)
    try:
        with torch.device("meta"):
            return kind.module(checked)
    except (RuntimeError, TypeError, OverflowError):
        raise InputError(f"{source} must have an architecture of possible size") from None
