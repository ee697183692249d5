"""The clipped gradient sum of a batch of any size, in physical batches of one shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import numpy as np

from reticent.arrays import Floats, Floats32, Integers
from reticent.training.encoders.torch_extra import nn, torch
from reticent.training.gradients import batches
from reticent.training.gradients.batches import Batch, Part
from reticent.training.gradients.check import Loss, check_gradients, check_slots, refuse_dropout
from reticent.training.gradients.clipper import Clipper
from reticent.validation import InputError, count, positive

Tensor = torch.Tensor
Sums = dict[nn.Parameter, Tensor]
"""A tensor for each trained parameter, in its shape."""
_OTHER_SIZES: Final = (64, 32, 16, 8, 1)
_SMALL: Final = 300_000
_CHECKED: Final = 6
"""Records whose gradients are compared with autograd's."""


class GradientSum:
    """Σ over the records of a batch of their gradients, each clipped to norm ``clip``.

    *Exact*: every physical batch has ``physical`` rows, filled up with public ones. Records stand
    in secret random slots of them (``secret_slots``), in each of which a record's gradient is a
    function of the record alone (``check_slots``); norms and sums are kept in float64. *Fast*:
    batches as they come, books in float32.

    Args:
        model: An ordinary module; it is not wrapped.
        loss: ``loss(model, *batch)``, one number for each record.
        clip: The norm to which each record's gradient is clipped.
        example: Random or public records for the checks before the first step: at least three, and
            in exact mode some dozens of many sizes and all classes.
        physical: How many records are computed at a time; exact mode may have to take fewer.
        exact: Which of the two.
        like: One of the same model on this machine that was checked: its checks are not repeated.
    """

    def __init__(  # noqa: PLR0913 - one argument for each thing a caller chooses
        self,
        model: nn.Module,
        loss: Loss,
        *,
        clip: float,
        example: tuple[Tensor, ...],
        physical: int = 64,
        exact: bool = True,
        like: GradientSum | None = None,
    ) -> None:
        self.model, self.loss, self.exact = model, loss, exact
        self.clip, self.physical = positive("clip", clip), count("physical", physical)
        self.clipper = Clipper(model)
        self._trained = self.clipper.parameters
        self._sizes = [one.numel() for one in self._trained]
        kinds = {one.dtype for one in self._trained}
        self._gradients = torch.empty(
            self.size, dtype=kinds.pop() if len(kinds) == 1 else torch.float64
        )
        self._places = self._split(self._gradients)
        self._in_float32 = (
            not exact
            and self._gradients.dtype == torch.float32
            and all(one.device.type == "cpu" for one in self._trained)
        )
        self._in_place: Floats32 | None = self._gradients.numpy() if self._in_float32 else None
        """The memory of the gradients, as noise is added to it."""
        self._small = sum(one.numel() for one in self.model.parameters()) < _SMALL
        if like is not None:
            self.physical = like.physical
            self.clipper.layouts = like.clipper.layouts
            self.clipper.without_records = like.clipper.without_records
        else:
            self._check(example)
        self._modules = dict(model.named_modules())
        self._modes = [one.training for one in self._modules.values()]
        places = torch.arange(self.physical) % len(example[0])
        self._public = tuple(one[places].contiguous() for one in example)
        self._buffer = tuple(one.clone() for one in self._public)

    def _check(self, example: tuple[Tensor, ...]) -> None:
        """Refuse what clipping would not protect; find the number of slots and all layouts."""
        check_gradients(self.clipper, self.loss, tuple(one[:_CHECKED] for one in example))
        if self.exact:
            self._refuse_inexact()
            with self.one_thread_if_small():
                self.physical = self._alike(example)

    @contextmanager
    def one_thread_if_small(self) -> Iterator[None]:
        """Products of small matrices are slower by two threads than by one."""
        before = torch.get_num_threads()
        if not self._small or before == 1:
            yield
            return
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)

    @property
    def size(self) -> int:
        """The number of trainable entries."""
        return sum(self._sizes)

    @property
    def in_float32(self) -> bool:
        """Whether sums may be kept where the gradients of the parameters are, in float32."""
        return self._in_float32

    def of(self, batch: Batch, *, out: Floats | None = None) -> Floats:
        """The sum over the records of a batch, which may be empty; a flat vector.

        ``batch`` is a tuple of tensors whose rows are records, or a ``Drawn`` that reads them.
        It is written to ``out`` where that is given: fresh memory costs as much as the addition.
        """
        total = np.empty(self.size) if out is None else out
        with self.one_thread_if_small():  # as it was checked
            self._fill(torch.from_numpy(total), batch)
        return total

    def of_in_float32(self, batch: Batch) -> Floats32:
        """The same where ``in_float32`` holds: in the memory of the next gradients, no copy."""
        with self.one_thread_if_small():
            self._fill(self._gradients, batch)
        assert self._in_place is not None
        return self._in_place

    def _refuse_other_modes(self) -> None:
        """A frozen batch norm that ``model.train()`` woke would mix records: it was not checked.

        Nor was dropout that was turned up, in exact mode.
        """
        if self.exact:
            refuse_dropout(self._modules)
        if self._modes == [one.training for one in self._modules.values()]:
            return
        for (name, one), before in zip(self._modules.items(), self._modes, strict=True):
            if one.training != before:
                modes = ("eval()", "train()")
                raise InputError(
                    f"module {name or 'model'!r} must be in the mode in which it was checked,"
                    f" {modes[before]}, got {modes[one.training]}: set it again before the step"
                )

    def _fill(self, total: Tensor, batch: Batch) -> None:
        self._refuse_other_modes()
        places = self._places if total is self._gradients else self._split(total)
        sample = batches.as_sample(batch)
        parts = batches.parts(sample, self._arranged(len(sample)))
        if self.exact:
            total.zero_()
            for one in parts:
                self._sums(one, places)
            return
        direct = places if self.in_float32 and places is self._places else None
        numbered = enumerate(parts)
        self._add_up(places, (self._sums(one, None if nth else direct) for nth, one in numbered))

    def _arranged(self, records: int) -> batches.Arrangement:
        """Where the records of a step stand: in exact mode drawn anew by each call."""
        arrange = batches.secret_slots if self.exact else batches.in_order
        return arrange(records, self.physical)

    def _add_up(self, places: Sums, parts: Iterable[Sums]) -> None:
        """The sums of all parts of fast mode; zero where there is none."""
        started = False
        for sums in parts:
            for parameter, place in places.items():
                one = sums.get(parameter)
                if one is not None and started:
                    place.add_(one)
                elif one is not None and one is not place:
                    place.copy_(one)
                elif one is None and not started:
                    place.zero_()
            started = True
        if not started:
            for place in places.values():
                place.zero_()

    def set_gradients(self, noisy: Floats | Floats32, *, divisor: float = 1.0) -> None:
        """Hand a noisy sum, divided, to the parameters, for an optimiser to read."""
        if noisy is not self._in_place:
            self._gradients.copy_(torch.from_numpy(noisy))
        self._gradients.div_(divisor)
        for one, place in self._places.items():
            one.grad = place if place.dtype == one.dtype else place.to(one.dtype)

    def clear_gradients(self) -> None:
        """Zeros where the parameters' gradients are."""
        self._gradients.zero_()

    def _split(self, flat: Tensor) -> dict[nn.Parameter, Tensor]:
        """A flat vector by parameter, in the shape of each."""
        parts = torch.split(flat, self._sizes)
        return {one: part.view(one.shape) for one, part in zip(self._trained, parts, strict=True)}

    def _alike(self, example: tuple[Tensor, ...]) -> int:
        """The first batch size at which no bit of a gradient depends on its slot.

        Products with a few columns are rounded otherwise at the edge of a kernel's tile; a batch
        of one has no other slot, and serves small networks as well.
        """
        for slots in dict.fromkeys((self.physical, *_OTHER_SIZES)):
            with suppress(InputError):
                self._check_slots(example, slots)
                return slots
        raise InputError("model must give the same gradient of a record twice, got two")

    def _check_slots(self, example: tuple[Tensor, ...], slots: int) -> None:
        check_slots(self.clipper, self.loss, example, slots)

    def _refuse_inexact(self) -> None:
        refuse_dropout(dict(self.model.named_modules()))
        for name, one in self.model.named_parameters():
            if one.dtype != torch.float32:
                raise InputError(
                    f"{name} must be float32 in exact mode, got {one.dtype}: its squares must be"
                    " exact in float64"
                )

    def _sums(self, part: Part, out: Sums | None) -> Sums:
        """Over a physical batch, by parameter; in exact mode added to ``out``, in float64."""
        filled = self._filled(part)
        with self.clipper.watch(len(filled[0])):
            losses = self.loss(self.model, *filled)
        return self._clipped(losses, part.slots, out)

    def _filled(self, part: Part) -> tuple[Tensor, ...]:
        """In exact mode public rows, and those of records in their slots, at the same addresses."""
        if part.slots is None:
            return part.rows
        slots = torch.from_numpy(part.slots)
        for place, one, public in zip(self._buffer, part.rows, self._public, strict=True):
            if len(slots) < len(place):
                place.copy_(public)
                place.index_copy_(0, slots, one.to(place.dtype))
            else:  # they come in the order of the slots
                place.copy_(one)
        return self._buffer

    def _clipped(
        self, losses: Tensor, slots: Integers | None = None, out: Sums | None = None
    ) -> Sums:
        """Of the forward pass that the losses are of; over these slots, or over all of them."""
        clipped = self.clipper.clipped_sums(
            losses, clip=self.clip, wide=self.exact, slots=slots, out=out
        )
        return clipped.sums
