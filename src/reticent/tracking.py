"""A finished run in MLflow: what it promises, its release, and only if asked what it measured.

The folder that ``reticent run --out`` wrote is the plain place for results; this copies it into the
active MLflow run (``pip install mlflow``). Accuracies, attacks and the page are computed from
private records without noise, and whoever reads the tracking server would read them.
"""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.results import Results

__all__ = ["log_run"]

_RELEASED = "released"
_INTERNAL_FILES = ("results.json", "report.html")
_INTERNAL_FOLDERS = ("figures", "tables")


def log_run(folder: str | PathLike[str], *, internal: bool = False) -> None:
    """Log a run's folder to the active MLflow run, or to a new one that MLflow starts.

    Logged are the claim of the recommended release as parameters, its printed line as the tag
    ``reticent.claim``, and the released files, which are public, as artifacts under ``released``.

    Args:
        folder: OUT of ``reticent run``, or of ``Finished.save``.
        internal: Log what no guarantee covers as well: accuracies and attacks as metrics, the page,
            its figures and tables, and results.json. Then the server is as private as the records.
    """
    mlflow = _mlflow()
    from reticent.results import read_results

    place = Path(folder)
    results = read_results(place / "results.json")
    mlflow.log_params(_claim(results))
    mlflow.set_tag("reticent.claim", results.recommended.claim.text)
    for path in sorted(place.glob(f"{_RELEASED}*")):
        if path.suffix in (".safetensors", ".json"):
            mlflow.log_artifact(str(path), _RELEASED)
    if not internal:
        return
    mlflow.log_metrics(_measured(results))
    mlflow.set_tag("reticent.internal", "holds figures that no guarantee covers")
    for path in (place / name for name in _INTERNAL_FILES):
        if path.is_file():
            mlflow.log_artifact(str(path), "internal")
    for path in (place / name for name in _INTERNAL_FOLDERS):
        if path.is_dir():
            mlflow.log_artifacts(str(path), f"internal/{path.name}")


def _claim(results: Results) -> dict[str, Any]:
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


def _measured(results: Results) -> dict[str, float]:
    release, said = results.recommended, results.conclusion
    return {
        "accuracy": release.accuracy.value,
        "accuracy_unprotected": results.unprotected.accuracy.value,
        "utility_loss": release.loss.value,
        "attack_auc": said.after.value,
        "attack_auc_unprotected": said.before.value,
        "attack_auc_allowed": said.allowed,
    }


def _mlflow() -> Any:
    """The user's MLflow, which is no dependency of this package: any version with these names."""
    try:
        return import_module("mlflow")
    except ModuleNotFoundError:
        raise InputError("mlflow must be installed to log a run: pip install mlflow") from None
