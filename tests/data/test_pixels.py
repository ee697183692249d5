"""MNIST, CIFAR and STL-10 on small files in their publishers' layouts."""

import gzip
import struct

import numpy as np
import pytest

from reticent.data import load
from reticent.validation import InputError

RNG = np.random.default_rng(3)


def idx(array, *, magic=None):
    head = struct.pack(">BBBB", 0, 0, 8, array.ndim) if magic is None else magic
    return head + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def mnist(folder, *, packed=True):
    """Writes ten images and labels as MNIST's training files; returns them."""
    images = RNG.integers(0, 256, (10, 28, 28), dtype=np.uint8)
    labels = np.arange(10, dtype=np.uint8)
    (folder / "mnist").mkdir(exist_ok=True)
    for name, array in (("images-idx3", images), ("labels-idx1", labels)):
        data = idx(array)
        path = folder / "mnist" / f"train-{name}-ubyte{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(data) if packed else data)
    return images, labels


@pytest.mark.parametrize("packed", [True, False])
def test_mnist(tmp_path, packed):
    images, labels = mnist(tmp_path, packed=packed)
    data = load("mnist-train", tmp_path)
    assert np.array_equal(data.images, images[..., None])
    assert np.array_equal(data.labels, labels)
    assert data.images.dtype == np.uint8
    assert data.classes == tuple("0123456789")


def test_mnist_test_is_t10k(tmp_path):
    mnist(tmp_path)
    with pytest.raises(InputError) as error:
        load("mnist-test", tmp_path)
    assert str(error.value) == (
        "mnist/t10k-images-idx3-ubyte or mnist/t10k-images-idx3-ubyte.gz must be in"
        f" {str(tmp_path)!r}, got no such file: get the four idx files of MNIST by LeCun, Cortes"
        " and Burges (t10k-images-idx3-ubyte.gz)"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-1], "must be as long as its header says, got 7855 bytes for shape"),
        (lambda data: data + b"0", "must be as long as its header says, got 7857 bytes"),
        (lambda data: data[:9], "must be as long as its header says, got 9 bytes for shape None"),
        (lambda data: b"", "must begin with 00000803, got nothing"),
        (lambda data: b"\0\0\x08\x01" + data[4:], "must begin with 00000803, got 00000801"),
        (lambda data: b"\0\0\x0d\x03" + data[4:], "must begin with 00000803, got 00000d03"),
        (lambda data: data[:4] + b"\xff" * 12, "must be as long as its header says, got 16 bytes"),
    ],
)
def test_a_wrong_idx_file_is_named(tmp_path, change, message):
    mnist(tmp_path, packed=False)
    path = tmp_path / "mnist" / "train-images-idx3-ubyte"
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(InputError) as error:
        load("mnist-train", tmp_path)
    assert str(error.value).startswith(f"{path.name} {message}")


def test_images_and_labels_must_be_as_many(tmp_path):
    mnist(tmp_path, packed=False)
    path = tmp_path / "mnist" / "train-labels-idx1-ubyte"
    path.write_bytes(idx(np.zeros(9, np.uint8)))
    with pytest.raises(InputError, match=r"labels must have shape \(10,\), got \(9,\)"):
        load("mnist-train", tmp_path)


def cifar(path, images, *labels):
    """Writes records: the label bytes, then the red, green and blue planes."""
    path.parent.mkdir(exist_ok=True)
    planes = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    np.concatenate([*(np.uint8(row)[:, None] for row in labels), planes], axis=1).tofile(path)


def colours(count, side=32):
    return RNG.integers(0, 256, (count, side, side, 3), dtype=np.uint8)


def test_cifar10_joins_its_batches_in_order(tmp_path):
    images, labels = colours(10), np.arange(10)
    for i in range(5):
        part = slice(2 * i, 2 * i + 2)
        path = tmp_path / "cifar-10-batches-bin" / f"data_batch_{i + 1}.bin"
        cifar(path, images[part], labels[part])
    data = load("cifar10-train", tmp_path)
    assert np.array_equal(data.images, images)
    assert np.array_equal(data.labels, labels)
    assert data.classes[3] == "cat"
    (tmp_path / "cifar-10-batches-bin" / "data_batch_4.bin").unlink()
    with pytest.raises(
        InputError, match=r"data_batch_4.bin must be in .* \(cifar-10-binary.tar.gz\)"
    ):
        load("cifar10-train", tmp_path)


def test_cifar10_with_a_foreign_label_or_cut_short(tmp_path):
    path = tmp_path / "cifar-10-batches-bin" / "test_batch.bin"
    cifar(path, colours(3), [0, 10, 1])
    with pytest.raises(InputError, match=r"labels must number one of 10 classes .* in row 1 "):
        load("cifar10-test", tmp_path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"test_batch.bin must hold whole records of 3073 bytes"):
        load("cifar10-test", tmp_path)


def test_cifar100_takes_the_fine_labels(tmp_path):
    images = colours(4)
    folder = tmp_path / "cifar-100-binary"
    cifar(folder / "train.bin", images, [0, 1, 2, 19], [99, 5, 0, 42])
    names = [f"thing_{i}" for i in range(100)]
    (folder / "fine_label_names.txt").write_text("\n".join(names) + "\n\n")
    data = load("cifar100-train", tmp_path)
    assert np.array_equal(data.images, images)
    assert data.labels.tolist() == [99, 5, 0, 42]
    assert data.classes == tuple(names)
    (folder / "fine_label_names.txt").write_text("\n".join(names[:20]))
    with pytest.raises(InputError, match=r"fine_label_names.txt must name 100 classes, got 20"):
        load("cifar100-train", tmp_path)


def stl10(folder, part, images, labels=None):
    """Writes STL-10: each plane column by column, labels from 1."""
    folder = folder / "stl10_binary"
    folder.mkdir(exist_ok=True)
    images.transpose(0, 3, 2, 1).tofile(folder / f"{part}_X.bin")
    if labels is not None:
        (np.uint8(labels) + np.uint8(1)).tofile(folder / f"{part}_y.bin")


@pytest.mark.parametrize("part", ["train", "test"])
def test_stl10_is_stored_column_by_column(tmp_path, part):
    images = colours(3, side=96)
    stl10(tmp_path, part, images, [0, 9, 4])
    data = load(f"stl10-{part}", tmp_path)
    assert np.array_equal(data.images, images)
    assert data.labels.tolist() == [0, 9, 4]
    assert (data.classes[0], data.classes[9]) == ("airplane", "truck")
    raw = np.fromfile(tmp_path / "stl10_binary" / f"{part}_X.bin", np.uint8)
    assert data.images[0, 1, 0, 0] == raw[1]  # the second byte lies below the first


def test_stl10_unlabelled(tmp_path):
    images = colours(2, side=96)
    stl10(tmp_path, "unlabeled", images)
    data = load("stl10-unlabeled", tmp_path)
    assert np.array_equal(data.images, images)
    assert data.labels is None


def test_stl10_with_wrong_labels(tmp_path):
    stl10(tmp_path, "train", colours(2, side=96), [0])
    with pytest.raises(
        InputError, match=r"train_y.bin must hold one label for each of 2 images, got 1"
    ):
        load("stl10-train", tmp_path)
    np.uint8([1, 0]).tofile(tmp_path / "stl10_binary" / "train_y.bin")
    with pytest.raises(InputError, match=r"labels must number one of 10 classes .* in row 1 "):
        load("stl10-train", tmp_path)
