"""``reticent.run.run``: the whole job on arrays and a model in the manner of scikit-learn."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from reticent.arrays import Array, ArrayLike
from reticent.attacks.context import ProgressCallback
from reticent.data import Dataset, cells
from reticent.guarantee import Relation
from reticent.protect import feature_names, release, table, terms
from reticent.run.job import Finished, run_job
from reticent.run.spec import RunData, RunSpec, counted, longest_row
from reticent.run.string_labels import is_fitted, with_string_labels
from reticent.validation import InputError, describe, float_rows, has_type


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
    records_from_data: bool = False,
    persons: ArrayLike | None = None,
    public: ArrayLike | None = None,
    name: str = "private data",
    stage: ProgressCallback | None = None,
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
        classes: All of them, public. This and ``bound`` are read from the data where they are not
            said, and then no release is more than declared. The release predicts them in the type
            that they have here.
        bound: The public bound on a row's norm; longer rows are clipped.
        records: The public N, about the number of records. Under add-remove it must be said.
        records_from_data: Count the records for N after all: every release is declared then, and
            tells their number.
        persons: Whose record each one is; ``max_records_per_person`` says how many of them count,
            by default the first. The person is then the unit of every claim.
        public: Public features, to centre and whiten all rows by; for a model not fitted yet.
        name: Of the data, for the page.
        stage: Told how far it is.
        **settings: More fields of ``RunSpec``: draws, shadows, epsilons, seed, jobs, ….
    """
    if records is None and relation == Relation.ADD_REMOVE and not records_from_data:
        raise InputError(
            f"records must be said (or records_from_data=True): {terms.ASK_FOR_RECORDS}"
        )
    own = _labels("y", y)
    names = np.unique(own) if classes is None else _labels("classes", list(classes))
    if classes is not None and not has_type(y):  # numpy's type of a list depends on all labels
        own = np.array([str(label) for label in cells.plain_cells(y)], dtype=np.str_)
    spelled = dict(zip(names.astype(str).tolist(), names.tolist(), strict=True))
    data = _dataset(name, X, own, tuple(spelled), persons)
    data = dataclasses.replace(data, public_classes=classes is not None)
    public_data = None if public is None else _dataset("public", public)
    if public is not None and is_fitted(model):
        raise InputError("public must not be given with a fitted model, which saw other rows")
    each = table.kept_each(data, settings.pop("max_records_per_person", None))
    roles = RunData.of(
        data, _test(test, data.classes), public=public_data, seed=settings.get("seed", 0)
    )
    given = {"classes": classes, "bound": bound, "records": records}
    spec = RunSpec(
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        records=counted(data, each) if records is None else records,
        bound=longest_row(roles.private) if bound is None else bound,
        inferred_from_data=tuple(name for name, value in given.items() if value is None),
        max_records_per_person=each,
        **settings,
    )
    judged = None
    if model is not None:
        judged = with_string_labels(model, spelled, roles.rows("private"))
    return _typed(run_job(roles, spec, model=judged, stage=stage), names)


def _typed(finished: Finished, classes: Array) -> Finished:
    """The release predicts classes as the caller writes them; a run itself works on texts."""
    return dataclasses.replace(
        finished, released=release.with_names(finished.released, classes=classes)
    )


def _test(test: tuple[ArrayLike, ArrayLike], classes: tuple[str, ...]) -> Dataset:
    if not isinstance(test, (tuple, list)) or len(test) != 2:
        raise InputError(f"test must be features and labels, got {describe(type(test))}")
    return _dataset("test", test[0], _labels("labels of test", test[1]), classes)


def _labels(name: str, value: ArrayLike) -> Array:
    """One row of whole numbers, truth values or texts; a NaN is no class."""
    labels = np.asarray(value)
    if labels.dtype.kind == "O" and all(isinstance(one, str) for one in labels.flat):
        labels = labels.astype(np.str_)
    if labels.ndim != 1 or labels.dtype.kind not in "biufU":
        raise InputError(
            f"{name} must be a list of numbers or texts, got {labels.dtype} of shape {labels.shape}"
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError(f"{name} must be finite, got NaN or infinity")
    return labels


def _dataset(
    name: str,
    X: ArrayLike,
    labels: Array | None = None,
    classes: tuple[str, ...] = (),
    persons: ArrayLike | None = None,
) -> Dataset:
    rows = float_rows(name, X)
    if labels is None:
        return Dataset(name=name, source="arrays", inputs=rows, columns=feature_names.columns_of(X))
    places = {label: place for place, label in enumerate(classes)}
    texts = labels.astype(str).tolist()
    if unknown := set(texts) - set(places):
        raise InputError(f"labels of {name} must be of the classes, got {len(unknown)} others")
    return Dataset(
        name=name,
        source="arrays",
        inputs=rows,
        columns=feature_names.columns_of(X),
        labels=np.array([places[label] for label in texts], dtype=np.int64),
        classes=classes,
        persons=None if persons is None else _labels("persons", persons),
    )
