"""A public linear layer, by whose directions rows are shortened before anything is learned of them.

It comes from a file of its user's: the last layer of a public network, say, as a matrix of outputs
× features. A recipe holds its SHA-256 and shape, which stand in the certificate; the matrix itself
stays in this process under that name.
"""

import hashlib
import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from reticent.arrays import Floats
from reticent.data.archive import archive, single_array
from reticent.training.encoders.base import VARIABLE
from reticent.validation import InputError

_MAPS: dict[str, Floats] = {}
ENCODER: Final = "efficientnet-lite0"
"""Stands for the last layer of this encoder, where its weights are installed."""
_ENCODER_SHAPE: Final = (1000, 1280)
_NAME: Final = re.compile(r"sha256:[0-9a-f]{64} (\d{1,9})x(\d{1,9})")


def named_map(source: str) -> str:
    """The name of the map that a user says: a name itself, an encoder, or a file, which is read.

    A .npy file, or an .npz file of one array.
    """
    if _NAME.fullmatch(source):
        return source
    if source == ENCODER:
        from reticent.training.encoders.pretrained import EfficientNetLite0

        return register_map(EfficientNetLite0.last_layer())
    path = Path(source)
    if path.suffix not in (".npy", ".npz"):
        raise InputError(f"public_map must be {ENCODER} or a file .npy or .npz, got {source!r}")
    if path.suffix == ".npy":
        return register_map(single_array(path, role="public_map"))
    arrays = archive(path)
    if len(arrays) != 1:
        raise InputError(f"public_map must hold one array, got {len(arrays)} in {path.name}")
    return register_map(next(iter(arrays.values())))


def register_map(layer: object) -> str:
    """The name of a matrix of outputs × features, which recipes of this process may use."""
    matrix = np.asarray(layer)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu" or not matrix.size:
        raise InputError("public_map must be a matrix of outputs × features of numbers, got others")
    matrix = np.ascontiguousarray(matrix, dtype="<f8")
    if not np.isfinite(matrix).all() or not np.abs(matrix).max() < 1e100:
        raise InputError("public_map must hold finite numbers below 1e100, got others")
    outputs, features = matrix.shape
    name = f"sha256:{hashlib.sha256(matrix.tobytes()).hexdigest()} {outputs}x{features}"
    _MAPS[name] = matrix
    return name


def shape_of(name: str) -> tuple[int, int]:
    """Outputs and features of a map, by its name alone."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise InputError(f"public_map must be named by SHA-256 and shape, got {name!r}")
    return int(match[1]), int(match[2])


def leading_directions(name: str, width: int) -> Floats:
    """The ``width`` directions in which the layer's outputs differ most, a column each.

    The right singular vectors of the layer less the mean of its rows, which no softmax sees.
    """
    if name not in _MAPS and not _is_found(name):
        raise InputError(
            f"public_map must be read before it is used, got {name} alone: give its file, or put it"
            f" into the folder that {VARIABLE} names"
        )
    return np.ascontiguousarray(_directions(name)[:width].T)


def _is_found(name: str) -> bool:
    """In another process, an audit say: the encoder's layer, or a file in the user's folder."""
    folder = os.environ.get(VARIABLE)
    files = sorted(Path(folder).glob("*.np[yz]")) if folder else []
    encoder = [ENCODER] if shape_of(name) == _ENCODER_SHAPE else []
    for source in (*encoder, *map(str, files)):
        try:
            named_map(source)
        except InputError:  # not a map, or not installed: what matters is whether one fits
            continue
        if name in _MAPS:
            return True
    return False


@lru_cache(maxsize=2)
def _directions(name: str) -> Floats:
    layer = _MAPS[name]
    directions: Floats = np.linalg.svd(layer - layer.mean(axis=0), full_matrices=False)[2]
    return directions
