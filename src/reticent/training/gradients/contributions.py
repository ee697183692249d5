"""What each record adds to the gradient of one parameter, in the form that costs least.

A contribution gives the squared norm of every record's part, and the sum of all parts with a weight
for each record. Few of them hold the parts themselves. ``wide`` ones take norms from the parts and
keep sums in float64, added to what earlier batches gave (``add_weighted``), so that the rounding of
both has a bound (docs/theory.md E.5).
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from reticent.arrays import Floats32
from reticent.training.encoders.torch_extra import nn, torch
from reticent.training.gradients import wide_kernels
from reticent.validation import InputError

Tensor = torch.Tensor


@dataclass(kw_only=True)
class Contribution(ABC):
    """Of every record, to the gradient of ``parameter``."""

    parameter: nn.Parameter
    wide: bool = False

    @abstractmethod
    def squared_norms(self) -> Tensor:
        """‖gradient‖² of each record with respect to this parameter, in float64."""

    def add_squared_norms(self, total: Tensor) -> None:
        """total += ``squared_norms``, of float64."""
        total += self.squared_norms()

    @abstractmethod
    def weighted_sum(self, weights: Tensor, out: Tensor | None = None) -> Tensor:
        """Σ weightᵢ·partᵢ, in the shape of the parameter, as fast as it goes.

        It may be written to ``out``, which has that shape, and is it then.
        """

    def add_weighted(self, weights: Tensor, total: Tensor) -> None:
        """total += Σ weightᵢ·partᵢ in float64, of parts in float32: for ``wide`` ones."""
        rows = self.parts().flatten(1)
        wide_kernels.add_weighted(_float32(rows), weights.numpy(), total.view(-1).numpy())

    @abstractmethod
    def parts(self) -> Tensor:
        """Every record's part, one after the other: (records, *shape of the parameter)."""

    def ingredients(self) -> list[Tensor]:
        """What each record's part is computed from, records first: equal rows, equal parts."""
        return [self.parts()]

    @abstractmethod
    def without(self, dropped: Tensor) -> Self:
        """The same with zeros for these records: zero times infinity would be no number."""


@dataclass(kw_only=True)
class Kept(Contribution):
    """The parts themselves, a row for each record."""

    rows: Tensor
    squares: Tensor | None = None
    """Of the rows, where the rule has them."""

    def squared_norms(self) -> Tensor:
        """By a sum of squares, unless the rule has them."""
        if self.squares is not None:
            return self.squares
        return squares(self.rows)

    def weighted_sum(self, weights: Tensor, out: Tensor | None = None) -> Tensor:
        """One product of a row of weights and the matrix of parts."""
        if out is None or out.dim() > 1:
            return self._shaped(weights @ self.rows)
        return torch.mv(self.rows.t(), weights, out=out)

    def add_weighted(self, weights: Tensor, total: Tensor) -> None:
        """Adds each record's row times its weight to ``total``, row after row in float32."""
        flat = total.view(-1).numpy()
        wide_kernels.add_weighted(_float32(self.rows), weights.numpy(), flat)

    def parts(self) -> Tensor:
        """Each record's gradient, in the shape of the parameter: they were kept."""
        return self._shaped(self.rows)

    def without(self, dropped: Tensor) -> Self:
        """The same with zeros for the gradients of dropped records."""
        return dataclasses.replace(self, rows=_zeroed(self.rows, dropped))

    def _shaped(self, rows: Tensor) -> Tensor:
        """Rows, or one of them, in the shape of the parameter."""
        return rows.view(*rows.shape[:-1], *self.parameter.shape)


@dataclass(kw_only=True)
class KeptPatches(Kept):
    """The parts of a convolution, a row each, in which channels come last."""

    def add_weighted(self, weights: Tensor, total: Tensor) -> None:
        """In the order of the rows first."""
        flat = torch.zeros(self.rows.shape[1], dtype=torch.float64)
        wide_kernels.add_weighted(_float32(self.rows), weights.numpy(), flat.numpy())
        total += self._shaped(flat)

    def _shaped(self, rows: Tensor) -> Tensor:
        outputs, channels, height, width = self.parameter.shape
        shaped = rows.view(*rows.shape[:-1], outputs, height, width, channels)
        return shaped.movedim(-1, -3)


@dataclass(kw_only=True)
class KeptOneByOne(Contribution):
    """The parts themselves, a tensor for each record, from a kernel that takes one record."""

    tensors: list[Tensor]
    squares: Tensor
    """Of the tensors."""

    def squared_norms(self) -> Tensor:
        """‖gradient‖² of each record, as the rule has them."""
        return self.squares

    def weighted_sum(self, weights: Tensor, out: Tensor | None = None) -> Tensor:
        """Added up tensor by tensor."""
        total = torch.zeros_like(self.parameter) if out is None else out.zero_()
        for part, weight in zip(self.tensors, weights.tolist(), strict=True):
            total.add_(part.view(total.shape), alpha=weight)
        return total

    def add_weighted(self, weights: Tensor, total: Tensor) -> None:
        """Adds each record's tensor times its weight to ``total``, tensor after tensor."""
        flat, each = total.view(-1).numpy(), weights.numpy()
        for place, part in enumerate(self.tensors):
            rows = _float32(part.reshape(1, -1))
            wide_kernels.add_weighted(rows, each[place : place + 1], flat)

    def parts(self) -> Tensor:
        """Each record's gradient in one tensor, records along the first axis."""
        return torch.stack([part.view(self.parameter.shape) for part in self.tensors])

    def without(self, dropped: Tensor) -> Self:
        """The same with zeros for the gradients of dropped records."""
        kept = [
            torch.zeros_like(part) if drop else part
            for part, drop in zip(self.tensors, dropped.tolist(), strict=True)
        ]
        return dataclasses.replace(self, tensors=kept)


@dataclass(kw_only=True)
class OuterProducts(Contribution):
    """g·aᵀ of two rows for each record: a linear layer that sees one row of a record."""

    inputs: Tensor
    gradients: Tensor
    gradient_squares: Tensor
    """Squared norms of the gradients' rows."""

    def squared_norms(self) -> Tensor:
        """‖g·aᵀ‖² = ‖g‖²‖a‖² of each record: no product is formed (Goodfellow 2015)."""
        return squares(self.inputs).mul_(self.gradient_squares)

    def add_squared_norms(self, total: Tensor) -> None:
        """Squares, products and the addition in one kernel."""
        if not _has_kernel(self.inputs):
            super().add_squared_norms(total)
            return
        wide_kernels.add_squared_norms(
            _float32(self.inputs), self.gradient_squares.numpy(), total.numpy()
        )

    def weighted_sum(self, weights: Tensor, out: Tensor | None = None) -> Tensor:
        """Σ weight·g·aᵀ over the records, as one matrix product."""
        return torch.mm((self.gradients * weights[:, None]).t(), self.inputs, out=out)

    def add_weighted(self, weights: Tensor, total: Tensor) -> None:
        """The same product in float64, where those of float32 numbers are exact."""
        gradients = self.gradients.double().mul_(weights[:, None])
        total.addmm_(gradients.t(), self.inputs.double())

    def parts(self) -> Tensor:
        """Each record's gradient g·aᵀ, formed: for checks, not for training."""
        return torch.einsum("bo,bi->boi", self.gradients, self.inputs).to(self.parameter.dtype)

    def ingredients(self) -> list[Tensor]:
        """Both factors: far less than their products."""
        return [self.inputs, self.gradients]

    def without(self, dropped: Tensor) -> Self:
        """The same with zeros for inputs and gradients of dropped records."""
        return dataclasses.replace(
            self,
            inputs=_zeroed(self.inputs, dropped),
            gradients=_zeroed(self.gradients, dropped),
        )


@dataclass(kw_only=True)
class TableRows(Contribution):
    """Rows of a table that a record asked for, each once; the rest of its part is zero."""

    places: Tensor
    """(records, positions): the row of the table."""
    rows: Tensor
    """(records, positions, width): the part's row at the first position that asked for it, else
    zeros."""

    def squared_norms(self) -> Tensor:
        """Of the rows that are not zero."""
        return squares(self.rows.flatten(1))

    def weighted_sum(self, weights: Tensor, out: Tensor | None = None) -> Tensor:
        """Row after row of the table."""
        total = torch.zeros_like(self.parameter) if out is None else out.zero_()
        return total.index_add_(
            0, self.places.flatten(), weighted(self.rows, weights).flatten(0, 1)
        )

    def add_weighted(self, weights: Tensor, total: Tensor) -> None:
        """The same in float64; zeros change nothing."""
        rows = weighted(self.rows.double(), weights).flatten(0, 1)
        total.index_add_(0, self.places.flatten(), rows)

    def parts(self) -> Tensor:
        """Each record's whole table: for tied weights and checks."""
        tables = self.rows.new_zeros(len(self.rows), *self.parameter.shape)
        return tables.scatter_add_(1, self.places[..., None].expand_as(self.rows), self.rows)

    def ingredients(self) -> list[Tensor]:
        """Both: far less than whole tables."""
        return [self.places, self.rows]

    def without(self, dropped: Tensor) -> Self:
        """The same with zeros for the rows of dropped records."""
        return dataclasses.replace(self, rows=_zeroed(self.rows, dropped))


@dataclass(kw_only=True)
class Summed(Contribution):
    """Squared norms that were found without the parts, and how to add the parts up.

    ``add`` takes inputs and gradients of the outputs, of which one is weighted, and gives the sum,
    in the memory that it is given if it can; ``square`` the squared norms. Both have the records
    first.
    """

    inputs: Tensor
    gradients: Tensor
    square: Callable[[Tensor, Tensor], Tensor]
    add: Callable[[Tensor, Tensor, Tensor | None], Tensor]
    one_by_one: Callable[[Tensor, Tensor], Tensor]

    def squared_norms(self) -> Tensor:
        """‖gradient‖² of each record by ``square``, mostly of Gram matrices: no part is formed."""
        return self.square(self.inputs, self.gradients).double()

    def weighted_sum(self, weights: Tensor, out: Tensor | None = None) -> Tensor:
        """As one gradient of the module, linear in either side: the smaller one is weighted."""
        inputs, gradients = self.inputs, self.gradients
        if inputs.is_floating_point() and inputs.numel() < gradients.numel():
            return self.add(weighted(inputs, weights), gradients, out)
        return self.add(inputs, weighted(gradients, weights), out)

    def parts(self) -> Tensor:
        """Each record's gradient in the shape of the parameter, by the rule's slow form."""
        rows = self.one_by_one(self.inputs, self.gradients)
        return rows.view(len(rows), *self.parameter.shape)

    def without(self, dropped: Tensor) -> Self:
        """With zeros in the place of what went in and what came back."""
        inputs = self.inputs
        if inputs.is_floating_point():
            inputs = _zeroed(inputs, dropped)
        return dataclasses.replace(self, inputs=inputs, gradients=_zeroed(self.gradients, dropped))


def weighted(gradients: Tensor, weights: Tensor) -> Tensor:
    """Each record's gradient times its weight; records come first."""
    return gradients * weights.view(-1, *[1] * (gradients.dim() - 1))


def squares(rows: Tensor) -> Tensor:
    """The squared norm of each row, in float64: each product of two float32 numbers is exact."""
    if _has_kernel(rows):
        return torch.from_numpy(wide_kernels.squared_norms(_float32(rows)))
    norms: Tensor = torch.linalg.vector_norm(rows, dim=1, dtype=torch.float64)
    return norms.square_()


def _has_kernel(rows: Tensor) -> bool:
    return rows.dtype == torch.float32 and rows.is_cpu


def _float32(rows: Tensor) -> Floats32:
    """As the kernels read them: contiguous, and float32, whose products float64 holds exactly."""
    array: Floats32 = rows.contiguous().numpy()
    if array.dtype != np.float32:
        raise InputError(f"gradients must be float32 in exact mode, got {array.dtype}")
    return array


def _zeroed(rows: Tensor, dropped: Tensor) -> Tensor:
    return rows.masked_fill(dropped.view(-1, *[1] * (rows.dim() - 1)), 0)
