"""The small dense network of the shadow attacks: rows in, log odds of membership out.

It is scikit-learn's, a function of the rows, the recipe and the seed. The passes over the rows are
fixed beforehand, as in the papers, so a training that has not converged by then is no fault.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from reticent.arrays import Flags, Floats
from reticent.validation import InputError, count, describe, non_negative, positive


@dataclass(frozen=True, kw_only=True)
class NetworkRecipe:
    """What is fixed before the rows are seen; the widths and rates of Lu et al., Table 4."""

    hidden: tuple[int, ...] = (64,)
    activation: Literal["relu", "tanh"] = "relu"
    penalty: float = 1e-6
    """λ of (λ/2)‖weights‖² beside the mean loss of a batch."""
    learning_rate: float = 0.01
    """Of Adam."""
    batch: int = 100
    passes: int = 30

    def __post_init__(self) -> None:
        """Numbers in range."""
        if not isinstance(self.hidden, Sequence) or not self.hidden:
            raise InputError(f"hidden must be a list of widths, got {describe(self.hidden)}")
        for width in self.hidden:
            count("hidden", width)
        if self.activation not in ("relu", "tanh"):
            raise InputError(f"activation must be relu or tanh, got {describe(self.activation)}")
        non_negative("penalty", self.penalty)
        positive("learning_rate", self.learning_rate)
        count("batch", self.batch)
        count("passes", self.passes)


@dataclass(frozen=True, kw_only=True, eq=False)
class MembershipNetwork:
    """Trained layers; probabilities come as they are, without scaling."""

    layers: tuple[tuple[Floats, Floats], ...]
    """(W, b) from first to last; W has a column per output."""
    activation: Literal["relu", "tanh"]

    def log_odds(self, rows: Floats) -> Floats:
        """One number for each row, above 0 for a member; it stays finite however sure it is."""
        outputs = rows
        for weight, bias in self.layers[:-1]:
            outputs = outputs @ weight + bias
            outputs = np.tanh(outputs) if self.activation == "tanh" else np.maximum(outputs, 0.0)
        weight, bias = self.layers[-1]
        return np.asarray((outputs @ weight + bias)[:, 0])


def trained_network(
    rows: Floats, inside: Flags, *, recipe: NetworkRecipe, seed: int
) -> MembershipNetwork:
    """Fit a network to tell the rows inside from the others.

    >>> rows = np.linspace(0, 1, 20)[:, None]
    >>> network = trained_network(rows, rows[:, 0] > 0.5, recipe=NetworkRecipe(), seed=0)
    >>> (network.log_odds(rows) > 0).tolist() == (rows[:, 0] > 0.5).tolist()
    True
    """
    if not 0 < inside.sum() < len(inside):
        raise InputError("rows must be of members and of others, got one kind only")
    batch = min(recipe.batch, len(rows))
    network = MLPClassifier(
        hidden_layer_sizes=tuple(recipe.hidden),
        activation=recipe.activation,
        alpha=recipe.penalty * batch,  # scikit-learn divides it by the size of the batch
        batch_size=batch,
        learning_rate_init=recipe.learning_rate,
        max_iter=recipe.passes,
        n_iter_no_change=recipe.passes,
        random_state=seed,
    )
    _fit(network, rows, inside)
    layers = tuple(zip(network.coefs_, network.intercepts_, strict=True))
    return MembershipNetwork(layers=layers, activation=recipe.activation)


def _fit(network: MLPClassifier, rows: Floats, inside: Flags) -> None:
    """scikit-learn answers Ctrl-C with a warning and half a network; here it ends the attack."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("error", message="Training interrupted", category=UserWarning)
        try:
            network.fit(rows, inside)
        except UserWarning:
            raise KeyboardInterrupt from None
