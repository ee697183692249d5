"""A run in MLflow: its claim and its release, and what it measured only where that is asked for."""

import sys
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
