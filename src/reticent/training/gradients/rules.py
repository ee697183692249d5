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
    TableRows,
    squares,
    wide_squares,
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


def linear(call: Call) -> Iterator[Contribution]:
    """y = x·Wᵀ + b over one row of each record, or over several."""
    module, inputs, gradients = call.module, call.inputs, call.gradients
    if inputs.dim() == 2:
        yield from _linear_of_rows(call)
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


def _linear_of_rows(call: Call) -> Iterator[Contribution]:
    """One row of each record; norms of gradients are found once for weight and bias."""
    module, gradients = call.module, call.gradients
    known = wide_squares(gradients) if call.wide else squares(gradients)
    if trained(module.bias):
        yield Kept(parameter=module.bias, rows=gradients, squares=known, wide=call.wide)
    if trained(module.weight):
        yield OuterProducts(
            parameter=module.weight,
            inputs=call.inputs,
            gradients=gradients,
            gradient_squares=known,
            wide=call.wide,
        )


def _gradients_are_cheaper(records: int, positions: int, inputs: int, outputs: int) -> bool:
    """Memory traffic of kept gradients against products of Gram matrices, in nanoseconds each."""
    traffic = 12 * inputs * outputs / 5
    products = 2 * positions**2 * (inputs + outputs) / 40
    return traffic < products and 4 * records * inputs * outputs < _KEPT_BYTES


def _by_gram(call: Call, inputs: Tensor, gradients: Tensor) -> Summed:
    def square(inputs: Tensor, gradients: Tensor) -> Tensor:
        gram = torch.bmm(gradients, gradients.transpose(1, 2))
        return gram.mul_(_gram(call, inputs)).sum((1, 2))

    def add(inputs: Tensor, gradients: Tensor, out: Tensor | None) -> Tensor:
        return torch.mm(gradients.flatten(0, 1).t(), inputs.flatten(0, 1), out=out)

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
    """One- and two-dimensional convolutions, with groups, dilation and every padding.

    A record may hold several images, as its views: (records, images, channels, …). Its gradient is
    the sum over them, as if one image had all their places.
    """
    module, images = call.module, call.images
    gradients = call.gradients.reshape(-1, *call.gradients.shape[-module.weight.dim() + 1 :])
    if trained(module.bias):
        summed = gradients.flatten(2).sum(2)
        yield call.kept(module.bias, _folded(summed, images))
    if not trained(module.weight):
        return
    geometry = _Geometry(module, images)
    inputs = call.inputs.reshape(-1, *call.inputs.shape[-module.weight.dim() + 1 :])
    inputs = geometry.padded(inputs)
    outputs, channels = module.weight.shape[:2]
    taps = module.weight[0, 0].numel()
    places = images * gradients[0, 0].numel()
    direct = places * outputs * channels * taps
    too_large = 4 * call.records * module.weight.numel() > _KEPT_BYTES
    if geometry.has_gram and not call.wide:
        pixels = images * inputs[0, 0].numel()
        gram = places**2 * (outputs + taps) + pixels**2 * channels
        if gram < direct * _GRAM_SHARE or too_large:
            yield geometry.by_gram(inputs, gradients)
            return
    if (direct > _ONE_BY_ONE and taps > 1) or not geometry.has_patches:
        yield KeptOneByOne(
            parameter=module.weight,
            wide=call.wide,
            tensors=[
                geometry.weight_gradient(inputs[start : start + images], gradients[start:][:images])
                for start in range(0, len(inputs), images)
            ],
        )
        return
    rows = geometry.patch_rows(inputs, gradients)
    yield KeptPatches(parameter=module.weight, rows=rows, wide=call.wide)


def _folded(rows: Tensor, images: int) -> Tensor:
    """The sum over the images of each record, which stand one after the other."""
    return rows if images == 1 else _by_record(rows, images).sum(1)


def _by_record(rows: Tensor, images: int) -> Tensor:
    """(records, images, …): a view."""
    return rows.view(len(rows) // images, images, *rows.shape[1:])


class _Geometry:
    """Stride, padding, dilation and groups of a convolution, and what follows from them."""

    def __init__(self, module: Any, images: int = 1) -> None:
        self.module, self.images = module, images
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

    def weight_gradient(
        self, inputs: Tensor, gradients: Tensor, out: Tensor | None = None
    ) -> Tensor:
        """Of the sum over the records that are given; no kernel of torch writes to ``out``."""
        del out
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
        patches, flat = self._patches(inputs), self._places_last(gradients)
        records, places, size = len(flat), flat.shape[2], self.module.weight[0].numel()
        patches = _by_record(patches, self.images)
        rows = inputs.new_empty(records, self.module.out_channels, size)
        step = max(1, _PATCHES // (size * places))
        buffer = inputs.new_empty(min(step, records), *patches.shape[1:])
        for start in range(0, records, step):
            some = slice(start, min(start + step, records))
            copied = buffer[: some.stop - start].copy_(patches[some])
            torch.bmm(flat[some], copied.view(-1, places, size), out=rows[some])
        return rows.flatten(1)

    def _places_last(self, maps: Tensor) -> Tensor:
        """(records, channels, places of all images of a record)."""
        flat = maps.flatten(2)
        if self.images == 1:
            return flat
        return _by_record(flat, self.images).transpose(1, 2).flatten(2)

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

        def flat(use: Callable[..., Tensor]) -> Callable[..., Tensor]:
            return lambda inputs, gradients, *out: use(
                inputs.flatten(0, 1), gradients.flatten(0, 1), *out
            )

        return Summed(
            parameter=self.module.weight,
            inputs=_by_record(inputs, self.images),
            gradients=_by_record(gradients, self.images),
            square=flat(self._square_by_gram),
            add=flat(self.weight_gradient),
            one_by_one=flat(self.gradients_by_patches),
        )

    def _square_by_gram(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        """The Gram matrix of patches is a sum over taps of shifted Gram matrices of pixels."""
        module, (height, width) = self.module, gradients.shape[2:]
        (down, right), (above, left) = module.stride, self.padding
        flat, images = self._places_last(inputs), self.images
        pixels = torch.bmm(flat.transpose(1, 2), flat)
        pixels = pixels.view(len(flat), *(images, *inputs.shape[2:]) * 2)
        pixels = functional.pad(pixels, (left, left, above, above, 0, 0) * 2)
        patches = pixels.new_zeros(len(flat), *(images, height, width) * 2)
        for row in range(module.kernel_size[0]):
            for column in range(module.kernel_size[1]):
                rows = slice(row, row + down * (height - 1) + 1, down)
                columns = slice(column, column + right * (width - 1) + 1, right)
                patches += pixels[:, :, rows, columns, :, rows, columns]
        flat = self._places_last(gradients)
        places = flat.shape[2]
        gram = torch.bmm(flat.transpose(1, 2), flat)
        return gram.mul_(patches.view(len(flat), places, places)).sum((1, 2))


def group_norm(call: Call) -> Iterator[Contribution]:
    """Scale and shift after normalising each image's groups of channels."""
    module = call.module
    images = call.images
    inputs = call.inputs.flatten(0, 1) if images > 1 else call.inputs
    gradients = call.gradients.reshape(len(inputs), module.num_channels, -1)
    if trained(module.bias):
        yield call.kept(module.bias, _folded(gradients.sum(2), images))
    if trained(module.weight):
        normal = functional.group_norm(inputs, module.num_groups, eps=module.eps)
        rows = torch.linalg.vecdot(gradients, normal.reshape(gradients.shape))
        yield call.kept(module.weight, _folded(rows, images))


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

    def add(places: Tensor, gradients: Tensor, out: Tensor | None) -> Tensor:
        if out is not None:
            return out.zero_().index_add_(0, places.flatten(), gradients.flatten(0, 1))
        found: Tensor = torch.ops.aten.embedding_dense_backward(
            gradients, places, module.num_embeddings, -1, False
        )
        return found

    def one_by_one(places: Tensor, gradients: Tensor) -> Tensor:
        tables = gradients.new_zeros(len(places), module.num_embeddings, module.embedding_dim)
        return tables.scatter_add_(1, places[..., None].expand_as(gradients), gradients).flatten(1)

    if call.wide:
        rows = _once_each(places, gradients)
        yield TableRows(parameter=module.weight, places=places, rows=rows, wide=True)
    else:
        yield Summed(
            parameter=module.weight,
            inputs=places,
            gradients=gradients,
            square=square,
            add=add,
            one_by_one=one_by_one,
        )


def _once_each(places: Tensor, gradients: Tensor) -> Tensor:
    """The sum of a record's rows for one place of the table, where it is first asked for."""
    positions = torch.arange(places.shape[1])
    same = places[:, :, None] == places[:, None, :]
    first = torch.where(same, positions, len(positions)).amin(2)
    rows = torch.zeros_like(gradients)
    return rows.scatter_add_(1, first[..., None].expand_as(gradients), gradients)


RULES: dict[type[nn.Module], Rule] = {
    nn.Linear: linear,
    nn.Conv1d: convolution,
    nn.Conv2d: convolution,
    nn.GroupNorm: group_norm,
    nn.LayerNorm: layer_norm,
    nn.Embedding: embedding,
}
"""By the exact type: a subclass may compute something else, and then takes the fallback."""
