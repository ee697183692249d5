"""``reticent run`` that was stopped: the same command starts from its fits, and is charged once."""

import contextlib
import json

import numpy as np
import pytest

from reticent.cli.main import run
from reticent.cli.stopped_run import StoppedRun
from reticent.guarantee import PureEvent
from reticent.protect import Terms
from reticent.run import kept_fits
from reticent.run.attacking import Adversaries
from reticent.validation import InputError


@pytest.fixture
def command(tmp_path):
    """A small run, charged to a ledger."""
    rng = np.random.default_rng(4)
    labels = np.arange(90) % 3
    for name in ("train", "test"):
        rows = rng.normal(size=(90, 4)) + np.eye(3, 4)[labels]
        np.savez(tmp_path / f"{name}.npz", x=rows, y=labels)
    book = str(tmp_path / "ledger.sqlite")
    budget = ("--epsilon", "9", "--delta", "1e-3", "--relation", "add-remove")
    assert run(["ledger", "budget", book, "table", *budget]) == 0
    told = "--label y --classes 0,1,2 --bound 3 --records 90 --relation add-remove --epsilon 1"
    told += " --delta 1e-5 --epsilons 1 --draws 2 --shadows 10 --jobs 1 --data-set table"
    files = {"private": "train.npz", "test": "test.npz", "ledger": "ledger.sqlite", "out": "out"}
    named = [text for name, file in files.items() for text in (f"--{name}", str(tmp_path / file))]
    return ["run", *named, *told.split()]


def charges(tmp_path, capsys):
    capsys.readouterr()
    assert run(["ledger", "show", str(tmp_path / "ledger.sqlite"), "table", "--json"]) == 0
    (account,) = json.loads(capsys.readouterr().out)["accounts"]
    return account["charges"]


def stopped(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.slow
def test_a_stopped_run_goes_on_and_is_charged_once(command, tmp_path, capsys, monkeypatch):
    """Stopped where attacks begin: the release is made, and the head is fitted."""
    starts, fit = [], kept_fits.fit_head

    def seen(*given, start=None):
        starts.append(start is not None)
        return fit(*given, start=start)

    monkeypatch.setattr(kept_fits, "fit_head", seen)
    monkeypatch.setattr(Adversaries, "on_unprotected", stopped)
    assert run(command) != 0
    fits, key = tmp_path / ".out.fits", tmp_path / ".out.charge"
    assert not (tmp_path / "out").exists()
    assert (fits.stat().st_mode & 0o077, key.stat().st_mode & 0o077) == (0, 0)
    first, starts[:] = list(starts), []
    assert not first[0]
    assert run(command) != 0
    assert starts == [True] * len(first), "every fit starts where one has ended"
    assert charges(tmp_path, capsys) == 1


def test_the_key_is_spent_before_something_is_written(tmp_path):
    """Then another run makes another release, which is charged; a stopped one keeps its key."""
    seen = []
    terms = Terms(epsilon=1.0, delta=0.0, relation="add-remove")

    def one_run(*, ends):
        job = StoppedRun(
            tmp_path / "out",
            lambda *_, key: seen.append(key),
            charged_to=("book", "table"),
        )
        with contextlib.suppress(KeyboardInterrupt), job.following():
            job.charge(terms, "weights", PureEvent(epsilon=1.0))
            if not ends:
                raise KeyboardInterrupt
        assert (tmp_path / ".out.charge").exists() is not ends
        (tmp_path / ".out.fits").touch()
        job.ended()

    for ends in (False, True, True):
        one_run(ends=ends)
    assert seen[0] == seen[1] != seen[2]
    assert list(tmp_path.iterdir()) == []


def test_a_charge_that_is_refused_leaves_no_key(tmp_path):
    def refused(*_, key):
        raise InputError("no budget")

    job = StoppedRun(tmp_path / "out", refused, charged_to=("book", "table"))
    with pytest.raises(InputError, match="no budget"), job.following():
        job.charge(
            Terms(epsilon=1.0, delta=0.0, relation="add-remove"), "p", PureEvent(epsilon=1.0)
        )
    assert list(tmp_path.iterdir()) == []
