"""Large arrays of .npz files stay in their file; what is computed of them is equal, bit by bit."""

import zipfile

import numpy as np
import pytest

from reticent.arrays import is_file_backed
from reticent.data import archive, read_table
from reticent.protect import ReleaseRequest, release_table
from reticent.protect.noisy_query import with_noise_function
from reticent.protect.registry import RECIPES
from reticent.protect.table import HeadSpec, fit_head
from reticent.read_limit import VARIABLE
from reticent.validation import InputError

BLOCKWISE = ("weights", "class-means", "lda", "adassp", "noisy-gradient", "functional", "objective")
CLASSES = ("0", "1", "2")
RECORDS, FEATURES = 700, 6


@pytest.fixture
def mapped(monkeypatch):
    """Small arrays are mapped too."""
    monkeypatch.setattr(archive, "MAPPED_FROM", 1)


def written(folder, *, kind=np.float32, save=np.savez, **more):
    rng = np.random.default_rng(8)
    labels = np.arange(RECORDS) % 3
    rows = rng.normal(size=(RECORDS, FEATURES)) + np.eye(3, FEATURES)[labels]
    path = folder / "table.npz"
    save(path, X=np.asarray(rows, dtype=kind, order=more.pop("order", "C")), y=labels, **more)
    return path


def table(path, **more):
    return read_table(path, label="y", classes=CLASSES, **more)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_stored_table_is_mapped_and_not_copied(tmp_path, mapped, kind):
    data = table(written(tmp_path, kind=kind))
    assert is_file_backed(data.inputs)
    assert is_file_backed(data.features)
    assert data.features.dtype == kind
    assert not data.inputs.flags.writeable
    assert not is_file_backed(np.asarray(data.labels))


def test_only_large_arrays_are_mapped(tmp_path, monkeypatch):
    path = written(tmp_path)
    assert not is_file_backed(table(path).inputs)
    monkeypatch.setattr(archive, "MAPPED_FROM", 4 * RECORDS * FEATURES)
    assert is_file_backed(table(path).inputs)


@pytest.mark.parametrize(
    "more",
    [{"save": np.savez_compressed}, {"order": "F"}, {"kind": np.dtype(">f4")}, {"kind": np.int64}],
)
def test_what_is_stored_otherwise_is_read_as_before(tmp_path, mapped, more):
    data = table(written(tmp_path, **more))
    assert not is_file_backed(data.inputs)
    assert data.features.dtype == np.float64


def test_a_mapped_table_takes_no_memory_of_the_limit(tmp_path, mapped, monkeypatch):
    monkeypatch.setenv(VARIABLE, "12K")  # the labels are counted, the rows are the file's
    table(written(tmp_path))
    with pytest.raises(InputError, match="--read-limit"):
        table(written(tmp_path, save=np.savez_compressed))


def test_a_damaged_byte_and_a_file_cut_short_are_refused(tmp_path, mapped):
    path = written(tmp_path)
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as file:
        middle = file.infolist()[0].header_offset + 4 * RECORDS * FEATURES // 2
    path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    with pytest.raises(InputError, match=r"must be a whole \.npz archive"):
        table(path)
    path.write_bytes(whole[: middle // 2])
    with pytest.raises(InputError, match=r"must be a whole \.npz archive"):
        table(path)


def test_nan_is_refused_of_a_mapped_table_too(tmp_path, mapped):
    np.savez(tmp_path / "t.npz", X=np.float32([[0, 1], [np.nan, 1], [1, 1]]), y=np.arange(3))
    with pytest.raises(InputError, match="got NaN in row 1"):
        table(tmp_path / "t.npz")


@pytest.mark.parametrize("recipe", BLOCKWISE)
def test_releases_of_a_mapped_table_are_those_of_one_in_memory(tmp_path, monkeypatch, recipe):
    """Every learner, its noise left out; float32 numbers, which no reader made float64."""
    path = written(tmp_path)
    held = table(path)
    monkeypatch.setattr(archive, "MAPPED_FROM", 1)
    data = table(path)
    request = ReleaseRequest.of(
        epsilon=4.0, delta=1e-5, relation="add-remove", records=RECORDS, recipe=recipe
    )
    if "bound" in RECIPES[recipe].options:
        request = request.with_options(bound=3.0)
    with with_noise_function(lambda _, value: np.array(value)):
        one, other = (release_table(one, request).tensors for one in (held, data))
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])


def test_a_large_fit_does_not_hold_the_rows(tmp_path, mapped, monkeypatch):
    """Neither in float64 nor mapped: it looks at blocks."""
    from reticent.protect import table as protect_table
    from reticent.training import linear_head
    from reticent.training.features import MappedRows

    monkeypatch.setattr(linear_head, "LARGEST_COPY", 0)
    monkeypatch.setattr(MappedRows, "__array__", _refused)
    monkeypatch.setattr(protect_table, "kept_rows", _refused)
    data = table(written(tmp_path))
    spec = HeadSpec(records=RECORDS, bound=3.0, penalty=0.01)
    assert fit_head(data, spec).n_features_in_ == FEATURES


def _refused(*_, **__):
    raise AssertionError("all rows were asked for at once")
