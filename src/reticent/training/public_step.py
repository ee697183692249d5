"""A step of a pipeline that was fitted on public data and is never fitted again.

``enclosing`` finds what stands around a fit: estimators that call it, and code that replaces its
own. A head or learner cannot see the pipeline around it, but it can see who called: a scaler that a
Pipeline fits on the private rows, or a search over settings (GridSearchCV, cross_val_score), makes
what is fitted depend on all rows before any bound is applied. What runs in another process is not
seen here.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import FrameType
from typing import Any, Final, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn import preprocessing
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from reticent.arrays import ArrayLike, Floats
from reticent.training.records import without_private_values
from reticent.validation import InputError, positive

_LARGEST_ENTRY = 2.0**400
_LARGEST_COORDINATE = 2.0**100


class PublicWhitening(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """(x − mean)·V·(w + shrinkage·w_max)^−½, with mean and spectrum (w, V) of the fitted rows.

    Fit it on public rows and put it into a pipeline as ``PublicStep(PublicWhitening().fit(rows))``.

    >>> rows = np.random.default_rng(0).normal(size=(500, 2)) * [10.0, 1.0] + 5.0
    >>> white = PublicWhitening(shrinkage=0.01).fit(rows).transform(rows)
    >>> [round(float(s), 1) for s in sorted(white.std(axis=0))]
    [0.7, 1.0]
    """

    def __init__(self, *, shrinkage: float = 0.1) -> None:
        self.shrinkage = shrinkage

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Mean and spectrum of public rows."""
        positive("shrinkage", self.shrinkage)
        rows = validate_data(self, X, dtype=np.float64)
        self.mean_ = rows.mean(axis=0)
        centred = rows - self.mean_
        values, vectors = np.linalg.eigh(centred.T @ centred / len(rows))
        spread = np.maximum(values, 0.0) + self.shrinkage * max(values[-1], 1e-300)
        self.components_ = vectors / np.sqrt(spread)
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """The rows in these coordinates; there may be none, and finite ones stay finite.

        Each row is a function of itself alone, bit by bit, whatever the batch and its memory
        layout: one private record more moves no other's coordinates (docs/theory.md E.2). Entries
        are cut to ±2⁴⁰⁰ before the product and to ±2¹⁰⁰ after it, cell by cell: a record with huge
        numbers overflows neither in float64 nor in float32, so nothing later has to refuse it.
        """
        from reticent.training.row_kernels import products  # numba, only where rows are

        check_is_fitted(self)
        with without_private_values():
            rows = validate_data(self, X, dtype=np.float64, reset=False, ensure_min_samples=0)
        centred = np.clip(rows, -_LARGEST_ENTRY, _LARGEST_ENTRY) - self.mean_
        white = products(centred, self.components_)
        return np.clip(white, -_LARGEST_COORDINATE, _LARGEST_COORDINATE, out=white)


_CELL_BY_CELL = (
    preprocessing.MaxAbsScaler,
    preprocessing.MinMaxScaler,
    preprocessing.OneHotEncoder,
    preprocessing.OrdinalEncoder,
    preprocessing.RobustScaler,
    SimpleImputer,
    preprocessing.StandardScaler,
)
"""What these make of a cell depends on it and on what was fitted: additions, multiplications and
divisions by public numbers, each rounded by itself, or a look into a public table."""


class PublicStep(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Wraps a transformer that saw public data alone; ``fit`` leaves it as it is.

    A scaler that a pipeline fits on private rows is a release without noise, so a proven release
    refuses it (theory F7). Wrapped like this it is a public map; that its data was public is your
    word, and the guarantee says so.

    What comes out for a record depends on that record alone, bit by bit (theory F14). A matrix
    product (PCA) rounds a row differently among others, and a function may even look at all rows
    at once; so rows are shown to the wrapped step one by one, as batches of one. Scalers, encoders
    of categories, ``PublicWhitening`` and pipelines or column transformers of these look at one
    cell or row anyway and get all rows at once: one by one PCA takes about 0.4 ms a row, they 5 µs.

    >>> from sklearn.preprocessing import StandardScaler
    >>> step = PublicStep(StandardScaler().fit([[0.0], [2.0]]))
    >>> step.fit([[100.0]]).transform([[2.0]])
    array([[1.]])
    """

    def __init__(self, step: Any) -> None:
        self.step = step

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Nothing is learnt; a step that was not fitted before is refused."""
        check_is_fitted(self.step)
        return self

    def transform(self, X: ArrayLike) -> Any:
        """What the wrapped step makes of each row, numbers in float64; there may be no rows."""
        rows = _in_float64(X)
        with without_private_values():
            if not _number_of(rows):
                return self._of_no_rows(rows)
            if row_by_itself(self.step):
                return _result(self.step.transform(rows), _number_of(rows))
            return self._one_by_one(rows)

    def _of_no_rows(self, rows: Any) -> Any:
        """No rows of the right width: a refusal of the empty data set would tell it apart."""
        if isinstance(rows, np.ndarray) and rows.ndim == 2:
            return _result(self.step.transform(np.zeros((1, rows.shape[1]))), 1)[:0]
        return np.zeros((0, len(self.step.get_feature_names_out())))

    def _one_by_one(self, rows: Any) -> Any:
        parts = [
            _result(self.step.transform(_safe_indexing(rows, [place])), 1)
            for place in range(_number_of(rows))
        ]
        if sparse.issparse(parts[0]):
            return sparse.vstack(parts, format="csr")
        return np.concatenate(parts)

    def __sklearn_clone__(self) -> Self:
        """A clone of a fitted step would be unfitted: it is public and fixed, so it is shared."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """Fitted before it came here."""
        return True


def row_by_itself(step: Any) -> bool:
    """Whether a transformer is known to treat each row alone, bit by bit, in whatever batch.

    Types themselves: a subclass may do something else.
    """
    if step is None or isinstance(step, str):  # "passthrough", "drop"
        return True
    if type(step) is Pipeline:
        return all(row_by_itself(inner) for _, inner in step.steps)
    if type(step) is ColumnTransformer:
        return all(row_by_itself(inner) for _, inner, _ in step.transformers_)
    if (
        type(step) is preprocessing.FunctionTransformer
    ):  # passthrough in a fitted column transformer
        return step.func is None
    return type(step) in (PublicStep, PublicWhitening, *_CELL_BY_CELL)


def _in_float64(values: Any) -> Any:
    """A copy of numbers as float64 in C order; tables, texts and sparse rows as they are.

    The type of an array is that of all its cells together: one fractional or long number must not
    change how the wrapped step computes with those of other records.
    """
    if sparse.issparse(values):
        return values.astype(np.float64) if values.dtype.kind in "biuf" else values
    if hasattr(values, "columns"):
        return values
    array = np.asarray(values)
    return np.array(array, dtype=np.float64, order="C") if array.dtype.kind in "biuf" else values


def _number_of(rows: Any) -> int:
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def _result(values: Any, count: int) -> Any:
    result = _in_float64(values if sparse.issparse(values) else np.asarray(values))
    if _number_of(result) != count:
        raise InputError("step must give one row for each row, got another number of them")
    return result


_VALIDATION: Final = "sklearn.model_selection._validation"
_NAME: Final = re.compile(r"[\w.-]{1,64}")
"""What a step may be called: its name stands in a certificate, and a sentence would stand there."""


class Enclosing(NamedTuple):
    """What stands around a fit: why nothing can be proven of it, or the public steps before it."""

    problem: str | None = None
    steps: tuple[str, ...] = ()


def _parameters(kind: type) -> set[str]:
    """The public numbers of an estimator: fields, whose defaults stand in the class."""
    return {one.name for one in fields(kind)} if is_dataclass(kind) else set()


def enclosing(estimator: BaseEstimator | None = None) -> Enclosing:
    """Of the fit, or of the release without an estimator, that is running now."""
    own: set[str] = set() if estimator is None else set(vars(estimator))
    if replaced := sorted(own & set(dir(type(estimator))) - _parameters(type(estimator))):
        return Enclosing(
            problem=f"{type(estimator).__name__} must be fitted with its own methods and constants,"
            f" got another {replaced[0]!r}"
        )
    steps: tuple[str, ...] = ()
    for caller in _callers(estimator):
        if not isinstance(caller, Pipeline):
            return _looked_at_by(type(caller).__name__)
        before = steps_before(caller)
        if before.problem is not None:
            return before
        steps = (*steps, *before.steps)
    if (function := _cross_validation()) is not None:
        return _looked_at_by(function)
    return Enclosing(steps=steps)


def _looked_at_by(name: str) -> Enclosing:
    return Enclosing(
        problem="fit must be called by itself or at the end of a Pipeline of PublicSteps, got a fit"
        f" inside {name}, which looks at the private rows too: choose settings and measure on"
        " public rows"
    )


def steps_before(pipeline: Pipeline) -> Enclosing:
    """The steps before the last: each must have been fitted on public data."""
    named = [
        (name, step) for name, step in pipeline.steps[:-1] if step not in (None, "passthrough")
    ]
    for name, step in named:
        if type(step) is not PublicStep:
            return Enclosing(
                problem=f"step {name!r} before the head must be a PublicStep, got "
                f"{type(step).__name__}, {_remedy(step)}, PublicStep(step)"
            )
        if not is_step_name(name):
            return Enclosing(
                problem=f"step {name!r} must have a name of at most 64 letters, digits, dots,"
                " dashes and underscores: it stands in the certificate"
            )
    return Enclosing(steps=tuple(name for name, _ in named))


def _remedy(step: Any) -> str:
    """A step that learns nothing need not be fitted, but may look at all rows at once."""
    if isinstance(step, BaseEstimator) and not get_tags(step).requires_fit:
        return "which may look at all rows at once: wrap it, to be shown one row at a time"
    return "which was fitted on the private rows: fit it on public rows and wrap it"


def is_step_name(name: object) -> bool:
    """Whether a step of a pipeline may be called so in a certificate.

    >>> is_step_name("scaler"), is_step_name("scaler, and nothing else was fitted")
    (True, False)
    """
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _cross_validation() -> str | None:
    """The function of scikit-learn (cross_val_score and its like) that this fit runs in, if any."""
    frame: FrameType | None = sys._getframe(1)
    function_name = None
    while frame is not None:
        name = frame.f_code.co_name
        if frame.f_globals.get("__name__") == _VALIDATION and not name.startswith(("_", "<")):
            function_name = name  # the outermost: cross_val_score calls cross_validate
        frame = frame.f_back
    return function_name


def _callers(estimator: BaseEstimator | None) -> Iterator[BaseEstimator]:
    """The estimators whose methods are running in this thread, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    seen = {id(estimator)}
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, BaseEstimator) and id(owner) not in seen:
            seen.add(id(owner))
            yield owner
        frame = frame.f_back
