"""Per-example gradients of any other module: what it does is done again for each record.

Slower than a rule. All records at once by ``torch.func`` where the module allows it (``vmap``), or
one record after the other. The unit may be a whole part of a network whose parameters stand beside
modules: a class token, a scale, a custom layer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torch.utils._pytree import tree_flatten, tree_unflatten

from reticent.training.encoders.torch_extra import nn, torch
from reticent.training.gradients.contributions import Contribution, Kept
from reticent.training.gradients.layouts import Layout
from reticent.validation import InputError

Tensor = torch.Tensor
_DROPOUT = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout)


class Unit:
    """A module that is run again for each record."""

    def __init__(self, name: str, module: nn.Module) -> None:
        self.name = name
        self.module = module
        self.vectorised: bool | None = None
        """Whether ``vmap`` is taken: as the first batch, of the check, shows; None before it. Later
        ones go the same way, or one record would change how all others are computed."""

    def contributions(
        self, arguments: Any, gradients: list[Tensor | None], layout: Layout, *, wide: bool
    ) -> Iterator[Contribution]:
        """Of all trainable parameters inside, from what went in and the gradients that came back.

        ``gradients`` stand in the order of the tensors of the output.
        """
        self._refuse_dropout()
        if layout not in (Layout.FIRST, Layout.SECOND):
            raise InputError(
                f"{self.name} must see records in its first or second dimension, got"
                f" {layout.value}: it has no rule, and cannot be run again record by record"
            )
        again = _Again(self.module, arguments, gradients, dim=0 if layout is Layout.FIRST else 1)
        for parameter, rows in self._rows(again):
            yield Kept(parameter=parameter, rows=rows.reshape(len(rows), -1), wide=wide)

    def _rows(self, again: _Again) -> list[tuple[nn.Parameter, Tensor]]:
        if self.vectorised is None:
            try:
                rows = again.at_once()
            except RuntimeError:  # what vmap raises for kernels without a batching rule
                self.vectorised = False
            else:
                self.vectorised = True
                return rows
        return again.at_once() if self.vectorised else again.one_by_one()

    def _refuse_dropout(self) -> None:
        for module in self.module.modules():
            if isinstance(module, _DROPOUT) and module.training and module.p > 0:
                raise InputError(
                    f"{self.name} has no rule and is run again for each record, which dropout"
                    " would change: set its p to 0"
                )


class _Again:
    """One call of a module, to be differentiated for each record alone."""

    def __init__(
        self, module: nn.Module, arguments: Any, gradients: list[Tensor | None], *, dim: int
    ) -> None:
        self.module, self.dim = module, dim
        self.names = [name for name, one in module.named_parameters() if one.requires_grad]
        self.trained = {name: module.get_parameter(name) for name in self.names}
        self.leaves, self.tree = tree_flatten(arguments)
        self.places = [place for place, one in enumerate(gradients) if one is not None]
        self.gradients = [one for one in gradients if one is not None]
        self.records = self.gradients[0].shape[dim]
        self.mapped = [
            isinstance(leaf, Tensor) and leaf.dim() > dim and leaf.shape[dim] == self.records
            for leaf in self.leaves
        ]

    def at_once(self) -> list[tuple[nn.Parameter, Tensor]]:
        """By ``vmap`` over the records."""
        dim = self.dim
        rows = [leaf for leaf, mapped in zip(self.leaves, self.mapped, strict=True) if mapped]
        values = {name: one.detach() for name, one in self.trained.items()}

        def product(values: dict[str, Tensor], rows: list[Tensor], backs: list[Tensor]) -> Tensor:
            return self._product(
                values, [row.unsqueeze(dim) for row in rows], [one.unsqueeze(dim) for one in backs]
            )

        differentiate: Callable[..., dict[str, Tensor]] = torch.func.vmap(
            torch.func.grad(product), in_dims=(None, dim, dim)
        )
        by_name = differentiate(values, [row.detach() for row in rows], self.gradients)
        return [(self.trained[name], by_name[name]) for name in self.names]

    def one_by_one(self) -> list[tuple[nn.Parameter, Tensor]]:
        """A backward pass for each record."""
        gradients: dict[str, list[Tensor]] = {name: [] for name in self.names}
        rows = [leaf for leaf, mapped in zip(self.leaves, self.mapped, strict=True) if mapped]
        for record in range(self.records):
            with torch.enable_grad():
                value = self._product(
                    dict(self.trained),
                    [row.detach().narrow(self.dim, record, 1) for row in rows],
                    [one.narrow(self.dim, record, 1) for one in self.gradients],
                )
            parts = torch.autograd.grad(
                value, list(self.trained.values()), allow_unused=True, materialize_grads=True
            )
            for name, part in zip(self.names, parts, strict=True):
                gradients[name].append(part)
        return [(self.trained[name], torch.stack(gradients[name])) for name in self.names]

    def _product(
        self, values: dict[str, Tensor], rows: list[Tensor], gradients: list[Tensor]
    ) -> Tensor:
        """⟨output, gradient⟩: its gradient is that of the loss."""
        rest = iter(rows)
        leaves = [
            next(rest) if mapped else leaf
            for leaf, mapped in zip(self.leaves, self.mapped, strict=True)
        ]
        args, kwargs = tree_unflatten(leaves, self.tree)
        output = torch.func.functional_call(self.module, values, args, kwargs)
        tensors = tensors_of(output)
        return torch.stack(
            [
                (tensors[place] * gradient).sum()
                for place, gradient in zip(self.places, gradients, strict=True)
            ]
        ).sum()


def tensors_of(output: Any) -> list[Tensor]:
    """The tensors of floats in an output, whatever it is made of."""
    if isinstance(output, Tensor):
        return [output] if output.is_floating_point() else []
    return [
        leaf
        for leaf in tree_flatten(output)[0]
        if isinstance(leaf, Tensor) and leaf.is_floating_point()
    ]
