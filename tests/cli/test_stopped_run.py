"""``reticent run`` that was stopped: the same command starts from its fits, and is charged once."""

import json

import numpy as np
import pytest

from reticent.cli.main import run
from reticent.run import job, kept_fits

pytestmark = pytest.mark.slow


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


def spent(tmp_path, capsys):
    capsys.readouterr()
    assert run(["ledger", "show", str(tmp_path / "ledger.sqlite"), "table", "--json"]) == 0
    return len(json.loads(capsys.readouterr().out)["entries"])


def test_a_stopped_run_goes_on_and_is_charged_once(command, tmp_path, capsys, monkeypatch):
    starts, fit = [], kept_fits.fit_head

    def seen(*given, start=None):
        starts.append(start is not None)
        return fit(*given, start=start)

    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(kept_fits, "fit_head", seen)
    with monkeypatch.context() as patched:
        patched.setattr(job, "audits", stopped)
        assert run(command) != 0
    fits, key = tmp_path / ".out.fits", tmp_path / ".out.charge"
    assert not (tmp_path / "out").exists()
    assert (fits.stat().st_mode & 0o077, key.stat().st_mode & 0o077) == (0, 0)
    first, starts[:] = list(starts), []
    assert first
    assert not any(first)
    assert run(command) == 0
    assert starts == [True] * len(first)
    assert (tmp_path / "out" / "results.json").exists()
    assert not fits.exists()
    assert not key.exists()
    assert spent(tmp_path, capsys) == 1


def test_the_key_is_spent_before_something_is_written(command, tmp_path, capsys, monkeypatch):
    """Then a second run makes a second release, which is charged."""
    from reticent.cli import run as module

    written = module.written_by

    def killed(*given, **more):
        written(*given, **more)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module, "written_by", killed)
        assert run(command) != 0
    assert not (tmp_path / ".out.charge").exists()
    assert run([*command, "--replace"]) == 0
    assert spent(tmp_path, capsys) == 2
