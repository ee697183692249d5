"""``reticent.run``: the whole job on arrays and a model in the manner of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from reticent.data import Dataset
from reticent.pipeline.attack_recipes import Stage
from reticent.pipeline.running.run import Finished, run_job
from reticent.pipeline.running.spec import RunData, RunSpec
from reticent.validation import InputError, describe, float_rows

Floats = NDArray[np.float64]


def run(  # noqa: PLR0913 - the model, its data, and one argument for each public number
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    test: tuple[ArrayLike, ArrayLike],
    epsilon: float,
    delta: float,
    relation: str,
    classes: Sequence[Any] | None = None,
    bound: float | None = None,
    records: int | None = None,
    persons: ArrayLike | None = None,
    public: ArrayLike | None = None,
    name: str = "private data",
    stage: Stage | None = None,
    **settings: Any,
) -> Finished:
    """What a classifier tells about its records, and what a private release of a head would tell.

    Args:
        model: A classifier in the manner of scikit-learn, fitted on (X, y) or not yet; None for
            a softmax head with the best penalty.
        X: Private features.
        y: Their labels.
        test: Features and labels that no model saw, for accuracies and as non-members.
        epsilon: Of the release that is handed over.
        delta: Its δ.
        relation: "add-remove" or "replace-one".
        classes: All of them, public. This, ``bound`` and ``records`` are read from the data where
            they are not said, and then no release is more than declared.
        bound: The public bound on a row's norm; longer rows are clipped.
        records: The public N, about the number of records.
        persons: Whose record each one is; ``records_each`` says how many of them count.
        public: Public features, to centre and whiten all rows by; for a model not fitted yet.
        name: Of the data, for the page.
        stage: Told how far it is.
        **settings: More fields of ``RunSpec``: draws, shadows, epsilons, seed, jobs, ….
    """
    data, read_off = private_table(name, X, y, classes, persons)
    around = None if public is None else _dataset("public", public)
    if public is not None and _is_fitted(model):
        raise InputError("public must not be given with a fitted model, which saw other rows")
    seed = settings.get("seed", 0)
    roles = RunData.of(data, _test(test, data.classes), public=around, seed=seed)
    norms = np.linalg.norm(roles.private.features.astype(np.float64), axis=1)
    given = {"bound": bound, "records": records}
    spec = RunSpec(
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        records=len(data) if records is None else records,
        bound=float(norms.max()) if bound is None else bound,
        read_off=(*read_off, *(name for name, value in given.items() if value is None)),
        **settings,
    )
    return run_job(roles, spec, model=_fitted(model, roles), stage=stage)


def private_table(
    name: str,
    X: ArrayLike,
    y: ArrayLike,
    classes: Sequence[Any] | None,
    persons: ArrayLike | None,
) -> tuple[Dataset, tuple[str, ...]]:
    """The private records, and whether their classes had to be read off."""
    labels = np.asarray(y).astype(str)
    names = np.unique(labels) if classes is None else np.asarray(classes).astype(str)
    data = _dataset(name, X, labels, tuple(names.tolist()), persons)
    return data, ("classes",) if classes is None else ()


def _test(test: tuple[ArrayLike, ArrayLike], classes: tuple[str, ...]) -> Dataset:
    if not isinstance(test, tuple) or len(test) != 2:
        raise InputError(f"test must be features and labels, got {describe(test)}")
    return _dataset("test", test[0], np.asarray(test[1]).astype(str), classes)


def _dataset(
    name: str,
    X: ArrayLike,
    labels: NDArray[Any] | None = None,
    classes: tuple[str, ...] = (),
    persons: ArrayLike | None = None,
) -> Dataset:
    rows = float_rows(name, X).astype(np.float32)
    if labels is None:
        return Dataset(name=name, source="arrays", inputs=rows)
    places = {label: place for place, label in enumerate(classes)}
    if unknown := sorted(set(labels.tolist()) - set(places)):
        raise InputError(f"labels of {name} must be of the classes, got {len(unknown)} others")
    return Dataset(
        name=name,
        source="arrays",
        inputs=rows,
        labels=np.array([places[label] for label in labels.tolist()], dtype=np.int64),
        classes=classes,
        persons=None if persons is None else np.asarray(persons),
    )


def _is_fitted(model: Any) -> bool:
    if model is None:
        return False
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    except TypeError:  # no estimator of scikit-learn's: it answers already
        return True
    return True


def _fitted(model: Any, data: RunData) -> Any:
    """As it is, or fitted on the private rows; classes are spelled as texts everywhere."""
    if model is None:
        return None
    spelled = SpelledOut(model)
    if _is_fitted(model):
        spelled.estimator_, spelled.classes_ = model, np.asarray(model.classes_).astype(str)
        return spelled
    return spelled.fit(*data.rows("private"))


class SpelledOut(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose classes are texts, whatever its own are."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """A copy of the estimator, on labels as texts."""
        self.estimator_ = clone(self.estimator).fit(X, np.asarray(y).astype(str))
        self.classes_ = np.asarray(self.estimator_.classes_).astype(str)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Labels as texts."""
        return np.asarray(self.estimator_.predict(X)).astype(str)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """As the estimator's own."""
        return np.asarray(self.estimator_.predict_proba(X), dtype=np.float64)
