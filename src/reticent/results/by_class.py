"""What a model is worth for each class: recalls, balanced accuracy, and which classes are lost.

A rare class hardly counts in an accuracy: at 80/15/5 a model that never answers with the rarest
class loses 5 points at most. Its recall says it.
"""

from typing import Final

from pydantic import Field

from reticent.results.attack import Interval
from reticent.results.value import Value

HALF: Final = 0.5
"""A class that loses more than this share of its recall is lost, where it is shown."""
_NAMED: Final = 3
"""Lost classes that a sentence names."""


class Recall(Value):
    """One class: the share of its test records that a model finds."""

    label: str
    test: int = Field(gt=0)
    """Test records of this class."""
    recall: Interval
    """Those of all classes hold together."""
    loss: Interval | None = None
    """1 − recall/recall without protection; None of an unprotected model, and where that finds
    none of them."""

    @property
    def lost(self) -> bool:
        """Whether more than half of the recall is gone: interval above none, or no record found."""
        if self.loss is None or not self.loss.value > HALF:
            return False
        return self.loss.low > 0 or self.recall.value == 0


class ByClass(Value):
    """Recalls on the test records; a class that none of them has is left out."""

    balanced_accuracy: Interval
    """The mean of the recalls: each class counts alike, however rare."""
    balanced_loss: Interval | None = None
    """1 − balanced accuracy/that without protection; None of an unprotected model."""
    recalls: tuple[Recall, ...] = Field(min_length=1)

    @property
    def lost(self) -> tuple[Recall, ...]:
        """Lost classes, the one with the largest loss first."""
        lost = [one for one in self.recalls if one.lost]
        return tuple(sorted(lost, key=lambda one: -one.loss.value if one.loss else 0.0))

    @property
    def worst(self) -> Recall | None:
        """The class that loses the largest share of its recall; None where none loses any."""
        losing = [one for one in self.recalls if one.loss is not None and one.loss.value > 0]
        return max(losing, key=lambda one: one.loss.value if one.loss else 0.0, default=None)

    @property
    def lowest(self) -> Recall:
        """The class that is found least often."""
        return min(self.recalls, key=lambda one: one.recall.value)

    def of(self, label: str) -> Recall | None:
        """The recall of this class, where it was measured."""
        return next((one for one in self.recalls if one.label == label), None)


def lost_classes(before: ByClass | None, after: ByClass | None) -> str | None:
    """One sentence on the classes that a release loses; None where none is.

    The rule: recall falls by more than half, and the interval of that loss is above 0 or not one
    test record of the class is found any more.
    """
    if before is None or after is None or not after.lost:
        return None
    fallen = [_fallen(one, before.of(one.label)) for one in after.lost[:_NAMED]]
    rest = len(after.lost) - len(fallen)
    more = f", and {rest} more" if rest else ""
    return f"Protection costs more than half of the recall of {', '.join(fallen)}{more}."


def _fallen(one: Recall, before: Recall | None) -> str:
    was = "" if before is None else f"{before.recall.value:.3f} → "
    return f"class {one.label} ({was}{one.recall.value:.3f})"
