"""The white-box attack network (Nasr, Shokri, Houmansadr 2019), small.

One component for each thing that is seen of a record (the gradients of the last layers, their
outputs, the loss with the norms of all gradients, the label) and an encoder of all of them together
that answers with log odds. It learns from members and others that the adversary knows of the target
itself, or from shadow models whose members it chose.

A gradient enters as its direction and the logarithm of its norm: norms of members and others differ
by powers of ten.

``module_view`` shows the inside of a torch module, record by record: outputs of its layers and the
gradients in them. A layer is a submodule with parameters of its own; layers stand in the order of
their definition.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.func import functional_call

from reticent.arrays import Array, Flags, Floats, Floats32, Integers
from reticent.attacks.attack import Attack, Scores
from reticent.attacks.gradients import LayerView, WhiteBoxView, white_box_view
from reticent.attacks.records import Records
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import Access, Threat, TorchTarget
from reticent.training import optimisers
from reticent.validation import InputError, count

WIDTH = 64
KERNELS = 4
"""Kernels as long as a row of a gradient: each output's row is met by the same ones."""
DECAY = 1e-2
LEARNING_RATE = 3e-3
_SMALLEST = 1e-30
"""Logarithms end here."""


class GradientAttack(Attack[Any]):
    """Log odds of membership from gradients, outputs, loss and label; above 0: member.

    Args:
        shadows: Shadow models of the target's shape, with the records that each of them saw; or
        members: members of the target that the adversary knows, and
        others: records that it knows not to be members.
        last: How many layers, from the output on, are seen in full.
        steps: Of training, each on all rows.
        seed: Of the network's initial weights.
    """

    name = "white-box network"

    def __init__(
        self,
        *,
        shadows: Shadows | None = None,
        members: Records | None = None,
        others: Records | None = None,
        last: int = 1,
        steps: int = 50,
        seed: int = 0,
    ) -> None:
        supervised = members is not None and others is not None
        partly = members is not None or others is not None
        if (shadows is not None) == partly or partly != supervised:
            raise InputError("shadows, or members and others, must be given, got something else")
        self._last, self._steps = count("last", last), count("steps", steps)
        self._seed = count("seed", seed, at_least=0)
        self._shadows, self._members, self._others = shadows, members, others
        knows = "some members and others" if supervised else "shadow models of the target's shape"
        self.threat = Threat(access=Access.WEIGHTS, knows=(knows,))

    def scores(self, target: Any, records: Records) -> Scores:
        """Log odds of each record."""
        seen = self._seen(target, records)
        trained = self._from_shadows if self._shadows is not None else self._from_known(target)
        return Scores(
            attack=self.name,
            threat=self.threat,
            values=trained.log_odds(seen),
            decides_at=0.0,
            notes=self._notes(records),
        )

    def _seen(self, target: Any, records: Records) -> Features:
        return Features.of(white_box_view(target, records, last=self._last))

    def _from_known(self, target: Any) -> Trained:
        assert self._members is not None
        assert self._others is not None
        seen = self._seen(target, self._members.joined(self._others))
        inside = np.arange(len(seen)) < len(self._members)
        return trained(seen, inside, steps=self._steps, seed=self._seed)

    @cached_property
    def _from_shadows(self) -> Trained:
        assert self._shadows is not None
        pool, models = self._shadows.pool, self._shadows.models
        seen = Features.joined([self._seen(model, pool) for model in models])
        return trained(seen, self._shadows.inside.ravel(), steps=self._steps, seed=self._seed)

    def _notes(self, records: Records) -> tuple[str, ...]:
        if self._members is None or self._others is None:
            return ()
        known = set(self._members.keys) | set(self._others.keys)
        both = sum(key in known for key in records.keys)
        return (f"{both} of the records were known to the adversary",) if both else ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Features:
    """What the network is given of n records."""

    gradients: tuple[Floats32, ...]
    """Directions, records × outputs × inputs."""
    outputs: tuple[Floats32, ...]
    sizes: Floats32
    """Logarithms of the loss and of each layer's norm."""
    labels: Floats32

    def __len__(self) -> int:
        return len(self.sizes)

    @classmethod
    def of(cls, view: WhiteBoxView) -> Features:
        """Gradients as unit directions with the logarithms of their norms."""
        norms = [np.linalg.norm(layer.gradients, axis=(1, 2)) for layer in view.layers]
        return cls(
            gradients=tuple(
                (layer.gradients / np.maximum(norm, _SMALLEST)[:, None, None]).astype(np.float32)
                for layer, norm in zip(view.layers, norms, strict=True)
            ),
            outputs=tuple(layer.outputs.astype(np.float32) for layer in view.layers),
            sizes=np.log(np.maximum(np.column_stack([view.losses, view.norms]), _SMALLEST)).astype(
                np.float32
            ),
            labels=np.eye(view.classes, dtype=np.float32)[view.labels],
        )

    @classmethod
    def joined(cls, parts: list[Features]) -> Features:
        """One after the other; models of another shape are refused."""
        if len({part.shapes for part in parts}) != 1:
            raise InputError("shadows must have one shape, got models of several shapes")
        return cls(
            gradients=tuple(map(np.concatenate, zip(*(p.gradients for p in parts), strict=True))),
            outputs=tuple(map(np.concatenate, zip(*(p.outputs for p in parts), strict=True))),
            sizes=np.concatenate([part.sizes for part in parts]),
            labels=np.concatenate([part.labels for part in parts]),
        )

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of one record's features, without the batch."""
        return tuple(part.shape[1:] for part in self.parts)

    @property
    def parts(self) -> tuple[Floats32, ...]:
        """All of them, gradients first."""
        return (*self.gradients, *self.outputs, self.sizes, self.labels)


class AttackNetwork(nn.Module):
    """Components of one hidden layer each, and an encoder of one more."""

    def __init__(self, shapes: tuple[tuple[int, ...], ...]) -> None:
        super().__init__()
        self.components = nn.ModuleList([_component(shape) for shape in shapes])
        self.encoder = nn.Sequential(
            nn.Linear(WIDTH * len(shapes), WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1)
        )

    def forward(self, parts: list[torch.Tensor]) -> torch.Tensor:
        """Log odds, one per record."""
        hidden = [seen(part) for seen, part in zip(self.components, parts, strict=True)]
        odds: torch.Tensor = self.encoder(torch.cat(hidden, dim=1))[:, 0]
        return odds


def _component(shape: tuple[int, ...]) -> nn.Module:
    if len(shape) == 1:
        return nn.Sequential(nn.Linear(shape[0], WIDTH), nn.ReLU())
    outputs, inputs = shape
    return nn.Sequential(
        nn.Linear(inputs, KERNELS, bias=False),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(outputs * KERNELS, WIDTH),
        nn.ReLU(),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Trained:
    """A network with the centre and spread of what it was trained on."""

    network: AttackNetwork
    shapes: tuple[tuple[int, ...], ...]
    centres: list[Floats32]
    spreads: list[Floats32]

    def log_odds(self, seen: Features) -> Floats:
        """One number for each record."""
        if seen.shapes != self.shapes:
            raise InputError("target must have the shape that the network was trained on")
        with torch.no_grad():
            odds = self.network(self.scaled(seen))
        return np.asarray(odds.numpy(), dtype=np.float64)

    def scaled(self, seen: Features) -> list[torch.Tensor]:
        """Each entry in units of its spread."""
        return [
            torch.tensor((part - centre) / spread)
            for part, centre, spread in zip(seen.parts, self.centres, self.spreads, strict=True)
        ]


def trained(seen: Features, inside: Flags, *, steps: int, seed: int) -> Trained:
    """Fit the network to tell rows inside from the others, both sides with equal weight."""
    if not 0 < inside.sum() < len(inside):
        raise InputError("known records must be of both kinds, members and others, got one kind")
    with torch.random.fork_rng(devices=[]):  # torch's own generator is left as it was
        torch.manual_seed(seed)
        network = AttackNetwork(seen.shapes)
    attack = Trained(
        network=network,
        shapes=seen.shapes,
        centres=[part.mean(axis=0) for part in seen.parts],
        spreads=[_spread(part) for part in seen.parts],
    )
    rows, labels = attack.scaled(seen), torch.tensor(inside.astype(np.float32))
    share = float(inside.mean())
    weights = torch.where(labels > 0, 0.5 / share, 0.5 / (1 - share))
    optimiser = optimisers.AdamW(network.parameters(), lr=LEARNING_RATE, weight_decay=DECAY)
    with torch.inference_mode(mode=False), torch.enable_grad():
        for _ in range(steps):
            optimiser.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(network(rows), labels, weights)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return attack


def _spread(part: Floats32) -> Floats32:
    """One number for all entries of a gradient, one for each entry of the rest; never 0."""
    spread = part.std() if part.ndim > 2 else part.std(axis=0)
    return np.asarray(np.maximum(spread, np.float32(1e-6)), dtype=np.float32)


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
    module: Any, inputs: Floats32, labels: Integers
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
            target = torch.tensor([label], device=place)
            loss = torch.nn.functional.cross_entropy(logits, target)
            gradients = torch.autograd.grad(loss, list(copies.values()), materialize_grads=True)
            yield loss.item(), dict(zip(copies, gradients, strict=True))


def _outputs(target: TorchTarget, inputs: Floats32, names: list[str]) -> dict[str, Floats]:
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
    layers: dict[str, list[str]] = {}
    for name, _ in module.named_parameters():  # a shared parameter is that of the first layer
        layers.setdefault(name.rpartition(".")[0], []).append(name)
    if not layers:
        raise InputError("module must have parameters to be seen from inside, got none")
    return layers


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


def _numbers(inputs: Array) -> Floats32:
    if inputs.dtype.kind not in "biuf":
        raise InputError(f"inputs of a torch module must be numbers, got {inputs.dtype}")
    return inputs.astype(np.float32)


def _floats(tensor: Any) -> Floats:
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float64)
