"""The white-box attack network (Nasr, Shokri, Houmansadr 2019), small.

One component for each thing that is seen of a record (the gradients of the last layers, their
outputs, the loss with the norms of all gradients, the label) and an encoder of all of them together
that answers with log odds. It learns from members and others that the adversary knows of the target
itself, or from shadow models whose members it chose.

A gradient enters as its direction and the logarithm of its norm: norms of members and others differ
by powers of ten.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from reticent.arrays import Flags, Floats
from reticent.attacks.attack import Attack, Scores
from reticent.attacks.gradients import WhiteBoxView, white_box_view
from reticent.attacks.records import Records
from reticent.attacks.shadows import Shadows
from reticent.attacks.threat import Access, Threat
from reticent.validation import InputError, count

Singles = NDArray[np.float32]

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

    gradients: tuple[Singles, ...]
    """Directions, records × outputs × inputs."""
    outputs: tuple[Singles, ...]
    sizes: Singles
    """Logarithms of the loss and of each layer's norm."""
    labels: Singles

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
    def parts(self) -> tuple[Singles, ...]:
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
    centres: list[Singles]
    spreads: list[Singles]

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
    found = Trained(
        network=network,
        shapes=seen.shapes,
        centres=[part.mean(axis=0) for part in seen.parts],
        spreads=[_spread(part) for part in seen.parts],
    )
    rows, wanted = found.scaled(seen), torch.tensor(inside.astype(np.float32))
    share = float(inside.mean())
    weights = torch.where(wanted > 0, 0.5 / share, 0.5 / (1 - share))
    optimiser = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE, weight_decay=DECAY)
    with torch.inference_mode(mode=False), torch.enable_grad():
        for _ in range(steps):
            optimiser.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(network(rows), wanted, weights)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return found


def _spread(part: Singles) -> Singles:
    """One number for all entries of a gradient, one for each entry of the rest; never 0."""
    spread = part.std() if part.ndim > 2 else part.std(axis=0)
    return np.asarray(np.maximum(spread, np.float32(1e-6)), dtype=np.float32)
