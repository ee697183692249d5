"""Trained shadow models on disk, so that the same ones are not trained twice.

A file's name is a hash of all that the models depend on: records, memberships, the head's class
and parameters, the seed, and the versions of the format and of this package. What was trained on
private records is private, and so are hashes of them: the folder is open to its owner alone.
Weights are stored and nothing is pickled, so only heads of ours can be kept.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
from numpy.typing import NDArray
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from reticent.attacks.records import Records
from reticent.files import write_whole
from reticent.training import MLPHead, SoftmaxHead
from reticent.training.encoders.cache import cache_folder
from reticent.training.optimum import Optimum
from reticent.validation import InputError
from reticent.version import INSTALLED

VERSION = 1
"""Of what the files hold and of how shadows are trained: a change of either is another version."""
Tensors = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class ShadowFile:
    """Where the models of one training are, or will be."""

    path: Path
    fingerprint: str

    @classmethod
    def of(cls, folder: str | os.PathLike[str], fingerprint: str) -> ShadowFile:
        """In ``shadows`` inside this folder, which is made where it is missing."""
        return cls(cache_folder(folder, kind="shadows") / f"{fingerprint}.safetensors", fingerprint)

    def read(self, untrained: Sequence[Any], *, classes: NDArray[Any], features: int) -> list[Any]:
        """The models, or none of them where there is no file; a damaged file is refused."""
        tensors = self._tensors()
        if tensors is None:
            return []
        models = list(untrained)
        try:
            for place, model in enumerate(models):
                model.classes_, model.n_features_in_ = classes, features
                _stand(model, {name: tensor[place] for name, tensor in tensors.items()})
        except (KeyError, IndexError):
            raise self._refused() from None
        return models

    def write(self, models: Sequence[Any]) -> None:
        """Whole or not at all; of two processes that write at once, one file is left."""
        tensors = _stacked([_parts(model) for model in models])
        header = {"fingerprint": self.fingerprint, "sha256": self._seal(tensors)}
        write_whole(self.path, save_tensors(tensors, metadata=header), private=True)

    def _tensors(self) -> Tensors | None:
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"{self.path} must be readable, got: {error.strerror}") from None
        try:
            tensors: Tensors = load_tensors(content)
            header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
            metadata = header.get("__metadata__") or {}
        except (safetensors.SafetensorError, ValueError, KeyError, TypeError):
            raise self._refused() from None
        told = metadata.get("fingerprint"), metadata.get("sha256")
        if told != (self.fingerprint, self._seal(tensors)):
            raise self._refused()
        return tensors

    def _seal(self, tensors: Tensors) -> str:
        """Finds damage and mix-ups; it is no signature."""
        digest = hashlib.sha256(self.fingerprint.encode())
        for name, tensor in sorted(tensors.items()):
            digest.update(f"{name}:{tensor.dtype}:{tensor.shape};".encode())
            digest.update(np.ascontiguousarray(tensor).tobytes())
        return digest.hexdigest()

    def _refused(self) -> InputError:
        return InputError(
            f"{self.path} must hold the shadows it was written with, got a damaged or foreign"
            " file: delete it to train anew"
        )


def storable(head: object) -> bool:
    """Whether weights say all about a head of this kind."""
    return type(head) in (SoftmaxHead, MLPHead)


def fingerprint(head: Any, pool: Records, inside: NDArray[np.bool_], *, seed: int) -> str:
    """A hash of all that the shadows depend on."""
    digest = hashlib.sha256()
    described = [
        ["format", VERSION],
        ["reticent", INSTALLED],
        ["head", type(head).__qualname__, _described(head.get_params(deep=False))],
        ["seed", seed],
        ["inputs", _described(pool.inputs)],
        ["labels", _described(pool.labels)],
        ["inside", _described(inside)],
    ]
    digest.update(json.dumps(described, sort_keys=True).encode())
    return digest.hexdigest()


def _described(value: Any) -> Any:
    """As JSON: equal for equal values, different for different ones."""
    if isinstance(value, np.ndarray):
        content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return ["array", str(value.dtype), list(value.shape), content]
    if isinstance(value, np.generic):
        return _described(value.item())
    if isinstance(value, Mapping):
        return ["mapping", *sorted([repr(k), _described(v)] for k, v in value.items())]
    if isinstance(value, (list, tuple, range)):
        return ["list", *map(_described, value)]
    return [type(value).__name__, repr(value)]


def _parts(model: Any) -> Tensors:
    """What a trained head is made of."""
    if isinstance(model, SoftmaxHead):
        return {
            "coordinates": model.coordinates_,
            "gap": np.asarray(model.optimum_gap_, np.float64),
            "tolerance": np.asarray(model.tolerance_, np.float64),
            "steps": np.asarray(model.n_iter_, np.int64),
        }
    layers = enumerate(model.weights_)
    return {
        f"{part}{i}": array for i, pair in layers for part, array in zip("Wb", pair, strict=True)
    }


def _stand(model: Any, parts: Tensors) -> None:
    """The inverse: an untrained head becomes the one with these parts."""
    if isinstance(model, SoftmaxHead):
        found = Optimum(
            point=parts["coordinates"],
            gradient_bound=float(parts["gap"]),
            steps=int(parts["steps"]),
        )
        model.stand_at(found, tolerance=float(parts["tolerance"]))
    else:
        model.stand_at([(parts[f"W{i}"], parts[f"b{i}"]) for i in range(model.layers)])


def _stacked(models: list[Tensors]) -> Tensors:
    return {name: np.stack([parts[name] for parts in models]) for name in models[0]}
