"""Any torch module as a frozen encoder of images, and trained encoders as files.

A file is one sealed safetensors file of architecture (a JSON document) and weights, never a pickle;
a changed one is refused. The seal finds damage and mix-ups. It is no signature: whoever can write
the file can seal it anew.
"""

import copy
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import safetensors

from reticent.arrays import Array, Floats32
from reticent.files import write_atomic
from reticent.strict_json import parsed_object
from reticent.training.encoders import convolutional
from reticent.training.encoders.base import ImageShape
from reticent.training.encoders.torch_extra import nn, torch
from reticent.validation import InputError, count, describe, line

_KEY: Final = "reticent"  # one entry only: then equal contents are equal bytes
_NAME: Final = "format"
_SEAL: Final = "sha256"


def write_sealed(
    path: Path,
    tensors: Mapping[str, torch.Tensor],
    document: Mapping[str, Any],
    *,
    format: str,
    private: bool = False,
) -> None:
    """Write the file; under its name it is whole, or it is not there.

    A ``private`` one can be read and written by its owner alone, from its first moment on.
    """
    from safetensors.torch import save

    whole = {_NAME: format, **document}
    header = json.dumps(whole | {_SEAL: _seal(whole, tensors)}, allow_nan=False, sort_keys=True)
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_atomic(path, save(plain, metadata={_KEY: header}), private=private)


def read_sealed(
    path: Path, *, format: str, name: Path | None = None
) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """The document and the tensors, if the file is of this format and nothing in it was changed.

    Errors call it ``name``, where a path of an open file is read.
    """
    shown_path = path if name is None else name
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            document = _document((file.metadata() or {}).get(_KEY))
            if document.get(_NAME) != format:
                raise InputError(
                    f"{shown_path} must be a file of format {format}, got another file"
                )
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except OSError as error:
        raise InputError(f"{shown_path} must be readable, got: {error.strerror or error}") from None
    except safetensors.SafetensorError:
        raise InputError(f"{shown_path} must be a whole safetensors file, got another") from None
    if document.pop(_SEAL, None) != _seal(document, tensors):
        raise InputError(f"{shown_path} must be as it was written, got a changed file")
    del document[_NAME]
    return document, tensors


def weights_digest(tensors: Mapping[str, torch.Tensor]) -> str:
    """SHA-256 over name, type, shape and bytes of every tensor, sorted by name."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name}:{tensor.dtype}:{tuple(tensor.shape)};".encode())
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _seal(document: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> str:
    written = json.dumps(document, allow_nan=False, sort_keys=True)
    return hashlib.sha256(f"{written}\n{weights_digest(tensors)}".encode()).hexdigest()


def _document(header: str | None) -> dict[str, Any]:
    """The document in the header, empty where the file is not one of ours."""
    try:
        return parsed_object(header or "{}", source="the header")
    except InputError:
        return {}


PREPARATION: Final = "bytes divided by 255, other numbers as they are; float32; channels first"
_BATCH: Final = 64
_IMAGE_AXES: Final = 4
_FEATURE_AXES: Final = 2


class TorchEncoder:
    """A copy of a torch module, in evaluation mode, with a fixed preparation of its input.

    Images (n, height, width, channels) come in as bytes, which are divided by 255, or as real
    numbers, which are taken as they are. The module gets them as (n, channels, height, width) and
    must answer (n, d), each record for itself: batch normalisation in evaluation mode is fine.

    All batches have one size (the last is filled up with black images and these answers dropped):
    libraries compute batches of different sizes with different roundings, and then removing a
    record would change the features of others.

    The fingerprint covers ``repr`` of the module, the preparation and the weights. Code does not
    show in ``repr``: a class whose ``forward`` changes needs another name.

    >>> encoder = TorchEncoder(nn.Flatten(), name="pixels")
    >>> encoder.encode(np.full((2, 1, 2, 1), 255, dtype=np.uint8)).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    private: str | None = None
    """What was claimed of it, where it was made of private records: it is no public encoder."""

    def __init__(self, module: nn.Module, *, name: str, batch: int = _BATCH) -> None:
        if not isinstance(module, nn.Module):
            raise InputError(f"module must be a torch.nn.Module, got {describe(module)}")
        self.name = line("name", name)
        self.batch = count("batch", batch)
        self.module = copy.deepcopy(module).eval().requires_grad_(False)
        self._fingerprint: str | None = None

    @property
    def config(self) -> ImageShape | None:
        """The configuration of an encoder of this package; None for a module of the user's."""
        config = getattr(self.module, "config", None)
        return config if isinstance(config, ImageShape) else None

    def fingerprint(self) -> str:
        """SHA-256 of architecture, preparation of the input, and weights."""
        if self._fingerprint is None:
            parts = (self._architecture(), PREPARATION, weights_digest(self.weights()))
            self._fingerprint = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        return self._fingerprint

    def in_batches_of(self, batch: int) -> "TorchEncoder":
        """The same map in batches of another size, whose last bits may be others."""
        same = TorchEncoder(self.module, name=self.name, batch=batch)
        same.private = self.private
        return same

    def weights(self) -> Mapping[str, torch.Tensor]:
        """Every tensor of the module by its name."""
        state = self.module.state_dict()
        for name, value in state.items():
            if not isinstance(value, torch.Tensor):
                raise InputError(f"{self.name} must hold tensors only, got {name} of another type")
        return state

    def encode(self, inputs: Array) -> Floats32:
        """Features (n, d) of images (n, height, width, channels)."""
        images = checked_images(inputs)
        if self.config is not None and images.shape[1:] != self.config.shape:
            raise InputError(
                f"{self.name} must get images of shape {self.config.shape}, got {images.shape[1:]}"
            )
        starts = range(0, len(images), self.batch)
        with torch.inference_mode():
            parts = [self._encode_batch(images[start : start + self.batch]) for start in starts]
        features = np.concatenate(parts)
        if not np.isfinite(features).all():
            raise InputError(f"{self.name} must answer finite features, got NaN or infinity")
        return features

    def _encode_batch(self, images: Array) -> Floats32:
        filled = np.zeros((self.batch, *images.shape[1:]), dtype=images.dtype)
        filled[: len(images)] = images
        parameter = next(self.module.parameters(), None)
        batch = prepared(filled).to(None if parameter is None else parameter.device)
        try:
            features = self.module(batch)
        except RuntimeError as error:  # torch names shapes in it, never entries
            reason = str(error).partition("\n")[0]
            raise InputError(
                f"{self.name} must accept images of shape {images.shape[1:]}, got: {reason}"
            ) from None
        if not isinstance(features, torch.Tensor) or features.ndim != _FEATURE_AXES:
            got = tuple(features.shape) if isinstance(features, torch.Tensor) else "no tensor"
            raise InputError(f"{self.name} must answer features of shape (n, d), got {got}")
        if len(features) != self.batch:
            raise InputError(
                f"{self.name} must answer one row per image, got {len(features)} for {self.batch}"
            )
        return features.float().cpu().numpy()[: len(images)]

    def _architecture(self) -> str:
        if self.config is None:
            return repr(self.module)
        return json.dumps([type(self.module).__name__, asdict(self.config)], sort_keys=True)


def checked_images(value: Array) -> Array:
    """Images (n, height, width, channels), bytes or finite real numbers; no entry is shown."""
    images = np.asarray(value)
    if images.ndim != _IMAGE_AXES or images.size == 0:
        raise InputError(
            f"images must have shape (n, height, width, channels), got {images.shape}:"
            " a grey image has one channel"
        )
    if images.dtype != np.uint8 and images.dtype.kind != "f":
        raise InputError(f"images must be uint8 or real numbers, got {images.dtype}")
    if not np.abs(images).max() <= np.finfo(np.float32).max:
        raise InputError("images must be finite as float32, got NaN, infinity or a larger number")
    return images


def prepared(images: Array) -> torch.Tensor:
    """What the module gets: see ``PREPARATION``."""
    numbers = images.astype(np.float32)
    if images.dtype == np.uint8:
        numbers /= np.float32(255)
    return torch.from_numpy(np.ascontiguousarray(numbers.transpose(0, 3, 1, 2)))


FORMAT: Final = "reticent-encoder-1"
_ENDING: Final = ".safetensors"
_FIELDS: Final = {"architecture", "config", "name", "preparation"}
_PRIVATE: Final = "private"
"""The field of an encoder that was made of private records, with what was claimed of it."""


class _Architecture(NamedTuple):
    config: type[ImageShape]
    module: type[nn.Module]


_ARCHITECTURES: Final = {
    "conv": _Architecture(convolutional.ConvolutionalConfig, convolutional.ConvolutionalEncoder),
    "strided": _Architecture(convolutional.StridedConfig, convolutional.StridedEncoder),
    "resnet18": _Architecture(convolutional.ResNet18Config, convolutional.ResNet18Encoder),
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
    if encoder.private is not None:
        document[_PRIVATE] = encoder.private
    target = encoder_path(path)
    write_sealed(target, encoder.weights(), document, format=FORMAT)
    return target


def load_encoder(path: str | Path) -> TorchEncoder:
    """The encoder in PATH.safetensors; a foreign, truncated or changed file is refused."""
    source = encoder_path(path)
    document, tensors = read_sealed(source, format=FORMAT)
    if {*document} - {_PRIVATE} != _FIELDS or document["preparation"] != PREPARATION:
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
    encoder = TorchEncoder(module, name=document["name"])
    if _PRIVATE in document:
        encoder.private = line(_PRIVATE, document[_PRIVATE])
    return encoder


def refuse_private(encoder: object) -> None:
    """An encoder that saw private records is used under a proven guarantee of its own, or not."""
    claim = getattr(encoder, _PRIVATE, None)
    if claim is not None:
        raise InputError(
            f"encoder must be public or a proven release, got one made of private records"
            f" ({claim}): what is built on it could not be proven; load_encoder opens it to be"
            " judged"
        )


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
