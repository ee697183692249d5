"""Per-example gradients of the common modules, each by its cheapest rule.

A rule is given what a module saw and the gradient of every record's loss with respect to what the
module gave, records first, and yields a contribution for each of its trainable parameters. For a
module that sees T rows of a record, the squared norm of Σ_t g_t·a_tᵀ is Σ_{s,t} (a_s·a_t)(g_s·g_t):
two Gram matrices in the place of the gradient ("ghost norms"; Li et al. 2022). It is used where it
needs fewer operations than the gradients themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from reticent.training.encoders.torch_extra import functional, nn, torch
from reticent.training.gradients.contributions import (
    Contribution,
    Kept,
    KeptOneByOne,
    KeptPatches,
    OuterProducts,
    Summed,
)
from reticent.validation import InputError

Tensor = torch.Tensor
_KEPT_BYTES = 96 * 2**20
"""Per-example gradients of one parameter are kept up to this size in fast mode."""
_GRAM_SHARE = 0.25
"""Gram matrices of a convolution are taken below this share of the operations of the gradients:
measured on two cores, batched products of small matrices run at about a quarter of the speed."""
_PATCHES = 2**18
"""Numbers of patches that are multiplied at a time: they stay in the second-level cache."""
_ONE_BY_ONE = 2e6
"""Operations of one record's convolution gradient from which a call for each record pays."""


@dataclass(kw_only=True)
class Call:
    """One call of a module: what went in, what came back, and how the books are kept."""

    module: Any
    inputs: Tensor
    gradients: Tensor
    """Of each record's loss, with respect to the output."""
    wide: bool = False
    """Whether norms and sums are kept in float64, which needs the parts themselves."""
    shared: dict[Any, Tensor] = field(default_factory=dict)
    """Products that several modules need: queries, keys and values read the same rows."""

    @property
    def records(self) -> int:
        """How many."""
        return len(self.gradients)

    def kept(self, parameter: nn.Parameter, rows: Tensor) -> Kept:
        """A contribution whose parts are these rows."""
        return Kept(parameter=parameter, rows=rows.reshape(len(rows), -1), wide=self.wide)


Rule = Callable[[Call], Iterator[Contribution]]


def trained(parameter: nn.Parameter | None) -> bool:
    """Whether a parameter is there and takes a gradient."""
    return parameter is not None and parameter.requires_grad


def linear(call: Call) -> Iterator[Contribution]:
    """y = x·Wᵀ + b over one row of each record, or over several."""
    module, inputs, gradients = call.module, call.inputs, call.gradients
    if inputs.dim() == 2:
        if trained(module.bias):
            yield call.kept(module.bias, gradients)
        if trained(module.weight):
            yield OuterProducts(
                parameter=module.weight, inputs=inputs, gradients=gradients, wide=call.wide
            )
        return
    records, rows, outs = call.records, inputs.shape[-1], gradients.shape[-1]
    inputs, gradients = inputs.reshape(records, -1, rows), gradients.reshape(records, -1, outs)
    if trained(module.bias):
        yield call.kept(module.bias, gradients.sum(1))
    if trained(module.weight):
        if call.wide or _gradients_are_cheaper(records, inputs.shape[1], rows, outs):
            yield call.kept(module.weight, torch.bmm(gradients.transpose(1, 2), inputs))
        else:
            yield _by_gram(call, inputs, gradients)


def _gradients_are_cheaper(records: int, positions: int, inputs: int, outputs: int) -> bool:
    """Memory traffic of kept gradients against products of Gram matrices, in nanoseconds each."""
    traffic = 12 * inputs * outputs / 5
    products = 2 * positions**2 * (inputs + outputs) / 40
    return traffic < products and 4 * records * inputs * outputs < _KEPT_BYTES


def _by_gram(call: Call, inputs: Tensor, gradients: Tensor) -> Summed:
    def square(inputs: Tensor, gradients: Tensor) -> Tensor:
        gram = torch.bmm(gradients, gradients.transpose(1, 2))
        return gram.mul_(_gram(call, inputs)).sum((1, 2))

    def add(inputs: Tensor, gradients: Tensor) -> Tensor:
        return gradients.reshape(-1, gradients.shape[-1]).t() @ inputs.reshape(-1, inputs.shape[-1])

    return Summed(
        parameter=call.module.weight,
        inputs=inputs,
        gradients=gradients,
        square=square,
        add=add,
        one_by_one=lambda inputs, gradients: torch.bmm(gradients.transpose(1, 2), inputs),
    )


def _gram(call: Call, inputs: Tensor) -> Tensor:
    key = (inputs.data_ptr(), inputs.shape, inputs.stride())
    if key not in call.shared:
        call.shared[key] = torch.bmm(inputs, inputs.transpose(1, 2))
    return call.shared[key]


def convolution(call: Call) -> Iterator[Contribution]:
    """One- and two-dimensional convolutions, with groups, dilation and every padding."""
    module, gradients = call.module, call.gradients
    if trained(module.bias):
        yield call.kept(module.bias, gradients.flatten(2).sum(2))
    if not trained(module.weight):
        return
    geometry = _Geometry(module)
    inputs = geometry.padded(call.inputs)
    outputs, channels = module.weight.shape[:2]
    taps = module.weight[0, 0].numel()
    places = gradients[0, 0].numel()
    direct = places * outputs * channels * taps
    too_large = 4 * call.records * module.weight.numel() > _KEPT_BYTES
    if geometry.has_gram and not call.wide:
        pixels = inputs[0, 0].numel()
        gram = places**2 * (outputs + taps) + pixels**2 * channels
        if gram < direct * _GRAM_SHARE or too_large:
            yield geometry.by_gram(inputs, gradients)
            return
    if (direct > _ONE_BY_ONE and taps > 1) or not geometry.has_patches:
        yield KeptOneByOne(
            parameter=module.weight,
            wide=call.wide,
            tensors=[
                geometry.weight_gradient(inputs[place : place + 1], gradients[place : place + 1])
                for place in range(call.records)
            ],
        )
        return
    rows = geometry.patch_rows(inputs, gradients)
    yield KeptPatches(parameter=module.weight, rows=rows, wide=call.wide)


class _Geometry:
    """Stride, padding, dilation and groups of a convolution, and what follows from them."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.explicit = module.padding_mode != "zeros" or isinstance(module.padding, str)
        zeros = (0,) * len(module.kernel_size)
        self.padding: tuple[int, ...] = zeros if self.explicit else module.padding
        plain = module.groups == 1 and module.weight.dim() == 4
        self.has_gram = plain and set(module.dilation) == {1}
        self.has_patches = plain

    def padded(self, inputs: Tensor) -> Tensor:
        """With the padding that is not plain zeros on both sides; the kernel adds the others."""
        if not self.explicit:
            return inputs
        mode = self.module.padding_mode
        amounts = list(self.module._reversed_padding_repeated_twice)
        return functional.pad(inputs, amounts, mode="constant" if mode == "zeros" else mode)

    def weight_gradient(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        """Of the sum over the records that are given."""
        module = self.module
        found: Tensor = torch.ops.aten.convolution_backward(
            gradients,
            inputs,
            module.weight,
            None,
            module.stride,
            self.padding,
            module.dilation,
            False,
            [0] * len(self.padding),
            module.groups,
            [False, True, False],
        )[1]
        return found

    def gradients_by_patches(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        """Every record's gradient, in the order of the weights."""
        kept = KeptPatches(parameter=self.module.weight, rows=self.patch_rows(inputs, gradients))
        return kept.parts().flatten(1)

    def patch_rows(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        """Every record's gradient with channels last: one product of gradient and patches each."""
        patches, flat = self._patches(inputs), gradients.flatten(2)
        records, places, size = len(inputs), flat.shape[2], self.module.weight[0].numel()
        rows = inputs.new_empty(records, self.module.out_channels, size)
        step = max(1, _PATCHES // (size * places))
        buffer = inputs.new_empty(min(step, records), *patches.shape[1:])
        for start in range(0, records, step):
            some = slice(start, min(start + step, records))
            copied = buffer[: some.stop - start].copy_(patches[some])
            torch.bmm(flat[some], copied.view(-1, places, size), out=rows[some])
        return rows.flatten(1)

    def _patches(self, inputs: Tensor) -> Tensor:
        """A view, (records, height, width, *kernel, channels): a row of a patch lies together."""
        module, (above, left) = self.module, self.padding
        last = functional.pad(inputs.permute(0, 2, 3, 1), (0, 0, left, left, above, above))
        last = last.contiguous()
        size = [
            (extent - step * (taps - 1) - 1) // stride + 1
            for extent, taps, step, stride in zip(
                last.shape[1:3], module.kernel_size, module.dilation, module.stride, strict=True
            )
        ]
        record, row, column, channel = last.stride()
        (down, right), (deep, wide) = module.stride, module.dilation
        return last.as_strided(
            (len(last), *size, *module.kernel_size, last.shape[3]),
            (record, row * down, column * right, row * deep, column * wide, channel),
        )

    def by_gram(self, inputs: Tensor, gradients: Tensor) -> Summed:
        """Norms by the Gram matrix of pixels."""
        return Summed(
            parameter=self.module.weight,
            inputs=inputs,
            gradients=gradients,
            square=self._square_by_gram,
            add=self.weight_gradient,
            one_by_one=self.gradients_by_patches,
        )

    def _square_by_gram(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        """The Gram matrix of patches is a sum over taps of shifted Gram matrices of pixels."""
        module, (height, width) = self.module, gradients.shape[2:]
        (down, right), (above, left) = module.stride, self.padding
        flat = inputs.flatten(2)
        pixels = torch.bmm(flat.transpose(1, 2), flat)
        pixels = pixels.view(len(inputs), *inputs.shape[2:], *inputs.shape[2:])
        pixels = functional.pad(pixels, (left, left, above, above) * 2)
        patches = pixels.new_zeros(len(inputs), height, width, height, width)
        for row in range(module.kernel_size[0]):
            for column in range(module.kernel_size[1]):
                rows = slice(row, row + down * (height - 1) + 1, down)
                columns = slice(column, column + right * (width - 1) + 1, right)
                patches += pixels[:, rows, columns, rows, columns]
        flat = gradients.flatten(2)
        places = height * width
        gram = torch.bmm(flat.transpose(1, 2), flat)
        return gram.mul_(patches.view(len(inputs), places, places)).sum((1, 2))


def group_norm(call: Call) -> Iterator[Contribution]:
    """Scale and shift after normalising each record's groups of channels."""
    module, records = call.module, call.records
    gradients = call.gradients.reshape(records, module.num_channels, -1)
    if trained(module.bias):
        yield call.kept(module.bias, gradients.sum(2))
    if trained(module.weight):
        normal = functional.group_norm(call.inputs, module.num_groups, eps=module.eps)
        rows = torch.linalg.vecdot(gradients, normal.reshape(gradients.shape))
        yield call.kept(module.weight, rows)


def layer_norm(call: Call) -> Iterator[Contribution]:
    """Scale and shift after normalising each row."""
    module = call.module
    shape = module.normalized_shape
    size = int(torch.Size(shape).numel())
    gradients = call.gradients.reshape(call.records, -1, size)
    if trained(module.bias):
        yield call.kept(module.bias, gradients.sum(1))
    if trained(module.weight):
        normal = functional.layer_norm(call.inputs, shape, eps=module.eps)
        yield call.kept(module.weight, gradients.mul(normal.reshape(gradients.shape)).sum(1))


def embedding(call: Call) -> Iterator[Contribution]:
    """Rows of a table; a record may ask for one row several times."""
    module = call.module
    if module.sparse or module.max_norm is not None or module.scale_grad_by_freq:
        raise InputError(
            "Embedding must have dense gradients of its own, got sparse, max_norm or"
            " scale_grad_by_freq: build it without"
        )
    places = call.inputs.reshape(call.records, -1)
    gradients = call.gradients.reshape(call.records, -1, module.embedding_dim)
    if module.padding_idx is not None:
        gradients = gradients * (places != module.padding_idx)[..., None]

    def square(places: Tensor, gradients: Tensor) -> Tensor:
        same = places[:, :, None] == places[:, None, :]
        return torch.bmm(gradients, gradients.transpose(1, 2)).mul_(same).sum((1, 2))

    def add(places: Tensor, gradients: Tensor) -> Tensor:
        found: Tensor = torch.ops.aten.embedding_dense_backward(
            gradients, places, module.num_embeddings, -1, False
        )
        return found

    def one_by_one(places: Tensor, gradients: Tensor) -> Tensor:
        tables = gradients.new_zeros(len(places), module.num_embeddings, module.embedding_dim)
        return tables.scatter_add_(1, places[..., None].expand_as(gradients), gradients).flatten(1)

    if call.wide:
        yield call.kept(module.weight, one_by_one(places, gradients))
    else:
        yield Summed(
            parameter=module.weight,
            inputs=places,
            gradients=gradients,
            square=square,
            add=add,
            one_by_one=one_by_one,
        )


RULES: dict[type[nn.Module], Rule] = {
    nn.Linear: linear,
    nn.Conv1d: convolution,
    nn.Conv2d: convolution,
    nn.GroupNorm: group_norm,
    nn.LayerNorm: layer_norm,
    nn.Embedding: embedding,
}
"""By the exact type: a subclass may compute something else, and then takes the fallback."""
