"""Any torch module as a frozen encoder of images."""

import copy
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.arrays import Array
from reticent.training.encoders.image_shape import ImageShape
from reticent.training.encoders.sealed_file import weights_digest
from reticent.training.encoders.torch_extra import nn, torch
from reticent.validation import InputError, count, describe, line

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

    def weights(self) -> Mapping[str, torch.Tensor]:
        """Every tensor of the module by its name."""
        state = self.module.state_dict()
        for name, value in state.items():
            if not isinstance(value, torch.Tensor):
                raise InputError(f"{self.name} must hold tensors only, got {name} of another type")
        return state

    def encode(self, inputs: Array) -> NDArray[np.float32]:
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

    def _encode_batch(self, images: Array) -> NDArray[np.float32]:
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
        numbers: NDArray[np.float32] = features.float().cpu().numpy()[: len(images)]
        return numbers

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
