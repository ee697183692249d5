"""zᵀMz′ of each record, alike in every slot of a batch."""

from typing import Final

from reticent.training.encoders.torch_extra import functional, torch

_TILE: Final = 16
"""Columns that a kernel of a matrix product takes at a time: a multiple of what processors have."""


def bilinear_forms(first: torch.Tensor, matrix: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """firstᵢᵀ·matrix·secondᵢ for each row i, from rows and matrix filled up with zeros to a tile.

    Products with few columns add up in another order at the edge of a tile, or by a product of one
    vector after the other: then a record's loss, and its gradient, would depend on its slot
    (docs/theory.md E.5). Zeros change nothing else.

    >>> bilinear_forms(torch.eye(2), torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.ones(2, 2))
    tensor([3., 7.])
    """
    missing = -len(matrix) % _TILE
    rows, others = (functional.pad(one, (0, missing)) for one in (first, second))
    products = rows @ functional.pad(matrix, (0, missing, 0, missing))
    return (products * others).sum(dim=1)
