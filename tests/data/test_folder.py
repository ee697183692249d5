"""The data folder, missing files, damaged files."""

import gzip
import io
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reticent.data import data_folder
from reticent.data.archive import archive
from reticent.data.folder import content, decoded, find, records
from reticent.validation import InputError


def test_the_argument_comes_before_the_variable(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    monkeypatch.setenv("RETICENT_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    assert data_folder(tmp_path / "a") == tmp_path / "a"


@pytest.mark.parametrize("value", [None, ""])
def test_no_folder_at_all(monkeypatch, value):
    monkeypatch.delenv("RETICENT_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("RETICENT_DATA", value)
    with pytest.raises(InputError, match=r"^data folder must be given, got none: .*RETICENT_DATA$"):
        data_folder()


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"data folder must be a folder, got '.*nowhere'"):
        data_folder(tmp_path / "nowhere")


def test_a_missing_file_is_named_with_its_place_and_its_publisher(tmp_path):
    with pytest.raises(InputError) as error:
        find(tmp_path, ["set/a.bin", "set/a.bin.gz"], get="a.tar.gz by its authors")
    assert str(error.value) == (
        f"set/a.bin or set/a.bin.gz must be in {str(tmp_path)!r}, got no such file:"
        " get a.tar.gz by its authors"
    )


def test_a_file_in_the_folder_itself_is_found_after_its_own_place(tmp_path):
    (tmp_path / "a.bin").touch()
    assert find(tmp_path, ["set/a.bin"], get="it") == tmp_path / "a.bin"
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "a.bin").touch()
    assert find(tmp_path, ["set/a.bin"], get="it") == tmp_path / "set" / "a.bin"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[:-12], "a.gz must be a whole gzip file, got one cut short"),
        (lambda data: b"plain text", "a.gz must be a gzip file, got a damaged or other one"),
        (lambda data: data[:15] + b"\xff" * 8 + data[23:], "a.gz must be a gzip file"),
    ],
)
def test_a_damaged_gzip_file(tmp_path, damage, message):
    packed = gzip.compress(np.arange(999).tobytes())
    (tmp_path / "a.gz").write_bytes(damage(packed))
    with pytest.raises(InputError, match=message):
        content(tmp_path / "a.gz")


def test_text_that_is_not_utf8(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"ab\xffc")
    with pytest.raises(InputError, match=r"a.txt must be UTF-8, got byte 2 that is not"):
        decoded(tmp_path / "a.txt")


@pytest.mark.parametrize("length", [0, 5, 11])
def test_records_must_be_whole(tmp_path, length):
    (tmp_path / "a.bin").write_bytes(bytes(length))
    with pytest.raises(InputError, match=f"whole records of 4 bytes, got {length} bytes"):
        records(tmp_path / "a.bin", 4)


def test_an_object_array_is_never_unpickled(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (open, (str(tmp_path / "exploded"), "w"))

    np.savez(tmp_path / "a.npz", x=np.array([Bomb()], dtype=object), allow_pickle=True)
    with pytest.raises(InputError) as error:
        archive(tmp_path / "a.npz")
    assert str(error.value) == (
        "a.npz must hold plain arrays, got pickled objects or another file in 'x':"
        " store numbers or fixed-length texts"
    )
    assert not (tmp_path / "exploded").exists()


def test_other_files_are_not_archives(tmp_path):
    np.save(tmp_path / "one.npy", np.zeros(3))
    np.savez(tmp_path / "whole.npz", x=np.arange(999))
    whole = (tmp_path / "whole.npz").read_bytes()
    wrong = {
        "array": (tmp_path / "one.npy").read_bytes(),
        "cut": whole[: len(whole) // 2],
        "pickle": b"\x80\x04K\x01.",
        "text": b"not an archive",
        "empty": b"",
    }
    for name, data in wrong.items():
        path = tmp_path / f"{name}.npz"
        path.write_bytes(data)
        with pytest.raises(InputError, match=f"{name}.npz must be an? (whole )?.npz archive, got"):
            archive(path)
    flipped = bytearray(whole)
    flipped[300] ^= 1
    (tmp_path / "flipped.npz").write_bytes(flipped)
    with pytest.raises(InputError, match=r"flipped.npz must be a whole .npz archive"):
        archive(tmp_path / "flipped.npz")


def test_a_member_that_is_no_array(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr("notes.txt", "hello")
    with pytest.raises(InputError, match=r"a.npz must hold plain arrays, got .* in 'notes.txt'"):
        archive(tmp_path / "a.npz")


def packed(compress):
    stream = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(stream, x=np.arange(50), y=np.array(["a", "b"]))
    return stream.getvalue()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.booleans(), st.data())
def test_damage_anywhere_is_said_in_one_line_or_harmless(tmp_path, compress, data):
    whole = bytearray(packed(compress))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    path = tmp_path / "a.npz"
    path.write_bytes(whole[: data.draw(st.sampled_from([len(whole), place]))])
    complaint = ""
    try:
        assert all(isinstance(array, np.ndarray) for array in archive(path).values())
    except InputError as error:
        complaint = str(error)
    assert not complaint or complaint.startswith("a.npz must ")
    assert "\n" not in complaint
