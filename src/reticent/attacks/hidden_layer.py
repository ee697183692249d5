"""What a model of the adversary's own makes of inputs just before its last layer."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from reticent.arrays import Floats
from reticent.attacks.targets import ModelTarget, Target, TorchTarget
from reticent.training.features import clip_rows
from reticent.training.mlp_head import MLPHead


def last_hidden(model: Target, inputs: ArrayLike) -> Floats:
    """The last hidden layer of an MLPHead or a torch module; centred logits of any other model.

    A torch module's last hidden layer is the input of the last ``Linear`` in it.
    """
    if isinstance(model, ModelTarget) and isinstance(model.model, MLPHead):
        head = model.model
        return _centred(model, inputs) if head.layers == 1 else _of_head(head, inputs)
    if isinstance(model, TorchTarget):
        return _of_module(model, inputs)
    return _centred(model, inputs)


def _centred(model: Target, inputs: ArrayLike) -> Floats:
    """Logits are known up to a constant in each row."""
    logits = model.logits(inputs)
    centred: Floats = logits - logits.mean(axis=1, keepdims=True)
    return centred


def _of_head(head: MLPHead, inputs: ArrayLike) -> Floats:
    outputs = np.asarray(inputs, dtype=np.float64)
    if head.bound is not None:
        outputs = clip_rows(outputs, head.bound)
    for weight, bias in head.weights_[:-1]:
        outputs = outputs @ weight.T + bias
        outputs = np.tanh(outputs) if head.activation == "tanh" else np.maximum(outputs, 0.0)
    return outputs


def _of_module(model: TorchTarget, inputs: ArrayLike) -> Floats:
    import torch

    linear = [part for part in model.module.modules() if isinstance(part, torch.nn.Linear)]
    if not linear:
        return _centred(model, inputs)
    seen: list[Any] = []
    hook = linear[-1].register_forward_pre_hook(
        lambda _, given: seen.append(given[0].detach().double().flatten(start_dim=1))
    )
    try:
        model.logits(inputs)
    finally:
        hook.remove()
    return np.asarray(torch.cat(seen).numpy())
