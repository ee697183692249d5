"""What one attack found on one model."""

from pydantic import Field, model_validator

from reticent.results.value import Value

GUESSING = 0.5
"""The AUC of an adversary who knows nothing."""


class Interval(Value):
    """A figure between the limits of its confidence interval."""

    value: float
    low: float
    high: float
    confidence: float = Field(gt=0, lt=1)

    def __str__(self) -> str:
        """Three decimals."""
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


class Rate(Value):
    """The share of members found at this share of false alarms."""

    fpr: float = Field(gt=0, lt=1)
    tpr: Interval


class Curve(Value):
    """A ROC curve, thinned; both axes rise."""

    fpr: tuple[float, ...]
    tpr: tuple[float, ...]

    @model_validator(mode="after")
    def _of_one_length(self) -> "Curve":
        if len(self.fpr) != len(self.tpr):
            raise ValueError("fpr and tpr must have as many points")
        return self


class Attack(Value):
    """One attack; its intervals hold together with those of the others on the same model."""

    name: str
    threat: str
    """What the adversary sees and knows, in words."""
    black_box: bool
    """Whether it saw answers alone."""
    members: int
    others: int
    auc: Interval
    balanced_accuracy: Interval
    leakage: Interval
    """TPR − FPR."""
    rates: tuple[Rate, ...]
    roc: Curve
    leaks: bool
    """Whether the AUC's interval is above guessing, or any figure beyond it when corrected for all
    that were looked at: a leak."""
    verdict: str
    notes: tuple[str, ...] = ()
    smallest_auc: float | None = None
    """What so many records would have shown with power 0.95; None where nothing would."""

    @property
    def auc_excludes_guessing(self) -> bool:
        """Whether ½ is outside the AUC's interval, above or below it."""
        return not self.auc.low <= 0.5 <= self.auc.high
