"""What a white box shows of a record: its loss, activations and gradients (Nasr et al. 2019).

Training has driven the gradients of members towards 0, those of other records less so. The cheap
attack is −‖∇ℓ‖. For dense heads it needs one pass: the gradient of a layer is the product δ aᵀ of
what comes back and what goes in, so its norm is ‖δ‖‖a‖ (for a softmax head ‖p − e_y‖‖h‖). A torch
module is differentiated record by record.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special
from sklearn.utils.validation import check_is_fitted

from reticent.arrays import Array, Floats, Integers
from reticent.attacks.attack import Attack, AttackBuilder, Need, Scores
from reticent.attacks.records import Records
from reticent.attacks.targets import Access, ModelTarget, Threat, TorchTarget
from reticent.protect import Release
from reticent.training import MLPHead, SoftmaxHead
from reticent.training.features import clip_rows, public_map
from reticent.validation import InputError, count, float_rows

if TYPE_CHECKING:
    from reticent.attacks.context import AttackContext

DenseLayers = list[tuple[Floats, Floats | None]]


@dataclass(frozen=True, kw_only=True, eq=False)
class LayerView:
    """One layer, record by record: what it gives, and the loss's gradient in its parameters."""

    outputs: Floats
    """records × width, before the activation."""
    gradients: Floats
    """records × outputs × inputs; where there is a bias, it is the last column."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WhiteBoxView:
    """What is seen of n records inside a model."""

    losses: Floats
    labels: Integers
    classes: int
    norms: Floats
    """records × layers: the norm of each layer's gradient, for all layers."""
    layers: tuple[LayerView, ...]
    """The last layers, the output at the end."""

    def __len__(self) -> int:
        return len(self.losses)

    @property
    def gradient_norms(self) -> Floats:
        """‖∇ℓ‖ of each record, over all parameters."""
        return np.asarray(np.linalg.norm(self.norms, axis=1))


class GradientNormAttack(Attack[Any]):
    """−‖∇ℓ‖ of each record; for SoftmaxHead, MLPHead, their releases and torch modules."""

    name = "gradient norm"

    def __init__(self) -> None:
        self.threat = Threat(access=Access.WEIGHTS)

    def scores(self, target: Any, records: Records) -> Scores:
        """The smaller the gradient, the higher the score."""
        norms = white_box_view(target, records, last=1).gradient_norms
        return Scores(attack=self.name, threat=self.threat, values=-norms)


def white_box_view(target: Any, records: Records, *, last: int = 1) -> WhiteBoxView:
    """Losses, and outputs and gradients of the ``last`` layers (norms of all of them)."""
    count("last", last)
    if len(records) == 0:
        raise InputError("records must be at least one, got none")
    if isinstance(target, TorchTarget):
        from reticent.attacks.gradient_network import module_view

        return module_view(target, records, last=last)
    dense = dense_model(target, records)
    passed = passes(dense, records.among(dense.classes))
    return WhiteBoxView(
        losses=passed.losses,
        labels=passed.labels,
        classes=len(dense.classes),
        norms=passed.norms,
        layers=tuple(passed.layer(place) for place in range(len(dense.layers))[-last:]),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class DenseModel:
    """Rows as the first layer meets them, layers (W, b or None), and tanh or relu between them."""

    rows: Floats
    layers: DenseLayers
    activation: str
    classes: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Passes:
    """One pass forth and one back through dense layers."""

    losses: Floats
    labels: Integers
    inputs: list[Floats]
    """What goes into each layer, with a constant 1 at the end where the layer has a bias."""
    outputs: list[Floats]
    residuals: list[Floats]
    """The derivative of each record's loss in each layer's outputs."""

    @property
    def norms(self) -> Floats:
        """‖δ‖‖a‖ of each layer: the norm of its per-example gradient."""
        sizes = [
            np.linalg.norm(back, axis=1) * np.linalg.norm(forth, axis=1)
            for back, forth in zip(self.residuals, self.inputs, strict=True)
        ]
        return np.stack(sizes, axis=1)

    def layer(self, place: int) -> LayerView:
        """δ aᵀ, the per-example gradients of one layer in full."""
        gradients = self.residuals[place][:, :, None] * self.inputs[place][:, None, :]
        return LayerView(outputs=self.outputs[place], gradients=gradients)


def forward(dense: DenseModel) -> tuple[list[Floats], list[Floats]]:
    """What goes into each layer and what comes out of it, before the activation."""
    inputs: list[Floats] = []
    outputs: list[Floats] = []
    for place, (weight, bias) in enumerate(dense.layers):
        met = activated(outputs[-1], dense.activation) if place else dense.rows
        inputs.append(met)
        outputs.append(met @ weight.T if bias is None else met @ weight.T + bias)
    return inputs, outputs


def activated(outputs: Floats, activation: str) -> Floats:
    """tanh, or what is above 0."""
    return np.asarray(np.tanh(outputs) if activation == "tanh" else np.maximum(outputs, 0.0))


def slopes(outputs: Floats, activation: str) -> Floats:
    """The derivative of the activation at what goes into it."""
    return np.asarray(1 - np.tanh(outputs) ** 2 if activation == "tanh" else outputs > 0, float)


def passes(dense: DenseModel, labels: Integers) -> Passes:
    """Cross-entropy of softmax outputs, differentiated by the chain rule."""
    met, outputs = forward(dense)
    inputs = [
        rows if bias is None else np.hstack([rows, np.ones((len(rows), 1))])
        for rows, (_, bias) in zip(met, dense.layers, strict=True)
    ]
    residuals = [softmax_residuals(outputs[-1], labels)]
    for place in range(len(dense.layers) - 1, 0, -1):
        back = residuals[0] @ dense.layers[place][0]
        residuals.insert(0, back * slopes(outputs[place - 1], dense.activation))
    losses = special.logsumexp(outputs[-1], axis=1) - outputs[-1][np.arange(len(labels)), labels]
    return Passes(losses=losses, labels=labels, inputs=inputs, outputs=outputs, residuals=residuals)


def softmax_residuals(logits: Floats, labels: Integers) -> Floats:
    """p − e_y; 1 − p_y is the sum of the others, so that it does not round to 0 when p_y is 1.

    >>> softmax_residuals(np.array([[0.0, 0.0, 0.0, 0.0]]), np.array([1])).tolist()
    [[0.25, -0.75, 0.25, 0.25]]
    """
    rows = np.arange(len(labels))
    residuals = np.asarray(special.softmax(logits, axis=1))
    residuals[rows, labels] = 0.0
    residuals[rows, labels] = -residuals.sum(axis=1)
    return residuals


def dense_model(target: Any, records: Records) -> DenseModel:
    """Our heads as rows and layers; whatever has other weights is refused."""
    model = target.model if isinstance(target, ModelTarget) else target
    if isinstance(model, MLPHead):
        check_is_fitted(model, "weights_")
        rows = _rows(records, model.n_features_in_)
        mapped = rows if model.bound is None else clip_rows(rows, model.bound)
        return DenseModel(
            rows=mapped,
            layers=list(model.weights_),
            activation=model.activation,
            classes=model.classes_,
        )
    if isinstance(model, SoftmaxHead):
        check_is_fitted(model, "weights_")
        mapped = _mapped(model, model.centre, _rows(records, model.n_features_in_))
        return _one_layer(mapped, model.weights_, model.classes_)
    head = _released_head(model)
    if head is not None:
        mapped = _mapped(head, head.centre, _rows(records, model.features))
        return _one_layer(mapped, model.recipe.layer(model.tensors).weights, model.classes_)
    raise InputError(
        "target must be a SoftmaxHead, an MLPHead, a released softmax head or a TorchTarget,"
        f" whose weights are seen, got {type(model).__name__}"
    )


def _released_head(model: Any) -> SoftmaxHead | None:
    """The softmax head whose optimum was released, where the model is such a release."""
    if not isinstance(model, Release):
        return None
    return model.recipe.convex_head(model.tensors, model.classes_)


def _one_layer(rows: Floats, weights: Floats, classes: Array) -> DenseModel:
    return DenseModel(rows=rows, layers=[(weights, None)], activation="relu", classes=classes)


def _mapped(numbers: Any, centre: Any, rows: Floats) -> Floats:
    return public_map(
        rows, bound=numbers.bound, intercept=numbers.intercept, centre=centre, norms=numbers.norms
    )


def _rows(records: Records, features: int) -> Floats:
    rows = float_rows("inputs", records.inputs)
    if rows.shape[1] != features:
        raise InputError(f"inputs must have the target's {features} features, got {rows.shape[1]}")
    return rows


def _gradient_network(known: "AttackContext") -> Attack[Any]:
    try:
        from reticent.attacks.gradient_network import GradientAttack
    except ModuleNotFoundError:
        raise InputError(
            "torch must be installed for gradient-network: pip install 'reticent[torch]'"
        ) from None
    return GradientAttack(shadows=known.network_shadows, seed=known.seed)


GRADIENT_NORM = AttackBuilder(needs=(Need.WEIGHTS,), build=lambda _: GradientNormAttack())
GRADIENT_NETWORK = AttackBuilder(
    needs=(Need.WEIGHTS, Need.FEATURES, Need.SHADOW), build=_gradient_network
)
