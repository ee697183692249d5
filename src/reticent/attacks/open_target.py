"""What a user names as a target: a file of ours, somebody's answers, or an object in Python."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reticent.attacks.records import Records
from reticent.attacks.targets import AnsweredTarget, ModelTarget, Target, imported_target
from reticent.data.columns import open_columns
from reticent.guarantee import Guarantee
from reticent.protect import Release, load, sealed_pair
from reticent.protect.registry import ENCODING
from reticent.training import SoftmaxHead, fit_file
from reticent.training.optimum import Optimum
from reticent.validation import InputError, line

_TABLES = (".csv", ".csv.gz", ".parquet")


def open_target(name: str, *, classes: Sequence[Any] | None = None) -> Target:
    """The target that the text names.

    One of four: OUT of ``reticent protect``, or a folder with one such release; OUT of ``reticent
    fit``; a .csv or .parquet file of probabilities with one column for each class, named by it; or
    ``module:attribute``, which is imported and is a fitted model, a torch module or a function.
    ``classes`` are the columns of what a module or function answers.
    """
    text = line("target", name)
    path = _inside(Path(text))
    if path.name.lower().endswith(_TABLES):
        return AnsweredTarget.read(path)
    if path.suffix != ".json" and fit_file.fit_path(path).is_file():
        if not path.name.endswith(".fit.safetensors") and _is_release(path):
            raise InputError(
                f"target must be one file, got a release and a fit of the name {text!r}: write"
                f" {path.name}.json or {path.name}.fit.safetensors"
            )
        return ModelTarget(fitted_head(path))
    if ":" in text and not _is_release(path):
        return imported_target(text, classes=classes)
    if not _is_release(path):
        raise InputError(
            "target must be a fit or release of ours, a .csv or .parquet of probabilities, or"
            f" module:attribute, got {text!r}"
        )
    released = load(path)
    if released.recipe.task == ENCODING:
        raise InputError(
            "target must tell classes, got a released encoder: reticent attack takes its records"
            " without labels, reticent.audit.encoder_attack in Python"
        )
    if released.recipe.task != "classification":
        raise InputError(f"target must tell classes, got a released {released.recipe.task}")
    return ModelTarget(released)


def released_at(name: str) -> Path | None:
    """The file of the release that the text names, or of the one in that folder; else None."""
    path = Path(line("target", name))
    if path.is_dir():
        path = _inside(path)
    return path if _is_release(path) and not fit_file.fit_path(path).is_file() else None


def fitted_head(path: str | Path) -> SoftmaxHead:
    """The head of a fit file, standing where it was fitted; it predicts and cannot be released."""
    head, coordinates = fit_file.load_fit(path)
    width = coordinates.shape[1] - (1 if head.intercept else 0)
    assert head.classes is not None
    head.loss_on(np.zeros((0, width)), np.asarray(head.classes)[:0])  # learns classes and width
    optimum = Optimum(point=coordinates, gradient_bound=np.inf, steps=0)
    return head.set_solution(
        optimum, tolerance=np.inf if head.tolerance is None else head.tolerance
    )


def labels_alone(path: Path, *, label: str, start: int) -> Records | None:
    """Records of a file with a column of labels and no features; None where it has features.

    A record is then the number of its row among the answers, from ``start`` on.
    """
    table = open_columns(path, texts=[label])
    if set(table.names) != {label}:
        return None
    labels = table.column(label, role="label")
    return Records(np.arange(start, start + len(labels)), labels.astype(np.str_))


def described(target: Target) -> str:
    """What kind of thing it is, in a word or two, with its guarantee where it has one."""
    model, claim = getattr(target, "model", target), claimed(target)
    name = type(model).__name__
    if isinstance(model, Release):
        name = f"released {model.mechanism} {model.recipe.name}"
    return name if claim is None else f"{name}, {claim}"


def claimed(target: Target) -> Guarantee | None:
    """What the target promises, where it is a release or a fitted estimator of ours."""
    model = getattr(target, "model", target)
    claim = getattr(model, "guarantee", None)
    return claim if isinstance(claim, Guarantee) else None


def _inside(path: Path) -> Path:
    """The one release of a folder."""
    if not path.is_dir():
        return path
    releases = [file for file in sorted(path.glob("*.json")) if _is_release(file)]
    if len(releases) != 1:
        raise InputError(f"target must be a folder with one release, got {len(releases)} in {path}")
    return releases[0]


def _is_release(path: Path) -> bool:
    return bool(path.name) and all(part.is_file() for part in sealed_pair.paths_of(path))
