"""Does one record of a batch change what the others add to the gradient?

Clipping each record's gradient bounds what a record does only where the gradient of a batch
B = (x₁, …, xₙ) is a sum of terms that depend on one record each:

    ∇L(B) = c(n) · [g(x₁) + … + g(xₙ)] + r,

with a factor of the number of records (a sum has c = 1, a mean 1/n) and a term of no record (a
penalty on weights). Such a loss is called decoupled. Contrastive losses, batch normalisation and
means over weights that are summed within the batch are coupled: taking one record away changes
the others' terms too, and the sensitivity is not that of one clipped gradient.

The probe compares what one replaced record does to the gradient among two sets of others. With i′
in the place of i and O′ in the place of all others O,

    D = [∇L(i, O) − ∇L(i′, O)] − [∇L(i, O′) − ∇L(i′, O′)]

is 0 for every decoupled loss, whatever c(n) and r are, because no batch changes its size. All
replacements are copies of records of the batch. The largest entry of D is given as a share of the
largest entry of the differences in brackets, so it lies between 0 and 2.

It measures at one batch and one set of weights: what it finds is there, what it does not find is
not proven absent.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from reticent.arrays import Integers
from reticent.randomness import seeded
from reticent.training.encoders.torch_extra import nn, torch
from reticent.validation import InputError, count, describe

Loss = Callable[..., torch.Tensor]
"""Called with the model and the tensors of the batch: ``loss(model, *batch)``."""


_ROUNDING = 32
"""Roundings of the largest entry of a gradient that never count as coupling."""


@dataclass(frozen=True, kw_only=True)
class Coupling:
    """What the probe measured of a loss on one batch."""

    coupled: bool
    largest: float
    """The largest change of the others' part, as a share of what replacing one record changes."""
    tolerance: float
    """Below it, ``largest`` may be rounding."""
    by_record: dict[int, float]
    """The largest change for each record that was probed, by its place in the batch."""
    pair: tuple[int, int] | None
    """The record that changes the others most and the one it changes most; None if decoupled."""
    precision: str
    """The coarsest floating-point type in the computation."""

    def __str__(self) -> str:
        """One line."""
        if self.pair is None:
            verdict = "no coupling found: the others' part of the gradient changes"
            return f"{verdict} by {self.largest:.1e} at most (tolerance {self.tolerance:.1e})"
        return (
            f"coupled: record {self.pair[0]} changes the others' part of the gradient by"
            f" {self.largest:.1e} of its own, that of record {self.pair[1]} most"
            f" (tolerance {self.tolerance:.1e})"
        )


def coupling(
    model: nn.Module,
    loss: Loss,
    batch: torch.Tensor | tuple[torch.Tensor, ...],
    *,
    records: int | None = None,
    seed: int = 0,
) -> Coupling:
    """Measure the coupling of a loss over a batch.

    The model is left as it is: a copy in float64 is differentiated, its state put back before each
    of the 2n + 2 gradients (twice as many where coupling is found). Dropout draws the same numbers
    for each of them. Training and evaluation mode are those of the model.

    Args:
        model: In the mode it is trained in.
        loss: ``loss(model, *batch)``, a tensor of one number. It must use the model it is given.
        batch: A tensor, or several whose rows at one place make up one record.
        records: How many records to probe, drawn by the seed; all by default.
        seed: Of the replacements and of dropout.

    >>> layer, rows = nn.Linear(3, 1), torch.eye(3)
    >>> coupling(layer, lambda model, rows: model(rows).square().mean(), rows).coupled
    False
    >>> coupling(layer, lambda model, rows: model(rows).var(), rows).coupled
    True
    """
    tensors = _tensors(batch)
    rng = seeded("coupling", count("seed", seed, at_least=0))
    size = len(tensors[0])
    donors = (np.arange(size) + rng.integers(1, size, size)) % size  # never a record itself
    probed = size if records is None else min(size, count("records", records))
    chosen = sorted(rng.permutation(size)[:probed].tolist())
    with _probe(model, loss, tensors, seed) as probe:
        return _measured(probe, donors, chosen)


def _measured(probe: _Probe, donors: Integers, chosen: list[int]) -> Coupling:
    size = len(donors)
    everyone = np.arange(size)
    changes = {i: _change(probe, donors, everyone[[i]], np.delete(everyone, i)) for i in chosen}
    step = max(change.step for change in changes.values())
    scale = max(change.gradient for change in changes.values())
    epsilon = torch.finfo(probe.precision).eps
    # Half of the digits: a decoupled loss loses a few, a coupled one keeps all of them. A step
    # that is small beside the gradient itself carries the gradient's rounding.
    tolerance = math.sqrt(epsilon) + (_ROUNDING * epsilon * scale / step if step > 0 else 0.0)
    shares = {i: change.interaction / step if step > 0 else 0.0 for i, change in changes.items()}
    strongest = max(chosen, key=lambda i: shares[i])
    coupled = shares[strongest] > tolerance
    return Coupling(
        coupled=coupled,
        largest=shares[strongest],
        tolerance=tolerance,
        by_record=shares,
        pair=(strongest, _partner(probe, donors, strongest)) if coupled else None,
        precision=str(probe.precision).removeprefix("torch."),
    )


class _Change(NamedTuple):
    """Largest entries, of D, of the differences it is made of, and of the gradients."""

    interaction: float
    step: float
    gradient: float


def _change(probe: _Probe, donors: Integers, ours: Integers, theirs: Integers) -> _Change:
    """What replacing ``ours`` does to the gradient, with ``theirs`` as they are and replaced."""
    steps, sizes = [], []
    for background in (theirs[:0], theirs):
        before = probe.replaced(donors, background)
        after = probe.replaced(donors, np.concatenate([background, ours]))
        steps.append(before - after)
        sizes += [before.abs().max().item(), after.abs().max().item()]
    return _Change(
        interaction=(steps[0] - steps[1]).abs().max().item(),
        step=max(step.abs().max().item() for step in steps),
        gradient=max(sizes),
    )


def _partner(probe: _Probe, donors: Integers, record: int) -> int:
    """The record whose own part of the gradient this one changes most."""
    others = [other for other in range(len(donors)) if other != record]
    return max(
        others, key=lambda other: _change(probe, donors, np.r_[record], np.r_[other]).interaction
    )


class _Probe:
    """Gradients of copies of the model, each from the same state and the same random numbers."""

    def __init__(self, model: nn.Module, loss: Loss, tensors: list[torch.Tensor], seed: int):
        self._model, self._loss, self._tensors, self._seed = model, loss, tensors, seed
        self._compared: dict[bytes, torch.Tensor] = {}
        everyone = np.arange(len(tensors[0]))
        watch: Any = _Coarsest()  # type: ignore[no-untyped-call] # torch's own has no types
        with watch:
            first = self._gradient(everyone)
        self.precision = watch.dtype
        if not torch.equal(first, self._gradient(everyone)):
            raise InputError(
                "loss must give the same gradient twice, got two different ones; draw random"
                " numbers in it from torch's own generator"
            )

    def replaced(self, donors: Integers, places: Integers) -> torch.Tensor:
        """The gradient with copies of their donors at these places."""
        rows = np.arange(len(donors))
        rows[places] = donors[places]
        if 0 < len(places) < len(donors):
            return self._gradient(rows)
        key = rows.tobytes()  # none and all replaced: every record is compared with these two
        if key not in self._compared:
            self._compared[key] = self._gradient(rows)
        return self._compared[key]

    def _gradient(self, rows: Integers) -> torch.Tensor:
        model, loss = _copy(self._model), _copy(self._loss)  # running means, queues, counters
        weights = [weight for weight in model.parameters() if weight.requires_grad]
        batch = [tensor[torch.from_numpy(rows).to(tensor.device)] for tensor in self._tensors]
        torch.manual_seed(self._seed)
        value = _one_number(loss(model, *batch))
        gradients = torch.autograd.grad(value, weights, allow_unused=True, materialize_grads=True)
        gradient = torch.cat([part.reshape(-1).to(torch.float64) for part in gradients])
        if not (torch.isfinite(value) and torch.isfinite(gradient).all()):
            raise InputError("loss must have a finite value and gradient, got NaN or infinity")
        return gradient


@contextmanager
def _probe(
    model: nn.Module, loss: Loss, tensors: list[torch.Tensor], seed: int
) -> Iterator[_Probe]:
    """Gradients are on and torch's generators are put back, whatever the caller has set."""
    if not isinstance(model, nn.Module):
        raise InputError(f"model must be a torch module, got {describe(model)}")
    if not any(weight.requires_grad for weight in model.parameters()):
        raise InputError("model must have a parameter that requires a gradient, got none")
    with torch.inference_mode(mode=False), torch.enable_grad(), torch.random.fork_rng():
        # Records made in inference mode cannot be differentiated; copies can.
        copies = [tensor.detach().clone() for tensor in tensors]
        wide = [copy.double() if copy.is_floating_point() else copy for copy in copies]
        try:
            yield _Probe(_doubled(model), _doubled(loss), wide, seed)
        except RuntimeError as error:  # what torch raises for types and shapes that do not fit
            reason = str(error).splitlines()[0]
            raise InputError(
                f"loss must run on a float64 copy of the model and the batch, got: {reason}"
            ) from error


class _Coarsest(TorchDispatchMode):  # type: ignore[no-untyped-call] # torch's own has no types
    """Notes the coarsest floating-point type that any operation gives: parts may cast down."""

    dtype = torch.float64

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for part in tree_leaves(result):
            if isinstance(part, torch.Tensor) and part.is_floating_point():
                self.dtype = max(self.dtype, part.dtype, key=lambda kind: torch.finfo(kind).eps)
        return result


def _tensors(batch: Any) -> list[torch.Tensor]:
    parts: list[Any] = list(batch) if isinstance(batch, (tuple, list)) else [batch]
    if not parts or not all(isinstance(part, torch.Tensor) and part.ndim > 0 for part in parts):
        raise InputError(
            f"batch must be a tensor of records or a tuple of such tensors, got {_kinds(parts)}"
        )
    sizes = sorted({len(part) for part in parts})
    if len(sizes) > 1:
        raise InputError(f"batch must have one number of records in all tensors, got {sizes}")
    if sizes[0] < 2:
        raise InputError(f"batch must have at least 2 records, got {sizes[0]}")
    if all(bool((part == part[:1]).all()) for part in parts):
        raise InputError(f"records must differ, got {sizes[0]} equal ones")
    return parts


def _kinds(parts: list[Any]) -> str:
    return ", ".join(type(part).__name__ for part in parts) or "none"


def _copy(part: Any) -> Any:
    return copy.deepcopy(part) if isinstance(part, nn.Module) else part


def _doubled(part: Any) -> Any:
    return _copy(part).double() if isinstance(part, nn.Module) else part


def _one_number(value: object) -> torch.Tensor:
    if not isinstance(value, torch.Tensor):
        raise InputError(f"loss must be a tensor of one number, got {describe(value)}")
    if value.numel() != 1:
        raise InputError(
            f"loss must be one number (a sum or a mean), got shape {tuple(value.shape)}"
        )
    if not value.requires_grad:
        raise InputError(
            "loss must depend on the parameters of the model that it is given, got one that does"
            " not"
        )
    return value.reshape(())
