"""Releases as a program in Python makes them: arrays in every memory layout, class weights,
pipelines, and ways around the noise that must be refused.

A program that reads its table itself hands over arrays or lists; these have layouts and types that
no reader of this package chose.
"""

import csv
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from reticent import protect
from reticent.arrays import Floats, Integers
from reticent.audit.end_to_end.adversarial import LABEL, PERSON, TARGET
from reticent.audit.end_to_end.releases import Audited, published
from reticent.audit.end_to_end.replay import Published, Release
from reticent.audit.end_to_end.settings import Settings
from reticent.protect.learner import Learner, Prepared
from reticent.protect.recipe import Plan, Tensors
from reticent.protect.recipes.class_means import ClassMeansRecipe
from reticent.protect.table import cap_rows_per_person
from reticent.training import PublicStep, SoftmaxHead, public_step
from reticent.validation import InputError

Records = tuple[Any, Any]


def users_arrays(path: Path, settings: Settings) -> Records:
    """Rows and labels as a user's own program reads them, in the layout of the settings."""
    label = TARGET if settings.shape.targets else LABEL
    rows, labels, owners = _READERS[path.suffix](path, settings, label)
    if owners is not None and settings.max_records_per_person is not None:
        kept = cap_rows_per_person(np.asarray(owners), settings.max_records_per_person)
        rows, labels = [rows[i] for i in kept], [labels[i] for i in kept]
    return _laid_out(rows, settings), labels


Columns = tuple[list[Any], list[str], list[str] | None]
"""Rows, cells of the label as texts, and owners."""


def _from_csv(path: Path, settings: Settings, label: str) -> Columns:
    with path.open(encoding="utf-8", newline="") as file:
        records = list(csv.DictReader(file))
    rows = [[_number(record[name]) for name in settings.shape.features] for record in records]
    owners = [record[PERSON] for record in records] if settings.person else None
    return rows, [record[label] for record in records], owners


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _from_npz(path: Path, settings: Settings, label: str) -> Columns:
    with np.load(path, allow_pickle=False) as file:
        columns = {name: file[name] for name in file.files}
    return _of_columns(columns, settings, label)


def _from_parquet(path: Path, settings: Settings, label: str) -> Columns:
    from pyarrow import parquet

    table = parquet.read_table(path, use_threads=False)
    columns = {name: table[name].to_pylist() for name in table.column_names}
    return _of_columns(columns, settings, label)


def _of_columns(columns: dict[str, Any], settings: Settings, label: str) -> Columns:
    if settings.shape.embedded:
        rows = list(columns[settings.shape.features[0]])
    else:
        rows = list(zip(*(list(columns[name]) for name in settings.shape.features), strict=True))
    owners = [str(cell) for cell in columns[PERSON]] if settings.person else None
    return rows, [str(cell) for cell in columns[label]], owners


_READERS: Final = {".csv": _from_csv, ".npz": _from_npz, ".parquet": _from_parquet}


def _laid_out(rows: list[Any], settings: Settings) -> Any:
    """As lists, in C or Fortran order, or as every second row and column of a larger array.

    Which one may depend on the number of rows: programs that grow their arrays are like that.
    """
    width, layout = settings.shape.width, settings.layouts[len(rows) % len(settings.layouts)]
    if layout == "lists" and rows:
        return [list(row) for row in rows]
    array = np.array([[float(cell) for cell in row] for row in rows]).reshape(len(rows), width)
    if layout == "F":
        return np.asfortranarray(array)
    if layout == "strided":
        larger = np.full((2 * len(rows), 2 * width), np.pi)
        larger[::2, ::2] = array
        return larger[::2, ::2]
    return array


def _weighted_head(settings: Settings) -> Release:
    """A softmax head with public class weights, from arrays."""
    classes = settings.shape.classes

    def release(path: Path) -> Published:
        head = SoftmaxHead(
            classes=classes,
            records=settings.records,
            bound=settings.bound,
            penalty=settings.penalty,
            norms=settings.norms,
            intercept=settings.intercept,
            class_weight={classes[0]: settings.heaviest, classes[-1]: 1 / settings.heaviest},
        )
        return published(
            protect.release_weights(head.fit(*users_arrays(path, settings)), **settings.budget)
        )

    return release


def _mean(settings: Settings) -> Release:
    """A mean of arrays."""

    def release(path: Path) -> Published:
        rows, _ = users_arrays(path, settings)
        rows = rows if len(rows) else np.zeros((0, settings.shape.width))
        mean = protect.release_mean(
            rows, bound=settings.bound, records=settings.records, **settings.budget
        )
        return published(mean)

    return release


def _learner(settings: Settings, kind: type[Learner]) -> Learner:
    taken = kind._get_param_names()
    numbers = settings.options(kind.recipe.name)
    options = {name: value for name, value in numbers.items() if name in taken}
    budget = settings.covered_by(kind.recipe.name).budget
    return kind(classes=settings.shape.classes, records=settings.records, **budget, **options)


def _fitted(kind: type[Learner]) -> Callable[[Settings], Release]:
    def build(settings: Settings) -> Release:
        def release(path: Path) -> Published:
            learner = _learner(settings, kind)
            return published(learner.fit(*users_arrays(path, settings)).released_)

        return release

    return build


def _regressor(settings: Settings) -> Release:
    """A regressor on arrays, whose targets are lists of numbers."""
    covered = settings.covered_by(protect.AdaSSPRegressor.recipe.name)

    def release(path: Path) -> Published:
        rows, targets = users_arrays(path, settings)
        options = covered.options(protect.AdaSSPRegressor.recipe.name)
        regressor = protect.AdaSSPRegressor(records=settings.records, **covered.budget, **options)
        return published(regressor.fit(rows, [float(one) for one in targets]).released_)

    return release


def _public_whitening(settings: Settings) -> Release:
    """A learner behind a step that was fitted on public rows."""
    width = settings.shape.width
    public = np.vander(np.linspace(-1, 1, 3 * width + 2), width, increasing=True)[:, ::-1]

    def release(path: Path) -> Published:
        step = PublicStep(public_step.PublicWhitening().fit(public))
        learner = _learner(settings, protect.ClassMeansHead)
        rows, labels = _not_too_large(*users_arrays(path, settings))
        Pipeline([("white", step), ("learner", learner)]).fit(rows, labels)
        return published(learner.released_)

    return release


def _not_too_large(rows: Any, labels: Any) -> Records:
    """scikit-learn's steps overflow on numbers near the end of the range: keep the rest."""
    array = np.asarray(rows, dtype=np.float64)
    return np.clip(array, -1e150, 1e150), labels


class _WithoutNoiseRecipe(ClassMeansRecipe):
    """A recipe that passes by the noise: what is learnt, and a sum of the rows as it is."""

    def learn(self, rows: Floats, labels: Integers, plan: Plan) -> Tensors:
        tensors = super().learn(rows, labels, plan)
        return {**tensors, "offsets": tensors["offsets"] + np.clip(rows, -1.0, 1.0).sum()}


class _WithoutNoise(protect.ClassMeansHead):
    """A subclass that learns by it."""

    recipe = _WithoutNoiseRecipe


def _prepared_without_noise(learner: protect.ClassMeansHead, rows: Any, labels: Any) -> Prepared:
    """What an instance's replaced method would hand over."""
    prepared = protect.ClassMeansHead.prepared(learner, rows, labels)
    numbers = prepared.recipe.to_dict()
    return replace(prepared, recipe=_WithoutNoiseRecipe(**numbers))


class _Around(BaseEstimator):  # type: ignore[misc]
    """Another estimator that looks at the private rows before it fits a learner."""

    def fit(self, rows: Any, labels: Any, learner: Learner) -> "_Around":
        """Choose the scale by the rows themselves."""
        self.learner_ = learner.fit(rows - rows.mean(axis=0), labels)
        return self


def _hostile(way: str) -> Callable[[Settings], Release]:
    """Ways to a proven guarantee without its noise: each of them must be refused."""

    def build(settings: Settings) -> Release:
        def release(path: Path) -> Published:
            rows, labels = _not_too_large(*users_arrays(path, settings))
            if len(rows) == 0:
                raise InputError("rows must be there for a scaler, got none")
            learner = _learner(
                settings, _WithoutNoise if way == "subclass" else protect.ClassMeansHead
            )
            if way == "scaler":
                Pipeline([("scale", StandardScaler()), ("learner", learner)]).fit(rows, labels)
            elif way == "around":
                _Around().fit(rows, labels, learner)
            elif way == "replaced":
                learner.prepared = partial(_prepared_without_noise, learner)  # type: ignore[method-assign]
                learner.fit(rows, labels)
            else:
                learner.fit(rows, labels)
            return published(learner.released_)

        return release

    return build


_CLASSIFIERS: Final = [kind for kind in protect.estimators.ESTIMATORS if issubclass(kind, Learner)]
PYTHON_RELEASES: Final[dict[str, Audited]] = {
    "class weights, arrays": Audited(build=_weighted_head),
    "mean, arrays": Audited(build=_mean),
    **{f"{kind.recipe.name}, arrays": Audited(build=_fitted(kind)) for kind in _CLASSIFIERS},
    "adassp-regression, arrays": Audited(build=_regressor, targets=True, embedded=False),
    "class-means after public whitening": Audited(build=_public_whitening, fewest=2),
}
HOSTILE: Final[dict[str, Audited]] = {
    f"hostile: {way}": Audited(build=_hostile(way), fewest=3, hostile=True)
    for way in ("scaler", "subclass", "replaced", "around")
}
