"""Functions and inputs by name: what is found, and one line for what is not."""

import sys

import numpy as np
import pytest

from reticent.audit.user_code import open_function, open_input, open_object, this_folder_importable
from reticent.validation import InputError

CODE = """
import beside
TABLE = [1, 2, 3]
def doubled(value):
    return 2 * value
def fails(value):
    raise KeyError(f"the private value is {value}")
def ends(value):
    raise SystemExit(0)
class Inner:
    pass
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of somebody's code, which is the current one."""
    for name, text in {
        "somebodys_code": CODE,
        "beside": "",
        "broken_code": "1 / 0",
        "ending_code": "raise SystemExit(0)",
    }.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    known = set(sys.modules)
    with this_folder_importable():
        yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def test_modules_of_this_folder_and_files_are_found(folder):
    for name in ("somebodys_code:doubled", "somebodys_code.py:doubled"):
        assert open_function("--function", name)(4) == 8
    absolute = folder / "somebodys_code.py"
    assert open_object("--one", f"{absolute}:TABLE") == [1, 2, 3]
    assert open_function("--function", "math:floor")(2.5) == 2


def test_two_objects_of_a_file_come_from_one_module(folder):
    first, second = (open_object("--one", "somebodys_code.py:TABLE") for _ in range(2))
    assert first is second


def test_the_path_is_left_as_it_was(folder):
    before = list(sys.path)
    with this_folder_importable():
        open_object("--one", "somebodys_code.py:TABLE")
        assert sys.path != before
    assert sys.path == before


def test_prints_go_to_the_error_stream(capsys):
    with this_folder_importable():
        sys.stdout.write("of the user's code\n")
    found = capsys.readouterr()
    assert (found.out, found.err) == ("", "of the user's code\n")


@pytest.mark.parametrize("name", ["fails", "ends"])
def test_what_a_function_raises_is_named_by_its_type_alone(folder, name):
    kind = {"fails": "KeyError", "ends": "SystemExit"}[name]
    function = open_function("--function", f"somebodys_code:{name}")
    with pytest.raises(InputError, match=rf"must return an answer, got {kind} ") as caught:
        function(4242)
    assert "4242" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:f", "must be importable, got: No module named"),
        ("somebodys_code:absent", "has no attribute 'absent'"),
        ("somebodys_code.py:absent", "got 'absent', which it does not have"),
        ("absent.py:f", "must be in a file that exists"),
        ("somebodys_code", "must be written module:attribute"),
        ("broken_code:f", "must be importable, got ZeroDivisionError"),
        ("broken_code.py:f", "must be importable, got ZeroDivisionError"),
        ("ending_code:f", "must be importable, got SystemExit"),
        ("somebodys_code:TABLE", "must be a function, got 'somebodys_code:TABLE', a list"),
    ],
)
def test_what_is_no_function_gets_one_line(folder, name, message):
    with pytest.raises(InputError, match=message):
        open_function("--function", name)


@pytest.mark.parametrize(
    ("text", "value"), [("3", 3), ("[0, 1.5]", [0, 1.5]), ('{"a": null}', {"a": None})]
)
def test_json_is_plain_values(text, value):
    assert open_input("--one", text) == value


def test_files_are_arrays_that_cannot_be_written_to(tmp_path):
    numbers = np.arange(6.0).reshape(3, 2)
    np.save(tmp_path / "a.npy", numbers)
    np.savez(tmp_path / "one.npz", a=numbers)
    np.savez(tmp_path / "two.npz", a=numbers, b=numbers + 1)
    (tmp_path / "a.csv").write_text("x,y\n0,1\n2,3\n4,5\n", encoding="utf-8")
    for name in ("a.npy", "one.npz", "a.csv"):
        found = open_input("--one", str(tmp_path / name))
        assert (found == numbers).all()
        with pytest.raises(ValueError, match="read-only"):
            found[0] = 1
    assert set(open_input("--one", str(tmp_path / "two.npz"))) == {"a", "b"}
    (tmp_path / "column.csv").write_text("x\n1\n2\n", encoding="utf-8")
    assert open_input("--one", str(tmp_path / "column.csv")).tolist() == [1, 2]


def test_an_object_is_an_input_too(folder):
    assert open_input("--one", "somebodys_code:TABLE") == [1, 2, 3]


def test_what_is_no_input_gets_one_line(tmp_path):
    (tmp_path / "texts.csv").write_text("x,y\na,1\n", encoding="utf-8")
    (tmp_path / "words.csv").write_text("x\na\n", encoding="utf-8")
    (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY")
    np.save(tmp_path / "pickle.npy", np.array([object()]), allow_pickle=True)
    for text, message in {
        "NaN": "must hold finite numbers, got NaN",
        "[1, Infinity]": "must hold finite numbers, got Infinity",
        "plain text": "must be JSON, a file",
        str(tmp_path / "none.npy"): "must be a file that exists",
        str(tmp_path / "cut.npy"): "must be a file of one plain array",
        str(tmp_path / "pickle.npy"): "must be a file of one plain array",
        str(tmp_path / "texts.csv"): "must hold columns of numbers",
        str(tmp_path / "words.csv"): "must hold numbers",
    }.items():
        with pytest.raises(InputError, match=message):
            open_input("--one", text)
