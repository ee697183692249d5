"""Clipped gradient sums of losses that share one number of the whole batch, which is released.

A contrastive loss looks at all embeddings of a batch. Where it does so through one statistic only,
and that statistic is released with noise first, each record has a loss of its own: a function of
the record and of what was released (docs/theory.md E.6). Both come from one forward pass, where
the passes of the whole sample fit into memory; else, and in exact mode, whose physical batches
stand at one address, each physical batch is passed twice, in one arrangement.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from reticent.arrays import Floats
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
"""Of the inputs of all modules that are kept between the two halves of a step."""


class _Pass(NamedTuple):
    """One forward pass of a physical batch."""

    outputs: Tensor
    calls: list[Seen]


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
        total = np.empty(self.size)
        flat, sample = torch.from_numpy(total), batches.as_sample(batch)
        arranged = self._arranged(len(sample))  # of both halves
        with self.one_thread_if_small():
            rows, passes = self._first_half(sample, arranged)
            self.released = statistic(rows)
            if passes is None:
                self._fill(flat, sample, arranged)
            else:
                self._add_up(self._split(flat), self._second_half(passes))
        return total

    def _first_half(
        self, sample: batches.Drawn | batches.Held, arranged: batches.Arrangement
    ) -> tuple[Floats, list[_Pass] | None]:
        """The outputs of all records, and the passes that gave them, where they are kept."""
        passes: list[_Pass] | None = None if self.exact else []
        rows: Floats | None = None
        for part in batches.parts(sample, arranged):
            if passes is not None and len(passes) == 1:
                passes = passes if len(arranged) * _bytes(passes[0]) <= _KEPT_BYTES else None
            found = self._outputs_of(part) if passes is None else self._kept(part, passes)
            rows = np.empty((len(sample), *found.shape[1:])) if rows is None else rows
            rows[part.which] = found
        return (self._no_outputs() if rows is None else rows), passes

    def _outputs_of(self, part: batches.Part) -> Floats:
        with torch.no_grad():
            outputs = self.outputs(self.model, *self._filled(part)).double().numpy()
        return outputs if part.slots is None else outputs[part.slots]

    def _no_outputs(self) -> Floats:
        with torch.no_grad():
            outputs = self.outputs(self.model, *(one[:1] for one in self._public))
        return np.zeros((0, *outputs.shape[1:]))

    def _kept(self, part: batches.Part, passes: list[_Pass]) -> Floats:
        with self.clipper.watch(len(part.rows[0])):
            outputs = self.outputs(self.model, *part.rows)
        passes.append(_Pass(outputs, self.clipper.take_calls()))
        return np.array(outputs.detach().numpy(), dtype=np.float64)

    def _second_half(self, passes: list[_Pass]) -> Iterator[Sums]:
        while passes:  # each pass is let go as soon as it was used
            one = passes.pop(0)
            self.clipper.give_back(one.calls)
            yield self._clipped(self.terms(one.outputs, self.released))

    def _check_slots(self, example: tuple[Tensor, ...], slots: int) -> None:
        super()._check_slots(example, slots)
        check_outputs(self.model, self.outputs, example, slots)


def _bytes(one: _Pass) -> int:
    return sum(tensor.nbytes for call in one.calls for tensor, _ in call.versions)
