"""Each record is encoded once, and never answered with the features of another."""

import hashlib
import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from reticent.data import Dataset
from reticent.training.encoders.base import FunctionEncoder
from reticent.training.encoders.cache import CHUNK, cache_folder, cached_features
from reticent.validation import InputError

RECORDS = 2 * CHUNK + 10


class Sums:
    """Row sums and products by a factor; counts what it is shown."""

    def __init__(self, factor=1.0, fails_at_call=None):
        self.factor = factor
        self.fails_at_call = fails_at_call
        self.lengths = []

    def fingerprint(self):
        return hashlib.sha256(f"sums {self.factor}".encode()).hexdigest()

    def encode(self, inputs):
        if len(self.lengths) == self.fails_at_call:
            raise KeyboardInterrupt
        self.lengths.append(len(inputs))
        flat = inputs.reshape(len(inputs), -1).astype(np.float32)
        return np.stack([flat.sum(axis=1), self.factor * flat[:, 0]], axis=1)


@pytest.fixture
def images():
    generator = np.random.default_rng(0)
    return Dataset(
        name="squares",
        source="drawn",
        inputs=generator.integers(0, 256, (RECORDS, 2, 2, 1), dtype=np.uint8),
        labels=np.arange(RECORDS) % 3,
        classes=("a", "b", "c"),
        public_classes=False,
        persons=np.arange(RECORDS) // 2,
    )


def files(folder):
    return sorted((Path(folder) / "features").iterdir())


def test_everything_but_the_inputs_stays(images, tmp_path):
    encoder = Sums()
    found = cached_features(images, encoder, folder=tmp_path)
    assert found.inputs.dtype == np.float32
    assert np.array_equal(found.inputs, encoder.encode(images.inputs))
    assert np.array_equal(found.labels, images.labels)
    assert np.array_equal(found.persons, images.persons)
    assert (found.name, found.classes, found.public_classes) == ("squares", images.classes, False)
    assert found.source == f"drawn; features by encoder {encoder.fingerprint()[:12]}"


def test_a_second_call_encodes_nothing(images, tmp_path):
    first = cached_features(images, Sums(), folder=tmp_path)
    second = Sums()
    again = cached_features(images, second, folder=tmp_path)
    assert second.lengths == []
    assert again.checksum == first.checksum


def test_labels_do_not_count(images, tmp_path):
    cached_features(images, Sums(), folder=tmp_path)
    encoder = Sums()
    unlabelled = Dataset(name="other", source="other", inputs=images.inputs)
    assert cached_features(unlabelled, encoder, folder=tmp_path).labels is None
    assert encoder.lengths == []


def test_another_encoder_is_another_entry(images, tmp_path):
    cached_features(images, Sums(), folder=tmp_path)
    found = cached_features(images, Sums(factor=2.0), folder=tmp_path)
    assert np.array_equal(found.inputs[:, 1], 2.0 * images.inputs[:, 0, 0, 0])


@pytest.mark.parametrize("changed", ["entry", "shape", "type"])
def test_other_records_are_another_entry(images, tmp_path, changed):
    cached_features(images, Sums(), folder=tmp_path)
    inputs = images.inputs.copy()
    if changed == "entry":
        inputs[0, 0, 0, 0] ^= 1
    elif changed == "shape":
        inputs = inputs.reshape(RECORDS, 1, 4, 1)
    else:
        inputs = inputs.astype(np.float32)
    encoder = Sums()
    cached_features(Dataset(name="x", source="x", inputs=inputs), encoder, folder=tmp_path)
    assert len(encoder.lengths) == (1 if changed == "entry" else 3)  # one chunk was changed, or all


def test_an_interrupted_run_goes_on_where_it_stopped(images, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        cached_features(images, Sums(fails_at_call=2), folder=tmp_path)
    encoder = Sums()
    found = cached_features(images, encoder, folder=tmp_path)
    assert encoder.lengths == [10]
    assert np.array_equal(found.inputs, Sums().encode(images.inputs))


@pytest.mark.parametrize("damage", ["entry", "cut", "empty", "foreign", "swapped", "unsealed"])
def test_a_damaged_file_is_computed_and_written_anew(images, tmp_path, damage):
    expected = cached_features(images, Sums(), folder=tmp_path)
    # The two full chunks: equally long, so that only the seal tells one from the other.
    victim, other = sorted(files(tmp_path), key=lambda file: file.stat().st_size)[-2:]
    whole = victim.read_bytes()
    content = {
        "entry": whole[:-1] + bytes([whole[-1] ^ 1]),
        "cut": whole[:-8],
        "empty": b"",
        "foreign": b"PK\x03\x04 something else",
        "swapped": other.read_bytes(),
        "unsealed": whole.replace(b"sha256", b"sha257"),
    }[damage]
    victim.write_bytes(content)
    encoder = Sums()
    assert cached_features(images, encoder, folder=tmp_path).checksum == expected.checksum
    assert len(encoder.lengths) == 1
    assert victim.read_bytes() == whole


def test_progress_counts_records(images, tmp_path):
    seen = []
    for _ in range(2):  # computed, then read
        cached_features(images, Sums(), folder=tmp_path, progress=lambda *done: seen.append(done))
    assert seen == 2 * [(CHUNK, RECORDS), (2 * CHUNK, RECORDS), (RECORDS, RECORDS)]


def test_record_by_record_shows_one_at_a_time_and_is_another_entry(images, tmp_path):
    cached_features(images, Sums(), folder=tmp_path)
    encoder = Sums()
    found = cached_features(images, encoder, folder=tmp_path, record_by_record=True)
    assert encoder.lengths == [1] * RECORDS
    assert np.array_equal(found.inputs, Sums().encode(images.inputs))


def test_record_by_record_one_record_moves_one_row(images, tmp_path):
    """An encoder whose answer depends on its batch, as rounding in networks does."""

    def centred(inputs):
        flat = inputs.reshape(len(inputs), -1).astype(np.float32)
        return flat - flat.mean(axis=0) + flat[:, :1]

    inputs = images.inputs.copy()
    inputs[3] ^= 255
    neighbour = Dataset(name="x", source="x", inputs=inputs)
    moved = {
        single: int(
            np.any(
                cached_features(
                    images, FunctionEncoder(centred), folder=False, record_by_record=single
                ).inputs
                != cached_features(
                    neighbour, FunctionEncoder(centred), folder=False, record_by_record=single
                ).inputs,
                axis=1,
            ).sum()
        )
        for single in (True, False)
    }
    assert moved[True] == 1
    assert moved[False] > 1


def test_false_keeps_nothing(images, tmp_path, monkeypatch):
    monkeypatch.setenv("RETICENT_CACHE", str(tmp_path / "cache"))
    encoder = Sums()
    for _ in range(2):
        cached_features(images, encoder, folder=False)
    assert len(encoder.lengths) == 6
    assert not (tmp_path / "cache").exists()


def test_a_function_is_never_kept(images, tmp_path):
    first = cached_features(images, FunctionEncoder(Sums().encode), folder=tmp_path)
    second = cached_features(images, FunctionEncoder(Sums(3.0).encode), folder=tmp_path)
    assert not np.array_equal(first.inputs, second.inputs)
    assert list(tmp_path.iterdir()) == []


def test_only_the_owner_reads(images, tmp_path):
    (tmp_path / "features").mkdir(mode=0o755)
    cached_features(images, Sums(), folder=tmp_path)
    assert stat.S_IMODE((tmp_path / "features").stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in files(tmp_path)} == {0o600}


def test_nothing_is_left_of_a_failed_write(images, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(InputError, match="must be writable, got: No space left"):
        cached_features(images, Sums(), folder=tmp_path)
    assert files(tmp_path) == []


def test_the_usual_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("RETICENT_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == tmp_path / "home" / ".cache" / "reticent" / "features"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert cache_folder() == tmp_path / "home" / ".cache" / "reticent" / "features"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "reticent" / "features"
    monkeypatch.setenv("RETICENT_CACHE", str(tmp_path / "named"))
    assert cache_folder() == tmp_path / "named" / "features"
    assert cache_folder(tmp_path / "given") == tmp_path / "given" / "features"


def test_a_file_in_the_place_of_the_folder_is_one_line(images, tmp_path):
    (tmp_path / "features").write_text("here")
    with pytest.raises(InputError, match="must be yours and writable"):
        cached_features(images, Sums(), folder=tmp_path)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n: np.zeros(n, np.float32), "got float32 of shape"),
        (lambda n: np.zeros((n + 1, 2), np.float32), "with n = "),
        (lambda n: np.zeros((n, 2), np.int64).astype("U"), "real numbers"),
        (lambda n: np.full((n, 2), np.nan), "finite features"),
        (lambda n: np.full((n, 2), 1e300), "finite features"),
        (lambda n: np.zeros((n, n), np.float32), "one width"),
    ],
    ids=["flat", "long", "texts", "nan", "large", "widths"],
)
def test_wrong_features_are_refused_and_not_kept(images, tmp_path, answer, message):
    encoder = Sums()
    encoder.encode = lambda inputs: answer(len(inputs))
    with pytest.raises(InputError, match=message):
        cached_features(images, encoder, folder=tmp_path)
    assert files(tmp_path) == [] or message == "one width"


def test_texts_of_any_length_are_told_apart(tmp_path):
    """Neither joined texts nor the width of the array count."""
    lengths = FunctionEncoder(lambda texts: np.char.str_len(texts)[:, None])

    class Lengths(Sums):
        def encode(self, inputs):
            self.lengths.append(len(inputs))
            return lengths.encode(inputs)

    for texts in (["ab", "c"], ["a", "bc"]):
        data = Dataset(name="t", source="t", inputs=np.array(texts))
        found = cached_features(data, Lengths(), folder=tmp_path)
        assert found.inputs[:, 0].tolist() == [len(text) for text in texts]
    wider = Lengths()
    data = Dataset(name="t", source="t", inputs=np.array(["ab", "c"], dtype="U50"))
    cached_features(data, wider, folder=tmp_path)
    assert wider.lengths == []


PROCESS = """
    import sys
    import numpy as np
    from reticent.data import Dataset
    from reticent.training.encoders.cache import cached_features

    class Squares:
        def fingerprint(self):
            return "squares"

        def encode(self, inputs):
            return inputs * inputs

    inputs = np.random.default_rng(1).random((10_000, 30), dtype=np.float32)
    data = Dataset(name="x", source="x", inputs=inputs)
    sys.stdin.readline()
    found = cached_features(data, Squares(), folder=sys.argv[1])
    assert np.array_equal(found.inputs, inputs * inputs)
"""


@pytest.mark.slow
def test_two_processes_at_once(tmp_path):
    command = [sys.executable, "-c", textwrap.dedent(PROCESS), os.fspath(tmp_path)]
    running = [subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(2)]
    for process in running:
        process.stdin.write(b"go\n")
        process.stdin.flush()
    for process in running:
        process.communicate(timeout=120)
    assert [process.returncode for process in running] == [0, 0]
    assert len(files(tmp_path)) == -(-10_000 // CHUNK)


def test_the_empty_table_has_features_of_the_encoders_width():
    """A neighbour of a table with one record: refusing it alone would tell that record."""
    flatten = FunctionEncoder(lambda images: images.reshape(len(images), -1).repeat(2, axis=1))
    nothing = Dataset(name="none", source="here", inputs=np.zeros((0, 3, 3, 1), dtype=np.uint8))
    assert cached_features(nothing, flatten, folder=False).features.shape == (0, 18)
