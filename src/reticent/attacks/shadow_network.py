"""Shadow attacks with a trained network: Shokri et al. (2017), and the one of the ALM paper.

A shadow model answers with probabilities for records that it saw and for as many that it did not. A
network learns to tell these two kinds of answers apart, and is then shown the target's answers.

The small dense network (rows in, log odds of membership out) is scikit-learn's, a function of the
rows, the recipe and the seed. The passes over the rows are fixed beforehand, as in the papers, so a
training that has not converged by then is no fault.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from reticent.arrays import Flags, Floats, Integers
from reticent.attacks.attack import ScoreAttack, with_shadows
from reticent.attacks.records import Records
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import Access, Target, Threat
from reticent.randomness import seeded
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


SHOKRI: Final = NetworkRecipe()
ALM: Final = NetworkRecipe(hidden=(64,) * 5, penalty=0.0, learning_rate=1e-3, batch=32, passes=50)
"""Five hidden layers and the learning rate as published; widths and passes are not."""
ALM_ROWS: Final = 2_000


class ShadowRows(NamedTuple):
    """Answers of shadow models, the places of the true classes, and whether the shadow saw them."""

    probabilities: Floats
    places: Integers
    inside: Flags

    def take(self, rows: Integers | Flags) -> "ShadowRows":
        """The rows at these positions, or of this mask."""
        return ShadowRows(self.probabilities[rows], self.places[rows], self.inside[rows])


def shadow_rows(shadows: Shadows, *, seed: int, at_most: int | None = None) -> ShadowRows:
    """As many rows "in" as "out", of each shadow and so of all of them.

    Args:
        shadows: Models with the pool that they saw parts of.
        seed: Of the choice on the larger side, and of the rows that are kept.
        at_most: Rows that are kept, half of them "in"; None for all.
    """
    rng = seeded("rows of shadows", count("seed", seed, at_least=0))
    saw, places = shadows.saw(shadows.pool), shadows.pool.among(shadows.classes)
    if not (saw.any(axis=1) & ~saw.all(axis=1)).all():
        raise InputError("shadows must each have members and non-members, got one side only")
    parts = []
    for model, inside in zip(shadows.models, saw, strict=True):
        chosen = balanced(inside, rng)
        probabilities = model.probabilities(shadows.pool.inputs[chosen])
        parts.append(ShadowRows(probabilities, places[chosen], inside[chosen]))
    joined = ShadowRows(*map(np.concatenate, zip(*parts, strict=True)))
    if at_most is None or at_most >= len(joined.inside):
        return joined
    return joined.take(balanced(joined.inside, rng, each=at_most // 2))


def balanced(inside: Flags, rng: np.random.Generator, *, each: int | None = None) -> Integers:
    """Positions of equally many members and others, by default of all of the smaller side."""
    sides = [rng.permutation(np.flatnonzero(side)) for side in (inside, ~inside)]
    size = min(len(side) for side in sides)
    size = size if each is None else min(size, each)
    return np.sort(np.concatenate([side[:size] for side in sides]))


@dataclass(frozen=True, kw_only=True, eq=False)
class ShokriAttack(ScoreAttack):
    """One network for each class, on the probabilities of all classes; above 0: member.

    A class with members or others of the shadows alone is judged by a network of all classes, and a
    note says so.

    Args:
        shadows: Models like the target. In the paper each was trained on as many records as the
            target, and none of its records was the target's.
        recipe: Of each network.
        seed: Of the choice of rows and of the networks' initial weights.
    """

    shadows: Shadows
    recipe: NetworkRecipe = SHOKRI
    seed: int = 0
    name = "shadow networks"
    threat = Threat(access=Access.SCORES, knows=("shadow models", "the labels of the records"))

    @property
    def decides_at(self) -> float:
        """Even odds: the attack network's output ½."""
        return 0.0

    def _values(self, target: Target, records: Records) -> Floats:
        _require_classes(target, self.shadows)
        probabilities, places = target.probabilities(records.inputs), records.among(target.classes)
        values = np.empty(len(places))
        for place in np.unique(places):
            network = self._networks.get(int(place)) or self._common
            values[places == place] = network.log_odds(probabilities[places == place])
        return values

    def _notes(self, target: Target, records: Records) -> tuple[str, ...]:
        note = f"{len(self.shadows)} shadows, {len(self._rows.inside):,} rows"
        missing = [str(target.classes[place]) for place in self._missing(records, target)]
        if not missing:
            return (note,)
        return note, f"classes without rows of both kinds, judged by all: {', '.join(missing)}"

    def _missing(self, records: Records, target: Target) -> list[int]:
        places = np.unique(records.among(target.classes)).tolist()
        return [place for place in places if place not in self._networks]

    @cached_property
    def _rows(self) -> ShadowRows:
        return shadow_rows(self.shadows, seed=self.seed)

    @cached_property
    def _networks(self) -> dict[int, MembershipNetwork]:
        """By the place of the class."""
        networks = {}
        for place in np.unique(self._rows.places).tolist():
            rows = self._rows.take(self._rows.places == place)
            if rows.inside.any() and not rows.inside.all():
                networks[place] = self._trained(rows)
        return networks

    @cached_property
    def _common(self) -> MembershipNetwork:
        return self._trained(self._rows)

    def _trained(self, rows: ShadowRows) -> MembershipNetwork:
        return trained_network(rows.probabilities, rows.inside, recipe=self.recipe, seed=self.seed)


@dataclass(frozen=True, kw_only=True, eq=False)
class AlmAttack(ScoreAttack):
    """One network on the probabilities and the one-hot label; above 0: member.

    Args:
        shadows: One model of the victim's shape; with several, the rows are drawn from all.
        rows: How many answers it learns from, half of them "in".
        recipe: Of the network.
        seed: Of the choice of rows and of the network's initial weights.
    """

    shadows: Shadows
    rows: int = ALM_ROWS
    recipe: NetworkRecipe = ALM
    seed: int = 0
    name = "ALM's shadow network"
    threat = Threat(
        access=Access.SCORES, knows=("a shadow model of its shape", "the labels of the records")
    )

    def __post_init__(self) -> None:
        """At least one row of each kind."""
        count("rows", self.rows, at_least=2)

    @property
    def decides_at(self) -> float:
        """Even odds: the attack network's output ½."""
        return 0.0

    def _values(self, target: Target, records: Records) -> Floats:
        _require_classes(target, self.shadows)
        places = records.among(target.classes)
        rows = with_label(target.probabilities(records.inputs), places)
        return self._network.log_odds(rows)

    def _notes(self, target: Target, records: Records) -> tuple[str, ...]:  # noqa: ARG002
        return (f"shadows: {len(self.shadows)}, rows: {len(self._rows.inside):,}",)

    @cached_property
    def _rows(self) -> ShadowRows:
        return shadow_rows(self.shadows, seed=self.seed, at_most=self.rows)

    @cached_property
    def _network(self) -> MembershipNetwork:
        rows = with_label(self._rows.probabilities, self._rows.places)
        return trained_network(rows, self._rows.inside, recipe=self.recipe, seed=self.seed)


def with_label(probabilities: Floats, places: Integers) -> Floats:
    """Rows (probability vector, one-hot label).

    >>> with_label(np.array([[0.9, 0.1]]), np.array([1])).tolist()
    [[0.9, 0.1, 0.0, 1.0]]
    """
    return np.hstack([probabilities, np.eye(probabilities.shape[1])[places]])


def _require_classes(target: Target, shadows: Shadows) -> None:
    """A network reads the classes by their columns."""
    if target.classes.tolist() != shadows.classes.tolist():
        raise InputError(
            f"target must have the shadows' {len(shadows.classes)} classes in the same order, got"
            f" {len(target.classes)} classes or another order"
        )


SHOKRI_ATTACK = with_shadows(
    lambda known: ShokriAttack(shadows=known.network_shadows, seed=known.seed)
)
ALM_ATTACK = with_shadows(lambda known: AlmAttack(shadows=known.network_shadows, seed=known.seed))
