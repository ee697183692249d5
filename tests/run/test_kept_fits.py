"""A run that was stopped starts from what it had fitted, and nothing rests on the file."""

import numpy as np
import pytest

from reticent.data import Dataset
from reticent.protect.table import HeadSpec
from reticent.run import kept_fits as module
from reticent.run.kept_fits import fitted, kept_fits

SPEC = HeadSpec(records=90, bound=2.0, penalty=0.01)


@pytest.fixture
def starts(monkeypatch):
    """Where each fit began."""
    seen, fit = [], module.fit_head
    monkeypatch.setattr(
        module,
        "fit_head",
        lambda *given, start=None: (seen.append(start), fit(*given, start=start))[1],
    )
    return seen


def table(shift=0.0):
    rng = np.random.default_rng(5)
    labels = np.arange(90) % 3
    rows = rng.normal(size=(90, 4)) + np.eye(3, 4)[labels] + shift
    return Dataset(name="t", source="s", inputs=rows, labels=labels, classes=("a", "b", "c"))


def test_a_fit_that_is_there_is_the_same_and_takes_one_look(tmp_path, starts):
    path = tmp_path / "fits"
    with kept_fits(path):
        first = fitted(table(), SPEC)
    with kept_fits(path):
        second = fitted(table(), SPEC)
    assert starts[0] is None
    np.testing.assert_array_equal(starts[1], first.coordinates_)
    np.testing.assert_array_equal(second.coordinates_, first.coordinates_)
    assert (first.n_iter_ > 1, second.n_iter_) == (True, 1)
    assert path.stat().st_mode & 0o077 == 0


def test_other_records_and_other_choices_begin_anew(tmp_path, starts):
    with kept_fits(tmp_path / "fits"):
        fitted(table(), SPEC)
        fitted(table(1e-9), SPEC)
        fitted(table(), HeadSpec(records=90, bound=2.0, penalty=0.02))
        fitted(table(), SPEC)
    assert [start is None for start in starts] == [True, True, True, False]


@pytest.mark.parametrize("content", [b"", b"no archive"])
def test_a_damaged_file_is_begun_anew(tmp_path, starts, content):
    (tmp_path / "fits").write_bytes(content)
    with kept_fits(tmp_path / "fits"):
        fitted(table(), SPEC)
        fitted(table(), SPEC)
    assert [start is None for start in starts] == [True, False]


def test_wrong_coordinates_change_nothing_that_is_certified(tmp_path, starts):
    path = tmp_path / "fits"
    with kept_fits(path):
        right = fitted(table(), SPEC)
    with np.load(path) as held:
        wrong = {key: np.full_like(value, 1e6) for key, value in held.items()}
    np.savez(tmp_path / "other.npz", **wrong)
    (tmp_path / "other.npz").rename(path)
    with kept_fits(path):
        again = fitted(table(), SPEC)
    assert starts[1] is not None
    assert again.optimum_gap_ <= again.tolerance_
    np.testing.assert_allclose(again.coordinates_, right.coordinates_, atol=1e-6)


def test_without_a_file_nothing_is_kept(tmp_path, starts):
    fitted(table(), SPEC)
    assert starts == [None]
    assert list(tmp_path.iterdir()) == []
