"""Per-example gradients of convolutions: kept, by Gram matrices of pixels, or one by one."""

from collections.abc import Callable, Iterator
from typing import Any

from reticent.training.encoders.torch_extra import functional, torch
from reticent.training.gradients import contributions
from reticent.training.gradients.call import KEPT_BYTES, Call, by_record, folded, trained

Tensor = torch.Tensor
_GRAM_SHARE = 0.25
"""Gram matrices of a convolution are taken below this share of the operations of the gradients:
measured on two cores, batched products of small matrices run at about a quarter of the speed."""
_PATCHES = 2**17
"""Numbers of patches that are multiplied at a time: they stay in the second-level cache."""
_ONE_BY_ONE = 4e6
"""Operations of one record's convolution gradient from which a call for each record pays."""


def convolution(call: Call) -> Iterator[contributions.Contribution]:
    """One- and two-dimensional convolutions, with groups, dilation and every padding.

    A record may hold several images, as its views: (records, images, channels, …). Its gradient is
    the sum over them, as if one image had all their places.
    """
    module, images = call.module, call.images
    gradients = call.gradients.reshape(-1, *call.gradients.shape[-module.weight.dim() + 1 :])
    if trained(module.bias):
        summed = gradients.flatten(2).sum(2)
        yield call.kept(module.bias, folded(summed, images))
    if not trained(module.weight):
        return
    geometry = _Geometry(module, images)
    inputs = call.inputs.reshape(-1, *call.inputs.shape[-module.weight.dim() + 1 :])
    inputs = geometry.padded(inputs)
    outputs, channels = module.weight.shape[:2]
    taps = module.weight[0, 0].numel()
    places = images * gradients[0, 0].numel()
    direct = places * outputs * channels * taps
    too_large = 4 * call.records * module.weight.numel() > KEPT_BYTES
    if geometry.has_gram and not call.wide:
        pixels = images * inputs[0, 0].numel()
        gram = places**2 * (outputs + taps) + pixels**2 * channels
        if gram < direct * _GRAM_SHARE or too_large:
            yield geometry.by_gram(inputs, gradients)
            return
    if (direct > _ONE_BY_ONE and taps > 1) or not geometry.has_patches:
        tensors, squares = geometry.gradients_one_by_one(inputs, gradients)
        yield contributions.KeptOneByOne(
            parameter=module.weight, tensors=tensors, squares=squares, wide=call.wide
        )
        return
    rows, squares = geometry.patch_rows(inputs, gradients)
    yield contributions.KeptPatches(
        parameter=module.weight, rows=rows, squares=squares, wide=call.wide
    )


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
        gradient: Tensor = torch.ops.aten.convolution_backward(
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
        return gradient

    def gradients_one_by_one(
        self, inputs: Tensor, gradients: Tensor
    ) -> tuple[list[Tensor], Tensor]:
        """A call of the kernel for each record; norms are taken while a gradient is in a cache."""
        tensors, squares, images = [], [], self.images
        for start in range(0, len(inputs), images):
            some = slice(start, start + images)
            tensors.append(self.weight_gradient(inputs[some], gradients[some]))
            squares.append(contributions.squares(tensors[-1].reshape(1, -1)))
        return tensors, torch.cat(squares)

    def gradients_by_patches(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        """Every record's gradient, in the order of the weights."""
        rows, _ = self.patch_rows(inputs, gradients)
        return contributions.KeptPatches(parameter=self.module.weight, rows=rows).parts().flatten(1)

    def patch_rows(self, inputs: Tensor, gradients: Tensor) -> tuple[Tensor, Tensor]:
        """Every record's gradient with channels last: one product of gradient and patches each.

        And their squared norms, taken while some of the rows are in a cache.
        """
        patches, flat = by_record(self._patches(inputs), self.images), self._places_last(gradients)
        records, places, size = len(flat), flat.shape[2], self.module.weight[0].numel()
        rows = inputs.new_empty(records, self.module.out_channels, size)
        step = max(1, _PATCHES // (size * places))
        buffer, squares = inputs.new_empty(min(step, records), *patches.shape[1:]), []
        for start in range(0, records, step):
            some = slice(start, min(start + step, records))
            copied = buffer[: some.stop - start].copy_(patches[some])
            torch.bmm(flat[some], copied.view(-1, places, size), out=rows[some])
            squares.append(contributions.squares(rows[some].flatten(1)))
        return rows.flatten(1), torch.cat(squares)

    def _places_last(self, maps: Tensor) -> Tensor:
        """(records, channels, places of all images of a record)."""
        flat = maps.flatten(2)
        if self.images == 1:
            return flat
        return by_record(flat, self.images).transpose(1, 2).flatten(2)

    def _patches(self, inputs: Tensor) -> Tensor:
        """A view, (records, height, width, *kernel, channels): a row of a patch lies together."""
        module, (above, left) = self.module, self.padding
        last = inputs.permute(0, 2, 3, 1)
        if above or left:
            last = functional.pad(last, (0, 0, left, left, above, above))
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

    def by_gram(self, inputs: Tensor, gradients: Tensor) -> contributions.Summed:
        """Norms by the Gram matrix of pixels."""

        def flat(use: Callable[..., Tensor]) -> Callable[..., Tensor]:
            return lambda inputs, gradients, *out: use(
                inputs.flatten(0, 1), gradients.flatten(0, 1), *out
            )

        return contributions.Summed(
            parameter=self.module.weight,
            inputs=by_record(inputs, self.images),
            gradients=by_record(gradients, self.images),
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
