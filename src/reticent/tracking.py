"""A finished run in a place for results: MLflow, or a plain folder with the same layout.

The folder that ``reticent run --out`` wrote holds everything. What this copies is public: what the
run promises, and its release. Accuracies or other measures, attacks and the page are computed from
private records without noise; whoever reads the place would read them, so they are copied only
where that is asked for. MLflow is an extra: ``pip install "reticent[mlflow]"``.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from reticent.files import write_atomic
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.results import Results
    from reticent.results.task_results import TaskResults

__all__ = ["log_run"]

_RELEASED = "released"
_INTERNAL_FILES = ("results.json", "report.html")
_INTERNAL_FOLDERS = ("figures", "tables")


class Tracker(Protocol):
    """Those of MLflow's functions that are used."""

    def log_params(self, params: Mapping[str, Any]) -> Any:
        """Public numbers and names of a run."""

    def log_metrics(self, metrics: Mapping[str, float]) -> Any:
        """Record measured figures by name, as MLflow's function of this name does."""

    def set_tag(self, key: str, value: str) -> Any:
        """A text about the run."""

    def log_artifact(self, local_path: str, artifact_path: str) -> Any:
        """A copy of a file."""

    def log_artifacts(self, local_dir: str, artifact_path: str) -> Any:
        """A copy of a folder."""


def log_run(
    folder: str | PathLike[str],
    *,
    internal: bool = False,
    to: str | PathLike[str] | None = None,
) -> None:
    """Log a run's folder to the active MLflow run, or to a new one that MLflow starts.

    Logged are the claim of the recommended release as parameters, its printed line as the tag
    ``reticent.claim``, and the released files, which are public, as artifacts under ``released``.

    Args:
        folder: OUT of ``reticent run``, or of ``Finished.save``.
        internal: Log what no guarantee covers as well: measures and attacks as metrics, the page,
            its figures and tables, and results.json. Then the place is as private as the records.
        to: A new folder in place of MLflow, which is then not needed: ``params.json``,
            ``tags.json``, ``metrics.json`` and ``artifacts``.
    """
    from reticent.results.task_results import read_any_results

    tracker: Tracker = _mlflow() if to is None else PlainFolder.new(to, private=internal)
    place = Path(folder)
    results = read_any_results(place / "results.json")
    tracker.log_params(_claim(results))
    tracker.set_tag("reticent.claim", results.recommended.claim.text)
    for path in sorted(place.glob(f"{_RELEASED}*")):
        if path.suffix in (".safetensors", ".json"):
            tracker.log_artifact(str(path), _RELEASED)
    if not internal:
        return
    tracker.log_metrics(_measured(results))
    tracker.set_tag("reticent.internal", "holds figures that no guarantee covers")
    for path in (place / name for name in _INTERNAL_FILES):
        if path.is_file():
            tracker.log_artifact(str(path), "internal")
    for path in (place / name for name in _INTERNAL_FOLDERS):
        if path.is_dir():
            tracker.log_artifacts(str(path), f"internal/{path.name}")


@dataclass(frozen=True)
class PlainFolder:
    """A folder with the parts of an MLflow run, each a file; of its owner alone where private."""

    root: Path
    private: bool

    @classmethod
    def new(cls, root: str | PathLike[str], *, private: bool) -> PlainFolder:
        """An empty folder: one that holds anything is refused."""
        path = Path(root)
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise InputError(f"to must be a new or an empty folder, got {path}")
        path.mkdir(parents=True, exist_ok=True)
        if private:
            path.chmod(0o700)
        return cls(path, private)

    def log_params(self, params: Mapping[str, Any]) -> None:
        """Write what was asked for to params.json, values as text or numbers."""
        self._write("params.json", params)

    def log_metrics(self, metrics: Mapping[str, float]) -> None:
        """Write measured figures to metrics.json, in place of an earlier one."""
        self._write("metrics.json", metrics)

    def set_tag(self, key: str, value: str) -> None:
        """One more entry of tags.json."""
        path = self.root / "tags.json"
        known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        self._write("tags.json", {**known, key: value})

    def log_artifact(self, local_path: str, artifact_path: str) -> None:
        """Copy a file to artifacts/``artifact_path``, under its own name."""
        target = self.root / "artifacts" / artifact_path
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(local_path, target)

    def log_artifacts(self, local_dir: str, artifact_path: str) -> None:
        """A copy of a folder under artifacts."""
        shutil.copytree(local_dir, self.root / "artifacts" / artifact_path)

    def _write(self, name: str, values: Mapping[str, Any]) -> None:
        text = json.dumps(dict(values), ensure_ascii=False, allow_nan=False, indent=1)
        write_atomic(self.root / name, f"{text}\n".encode(), private=self.private)


def _claim(results: Results | TaskResults) -> dict[str, Any]:
    """Public: what the certificate says."""
    release = results.recommended
    claim = release.claim
    return {
        "epsilon": claim.epsilon,
        "delta": claim.delta,
        "grade": str(claim.grade),
        "relation": str(claim.relation),
        "unit": claim.unit,
        "learner": release.learner,
        "mechanism": release.mechanism,
    }


def _measured(results: Results | TaskResults) -> dict[str, float]:
    from reticent.results.task_results import TaskResults

    conclusion = results.conclusion
    metrics = {
        "attack_auc": conclusion.after.value,
        "attack_auc_unprotected": conclusion.before.value,
        "attack_auc_allowed": conclusion.allowed,
        "utility_loss": results.recommended.loss.value,
    }
    if isinstance(results, TaskResults):
        pairs = zip(results.unprotected.measures, results.recommended.measures, strict=True)
        for before, after in pairs:
            name = _key(after.words)
            metrics |= {name: after.figure.value, f"{name}_unprotected": before.figure.value}
        return metrics
    return metrics | {
        "accuracy": results.recommended.accuracy.value,
        "accuracy_unprotected": results.unprotected.accuracy.value,
    }


def _key(words: str) -> str:
    """A name of a metric that every server takes: letters, digits and underscores.

    >>> _key("RMSE (points)"), _key("R²"), _key("F1 of above 4")
    ('RMSE_points', 'R2', 'F1_of_above_4')
    """
    signs = words.replace("²", "2")
    plain = "".join(sign if sign.isascii() and sign.isalnum() else " " for sign in signs)
    return "_".join(plain.split())


def _mlflow() -> Any:
    """The user's MLflow, which only this needs: any version with these names."""
    try:
        return import_module("mlflow")
    except ModuleNotFoundError:
        raise InputError(
            'mlflow must be installed to log a run: pip install "reticent[mlflow]"; to=FOLDER does'
            " without"
        ) from None
