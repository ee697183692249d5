"""Utility loss, 1 − M(protected)/M(unprotected), with a confidence interval.

Definition 6.1 of Yang, Gohari, Topcu (2022). M is any metric whose best value is positive.

The interval is a percentile bootstrap (Efron, Tibshirani 1993, section 13) on two levels:

- Records are resampled, the same ones for all models: they answered the same queries, so the
  difficulty of a query drops out of the ratio.
- The mean over K draws of the protecting noise is moved by t·s/√K, with s the deviation between
  the draws' losses and t from Student's distribution of K−1 degrees of freedom. Resampling 3 draws
  out of 3 instead would understate their variance by the factor 2/3 and use normal tails:
  intervals said to hold the loss in 95 of 100 cases then hold it in 75 to 83. What a draw does to
  single records enters both levels, which errs on the safe side.

The ratio is smooth and nearly unbiased, so corrections for bias and acceleration, which would take
one more score for each record, are left out; the tests measure the coverage.

Each model answers the fixed queries once and is served by row number: a bootstrap scores a model
thousands of times on the same queries; and a protected model that adds noise to its answers must
not be asked twice.
"""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, get_scorer, get_scorer_names
from sklearn.utils import ClassifierTags, Tags, TargetTags, get_tags
from sklearn.utils.metaestimators import available_if

from reticent.arrays import Array, ArrayLike, Floats, Integers
from reticent.validation import InputError, count, describe, open_probability


def _answered(method: str) -> "Callable[[FrozenAnswers], bool]":
    return lambda self: hasattr(self._model, method)


class FrozenAnswers:
    """A model for scikit-learn's scorers: where they pass X, they pass row numbers of the queries.

    It has the response methods that the model has, and calls each at most once, when it is needed.
    """

    def __init__(self, model: Any, X: Any, *, records: int) -> None:
        self._model = model
        self._queries = X
        self._records = records
        self._answers: dict[str, Array] = {}

    @property
    def classes_(self) -> Array:
        """Those of the model, which has none if it is no classifier."""
        return np.asarray(self._model.classes_)

    @available_if(_answered("predict"))  # type: ignore[untyped-decorator]
    def predict(self, rows: Integers) -> Array:
        """The labels that were recorded for these rows."""
        return self._answer("predict", rows)

    @available_if(_answered("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, rows: Integers) -> Array:
        """Probabilities, one column per class."""
        return self._answer("predict_proba", rows)

    @available_if(_answered("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, rows: Integers) -> Array:
        """The logarithms of the recorded probabilities."""
        return self._answer("predict_log_proba", rows)

    @available_if(_answered("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, rows: Integers) -> Array:
        """The decision values that were recorded for these rows."""
        return self._answer("decision_function", rows)

    def __sklearn_tags__(self) -> Tags:
        """The model's; one that is no scikit-learn estimator is a classifier if it has classes."""
        if hasattr(self._model, "__sklearn_tags__"):
            return get_tags(self._model)
        kind = "classifier" if hasattr(self._model, "classes_") else None
        return Tags(
            estimator_type=kind,
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags() if kind else None,
        )

    def _answer(self, method: str, rows: Integers) -> Array:
        if method not in self._answers:
            answers = np.asarray(getattr(self._model, method)(self._queries))
            if answers.shape[:1] != (self._records,):
                raise InputError(
                    f"{method} must answer each of {self._records} records, got shape "
                    f"{answers.shape}"
                )
            self._answers[method] = answers
        return self._answers[method][rows]


Scorer = Callable[..., float]
Scores = Callable[[Integers], Floats]
"""From row numbers to the metric of each model on these rows, the unprotected one first."""

_LOSSES = ("_loss", "_error", "_deviance")
"""How scikit-learn ends the names of metrics of which less is better."""
_OUTSIDE = 5
"""Resamples beyond each end of the interval, at least."""


@dataclass(frozen=True, kw_only=True)
class UtilityLoss:
    """1 − M(protected)/M(unprotected) with its interval; 0 is no loss, below 0 a gain."""

    value: float
    low: float
    high: float
    confidence: float
    metric: str
    metric_protected: float
    """The mean over the draws."""
    metric_unprotected: float
    draws: int
    records: int

    def __str__(self) -> str:
        draws = "1 draw" if self.draws == 1 else f"{self.draws:,} draws"
        records = "1 record" if self.records == 1 else f"{self.records:,} records"
        return (
            f"utility loss {self.value:.3f} [{self.low:.3f}, {self.high:.3f}] ({self.metric} "
            f"{_short(self.metric_unprotected)} → {_short(self.metric_protected)}; "
            f"{100 * self.confidence:g} %, {draws}, {records})"
        )


def utility_loss(  # noqa: PLR0913 - two models, their queries, and the interval's numbers
    protected: Any,
    unprotected: Any,
    X: Any,
    y: ArrayLike,
    *,
    scorer: str | Scorer = "accuracy",
    confidence: float = 0.95,
    resamples: int = 2000,
    rng: np.random.Generator,
) -> UtilityLoss:
    """How much of the metric protection costs on the queries X with the truth y.

    With one protected model the interval is about that very model on new records of this kind. With
    a list of independent draws of the protecting noise it is about the mean over all draws. Models
    are asked once. Where two models answer every record alike, the interval is one point: what did
    not happen in the records is not in a resample of them either (for n records, rates up to about
    3/n).

    Args:
        protected: A released model, or a list of independently released ones.
        unprotected: The model before protection.
        X: The queries, in any form that the models take.
        y: The truth, one label per query.
        scorer: A name of scikit-learn's, a scorer(estimator, X, y), or a metric(y_true, y_pred).
            Larger must be better, and the unprotected score positive. A scorer is given
            row numbers in place of X: it may ask the estimator but not look at the queries.
        confidence: The probability that the interval is to hold the true loss.
        resamples: How many times the records are resampled. Accuracy takes a second or so; any
            other scorer is called once for each model and resample.
        rng: Randomness of the resamples.

    >>> from sklearn.dummy import DummyClassifier
    >>> X, y = np.zeros((100, 1)), np.repeat([0, 1], [80, 20])
    >>> model = DummyClassifier(strategy="constant", constant=0).fit(X, y)
    >>> print(utility_loss(model, model, X, y, rng=np.random.default_rng(0)))
    utility loss 0.000 [0.000, 0.000] (accuracy .800 → .800; 95 %, 1 draw, 100 records)
    """
    _check_numbers(confidence, resamples, rng)
    truth = np.asarray(y)
    if truth.ndim == 0 or len(truth) == 0:
        raise InputError(f"y must hold at least one label, got shape {truth.shape}")
    models = [unprotected, *_draws(protected)]
    answers = [FrozenAnswers(model, X, records=len(truth)) for model in models]
    scores = _scores(answers, truth, scorer)
    observed = scores(np.arange(len(truth)))
    _check_observed(observed, _name(scorer))
    resampled = _resampled(scores, records=len(truth), resamples=resamples, rng=rng)
    spread = _spread(observed, resampled, rng)
    low, high = np.quantile(spread, [(1 - confidence) / 2, (1 + confidence) / 2])
    return UtilityLoss(
        value=float(_losses(observed).mean()),
        low=float(low),
        high=float(high),
        confidence=confidence,
        metric=_name(scorer),
        metric_protected=float(observed[1:].mean()),
        metric_unprotected=float(observed[0]),
        draws=len(models) - 1,
        records=len(truth),
    )


def _losses(scores: Floats) -> Floats:
    """The loss of each draw (last axis)."""
    return np.asarray(1 - scores[..., 1:] / scores[..., :1])


def _resampled(scores: Scores, *, records: int, resamples: int, rng: np.random.Generator) -> Floats:
    """The scores of all models on the same resampled records, one row per resample."""
    draws = (rng.integers(records, size=records) for _ in range(resamples))
    ratios = np.array([_score_again(scores, rows) for rows in draws])
    if not ((ratios[:, 0] > 0).all() and np.isfinite(ratios).all()):
        raise _undefined()
    return ratios


def _score_again(scores: Scores, rows: Integers) -> Floats:
    try:
        return scores(rows)
    except ValueError:  # a metric may need each class, or a positive case
        raise _undefined() from None


def _undefined() -> InputError:
    return InputError(
        "scorer must be defined, and > 0 for the unprotected model, on every resample of the "
        "records, got one where it is not; give more records of each class"
    )


def _spread(observed: Floats, resampled: Floats, rng: np.random.Generator) -> Floats:
    """The mean losses on the resampled records, moved by the uncertainty of few draws."""
    means: Floats = _losses(resampled).mean(axis=1)
    losses = _losses(observed)
    if losses.size == 1:
        return means
    error = losses.std(ddof=1) / math.sqrt(losses.size)
    return np.asarray(means + error * rng.standard_t(losses.size - 1, size=means.size))


def _scores(answers: Sequence[FrozenAnswers], y: Array, scorer: str | Scorer) -> Scores:
    if scorer == "accuracy" or scorer is accuracy_score:
        return _accuracies(answers, y)
    call = _as_scorer(scorer)
    return lambda rows: np.array([float(call(model, rows, y[rows])) for model in answers])


def _accuracies(answers: Sequence[FrozenAnswers], y: Array) -> Scores:
    """Accuracy is a mean over records, which need not be compared anew for each resample."""
    answered = [model.predict(np.arange(len(y))) for model in answers]
    for labels in (y, *answered):
        if labels.ndim != 1:
            raise InputError(f"accuracy takes one label per record, got shape {labels.shape}")
    correct = np.array([labels == y for labels in answered], dtype=np.float64)

    def accuracies(rows: Integers) -> Floats:
        times = np.bincount(rows, minlength=len(y)).astype(np.float64)
        return np.asarray(correct @ times / len(rows))

    return accuracies


def _as_scorer(scorer: str | Scorer) -> Scorer:
    """A function of estimator, X and y, from any of the three forms."""
    if isinstance(scorer, str):
        if scorer not in get_scorer_names():
            raise InputError(f"scorer must be a name of scikit-learn's, got {describe(scorer)}")
        named: Scorer = get_scorer(scorer)
    else:
        named = scorer
    if getattr(named, "_sign", 1) < 0 or _name(scorer).endswith(_LOSSES):
        raise InputError(
            f"scorer must be one of which more is better and whose best value is > 0, such as "
            f"accuracy, got {_name(scorer)}"
        )
    if _arguments(named) == 3:
        return named
    return lambda model, rows, y: named(y, model.predict(rows))


def _arguments(scorer: Scorer) -> int:
    """How many arguments a scorer (3) or a metric (2) takes; none of them may be left to guess."""
    try:
        parameters = inspect.signature(scorer).parameters.values()
    except (TypeError, ValueError):
        raise InputError(f"scorer must be a function or a name, got {describe(scorer)}") from None
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.kind in places and p.default is inspect.Parameter.empty]
    if len(needed) not in (2, 3):
        raise InputError(
            f"scorer must take (estimator, X, y) or (y_true, y_pred), got {len(needed)} arguments "
            "without a default"
        )
    return len(needed)


def _draws(protected: Any) -> list[Any]:
    """One model or several; an ensemble, which has a length too, is one."""
    if hasattr(protected, "predict"):
        return [protected]
    if not isinstance(protected, Sequence) or isinstance(protected, str) or not protected:
        raise InputError(f"protected must be a model or a list of them, got {describe(protected)}")
    return list(protected)


def _check_numbers(confidence: object, resamples: object, rng: object) -> None:
    level = open_probability("confidence", confidence)
    count("resamples", resamples, at_least=math.ceil(2 * _OUTSIDE / (1 - level) - 1e-9))
    if not isinstance(rng, np.random.Generator):
        raise InputError(f"rng must be a numpy Generator, got {describe(rng)}")


def _check_observed(scores: Floats, metric: str) -> None:
    if not scores[0] > 0:
        raise InputError(
            f"{metric} of the unprotected model must be > 0 for the ratio to mean anything, got "
            f"{scores[0]:.6g}; take a metric of which more is better and whose best value is > 0"
        )
    if not np.isfinite(scores).all():
        raise InputError(f"{metric} must be finite for each model, got NaN or infinity")


def _name(scorer: str | Scorer) -> str:
    """One line for messages and prints."""
    if isinstance(scorer, str):
        return scorer
    inner = getattr(scorer, "_score_func", scorer)  # of scikit-learn's make_scorer
    name = str(getattr(inner, "__name__", type(inner).__name__))
    return name.removesuffix("_score")


def _short(value: float) -> str:
    """Three digits without a leading zero, as in .912."""
    shown = f"{value:.3f}"
    return shown.replace("0.", ".", 1) if shown.startswith(("0.", "-0.")) else shown
