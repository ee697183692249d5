"""zᵀMz′ row by row: its value, and the same bits in every slot."""

from __future__ import annotations

import pytest
import torch

from reticent.training.contrastive.bilinear import bilinear_forms

WIDTHS = [*range(1, 36), 64, 100, 128]


def rows(width: int, seed: int = 0) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    sizes = [(64, width), (width, width), (64, width)]
    return [torch.randn(size, generator=generator) for size in sizes]


@pytest.mark.parametrize("width", WIDTHS)
def test_it_is_the_sum_over_all_pairs_of_entries(width: int) -> None:
    first, matrix, second = (one.double() for one in rows(width))
    expected = torch.einsum("ni,ij,nj->n", first, matrix, second)
    torch.testing.assert_close(bilinear_forms(first, matrix, second), expected)


@pytest.mark.parametrize("width", WIDTHS)
def test_value_and_gradients_have_the_same_bits_in_every_slot(width: int) -> None:
    first, matrix, second = rows(width)

    def found(which: torch.Tensor) -> torch.Tensor:
        one, other = (side[which].requires_grad_() for side in (first, second))
        values = bilinear_forms(one, matrix, other)
        return torch.cat([values[:, None], *torch.autograd.grad(values.sum(), [one, other])], dim=1)

    alone = []
    for place in range(64):
        same = found(torch.full((64,), place))
        assert torch.equal(same, same[:1].expand_as(same))
        alone.append(same[0])
    order = torch.randperm(64, generator=torch.Generator().manual_seed(1))
    assert torch.equal(found(order), torch.stack(alone)[order])
