"""Clipped gradient sums of losses that share one number of the whole batch, which is released.

A contrastive loss looks at all embeddings of a batch. Where it does so through one statistic only,
and that statistic is released with noise first, each record has a loss of its own: a function of
the record and of what was released (docs/theory.md E.6). Both come from one forward pass of each
physical batch, kept in between; of a sample whose passes do not fit into memory the first are kept,
and the others made again. Both halves have one arrangement of slots: each record counts once.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from reticent.arrays import Floats, Integers
from reticent.training.encoders.torch_extra import nn, torch
from reticent.training.gradients import batches
from reticent.training.gradients.batch_sum import GradientSum, Sums
from reticent.training.gradients.check import check_outputs
from reticent.training.gradients.clipper import Seen

Tensor = torch.Tensor
Outputs = Callable[..., Tensor]
"""``outputs(model, *batch)``: of each record all that its loss reads of the model."""
Terms = Callable[[Tensor, Tensor], Tensor]
"""From the outputs and the released statistic to one loss for each record."""
Statistic = Callable[[Floats], Tensor]
"""From the outputs of all records of a sample to what was released of them."""
_KEPT_BYTES: Final = 2**30
"""Of the inputs of all modules that are kept between the two halves of a step, 1 GiB."""


class _Pass(NamedTuple):
    """One forward pass of a physical batch."""

    outputs: Tensor
    calls: list[Seen]
    slots: Integers | None
    """Where its records stand."""

    @property
    def size(self) -> int:
        """Bytes of what its modules read."""
        return sum(tensor.nbytes for call in self.calls for tensor, _ in call.versions)


class SharedGradientSum(GradientSum):
    """Σ of clipped gradients of ``terms(outputs(model, record), released)`` over a batch.

    Args:
        model: An ordinary module.
        outputs: What a record gives, ``outputs(model, *batch)``, a row for each record.
        terms: ``terms(outputs, released)``, one loss for each record.
        released: A statistic of the kind that steps will release, for the checks.
        **options: As for ``GradientSum``: clip, example, physical, exact, like.
    """

    def __init__(
        self, model: nn.Module, outputs: Outputs, terms: Terms, *, released: Tensor, **options: Any
    ) -> None:
        self.outputs, self.terms, self.released = outputs, terms, released

        def loss(model: nn.Module, *batch: Tensor) -> Tensor:
            return self.terms(self.outputs(model, *batch), self.released)

        super().__init__(model, loss, **options)

    def of_step(self, batch: batches.Batch, statistic: Statistic) -> Floats:
        """The sum over a batch, at what ``statistic`` releases of the outputs of its records.

        ``statistic`` is called once, with an array of all outputs, in the order of the records; it
        may be empty.
        """
        self._refuse_other_modes()
        total, sample = np.zeros(self.size), batches.as_sample(batch)
        places = self._split(torch.from_numpy(total))
        arranged = self._arranged(len(sample))  # once: a pass is of the slots that it was made with
        with self.one_thread_if_small():
            rows, passes = self._first_half(sample, arranged)
            self.released = statistic(rows)
            sums = self._second_half(sample, arranged, passes, places if self.exact else None)
            if self.exact:
                for _ in sums:  # each was added to its places
                    pass
            else:
                self._add_up(places, sums)
        return total

    def _first_half(
        self, sample: batches.Sample, arranged: batches.Arrangement
    ) -> tuple[Floats, list[_Pass]]:
        """The outputs of all records, and of the passes that gave them the first that fit."""
        passes: list[_Pass] = []
        rows: Floats | None = None
        room = _KEPT_BYTES
        for part in batches.parts(sample, arranged):
            one = self._passed(part)
            outputs = one.outputs.detach().double().numpy()
            if rows is None:
                rows = np.empty((len(sample), *outputs.shape[1:]))
            rows[part.which] = outputs if part.slots is None else outputs[part.slots]
            room -= one.size
            if room >= 0:
                passes.append(one)
        return (self._no_outputs() if rows is None else rows), passes

    def _filled(self, part: batches.Part) -> tuple[Tensor, ...]:
        """In exact mode in memory of its own, which torch aligns as it does all activations."""
        filled = super()._filled(part)
        return tuple(one.clone() for one in filled) if self.exact else filled

    def _passed(self, part: batches.Part) -> _Pass:
        outputs = self._watched_outputs(self.model, *self._filled(part))
        return _Pass(outputs, self.clipper.take_calls(), part.slots)

    def _watched_outputs(self, model: nn.Module, *rows: Tensor) -> Tensor:
        """What every step reads, whether its pass is kept or not."""
        with self.clipper.watch(len(rows[0])):
            return self.outputs(model, *rows)

    def _no_outputs(self) -> Floats:
        with torch.no_grad():
            outputs = self.outputs(self.model, *(one[:1] for one in self._public))
        return np.zeros((0, *outputs.shape[1:]))

    def _second_half(
        self,
        sample: batches.Sample,
        arranged: batches.Arrangement,
        passes: list[_Pass],
        out: Sums | None,
    ) -> Iterator[Sums]:
        """Of kept passes in the slots that they were made with; of the others made again."""
        made_again = arranged[len(passes) :]
        while passes:  # each pass is let go as soon as it was used
            one = passes.pop(0)
            self.clipper.give_back(one.calls)
            yield self._clipped(self.terms(one.outputs, self.released), one.slots, out)
        for part in batches.parts(sample, made_again):
            yield self._sums(part, out)

    def _check_slots(self, example: tuple[Tensor, ...], slots: int) -> None:
        super()._check_slots(example, slots)
        check_outputs(self.model, self._watched_outputs, example, slots)
