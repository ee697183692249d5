"""A run in MLflow: its claim and its release, and what it measured only where that is asked for."""

import json
import shutil
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from reticent.report import write_report
from reticent.results import read_results, write_results
from reticent.tracking import log_run
from reticent.validation import InputError
from tests.report.sample import sample_results

MEASURED = {
    "accuracy",
    "accuracy_unprotected",
    "attack_auc",
    "attack_auc_allowed",
    "attack_auc_unprotected",
    "utility_loss",
}


class Tracker(ModuleType):
    """MLflow's functions by their names and arguments, which remember what they are told."""

    def __init__(self):
        super().__init__("mlflow")
        self.params, self.metrics, self.tags, self.artifacts = {}, {}, {}, []

    def log_params(self, params):
        self.params |= params

    def log_metrics(self, metrics):
        self.metrics |= metrics

    def set_tag(self, key, value):
        self.tags[key] = value

    def log_artifact(self, local_path, artifact_path=None):
        assert Path(local_path).is_file()
        self.artifacts.append(f"{artifact_path}/{Path(local_path).name}")

    def log_artifacts(self, local_dir, artifact_path=None):
        self.artifacts += [f"{artifact_path}/{path.name}" for path in Path(local_dir).iterdir()]


@pytest.fixture
def tracker(monkeypatch):
    found = Tracker()
    monkeypatch.setitem(sys.modules, "mlflow", found)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    results = sample_results()
    write_results(results, folder / "results.json")
    write_report(results, folder)
    for name in ("released.safetensors", "released.json", "released.signature.json"):
        (folder / name).write_text("{}")
    return folder


def test_the_claim_and_the_release_alone(folder, tracker):
    log_run(folder)
    claim = read_results(folder / "results.json").recommended.claim
    assert tracker.params["epsilon"] == claim.epsilon
    assert tracker.params["grade"] == "declared"  # a file proves nothing
    assert tracker.tags == {"reticent.claim": claim.text}
    assert tracker.metrics == {}
    names = ["released.json", "released.safetensors", "released.signature.json"]
    assert tracker.artifacts == [f"released/{name}" for name in names]


def test_what_was_measured_where_it_is_asked_for(folder, tracker):
    log_run(folder, internal=True)
    assert set(tracker.metrics) == MEASURED
    assert tracker.metrics["attack_auc"] == sample_results().conclusion.after.value
    assert "reticent.internal" in tracker.tags
    assert {"internal/report.html", "internal/results.json"} <= set(tracker.artifacts)
    assert "internal/figures/roc.svg" in tracker.artifacts
    assert any(name.startswith("internal/tables/") for name in tracker.artifacts)


def test_without_mlflow_one_line_says_so(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(InputError, match="mlflow must be installed"):
        log_run(folder)


def test_a_plain_folder_takes_the_same_without_mlflow(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    place = tmp_path / "tracked"
    log_run(folder, to=place)
    claim = read_results(folder / "results.json").recommended.claim
    params = json.loads((place / "params.json").read_text())
    assert (params["epsilon"], params["grade"]) == (claim.epsilon, "declared")
    assert json.loads((place / "tags.json").read_text()) == {"reticent.claim": claim.text}
    files = sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())
    ends = (".json", ".safetensors", ".signature.json")
    released = [f"artifacts/released/released{end}" for end in ends]
    assert files == [*released, "params.json", "tags.json"]
    with pytest.raises(InputError, match="new or an empty folder"):
        log_run(folder, to=place)
    whole = tmp_path / "internal"
    log_run(folder, to=whole, internal=True)
    assert set(json.loads((whole / "metrics.json").read_text())) == MEASURED
    assert (whole / "artifacts" / "internal" / "figures" / "roc.svg").is_file()
    assert whole.stat().st_mode & 0o077 == 0


def test_runs_on_numbers_are_logged_with_their_measures(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    shutil.copy(Path(__file__).parent / "cli" / "stored" / "regression.json", run / "results.json")
    log_run(run, to=tmp_path / "place", internal=True)
    found = json.loads((tmp_path / "place" / "metrics.json").read_text())
    assert {"RMSE_points", "RMSE_points_unprotected", "R2", "utility_loss"} <= set(found)


def test_mlflow_is_an_extra():
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    assert "mlflow" in tomllib.loads(text)["project"]["optional-dependencies"]
