"""Clipped per-example gradients of an ordinary torch module: one forward and one backward pass.

The module is not wrapped. A forward hook on each module that owns trainable parameters keeps its
input and the *gradient edge* of its output, which later in-place operations leave alone. One pass
of ``torch.autograd.grad`` to these edges computes the gradients of activations and no weight's.
From these each rule finds the norms, and then one weighted sum ("book-keeping"; Bu et al. 2023).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.utils._pytree import tree_map

from reticent.arrays import Floats, Integers
from reticent.training.encoders.torch_extra import nn, torch
from reticent.training.gradients import wide_kernels
from reticent.training.gradients.call import Call
from reticent.training.gradients.contributions import Contribution, Kept
from reticent.training.gradients.fallback import Unit, tensors_of
from reticent.training.gradients.layouts import Layout
from reticent.training.gradients.rules import RULES
from reticent.validation import InputError

Tensor = torch.Tensor
_ROUND = 2.0**-53
_BATCH_NORM = nn.modules.batchnorm._BatchNorm


@dataclass(kw_only=True, slots=True)
class Seen:
    """One call of a hooked module in the forward pass."""

    name: str
    module: nn.Module
    order: int
    """How many calls of this module came before it."""
    arguments: Any
    """Positional and keyword arguments, without their graph."""
    versions: list[tuple[Tensor, int]]
    edges: list[GradientEdge | None]
    """Of the tensors of the output."""
    gradients: list[Tensor | None] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, int]:
        """The call by name: the same in every forward pass."""
        return self.name, self.order

    @property
    def input(self) -> Tensor:
        """What a rule reads: the first argument, whether by place or by name."""
        args, kwargs = self.arguments
        first = args[0] if args else next(iter(kwargs.values()))
        assert isinstance(first, Tensor)
        return first

    def refuse_changed_input(self) -> None:
        """An input that was changed in place is no longer what the module saw."""
        for tensor, version in self.versions:
            if tensor._version != version:
                raise InputError(
                    f"{self.name} must keep its input, got one that was changed in place after"
                    " it was used: use the operation that makes a new tensor"
                )


@dataclass(frozen=True, kw_only=True)
class ClippedSums:
    """The norms of all records' gradients, and the sum of the clipped ones by parameter.

    Norms are as private as the records: they are for tests and audits.
    """

    squares: Tensor
    """Of the norms."""
    sums: dict[nn.Parameter, Tensor]

    @property
    def norms(self) -> Tensor:
        """Of each record's gradient before clipping."""
        return self.squares.clamp_min(0).sqrt()


class Clipper:
    """Finds clipped sums of per-example gradients of a module's trainable parameters.

    >>> model, rows = nn.Linear(3, 1), torch.eye(3)
    >>> clipper = Clipper(model)
    >>> with clipper.watch(3):
    ...     losses = 2 * model(rows).sum(1)
    >>> [f"{norm:.3f}" for norm in clipper.clipped_sums(losses, clip=1.0).norms]
    ['2.828', '2.828', '2.828']
    """

    def __init__(self, model: nn.Module, *, fallback: bool = True) -> None:
        self.model = model
        self.layouts: dict[tuple[str, int], Layout] = {}
        """Where records stand in the output of each call; first, where nothing is said."""
        self.without_records: set[tuple[str, int]] = set()
        """Calls whose output has no dimension for records: a table of positions."""
        self._units: dict[str, Unit] = {}
        self._seen: list[Seen] = []
        self._calls: dict[str, int] = {}
        """How often each module was called in this forward pass."""
        self._records = 0
        trained = self.parameters
        entries = sum(one.numel() for one in trained)
        self._slack = 1 + (2 * entries + 64 + len(trained)) * _ROUND
        self._hooks = [
            module.register_forward_hook(self._hook(name, module), with_kwargs=True)
            for name, module in self._owners(model, fallback)
        ]
        if not self._hooks:
            raise InputError("model must have a parameter that takes a gradient, got none")

    @property
    def parameters(self) -> list[nn.Parameter]:
        """The trainable ones, in the model's order."""
        return [one for one in self.model.parameters() if one.requires_grad]

    @property
    def slow_modules(self) -> dict[str, str]:
        """The modules without a rule, and how their gradients are found."""
        return {
            name or "the model itself": (
                "torch.func" if unit.vectorised is not False else "one record after the other"
            )
            for name, unit in self._units.items()
        }

    def remove(self) -> None:
        """Take the hooks off the module again."""
        for hook in self._hooks:
            hook.remove()

    def take_calls(self) -> list[Seen]:
        """The calls of the last forward pass, for a later ``clipped_sums`` (``give_back``)."""
        taken, self._seen = self._seen, []
        return taken

    def give_back(self, calls: list[Seen]) -> None:
        """The forward pass of which gradients are asked next."""
        self._seen = calls

    @contextmanager
    def watch(self, records: int) -> Iterator[None]:
        """Around the forward pass of so many records."""
        self._seen, self._calls, self._records = [], {}, records
        try:
            yield
        finally:
            self._records = 0

    def clipped_sums(
        self,
        losses: Tensor,
        *,
        clip: float,
        wide: bool = False,
        slots: Integers | None = None,
        out: Mapping[nn.Parameter, Tensor] | None = None,
    ) -> ClippedSums:
        """Σ min(1, clip/‖gᵢ‖)·gᵢ over the records, from one loss for each of them.

        With ``wide`` norms and sums are kept in float64 and the factors rounded down, so that no
        record's part is longer than ``clip``. A gradient that is not finite counts as zero. Where
        only some rows hold records, ``slots`` says which: the others fill the batch up.
        A parameter's sum may be written to its tensor of ``out``, and is that tensor then; with
        ``wide`` it is added to what that tensor holds.
        """
        if losses.dim() != 1:
            raise InputError(
                "loss must give one number for each record (reduction='none'), got shape"
                f" {tuple(losses.shape)}"
            )
        with torch.no_grad():
            contributions = self._contributions(losses, wide)
            if not contributions:
                return ClippedSums(squares=torch.zeros_like(losses), sums={})
            squares = torch.from_numpy(np.zeros(len(losses))).to(losses.device)
            for one in contributions:
                one.add_squared_norms(squares)
            factors, bad = self._factors(squares, clip)
            if bad:
                dropped = ~torch.isfinite(squares)
                squares = squares.masked_fill(dropped, 0)
                contributions = [one.without(dropped) for one in contributions]
            if slots is not None:
                factors *= np.isin(np.arange(len(factors)), slots)
            weights = torch.from_numpy(factors)
            if not wide:
                weights = weights.to(losses)
            add = _add_weighted if wide else _weighted_sum
            places = {} if out is None else out
            sums = {
                one.parameter: add(one, weights, places.get(one.parameter)) for one in contributions
            }
        return ClippedSums(squares=squares, sums=sums)

    def _factors(self, squares: Tensor, clip: float) -> tuple[Floats, int]:
        """min(1, clip/‖g‖) for norms that were rounded; never too large (docs/theory.md E.5).

        A squared norm of p entries in float64 is off by at most 2p + 64 roundings. Records whose
        norm is not finite have the factor 0, and are counted.
        """
        limit = clip * (1 - 8 * _ROUND)
        factors, bad = wide_kernels.clip_factors(squares.cpu().numpy(), limit, self._slack)
        return factors, bad

    def contributions(self, losses: Tensor, *, wide: bool = False) -> list[Contribution]:
        """One for each trainable parameter that a record may have moved."""
        with torch.no_grad():
            return self._contributions(losses, wide)

    def _contributions(self, losses: Tensor, wide: bool) -> list[Contribution]:
        shared: dict[Any, Tensor] = {}
        by_parameter: dict[nn.Parameter, list[Contribution]] = {}
        for call in self.differentiated(losses):
            call.refuse_changed_input()
            for one in self._of(call, losses.shape[0], wide, shared):
                by_parameter.setdefault(one.parameter, []).append(one)
        return [
            ones[0] if len(ones) == 1 else _merged(parameter, ones)
            for parameter, ones in by_parameter.items()
        ]

    def differentiated(self, losses: Tensor, of: int | None = None) -> list[Seen]:
        """The calls of the forward pass with the gradients of their outputs.

        Of the sum of all losses, or of one record's loss alone.
        """
        seen, self._seen = self._seen, self._seen if of is not None else []
        edges = [edge for call in seen for edge in call.edges if edge is not None]
        if not edges:
            return []
        outputs = losses if of is None else losses[of : of + 1]
        gradients = iter(
            torch.autograd.grad(
                outputs,
                edges,
                torch.ones_like(outputs),
                allow_unused=True,
                retain_graph=of is not None,
            )
        )
        for call in seen:
            call.gradients = [next(gradients) if edge is not None else None for edge in call.edges]
        return [call for call in seen if any(one is not None for one in call.gradients)]

    def _of(
        self, call: Seen, records: int, wide: bool, shared: dict[Any, Tensor]
    ) -> Iterator[Contribution]:
        key = call.key
        layout = self.layouts.get(key, Layout.FIRST)
        unit = self._units.get(call.name)
        if unit is not None:
            return unit.contributions(call.arguments, call.gradients, layout, wide=wide)
        gradient, inputs = call.gradients[0], call.input
        assert gradient is not None
        _refuse_other_rows(call.name, layout, gradient, records)
        if inputs.shape[0] == 1 != records and layout is Layout.FIRST:
            inputs = inputs.expand(records, *inputs.shape[1:])
        if key in self.without_records:
            inputs = inputs.unsqueeze(0).expand(records, *inputs.shape)
        rows = Call(
            module=call.module,
            inputs=layout.records_first(inputs, records),
            gradients=layout.records_first(gradient, records),
            wide=wide,
            images=layout.rows_each(gradient.shape, records),
            shared=shared,
        )
        return RULES[type(call.module)](rows)

    def _owners(self, model: nn.Module, fallback: bool) -> Iterator[tuple[str, nn.Module]]:
        """Modules with trainable parameters of their own; below one without a rule, none."""
        for name, module in model.named_modules():
            label = name or type(module).__name__
            if isinstance(module, _BATCH_NORM) and (module.training or not _frozen(module)):
                raise InputError(
                    f"module {label!r} must not mix the records of a batch, got"
                    f" {type(module).__name__}:"
                    " use GroupNorm, or freeze it and set it to eval()"
                )
            if any(name == unit or name.startswith(f"{unit}.") for unit in self._units):
                continue
            if "" in self._units or not any(
                one.requires_grad for one in module.parameters(recurse=False)
            ):
                continue
            if type(module) not in RULES:
                if not fallback:
                    known = ", ".join(kind.__name__ for kind in RULES)
                    raise InputError(
                        f"{label} must be one of {known}, got {type(module).__name__}: it has no"
                        " rule for per-example gradients, and the fallback is off"
                    )
                self._units[name] = Unit(label, module)
            yield name, module

    def _hook(self, name: str, module: nn.Module) -> Any:
        is_unit = name in self._units

        def hook(_: nn.Module, args: Any, kwargs: Any, output: Any) -> Any:
            if not self._records or not torch.is_grad_enabled():
                return None
            order = self._calls.get(name, 0)
            self._calls[name] = order + 1
            replaced = None if is_unit else self._with_records(output, (name, order))
            edges = [
                get_gradient_edge(one) if one.requires_grad else None
                for one in tensors_of(output if replaced is None else replaced)
            ]
            if all(edge is None for edge in edges):
                return None
            arguments = _without_graph(args, kwargs)
            self._seen.append(
                Seen(
                    name=name,
                    module=module,
                    order=order,
                    arguments=arguments,
                    versions=[(one, one._version) for one in _tensors(arguments)],
                    edges=edges,
                )
            )
            return replaced

        return hook

    def _with_records(self, output: Any, key: tuple[str, int]) -> Any:
        """A row that serves all records, as a row for each: so its gradients are told apart."""
        if not isinstance(output, Tensor):
            return None
        if key in self.without_records:
            return output.unsqueeze(0).expand(self._records, *output.shape)
        if self._records == 1:
            return None
        if (
            output.dim() > 1
            and output.shape[0] == 1
            and self.layouts.get(key) in (None, Layout.FIRST)
        ):
            return output.expand(self._records, *output.shape[1:])
        return None


def _refuse_other_rows(name: str, layout: Layout, gradient: Tensor, records: int) -> None:
    if not layout.fits(gradient.shape, records):
        raise InputError(
            f"{name} must see a row for each of {records} records ({layout.value}), got shape"
            f" {tuple(gradient.shape)}: check the model with an example first"
        )


def _merged(parameter: nn.Parameter, ones: list[Contribution]) -> Contribution:
    """A parameter that was used several times: the norm is that of the sum of its parts."""
    rows = _total([one.parts() for one in ones])
    return Kept(parameter=parameter, rows=rows.reshape(len(rows), -1), wide=ones[0].wide)


def _weighted_sum(one: Contribution, weights: Tensor, out: Tensor | None) -> Tensor:
    return one.weighted_sum(weights, out)


def _add_weighted(one: Contribution, weights: Tensor, out: Tensor | None) -> Tensor:
    total = torch.zeros(one.parameter.shape, dtype=torch.float64) if out is None else out
    one.add_weighted(weights, total)
    return total


def _total(tensors: list[Tensor]) -> Tensor:
    total = tensors[0].clone()
    for one in tensors[1:]:
        total += one
    return total


def _frozen(module: nn.Module) -> bool:
    return not any(one.requires_grad for one in module.parameters(recurse=False))


def _without_graph(args: Any, kwargs: Any) -> Any:
    """The arguments of a call, of which most are one tensor."""
    if len(args) == 1 and not kwargs and isinstance(args[0], Tensor):
        return (_detached(args[0]),), {}
    return tree_map(_detached, (args, kwargs))


def _tensors(arguments: Any) -> list[Tensor]:
    args, kwargs = arguments
    return tensors_of(args[0] if len(args) == 1 and not kwargs else arguments)


def _detached(leaf: Any) -> Any:
    return leaf.detach() if isinstance(leaf, Tensor) and leaf.requires_grad else leaf
