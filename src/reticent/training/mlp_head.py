"""A head of one to three dense layers on fixed features. No theorem bounds its sensitivity.

Training needs torch; a trained head predicts in float64 with numpy alone.
"""

import copy
import importlib
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from reticent.arrays import Array, ArrayLike, Floats, Integers
from reticent.training.features import clip_rows
from reticent.training.records import classified_records, indices_of
from reticent.validation import InputError, count, describe, float_array, non_negative, positive

if TYPE_CHECKING:  # it needs torch
    from reticent.training.dense import Recipe

Layers = list[tuple[Floats, Floats]]

_LARGEST = float(np.finfo(np.float32).max)


class MLPHead(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """min (1/n)·Σ CE(f(x), y) + (λ/2)‖all weights and biases‖², by a fixed number of steps.

    With ``risk`` α the mean is (1/α)·ln (1/n)·Σ exp(α·CE(f(x), y)) instead (Lu et al., Eq. 22), of
    each batch where there are batches.

    f has ``layers`` dense layers with ``activation`` between them and a softmax at the end; one
    layer is the linear softmax. Equal data, parameters and seed give equal bits on one machine with
    one number of threads. Training is in float32, predictions in float64.

    Args:
        layers: The number of weight matrices, 1 to 3.
        width: The width of the hidden layers.
        activation: "relu" or "tanh".
        penalty: λ.
        optimiser: "adam", or "sgd" with momentum 0.9.
        learning_rate: The step length.
        steps: How many steps are made, whatever the loss does.
        batch: How many records a step sees, in shuffled passes; None for all of them.
        seed: Of the initial weights and the order of the records.
        classes: All classes, in the order of the outputs; one may have no records. Without it they
            are read off the labels.
        bound: Rows longer than this are scaled down to it, in float64; None for no bound.
        risk: α of the risk-averting loss; None for the mean loss.

    Attributes:
        weights_: One pair (W, b) per layer, first to last: W has a row per output.
        classes_: The classes in the order of the outputs.

    >>> import numpy as np
    >>> X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), [0, 1, 1, 0]
    >>> head = MLPHead(layers=2, penalty=0.0).fit(X, y)
    >>> head.predict(X).tolist()
    [0, 1, 1, 0]
    >>> [(w.shape, b.shape) for w, b in head.weights_]
    [((64, 2), (64,)), ((2, 64), (2,))]
    >>> head.flat_weights(last=1).shape
    (130,)
    """

    def __init__(  # noqa: PLR0913 - one argument for each number of the recipe
        self,
        *,
        layers: int = 1,
        width: int = 64,
        activation: Literal["relu", "tanh"] = "relu",
        penalty: float = 1e-4,
        optimiser: Literal["adam", "sgd"] = "adam",
        learning_rate: float = 0.01,
        steps: int = 500,
        batch: int | None = None,
        seed: int = 0,
        classes: Sequence[Any] | None = None,
        bound: float | None = None,
        risk: float | None = None,
    ) -> None:
        self.layers = layers
        self.width = width
        self.activation = activation
        self.penalty = penalty
        self.optimiser = optimiser
        self.learning_rate = learning_rate
        self.steps = steps
        self.batch = batch
        self.seed = seed
        self.classes = classes
        self.bound = bound
        self.risk = risk

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Make the steps. Without records (``classes`` given) only the penalty acts."""
        rows, labels = self.mapped_records(X, y)
        trained = trainer("dense").train(rows, labels, self.recipe(rows.shape[1]))
        return self.set_solution(trained)

    def mapped_records(self, X: ArrayLike, y: ArrayLike) -> tuple[Floats, Integers]:
        """What training sees of these records; the head learns their classes and width."""
        self._check_parameters()
        rows, labels = self._checked_data(X, y)
        self.classes_ = np.unique(labels) if self.classes is None else np.asarray(self.classes)
        if len(self.classes_) < 2:
            raise InputError(f"classes must be at least 2 classes, got {len(self.classes_)} class")
        return self._map(rows), indices_of(labels, self.classes_)

    def recipe(self, features: int) -> "Recipe":
        """The parameters as training takes them, for rows of this width and ``classes_``."""
        recipe: Recipe = trainer("dense").Recipe(
            sizes=(features, *[self.width] * (self.layers - 1), len(self.classes_)),
            activation=self.activation,
            penalty=self.penalty,
            optimiser=self.optimiser,
            learning_rate=self.learning_rate,
            steps=self.steps,
            batch=self.batch,
            seed=self.seed,
            risk=self.risk,
        )
        return recipe

    def set_solution(self, weights: Layers) -> Self:
        """Predict with these weights, as training left them."""
        if not all(np.isfinite(part).all() for layer in weights for part in layer):
            raise InputError("weights must stay finite, got NaN or infinity: lower learning_rate")
        self.weights_ = weights
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Logits; for two classes the difference of the second and the first."""
        logits = self.logits(X)
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits

    def logits(self, X: ArrayLike) -> Floats:
        """The outputs of the last layer, one column per class."""
        check_is_fitted(self)
        outputs = self._map(validate_data(self, X, dtype=np.float64, reset=False))
        for weight, bias in self.weights_[:-1]:
            outputs = outputs @ weight.T + bias
            outputs = np.tanh(outputs) if self.activation == "tanh" else np.maximum(outputs, 0.0)
        weight, bias = self.weights_[-1]
        return np.asarray(outputs @ weight.T + bias)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The softmax of the logits, a column per class."""
        return np.asarray(special.softmax(self.logits(X), axis=1))

    def predict(self, X: ArrayLike) -> Array:
        """The class of the largest logit."""
        best = self.logits(X).argmax(axis=1)
        chosen: Array = self.classes_[best]
        return chosen

    def with_weights(self, weights: Sequence[tuple[ArrayLike, ArrayLike]]) -> Self:
        """A copy of this head that predicts with other weights of the same shapes."""
        check_is_fitted(self)
        if len(weights) != len(self.weights_):
            raise InputError(f"weights must be {len(self.weights_)} pairs, got {len(weights)}")
        changed = copy.deepcopy(self)
        changed.weights_ = [
            (_like(old_weight, f"W of layer {i}", weight), _like(old_bias, f"b of layer {i}", bias))
            for i, ((old_weight, old_bias), (weight, bias)) in enumerate(
                zip(self.weights_, weights, strict=True), start=1
            )
        ]
        return changed

    def flat_weights(self, last: int | None = None) -> Floats:
        """The parameters of the last layers as one vector; None for all layers.

        The order: from the earliest of these layers to the output, of each layer W row by row (a
        row holds the weights into one output), then b.
        """
        chosen = self.weights_[self._first(last) :]
        return np.concatenate([part.ravel() for layer in chosen for part in layer])

    def with_flat_weights(self, vector: ArrayLike, last: int | None = None) -> Self:
        """A copy with the last layers' parameters replaced: the inverse of ``flat_weights``."""
        first = self._first(last)
        rest = _like(self.flat_weights(last), "vector", vector)
        weights = list(self.weights_[:first])
        for weight, bias in self.weights_[first:]:
            new_weight, new_bias, rest = np.split(rest, [weight.size, weight.size + bias.size])
            weights.append((new_weight.reshape(weight.shape), new_bias))
        return self.with_weights(weights)

    def _first(self, last: int | None) -> int:
        """The index of the first of the last layers."""
        check_is_fitted(self)
        layers = len(self.weights_)
        if last is not None and count("last", last) > layers:
            raise InputError(f"last must be at most the number of layers, {layers}, got {last}")
        return 0 if last is None else layers - last

    def _map(self, rows: Floats) -> Floats:
        if self.bound is not None:
            return clip_rows(rows, self.bound)
        if rows.size and np.abs(rows).max() > _LARGEST:
            raise InputError("X must fit float32, got larger entries; scale them or give a bound")
        return rows

    def _checked_data(self, X: ArrayLike, y: ArrayLike) -> tuple[Floats, Array]:
        return classified_records(self, X, y, declared=self.classes is not None)

    def _check_parameters(self) -> None:
        if not count("layers", self.layers) <= 3:
            raise InputError(f"layers must be 1, 2 or 3, got {self.layers}")
        count("width", self.width)
        count("steps", self.steps, at_least=0)
        if self.batch is not None:
            count("batch", self.batch)
        if not count("seed", self.seed, at_least=0) < 2**63:
            raise InputError(f"seed must be < 2**63, got {self.seed}")
        _one_of("activation", self.activation, ("relu", "tanh"))
        _one_of("optimiser", self.optimiser, ("adam", "sgd"))
        non_negative("penalty", self.penalty)
        positive("learning_rate", self.learning_rate)
        if self.bound is not None:
            positive("bound", self.bound)
        if self.risk is not None:
            positive("risk", self.risk)
        if self.classes is not None and len(set(self.classes)) != len(self.classes):
            raise InputError("classes must be distinct, got one twice")


def trainer(name: str) -> ModuleType:
    """A module of this package that trains dense heads, which needs torch."""
    try:
        return importlib.import_module(f"reticent.training.{name}")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise InputError(
            "torch must be installed to fit MLPHead: pip install 'reticent[torch]'"
        ) from None


def _one_of(name: str, value: object, choices: tuple[str, str]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} must be {' or '.join(choices)}, got {describe(value)}")


def _like(old: Floats, name: str, value: ArrayLike) -> Floats:
    """The value as a new array of the old one's shape."""
    new = float_array(name, value)
    if new.shape != old.shape:
        raise InputError(f"{name} must have shape {old.shape}, got shape {new.shape}")
    return new
