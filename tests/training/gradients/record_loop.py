"""Clipped sums as a plain loop over the records gives them: autograd, one record at a time."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from reticent.training.gradients import Clipper, check_gradients

RECORDS = 6
LABELS = torch.tensor([0, 1, 2, 0, 1, 2])


def loss(model: nn.Module, rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    output = model(rows)
    return functional.cross_entropy(getattr(output, "logits", output), labels, reduction="none")


def gradients_one_by_one(model: nn.Module, clipper: Clipper, rows: torch.Tensor) -> torch.Tensor:
    """Every record's gradient by autograd, a row each."""
    found = []
    for place in range(len(rows)):
        value = loss(model, rows[place : place + 1], LABELS[place : place + 1]).sum()
        parts = torch.autograd.grad(
            value, clipper.parameters, allow_unused=True, materialize_grads=True
        )
        found.append(torch.cat([part.flatten() for part in parts]))
    return torch.stack(found)


def clipped(
    model: nn.Module, clipper: Clipper, rows: torch.Tensor, clip: float, *, wide: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Norms of all records, and the clipped sum as a flat vector."""
    with clipper.watch(len(rows)):
        losses = loss(model, rows, LABELS)
    found = clipper.clipped_sums(losses, clip=clip, wide=wide)
    flat = [
        found.sums.get(one, torch.zeros_like(one)).flatten().double() for one in clipper.parameters
    ]
    return found.norms, torch.cat(flat)


def assert_as_in_a_loop(model: nn.Module, rows: torch.Tensor, *, wide: bool) -> Clipper:
    """Norms and clipped sum within 1e-5, after the check before the first step."""
    clipper = Clipper(model)
    check_gradients(clipper, loss, (rows, LABELS))
    alone = gradients_one_by_one(model, clipper, rows).double()
    norms = alone.norm(dim=1)
    clip = float(norms.median())
    expected = ((clip / norms).clamp(max=1)[:, None] * alone).sum(0)
    seen, total = clipped(model, clipper, rows, clip, wide=wide)
    assert (seen - norms).abs().max() <= 1e-5 * norms.max()
    assert (total - expected).norm() <= 1e-5 * expected.norm()
    return clipper
