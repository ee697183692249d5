"""Per-example gradients of the common modules, each by its cheapest rule.

A rule is given what a module saw and the gradient of every record's loss with respect to what the
module gave, records first, and yields a contribution for each of its trainable parameters. For a
module that sees T rows of a record, the squared norm of Σ_t g_t·a_tᵀ is Σ_{s,t} (a_s·a_t)(g_s·g_t):
two Gram matrices in the place of the gradient ("ghost norms"; Li et al. 2022). It is used where it
needs fewer operations than the gradients themselves.
"""

from collections.abc import Iterator

from reticent.arrays import Array
from reticent.training.encoders.torch_extra import functional, nn, torch
from reticent.training.gradients import contributions, norm_kernels
from reticent.training.gradients.call import KEPT_BYTES, Call, Rule, folded, trained
from reticent.training.gradients.convolution import convolution
from reticent.validation import InputError

Tensor = torch.Tensor


def linear(call: Call) -> Iterator[contributions.Contribution]:
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


def _linear_of_rows(call: Call) -> Iterator[contributions.Contribution]:
    """One row of each record; norms of gradients are found once for weight and bias."""
    weight, bias, gradients = call.module.weight, call.module.bias, call.gradients
    known = contributions.squares(gradients)
    if trained(bias):
        yield contributions.Kept(parameter=bias, rows=gradients, squares=known, wide=call.wide)
    if trained(weight):
        yield contributions.OuterProducts(
            parameter=weight,
            inputs=call.inputs,
            gradients=gradients,
            gradient_squares=known,
            wide=call.wide,
        )


def _gradients_are_cheaper(records: int, positions: int, inputs: int, outputs: int) -> bool:
    """Memory traffic of kept gradients against products of Gram matrices, in nanoseconds each."""
    traffic = 12 * inputs * outputs / 5
    products = 2 * positions**2 * (inputs + outputs) / 40
    return traffic < products and 4 * records * inputs * outputs < KEPT_BYTES


def _by_gram(call: Call, inputs: Tensor, gradients: Tensor) -> contributions.Summed:
    def square(inputs: Tensor, gradients: Tensor) -> Tensor:
        gram = torch.bmm(gradients, gradients.transpose(1, 2))
        return gram.mul_(_gram(call, inputs)).sum((1, 2))

    def add(inputs: Tensor, gradients: Tensor, out: Tensor | None) -> Tensor:
        return torch.mm(gradients.flatten(0, 1).t(), inputs.flatten(0, 1), out=out)

    return contributions.Summed(
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


def group_norm(call: Call) -> Iterator[contributions.Contribution]:
    """Scale and shift after normalising each image's groups of channels."""
    module = call.module
    images = call.images
    inputs = call.inputs.flatten(0, 1) if images > 1 else call.inputs
    shape = (len(inputs), module.num_channels, -1)
    gradients = norm_kernels.group_norm_gradients(
        _numbers(inputs).reshape(shape),
        _numbers(call.gradients).reshape(shape),
        module.num_groups,
        module.eps,
    )
    for parameter, rows in zip((module.weight, module.bias), gradients, strict=True):
        if trained(parameter):
            yield call.kept(parameter, folded(torch.from_numpy(rows).to(parameter), images))


def _numbers(tensor: Tensor) -> Array:
    """As the kernels read them."""
    kind = tensor.dtype if tensor.dtype == torch.float64 else torch.float32
    array: Array = tensor.detach().to("cpu", kind).contiguous().numpy()
    return array


def layer_norm(call: Call) -> Iterator[contributions.Contribution]:
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


def embedding(call: Call) -> Iterator[contributions.Contribution]:
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
        table_gradient: Tensor = torch.ops.aten.embedding_dense_backward(
            gradients, places, module.num_embeddings, -1, False
        )
        return table_gradient

    def one_by_one(places: Tensor, gradients: Tensor) -> Tensor:
        tables = gradients.new_zeros(len(places), module.num_embeddings, module.embedding_dim)
        return tables.scatter_add_(1, places[..., None].expand_as(gradients), gradients).flatten(1)

    if call.wide:
        rows = _once_each(places, gradients)
        yield contributions.TableRows(parameter=module.weight, places=places, rows=rows, wide=True)
    else:
        yield contributions.Summed(
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
