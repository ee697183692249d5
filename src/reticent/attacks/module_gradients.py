"""The inside of a torch module, record by record: outputs of its layers and gradients in them.

A layer is a submodule with parameters of its own; layers stand in the order of their definition.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.func import functional_call

from reticent.arrays import Array, Floats, Integers
from reticent.attacks.gradients import LayerView, WhiteBoxView
from reticent.attacks.records import Records
from reticent.attacks.targets import TorchTarget
from reticent.validation import InputError


def module_view(target: TorchTarget, records: Records, *, last: int) -> WhiteBoxView:
    """What ``white_box_view`` shows, for a torch module in evaluation mode."""
    layers = _layers(target.module)
    shown = list(layers)[-last:]
    labels, inputs = records.among(target.classes), _numbers(records.inputs)
    outputs = _outputs(target, inputs, shown)
    losses, norms = np.empty(len(records)), np.empty((len(records), len(layers)))
    matrices: dict[str, list[Floats]] = {name: [] for name in shown}
    for row, (loss, gradients) in enumerate(_differentiated(target.module, inputs, labels)):
        losses[row] = loss
        by_layer = {
            name: _matrix([gradients[parameter] for parameter in parameters])
            for name, parameters in layers.items()
        }
        norms[row] = [np.linalg.norm(matrix) for matrix in by_layer.values()]
        for name in shown:
            matrices[name].append(by_layer[name])
    return WhiteBoxView(
        losses=losses,
        labels=labels,
        classes=len(target.classes),
        norms=norms,
        layers=tuple(
            LayerView(outputs=outputs[name], gradients=np.stack(matrices[name])) for name in shown
        ),
    )


def _differentiated(
    module: Any, inputs: NDArray[np.float32], labels: Integers
) -> Iterator[tuple[float, dict[str, Any]]]:
    """Loss and gradients of one record at a time: no module is too unusual for that.

    Copies of the parameters are differentiated, so that frozen ones are seen too and no gradient
    is left in the module.
    """
    copies = {
        name: value.detach().clone().requires_grad_() for name, value in module.named_parameters()
    }
    place = next(iter(copies.values())).device
    with _evaluated(module), torch.inference_mode(mode=False), torch.enable_grad():
        for row, label in zip(torch.tensor(inputs, device=place), labels, strict=True):
            logits = functional_call(module, copies, (row[None],))
            wanted = torch.tensor([label], device=place)
            loss = torch.nn.functional.cross_entropy(logits, wanted)
            found = torch.autograd.grad(loss, list(copies.values()), materialize_grads=True)
            yield loss.item(), dict(zip(copies, found, strict=True))


def _outputs(
    target: TorchTarget, inputs: NDArray[np.float32], names: list[str]
) -> dict[str, Floats]:
    """What these layers give to each record; hooks do not stay behind in the module."""
    latest: dict[str, Floats] = {}
    batches: list[dict[str, Floats]] = []

    def listen(name: str) -> Any:
        def hook(_module: Any, _inputs: Any, output: Any) -> None:
            latest[name] = _floats(output).reshape(len(output), -1)

        return hook

    def end(_module: Any, _inputs: Any, _output: Any) -> None:
        batches.append(dict(latest))

    handles = [
        part.register_forward_hook(listen(name))
        for name, part in target.module.named_modules()
        if name in names
    ]
    handles.append(target.module.register_forward_hook(end))
    try:
        target.logits(inputs)  # in batches; a module that answers with other shapes is refused
    finally:
        for handle in handles:
            handle.remove()
    return {name: np.concatenate([batch[name] for batch in batches]) for name in names}


def _matrix(gradients: list[Any]) -> Floats:
    """Outputs × inputs, a bias as the last column; one row where that does not fit."""
    heights = {len(part) if part.ndim else 1 for part in gradients}
    rows = heights.pop() if len(heights) == 1 else 1
    return np.concatenate([_floats(part).reshape(rows, -1) for part in gradients], axis=1)


def _layers(module: Any) -> dict[str, list[str]]:
    """The names of each layer's own parameters."""
    found: dict[str, list[str]] = {}
    for name, _ in module.named_parameters():  # a shared parameter is that of the first layer
        found.setdefault(name.rpartition(".")[0], []).append(name)
    if not found:
        raise InputError("module must have parameters to be seen from inside, got none")
    return found


@contextmanager
def _evaluated(module: Any) -> Iterator[None]:
    """Evaluation mode; the mode of each submodule is put back."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


def _numbers(inputs: Array) -> NDArray[np.float32]:
    if inputs.dtype.kind not in "biuf":
        raise InputError(f"inputs of a torch module must be numbers, got {inputs.dtype}")
    return inputs.astype(np.float32)


def _floats(tensor: Any) -> Floats:
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float64)
