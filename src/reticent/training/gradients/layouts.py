"""Where the records of a batch stand in the tensors of a module.

A linear layer inside a network may see (records, positions, features), the positions first, rows of
all positions flattened, or one row for all records. Clipping needs to know: rows that are taken for
records would be clipped one by one, and a record would move the sum by more than the clip.
"""

from collections.abc import Sequence
from enum import Enum

from reticent.training.encoders.torch_extra import torch

Tensor = torch.Tensor


class Layout(Enum):
    """Which dimension counts the records."""

    FIRST = "records first"
    SECOND = "records second"
    """Positions come first, as in sequence-first attention."""
    ROWS = "rows of a record together"
    """(records·positions, …), a record's rows one after the other."""
    STRIDED = "rows of a position together"
    """(positions·records, …), a position's rows one after the other."""

    def fits(self, shape: Sequence[int], records: int) -> bool:
        """Whether a tensor of this shape can hold so many records so."""
        if self is Layout.FIRST:
            return len(shape) > 0 and shape[0] == records
        if self is Layout.SECOND:
            return len(shape) > 1 and shape[1] == records
        return len(shape) > 0 and shape[0] > records and shape[0] % records == 0

    def rows_each(self, shape: Sequence[int], records: int) -> int:
        """How many rows of the first dimension a record has."""
        return shape[0] // records if self in (Layout.ROWS, Layout.STRIDED) else 1

    def records_first(self, tensor: Tensor, records: int) -> Tensor:
        """(records, positions…, …): a view where it can be one."""
        if self is Layout.FIRST:
            return tensor
        if self is Layout.SECOND:
            return tensor.transpose(0, 1)
        positions = tensor.shape[0] // records
        if self is Layout.ROWS:
            return tensor.reshape(records, positions, *tensor.shape[1:])
        return tensor.reshape(positions, records, *tensor.shape[1:]).transpose(0, 1)


def layout_of(gradients: Sequence[Tensor]) -> Layout | None:
    """The layout of an output, from the gradient of each record's loss with respect to it.

    A record's loss may move the record's own rows alone. None where no layout fits: records mix,
    or rows of several records stand in no order that is known here.
    """
    records = len(gradients)
    for layout in Layout:
        if layout.fits(gradients[0].shape, records) and all(
            _own_rows_alone(layout.records_first(gradient, records), record)
            for record, gradient in enumerate(gradients)
        ):
            return layout
    return None


def _own_rows_alone(gradient: Tensor, record: int) -> bool:
    others = [place for place in range(len(gradient)) if place != record]
    return not bool(gradient[others].any())
