"""What the red team has at hand: the commands, a run and a release on disk."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from reticent.cli.main import run
from reticent.protect import release_weights, save
from reticent.results import write_results
from reticent.training import SoftmaxHead
from tests.redteam.forging import rows
from tests.report.sample import certified, short_results


@pytest.fixture
def command(capsys):
    def call(*arguments):
        capsys.readouterr()
        code = run([str(one) for one in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """A run as it stands on disk: its document, and the release that it recommends."""
    results, release = certified(short_results())
    place = tmp_path_factory.mktemp("run")
    write_results(results, place / "results.json")
    save(release, place / "head")
    return place


@pytest.fixture
def folder(written, tmp_path):
    """A copy of that run, to be changed."""
    return Path(shutil.copytree(written, tmp_path, dirs_exist_ok=True))


@pytest.fixture(scope="session")
def head():
    X, y = rows()
    model = SoftmaxHead(penalty=0.1, classes=["no", "yes"], records=60)
    return release_weights(model.fit(X, np.array(["no", "yes"])[y]), epsilon=2.0, delta=1e-6,
                           relation="add-remove")  # fmt: skip


@pytest.fixture
def released(head, tmp_path):
    save(head, tmp_path / "own")
    return tmp_path / "own"
