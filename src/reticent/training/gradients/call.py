"""One call of a module as a rule reads it: records first, what went in and what came back."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from reticent.training.encoders.torch_extra import nn, torch
from reticent.training.gradients.contributions import Contribution, Kept

Tensor = torch.Tensor
KEPT_BYTES = 96 * 2**20
"""Per-example gradients of one parameter are kept up to this size in fast mode."""


@dataclass(kw_only=True)
class Call:
    """One call of a module: what went in, what came back, and how the books are kept."""

    module: Any
    inputs: Tensor
    gradients: Tensor
    """Of each record's loss, with respect to the output."""
    wide: bool = False
    """Whether norms and sums are kept in float64, which needs the parts themselves."""
    images: int = 1
    """How many rows a record has in a batch of the module, where it has several: its views."""
    shared: dict[Any, Tensor] = field(default_factory=dict)
    """Products that several modules need: queries, keys and values read the same rows."""

    @property
    def records(self) -> int:
        """How many records the batch of this call holds."""
        return self.gradients.shape[0]

    def kept(self, parameter: nn.Parameter, rows: Tensor) -> Kept:
        """A contribution whose parts are these rows."""
        return Kept(parameter=parameter, rows=rows.reshape(len(rows), -1), wide=self.wide)


Rule = Callable[[Call], Iterator[Contribution]]


def trained(parameter: nn.Parameter | None) -> bool:
    """Whether a parameter is there and takes a gradient."""
    return parameter is not None and parameter.requires_grad


def folded(rows: Tensor, images: int) -> Tensor:
    """The sum over the images of each record, which stand one after the other."""
    return rows if images == 1 else by_record(rows, images).sum(1)


def by_record(rows: Tensor, images: int) -> Tensor:
    """(records, images, …): a view."""
    return rows.view(len(rows) // images, images, *rows.shape[1:])
