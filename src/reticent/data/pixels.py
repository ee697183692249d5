"""Image sets in their publishers' layouts: MNIST idx, CIFAR binary, STL-10 binary.

All images come out as uint8 (n, height, width, channels).
"""

import struct
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.arrays import Integers
from reticent.data.dataset import Dataset
from reticent.data.folder import content, decoded, find, records
from reticent.validation import InputError

DIGITS: Final = tuple("0123456789")
_CIFAR10: Final = "airplane automobile bird cat deer dog frog horse ship truck"
_STL10: Final = "airplane bird car cat deer dog horse monkey ship truck"
_GET_MNIST: Final = "the four idx files of MNIST by LeCun, Cortes and Burges ({file}.gz)"
_GET_CIFAR: Final = "'CIFAR-{kind} binary version' by Krizhevsky (cifar-{kind}-binary.tar.gz)"
_GET_STL10: Final = "STL-10 by Coates, Lee and Ng (stl10_binary.tar.gz)"
_SIDE: Final = 32
_STL10_SIDE: Final = 96


def mnist(folder: Path, part: str) -> Dataset:
    """MNIST, ``part`` train or test, from plain or gzipped idx files."""
    prefix = {"train": "train", "test": "t10k"}[part]
    images = _idx(folder, f"{prefix}-images-idx3-ubyte", axes=3)
    labels = _idx(folder, f"{prefix}-labels-idx1-ubyte", axes=1)
    return Dataset(
        name=f"mnist-{part}",
        source="MNIST, LeCun, Cortes and Burges, idx files",
        inputs=images[..., None],
        labels=labels,
        classes=DIGITS,
    )


def _idx(folder: Path, file: str, *, axes: int) -> NDArray[np.uint8]:
    names = [f"mnist/{file}", f"mnist/{file}.gz"]
    path = find(folder, names, get=_GET_MNIST.format(file=file))
    data = content(path)
    start = 4 + 4 * axes
    if data[:4] != bytes([0, 0, 8, axes]):
        raise InputError(
            f"{path.name} must begin with 0000080{axes}, got {data[:4].hex() or 'nothing'}:"
            " it is not the idx file of that name"
        )
    shape = struct.unpack(f">{axes}I", data[4:start]) if len(data) >= start else None
    if shape is None or len(data) - start != np.prod(shape, dtype=object):
        raise InputError(
            f"{path.name} must be as long as its header says, got {len(data)} bytes for"
            f" shape {shape}: it is cut short or damaged"
        )
    return np.frombuffer(data, dtype=np.uint8, offset=start).reshape(shape)


def cifar10(folder: Path, part: str) -> Dataset:
    """CIFAR-10 binary: five training batches or the test batch."""
    files = [f"data_batch_{i}.bin" for i in range(1, 6)] if part == "train" else ["test_batch.bin"]
    get = _GET_CIFAR.format(kind=10)
    paths = [find(folder, [f"cifar-10-batches-bin/{file}"], get=get) for file in files]
    rows = np.concatenate([records(path, 1 + 3 * _SIDE**2) for path in paths])
    return Dataset(
        name=f"cifar10-{part}",
        source="CIFAR-10, Krizhevsky 2009, binary version",
        inputs=_planes(rows[:, 1:]),
        labels=rows[:, 0],
        classes=tuple(_CIFAR10.split()),
    )


def cifar100(folder: Path, part: str) -> Dataset:
    """CIFAR-100 binary with its 100 fine labels."""
    get = _GET_CIFAR.format(kind=100)
    path = find(folder, [f"cifar-100-binary/{part}.bin"], get=get)
    rows = records(path, 2 + 3 * _SIDE**2)
    names = find(folder, ["cifar-100-binary/fine_label_names.txt"], get=get)
    return Dataset(
        name=f"cifar100-{part}",
        source="CIFAR-100, Krizhevsky 2009, binary version, fine labels",
        inputs=_planes(rows[:, 2:]),
        labels=rows[:, 1],
        classes=_class_names(names, 100),
    )


def stl10(folder: Path, part: str) -> Dataset:
    """STL-10 binary, ``part`` train, test or unlabeled; the unlabelled part has no labels."""
    path = find(folder, [f"stl10_binary/{part}_X.bin"], get=_GET_STL10)
    planes = records(path, 3 * _STL10_SIDE**2).reshape(-1, 3, _STL10_SIDE, _STL10_SIDE)
    return Dataset(
        name=f"stl10-{part}",
        source="STL-10, Coates, Lee and Ng 2011, binary files",
        inputs=np.ascontiguousarray(planes.transpose(0, 3, 2, 1)),  # stored column by column
        labels=None if part == "unlabeled" else _stl10_labels(folder, part, len(planes)),
        classes=tuple(_STL10.split()),
    )


def _stl10_labels(folder: Path, part: str, images: int) -> Integers:
    path = find(folder, [f"stl10_binary/{part}_y.bin"], get=_GET_STL10)
    labels = records(path, 1)[:, 0]
    if len(labels) != images:
        raise InputError(
            f"{path.name} must hold one label for each of {images} images, got {len(labels)}"
        )
    return labels.astype(np.int64) - 1  # published as 1 … 10


def _planes(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Red, green and blue planes as images whose last axis is the channel."""
    return np.ascontiguousarray(rows.reshape(-1, 3, _SIDE, _SIDE).transpose(0, 2, 3, 1))


def _class_names(path: Path, wanted: int) -> tuple[str, ...]:
    names = tuple(decoded(path).split())
    if len(names) != wanted:
        raise InputError(f"{path.name} must name {wanted} classes, got {len(names)}")
    return names
