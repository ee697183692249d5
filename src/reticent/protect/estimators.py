"""Recipes as scikit-learn estimators: each ``fit`` is one release.

The estimators hold public numbers and check records; what is learned, and its proof, is the
recipe's (``protect.recipes``).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from reticent.arrays import Floats
from reticent.protect.learner import Learner, Prepared, ReleasingEstimator
from reticent.protect.recipes.adassp import AdaSSPRecipe
from reticent.protect.recipes.class_means import ClassMeansRecipe
from reticent.protect.recipes.lda import LDARecipe
from reticent.protect.recipes.matrix_lda import MatrixLDARecipe
from reticent.protect.recipes.network import NetworkRecipe
from reticent.protect.recipes.noisy_gradient import GradientRecipe
from reticent.protect.recipes.pure_class_means import PureClassMeansRecipe
from reticent.protect.recipes.regression import RegressionRecipe
from reticent.protect.terms import Terms
from reticent.training.records import real_targets, without_private_values


class NoisyGradientHead(Learner):
    """A linear softmax head by noisy full-batch gradients on whitened unit rows.

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> head = NoisyGradientHead(
    ...     classes=range(10), records=1500, epsilon=4.0, delta=1e-5, relation="add-remove"
    ... ).fit(X[:1500], y[:1500])
    >>> print(head.guarantee_)
    ε ≤ 4, δ ≤ 1e-5 (proven; neighbours: add-remove; unit: one record)
    """

    recipe = GradientRecipe


class ClassMeansHead(Learner):
    """The nearest of C noisy means of centred unit rows: few records suffice.

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> head = ClassMeansHead(
    ...     classes=range(10),
    ...     records=1500,
    ...     epsilon=1.0,
    ...     delta=0.0,
    ...     relation="add-remove",
    ...     mechanism="laplace",
    ... ).fit(X[:1500], y[:1500])
    >>> print(head.guarantee_)
    ε ≤ 1, δ ≤ 0 (proven; neighbours: add-remove; unit: one record)
    """

    recipe = ClassMeansRecipe


class LDAHead(Learner):
    """Linear discriminant analysis: noisy class means and one noisy covariance.

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> head = LDAHead(
    ...     classes=range(10), records=1500, epsilon=4.0, delta=1e-5, relation="replace-one"
    ... ).fit(X[:1500], y[:1500])
    >>> print(head.guarantee_)
    ε ≤ 4, δ ≤ 1e-5 (proven; neighbours: replace-one; unit: one record)
    """

    recipe = LDARecipe


class AdaSSPHead(Learner):
    """Ridge regression on one-hot targets from noisy sufficient statistics.

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> head = AdaSSPHead(
    ...     classes=range(10), records=1500, epsilon=4.0, delta=1e-5, relation="add-remove"
    ... ).fit(X[:1500], y[:1500])
    >>> print(head.guarantee_)
    ε ≤ 4, δ ≤ 1e-5 (proven; neighbours: add-remove; unit: one record)
    """

    recipe = AdaSSPRecipe


class PureClassMeansHead(Learner):
    """The nearest of C noisy class means at pure ε: each class sum has L2-Laplace noise of its own.

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> head = PureClassMeansHead(
    ...     classes=range(10), records=1500, epsilon=1.0, delta=0.0, relation="add-remove"
    ... ).fit(X[:1500], y[:1500])
    >>> print(head.guarantee_)
    ε ≤ 1, δ ≤ 0 (proven; neighbours: add-remove; unit: one record)
    """

    recipe = PureClassMeansRecipe


@dataclass(kw_only=True, eq=False, repr=False)
class MatrixLDAHead(Learner):
    """Discriminant analysis at pure ε; takes the arguments of every learner, and these.

    Args:
        public_map: A file .npy or .npz of a public layer, outputs × features, along whose leading
            directions rows are shortened; a random map where nothing is said.
        seed: Public, of the random map.

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> head = MatrixLDAHead(
    ...     classes=range(10), records=1500, epsilon=4.0, delta=0.0, relation="add-remove"
    ... ).fit(X[:1500], y[:1500])
    >>> print(head.guarantee_)
    ε ≤ 4, δ ≤ 0 (proven; neighbours: add-remove; unit: one record)
    """

    recipe = MatrixLDARecipe

    public_map: str = ""
    seed: int = 0


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateNetwork(Learner):
    """A network by DP-SGD; takes the arguments of every learner, and these.

    Args:
        architecture: "mlp", "conv"; "minilm-lora", "minilm-lora-last", "minilm-head",
            "efficientnet-lite0-last" or a folder of transformers or timm, which start from public
            weights; or ``package.module:function`` of a function that is called with the shape of a
            record and the number of classes and returns a torch module. Texts become rows by
            ``reticent.training.networks.token_encoder``.
        shape: Of a record, as "1x28x28"; one vector where nothing is said.
        batch: How many of N records a step sees on average, at most N: by default 512, or all of
            them where the relation or persons with several records rule samples out.
        epochs: How many times N records are seen.
        clip: The norm to which each record's gradient is clipped.
        learning_rate: Of the optimiser.
        momentum: Of SGD; of Adam the decay of its first moment.
        optimiser: "sgd" or "adam".
        average: Decay of a moving average of the weights, which is released; 0 for none.
        exact: With books in float64 the guarantee is proven; without, faster and declared.
        physical: How many records are computed at a time; by default 64, or 8 where training
            starts from public weights.
        seed: Of the public first weights.
        head_share: Warm start: this share of the budget learns a head on frozen features first, by
            noisy gradients, and training starts from it; 0 for none.
        start: The path of a released head on such features to start from instead: both guarantees
            stand in the certificate, and ``composed_guarantee_`` is that of both.
        start_people: Whose records made it: "same" (both guarantees add up) or "other".
        augmentation: Of images in [0, 1], "natural" or "digits": each step averages the gradients
            of several views of a record, drawn from secret bits, and clips that mean.
        views: How many; by default 4 where an augmentation is named.

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> network = PrivateNetwork(
    ...     classes=range(10),
    ...     records=1500,
    ...     epsilon=4.0,
    ...     delta=1e-5,
    ...     relation="add-remove",
    ...     epochs=4,
    ... ).fit(X[:1500] / 16, y[:1500])
    >>> print(network.guarantee_)
    ε ≤ 4, δ ≤ 1e-5 (proven; neighbours: add-remove; unit: one record)
    """

    recipe = NetworkRecipe

    architecture: str = "mlp"
    shape: str = ""
    batch: int | None = None
    epochs: float = 20.0
    clip: float = 0.1
    learning_rate: float = 1.0
    momentum: float = 0.9
    optimiser: str = "sgd"
    average: float = 0.0
    exact: bool = True
    physical: int | None = None
    seed: int = 0
    head_share: float = 0.0
    start: str | None = None
    start_people: str | None = None
    augmentation: str = ""
    views: int | None = None

    def _terms(self) -> Terms:
        from reticent.protect.released_encoder import use_start

        return replace(super()._terms(), start=use_start(self.start, self.start_people))


@dataclass(kw_only=True, eq=False, repr=False)
class AdaSSPRegressor(RegressorMixin, ReleasingEstimator):  # type: ignore[misc]
    """Ridge regression whose every look at the records is a noisy sum; each ``fit`` is a release.

    Args:
        bound: The public bound on the norm of a row; longer rows are scaled down to it.
        target_bound: The public bound on a target's distance from ``target_centre``; others are
            clipped to it.
        records: The public N: about the number of records; at most 2N may be there.
        epsilon: The ε of the whole fit.
        delta: Its δ.
        relation: "add-remove" or "replace-one".
        mechanism: The noise: "gaussian", or "logistic" and others by zCDP or ε.
        max_records_per_person: The most records that one person owns, where the person is
            protected; None where no persons are named, and the record is.
        inferred: The names of public numbers that were read off the private records.
        charge: Called with the event of the whole fit before a sum is formed.
        encoder: A released encoder, or its path (OUT of ``reticent pretrain``): X is what it
            takes, each row by itself.
        encoder_people: Whose records made it: "same" (both guarantees add up) or "other".
        target_centre: The public middle of the targets' range.

    Attributes:
        released_: The affine function with its guarantee.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(20000, 3))
    >>> y = X @ [1.0, -1.0, 0.5] + 0.25
    >>> model = AdaSSPRegressor(
    ...     bound=1.0,
    ...     target_bound=1.5,
    ...     records=20000,
    ...     epsilon=4.0,
    ...     delta=1e-6,
    ...     relation="add-remove",
    ... ).fit(X, y)
    >>> print(model.guarantee_)
    ε ≤ 4, δ ≤ 1e-6 (proven; neighbours: add-remove; unit: one record)
    >>> model.score(X, y) > 0.9
    True
    """

    recipe = RegressionRecipe

    bound: float
    target_bound: float
    target_centre: float = 0.0

    def prepared(self, X: ArrayLike, y: ArrayLike) -> Prepared:
        """The recipe, the terms, the rows and their targets."""
        with without_private_values():
            rows, targets = validate_data(
                self,
                self._encoded(X),
                real_targets(y),
                dtype=np.float64,
                y_numeric=True,
                ensure_min_samples=0,
            )
        labels = np.asarray(targets, dtype=np.float64)
        return self._prepared(rows, labels, classes=np.zeros(0, dtype=np.int64))

    def predict(self, X: ArrayLike) -> Floats:
        """One number per row, by the released function."""
        released = self._released()
        with without_private_values():
            rows = validate_data(self, self._encoded(X), dtype=np.float64, reset=False)
        return released.predict(rows)


ESTIMATORS = (
    NoisyGradientHead,
    ClassMeansHead,
    LDAHead,
    AdaSSPHead,
    PureClassMeansHead,
    MatrixLDAHead,
    PrivateNetwork,
    AdaSSPRegressor,
)
