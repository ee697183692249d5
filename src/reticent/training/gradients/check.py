"""A look at model and loss before the first private step, on random or public records.

Clipping protects where each record's gradient is what autograd gives for that record alone. The
check compares every record's loss and gradient in a batch with those of a batch of one: it finds
records that mix, losses that are coupled, rows taken for records, and parameters that are used
where no hook sees them. It also learns where records stand in every tensor (``layouts``).
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from torch.utils._pytree import tree_map

from reticent.training.encoders.torch_extra import nn, torch
from reticent.training.gradients.clipper import Clipper, Seen
from reticent.training.gradients.layouts import Layout, layout_of
from reticent.validation import InputError

Tensor = torch.Tensor
Loss = Callable[..., Tensor]
"""``loss(model, *batch)``: one number for each record."""

_TOLERANCE = 1e-4
"""Of the largest gradient: float32 differs by some 1e-6 between a batch and a record alone."""
_TOLERANCE_IN_FLOAT64 = 1e-9
"""The same where all is computed in float64."""
_RANDOM = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout)


def check_gradients(clipper: Clipper, loss: Loss, batch: tuple[Any, ...]) -> None:
    """Refuse, by name and reason, what per-example clipping would not protect.

    Args:
        clipper: Of the model, in the mode it is trained in; its layouts are set.
        loss: ``loss(model, *batch)``, one number for each record.
        batch: At least three random or public records: tensors whose rows are records.
    """
    records = len(batch[0])
    if records < 3:
        raise InputError(f"example must hold at least 3 records, got {records}")
    with _without_dropout(clipper.model):
        _refuse_kept_numbers(clipper, loss, batch)
        _refuse_random(clipper, loss, batch)
        _learn_layouts(clipper, loss, batch)
        _compare_twice(clipper, loss, batch)
        with _weights_put_back(clipper.model):
            _randomise(clipper.model, 1)  # a weight of zero hides what it multiplies
            _compare_twice(clipper, loss, batch)


def _refuse_kept_numbers(clipper: Clipper, loss: Loss, batch: tuple[Any, ...]) -> None:
    """Running statistics are sums over records without noise, in a buffer that is saved with all.

    Both batches are of random records; what a module keeps of weights alone is the same for both.
    """
    kept = dict(clipper.model.named_buffers())
    before = {name: one.detach().clone() for name, one in kept.items()}
    after = []
    try:
        for rows in (batch, tuple(one.flip(0)[1:] for one in batch)):
            _losses(clipper, loss, rows)
            after.append({name: one.detach().clone() for name, one in kept.items()})
            _put_back(kept, before)
    finally:
        _put_back(kept, before)
    for name in kept:
        if not torch.equal(after[0][name], after[1][name]):
            raise InputError(
                f"buffer {name!r} must not change with the records, got numbers of theirs without"
                " noise: set track_running_stats=False, or take another normalisation"
            )


def _put_back(buffers: dict[str, Tensor], values: dict[str, Tensor]) -> None:
    with torch.no_grad():
        for name, one in buffers.items():
            one.copy_(values[name])


def refuse_dropout(modules: Mapping[str, nn.Module]) -> None:
    """Exact mode has no dropout: its draws for one record would shift those of all others."""
    for name, one in modules.items():
        if isinstance(one, _RANDOM) and one.training and one.p > 0:
            raise InputError(
                f"module {name!r} must have p = 0 in exact mode, got dropout: set it to 0, or take"
                " fast mode"
            )


def _compare_twice(clipper: Clipper, loss: Loss, batch: tuple[Any, ...]) -> None:
    """In float32; where that differs, in float64, if the model takes it.

    An activation within a rounding of its kink (ReLU at 0) may fall on either side of it, and a
    deep network has a million of them: the gradients then differ though nothing is wrong. In
    float64 none is so near.
    """
    try:
        _compare(clipper, loss, batch)
    except InputError:
        if not _same_in_float64(clipper, loss, batch):
            raise


def _same_in_float64(clipper: Clipper, loss: Loss, batch: tuple[Any, ...]) -> bool:
    try:
        with _in_float64(clipper.model):
            _compare(clipper, loss, tree_map(_widened, batch), tolerance=_TOLERANCE_IN_FLOAT64)
    except (InputError, RuntimeError):  # a model that takes float32 alone is a RuntimeError
        return False
    return True


def _widened(one: Any) -> Any:
    return one.double() if isinstance(one, Tensor) and one.is_floating_point() else one


def _compare(
    clipper: Clipper, loss: Loss, batch: tuple[Any, ...], *, tolerance: float = _TOLERANCE
) -> None:
    """Losses and gradients of records in a batch with those of each alone."""
    records = len(batch[0])
    alone = [_alone(clipper, loss, _record(batch, place)) for place in range(records)]
    with clipper.watch(records):
        losses = _losses(clipper, loss, batch)
    _compare_losses(losses, [value for value, _ in alone], tolerance)
    contributions = {one.parameter: one.parts() for one in clipper.contributions(losses)}
    _compare_gradients(clipper, contributions, [gradients for _, gradients in alone], tolerance)


def check_slots(clipper: Clipper, loss: Loss, batch: tuple[Any, ...], slots: int) -> None:
    """Refuse where a record's gradient depends, in any bit, on its place or on its neighbours.

    With it the clipped gradient of a record is a function of the record alone, on this machine and
    for batches of ``slots`` rows. The order of a kernel's additions does not hang on the numbers,
    but whether another order shows in the last bit does: so each of the records of ``batch``, which
    should be many and of many sizes, is compared between all slots and among shuffled neighbours,
    at the model's weights and at random ones (a weight of zero hides what it multiplies).
    """
    for _ in first_and_random_weights(clipper.model):
        _refuse_unlike_slots(clipper, loss, batch, slots)


def _refuse_unlike_slots(clipper: Clipper, loss: Loss, batch: tuple[Any, ...], slots: int) -> None:
    records = len(batch[0])
    alone = []
    for place in range(records):
        parts = _bits(clipper, loss, _taken(batch, torch.full((slots,), place)))
        _refuse_other_bits(parts, [one[:1].expand_as(one) for one in parts], slots)
        alone.append([one[0].clone() for one in parts])
    for seed in range(2):
        order = torch.randperm(records, generator=_generator(seed))
        rows = order[torch.arange(slots) % records]
        expected = [torch.stack(parts) for parts in zip(*(alone[i] for i in rows), strict=True)]
        _refuse_other_bits(_bits(clipper, loss, _taken(batch, rows)), expected, slots)


def check_outputs(model: nn.Module, outputs: Loss, batch: tuple[Any, ...], slots: int) -> None:
    """Refuse where what a record gives depends, in any bit, on its place or on its neighbours.

    As ``check_slots``, for numbers that are read from a forward pass: ``outputs(model, *batch)``
    has a row for each record. Gradients are on or off as they are when it is called.
    """
    for _ in first_and_random_weights(model):
        _refuse_unlike_outputs(model, outputs, batch, slots)


def first_and_random_weights(model: nn.Module) -> Iterator[None]:
    """Twice: at the model's weights and at random ones, after which its own are put back."""
    with _weights_put_back(model):
        yield
        _randomise(model, 1)
        yield


def _refuse_unlike_outputs(
    model: nn.Module, outputs: Loss, batch: tuple[Any, ...], slots: int
) -> None:
    records = len(batch[0])
    alone = []
    for place in range(records):
        rows = outputs(model, *_taken(batch, torch.full((slots,), place))).detach()
        _refuse_other_bits([rows], [rows[:1].expand_as(rows)], slots)
        alone.append(rows[0].clone())
    for seed in range(2):
        order = torch.randperm(records, generator=_generator(seed))
        rows = order[torch.arange(slots) % records]
        expected = torch.stack([alone[place] for place in rows.tolist()])
        _refuse_other_bits([outputs(model, *_taken(batch, rows)).detach()], [expected], slots)


def _refuse_other_bits(parts: list[Tensor], expected: list[Tensor], slots: int) -> None:
    for one, other in zip(parts, expected, strict=True):
        same = torch.equal(one, other) or torch.equal(one.nan_to_num(), other.nan_to_num())
        if not same:
            raise InputError(
                f"records must have the same gradient in all {slots} slots of a batch to the last"
                " bit, got others: choose another physical batch, or fast mode"
            )


def random_batch(
    like: tuple[Any, ...], records: int, *, values: int = 2, spread: int = 0
) -> tuple[Tensor, ...]:
    """Records of the same shapes and types with random contents: nothing is read but the shapes.

    Whole numbers are below ``values``: 0 or 1 by default, which every vocabulary and every task
    with two classes has. Records of real numbers are of sizes between 2^−spread and 2^spread.
    """
    generator = _generator(0)
    made = []
    for one in map(torch.as_tensor, like):
        shape = (records, *one.shape)
        if one.is_floating_point():
            sizes = torch.randint(-spread, spread + 1, (records,), generator=generator)
            rows = torch.randn(shape, generator=generator, dtype=one.dtype)
            made.append(rows * (2.0**sizes).view(-1, *[1] * one.dim()).to(one.dtype))
        else:
            made.append(torch.randint(0, values, shape, generator=generator).to(one.dtype))
    return tuple(made)


def _learn_layouts(clipper: Clipper, loss: Loss, batch: tuple[Any, ...]) -> None:
    """From the gradient of each record's loss alone with respect to every output."""
    clipper.layouts.clear()
    clipper.without_records.clear()
    unknown = _try_layouts(clipper, loss, batch)
    if unknown:  # rows that serve all records are told apart by a copy for each
        clipper.without_records.update(call.key for call in unknown)
        with suppress(RuntimeError, ValueError, IndexError):  # it does not take such a copy
            unknown = _try_layouts(clipper, loss, batch)
    if unknown:
        raise InputError(
            f"{unknown[0].name or 'the model'} must see rows that belong to one record each, got"
            " rows that several records share or that stand in no known order"
        )


def _try_layouts(clipper: Clipper, loss: Loss, batch: tuple[Any, ...]) -> list[Seen]:
    records = len(batch[0])
    with clipper.watch(records):
        losses = _losses(clipper, loss, batch)
    by_call: dict[tuple[str, int], tuple[Seen, list[Tensor]]] = {}
    for record in range(records):
        for call in clipper.differentiated(losses, of=record):
            gradient = next(one for one in call.gradients if one is not None)
            by_call.setdefault(call.key, (call, []))[1].append(gradient)
    unknown = []
    for key, (call, gradients) in by_call.items():
        layout = layout_of(gradients) if len(gradients) == records else None
        if layout is None:
            unknown.append(call)
        elif layout is not Layout.FIRST:
            clipper.layouts[key] = layout
    return unknown


def _alone(
    clipper: Clipper, loss: Loss, record: tuple[Any, ...]
) -> tuple[Tensor, dict[nn.Parameter, Tensor]]:
    """The loss and the gradient of one record by autograd."""
    parameters = clipper.parameters
    try:
        value = _losses(clipper, loss, record)
        gradients = torch.autograd.grad(
            value.sum(), parameters, allow_unused=True, materialize_grads=True
        )
    except (RuntimeError, ValueError) as error:  # as torch says it: shapes, changes in place
        reason = str(error).splitlines()[0]
        raise InputError(f"model must take a batch of one record, got: {reason}") from error
    return value.detach(), dict(zip(parameters, gradients, strict=True))


def _compare_losses(losses: Tensor, alone: list[Tensor], tolerance: float) -> None:
    expected = torch.cat(alone)
    largest = float(expected.abs().max())
    if not bool(((losses.detach() - expected).abs() <= tolerance * (1 + largest)).all()):
        raise InputError(
            "records of a batch must not influence each other, got a record whose loss differs"
            " between a batch and the record alone: the model mixes records, or the loss is"
            " coupled"
        )


def _compare_gradients(
    clipper: Clipper,
    contributions: dict[nn.Parameter, Tensor],
    alone: list[dict[nn.Parameter, Tensor]],
    tolerance: float,
) -> None:
    names = {one: name for name, one in clipper.model.named_parameters()}
    squares = [sum(float(part.double().square().sum()) for part in one.values()) for one in alone]
    scale = max(squares) ** 0.5
    for parameter in clipper.parameters:
        expected = torch.stack([one[parameter] for one in alone])
        parts = contributions.get(parameter, torch.zeros_like(expected))
        if not bool(torch.isfinite(expected).all()):
            raise InputError(
                "example must have finite gradients, got NaN or infinity: give other records"
            )
        if not float((parts - expected).norm()) <= tolerance * max(scale, 1e-6):
            raise InputError(
                f"{names[parameter]} must be used by the module that owns it and nowhere else,"
                " got per-example gradients that are not those of autograd: a functional call"
                " uses it, or records mix"
            )


def _refuse_random(clipper: Clipper, loss: Loss, batch: tuple[Any, ...]) -> None:
    with torch.no_grad():
        twice = [_losses(clipper, loss, batch) for _ in range(2)]
    if not torch.equal(*twice):
        raise InputError(
            "loss must give the same numbers twice, got others: the model draws random numbers"
            " outside of dropout modules"
        )


def _losses(clipper: Clipper, loss: Loss, batch: tuple[Any, ...]) -> Tensor:
    losses = loss(clipper.model, *batch)
    if not isinstance(losses, Tensor) or losses.shape != (len(batch[0]),):
        shape = tuple(losses.shape) if isinstance(losses, Tensor) else type(losses).__name__
        raise InputError(
            f"loss must give one number for each of {len(batch[0])} records"
            f" (reduction='none'), got {shape}: a loss of the batch as a whole has no bound"
        )
    return losses


def _bits(clipper: Clipper, loss: Loss, batch: tuple[Any, ...]) -> list[Tensor]:
    with clipper.watch(len(batch[0])):
        losses = _losses(clipper, loss, batch)
    with torch.no_grad():
        contributions = clipper.contributions(losses, wide=True)
        return [rows for one in contributions for rows in one.ingredients()]


def _record(batch: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    return tuple(one[place : place + 1] for one in batch)


def _taken(batch: tuple[Any, ...], rows: Tensor) -> tuple[Any, ...]:
    return tuple(tree_map(lambda one: one[rows], one) for one in batch)


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _randomise(model: nn.Module, seed: int) -> None:
    """Random weights of the size that layers are built with; no entry is zero."""
    generator = _generator(seed)
    with torch.no_grad():
        for one in model.parameters():
            if one.requires_grad:
                size = max(1, one[0].numel()) if one.dim() > 1 else 4
                one.copy_(torch.randn(one.shape, generator=generator) / size**0.5)


@contextmanager
def _weights_put_back(model: nn.Module) -> Iterator[None]:
    kept = [(one, one.detach().clone()) for one in model.parameters() if one.requires_grad]
    try:
        yield
    finally:
        with torch.no_grad():
            for one, before in kept:
                one.copy_(before)


@contextmanager
def _in_float64(model: nn.Module) -> Iterator[None]:
    """The same module with its numbers in float64; afterwards the very tensors it had before."""
    held = [*model.parameters(), *model.buffers()]
    before = [(one, one.data) for one in held if one.is_floating_point()]
    try:
        for one, data in before:
            one.data = data.double()
        yield
    finally:
        for one, data in before:
            one.data = data


@contextmanager
def _without_dropout(model: nn.Module) -> Iterator[None]:
    """With p = 0, not in eval mode: attention reads the p of a dropout module in a call."""
    drops = [(one, one.p) for one in model.modules() if isinstance(one, _RANDOM)]
    for one, _ in drops:
        one.p = 0.0
    try:
        yield
    finally:
        for one, p in drops:
            one.p = p
