"""What the estimators of recipes share: public numbers, checked records, one release a fit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from reticent.arrays import Array, ArrayLike, Floats
from reticent.guarantee import Guarantee, Relation, grade
from reticent.mechanisms.registry import DEFAULT_NOISE
from reticent.protect.recipe import Recipe
from reticent.protect.registry import is_own
from reticent.protect.release import Charge, Release, release_records
from reticent.protect.terms import Terms, inferred_sources
from reticent.training.public_step import Enclosing, enclosing
from reticent.training.records import classified_records, indices_of
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.protect.released_encoder import ReleasedEncoder


@dataclass(frozen=True, kw_only=True, eq=False)
class Prepared:
    """An estimator before its fit on some records: all that ``release_records`` is given."""

    recipe: Recipe
    terms: Terms
    rows: Floats
    labels: Array
    classes: Array


@dataclass(kw_only=True, eq=False, repr=False)
class ReleasingEstimator(BaseEstimator):  # type: ignore[misc]
    """What estimators share: prepare records, release, predict by the release.

    Their fields are the parameters that scikit-learn gets and sets, one for each public number.
    """

    recipe: ClassVar[type[Recipe]]

    records: int
    epsilon: float
    delta: float
    relation: Relation | str
    mechanism: str = DEFAULT_NOISE
    max_records_per_person: int | None = None
    inferred: Collection[str] = ()
    charge: Charge | None = None
    encoder: ReleasedEncoder | Release | str | None = None
    encoder_people: str | None = None
    released_: Release = field(init=False)

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Release a model; every data set of valid records has one, the empty one too."""
        context = refuse_as_learner(self)
        prepared = self.prepared(X, y)
        self._set_classes(prepared.classes)
        self.released_ = release_records(
            prepared.recipe,
            prepared.terms,
            prepared.rows,
            prepared.labels,
            classes=prepared.classes,
            charge=self.charge,
            context=context,
        )
        return self

    def prepared(self, X: ArrayLike, y: ArrayLike) -> Prepared:
        """The recipe, the terms and the records that a fit would release by."""
        raise NotImplementedError

    def _prepared(self, rows: Floats, labels: Array, *, classes: Array) -> Prepared:
        terms, params = self._terms(), self.get_params(deep=False)
        recipe = self.recipe.planned(
            terms,
            records=self.records,
            features=rows.shape[1],
            classes=len(classes) or 1,
            mechanism=self.mechanism,
            **{name: params[name] for name in self.recipe.options if name in params},
        )
        return Prepared(recipe=recipe, terms=terms, rows=rows, labels=labels, classes=classes)

    @property
    def guarantee_(self) -> Guarantee:
        """The guarantee of the fit, which is one release."""
        return self._released().guarantee

    @property
    def composed_guarantee_(self) -> Guarantee | None:
        """What the fit and the released encoder below it promise together; None without one."""
        from reticent.protect.released_encoder import composed_guarantee

        return composed_guarantee(self._released())

    def predict(self, X: ArrayLike) -> Array:
        """What the released model predicts for each row."""
        return self._released().predict(self._queries(X))

    def _queries(self, X: ArrayLike) -> ArrayLike:
        """Features of rows to answer; a frame must have the columns of fit, in their order."""
        fitted, columns = getattr(self, "feature_names_in_", None), getattr(X, "columns", None)
        if fitted is not None and columns is not None and list(columns) != list(fitted):
            raise InputError(
                f"X must have the columns of fit in their order, got others: take X[{list(fitted)}]"
            )
        return self._encoded(X)

    def _encoded(self, X: ArrayLike) -> ArrayLike:
        """Features of rows by the released encoder, each row by itself; the rows without one."""
        encoder = _opened_encoder(self.encoder)
        return X if encoder is None else encoder.encode(np.asarray(X)).astype(np.float64)

    def __sklearn_tags__(self) -> Tags:
        """Two fits differ: each draws its own noise."""
        tags: Tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags

    def _terms(self) -> Terms:
        from reticent.protect.released_encoder import use_encoder

        return Terms(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=grade.as_relation(self.relation),
            max_records_per_person=self.max_records_per_person,
            sources=inferred_sources(self.inferred),
            encoder=use_encoder(_opened_encoder(self.encoder), self.encoder_people),
        )

    def _set_classes(self, classes: Array) -> None:
        pass

    def _released(self) -> Release:
        check_is_fitted(self, "released_")
        return self.released_


def _opened_encoder(encoder: ReleasedEncoder | Release | str | None) -> ReleasedEncoder | None:
    """A released encoder of the package's own recipes, or that of a path, built anew.

    Another may look at several rows at a time. A public one is refused, with what to do.
    """
    from reticent.protect.released_encoder import ReleasedEncoder, encoder_from

    if encoder is None:
        return None
    encoder_or_release = encoder_from(encoder) if isinstance(encoder, str) else encoder
    release: Any = getattr(encoder_or_release, "release", encoder_or_release)
    if isinstance(encoder, str) and not isinstance(release, Release):
        raise InputError(
            f"encoder must be a released one, got {encoder!r}: give features of a public encoder as"
            " X, or use reticent protect --encoder"
        )
    built = ReleasedEncoder(release)  # refuses what makes no features
    if not is_own(built.release.recipe):
        raise InputError(
            f"encoder must be of the package's own recipes, got {built.release.recipe.name}: use"
            " reticent protect --encoder, whose release is declared"
        )
    return built


@dataclass(kw_only=True, eq=False, repr=False)
class Learner(ClassifierMixin, ReleasingEstimator):  # type: ignore[misc]
    """A classifier whose every look at the records is a noisy sum; each ``fit`` is one release.

    Args:
        classes: All classes, public; one may have no records.
        records: The public N: about the number of records; at most 2N may be there.
        epsilon: The ε of the whole fit.
        delta: Its δ.
        relation: "add-remove" or "replace-one".
        mechanism: The noise: "gaussian", or "logistic" and others by zCDP or ε. Learners with
            noise of their own, for pure ε, take no other: leave it out.
        max_records_per_person: The most records that one person owns, where the person is
            protected (user-level privacy); None where no persons are named, and the record is.
        inferred: The names of public numbers that were read off the private records: with any of
            them the guarantee is declared.
        charge: Called with the event of the whole fit before a sum is formed.
        encoder: A released encoder, or its path (OUT of ``reticent pretrain``): X is what it
            takes, each row by itself.
        encoder_people: Whose records made it: "same" (both guarantees add up) or "other".

    Attributes:
        released_: The released model with its guarantee.
    """

    classes: Sequence[Any]

    def prepared(self, X: ArrayLike, y: ArrayLike) -> Prepared:
        """The recipe, the terms, the rows, and the place of each row's label among the classes."""
        names = np.asarray(self.classes)
        if names.ndim != 1 or len(names) < 2 or len(set(names.tolist())) < len(names):
            raise InputError("classes must be at least two different ones, got others")
        rows, targets = classified_records(self, self._encoded(X), y, declared=True)
        return self._prepared(rows, indices_of(targets, names), classes=names)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probability of each class by the released model."""
        return self._released().predict_proba(self._queries(X))

    def decision_function(self, X: ArrayLike) -> Floats:
        """The scores of the released model; of two classes their difference."""
        return self._released().decision_function(self._queries(X))

    def _set_classes(self, classes: Array) -> None:
        self.classes_ = classes


def refuse_as_learner(learner: BaseEstimator) -> Enclosing:
    """Refuse a fit that nothing can be proven of; else what stands around it.

    Only the package's own classes mint, by ``type(...) is``: a subclass or a replaced method may
    pass by the noise. A step of a pipeline must have been fitted on public rows, and no other
    estimator may stand around the learner (``public_step.enclosing``).
    """
    from reticent.protect.estimators import ESTIMATORS

    if type(learner) not in ESTIMATORS:
        raise InputError(
            "learner must be one of the package's own classes to be proven, got"
            f" {type(learner).__name__}, which may compute something else"
        )
    context = enclosing(learner)
    if context.problem is not None:
        raise InputError(context.problem)
    return context
