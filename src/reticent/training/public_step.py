"""A step of a pipeline that was fitted on public data and is never fitted again."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted


class PublicStep(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Wraps a transformer that saw public data alone; ``fit`` leaves it as it is.

    A scaler that a pipeline fits on private rows is a release without noise, so a proven release
    refuses it (theory F7). Wrapped like this it is a public map; that its data was public is your
    word, and the guarantee says so.

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
        """What the wrapped step makes of the rows."""
        return self.step.transform(X)

    def __sklearn_clone__(self) -> Self:
        """A clone of a fitted step would be unfitted: it is public and fixed, so it is shared."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """Fitted before it came here."""
        return True
