"""What a release claims, and what the audit made of it."""

from typing import Final, Literal

from pydantic import Field, ValidationInfo, field_validator

from reticent.guarantee import Grade, guarantee
from reticent.results.value import Value

_FIGURES: Final = ("epsilon", "delta", "grade", "relation", "unit", "gamma")
"""Of a claim: its line is made of them."""


class Claim(Value):
    """A guarantee as plain values (``Guarantee.to_dict``)."""

    epsilon: float = Field(ge=0)
    delta: float = Field(ge=0, le=1)
    grade: Grade
    relation: str
    unit: str
    checked: tuple[str, ...]
    stated: tuple[str, ...]
    gamma: float | None = None
    text: str
    """One line, rounded up, as the program prints it: computed from the fields above, whatever a
    file says here."""

    @field_validator("text")
    @classmethod
    def _computed(cls, typed: str, info: ValidationInfo) -> str:
        """A line beside its own figures could contradict them; where one is wrong, it is named."""
        figures = {name: info.data[name] for name in _FIGURES if name in info.data}
        return guarantee.claim_line(**figures) if len(figures) == len(_FIGURES) else typed


class UsedClaim(Value):
    """A release that this one builds on, whose records have a guarantee of their own."""

    noun: Literal["encoder", "start"]
    """What it is to this release."""
    recipe: str
    people: Literal["same", "other"]
    """Whose records it was made of: by the word of whoever made this release."""
    claim: Claim
    both: Claim
    """What both promise together."""


class Bound(Value):
    """ε is at least so large, with this confidence."""

    epsilon: float = Field(ge=0)
    delta: float
    confidence: float
    method: str
    text: str
    """One line, rounded down."""


class Audit(Value):
    """Both figures of an audit, and its verdict."""

    verdict: Literal["refuted", "not refuted"]
    refuted_by: str | None = None
    measured: Bound
    analytic: float | None = None
    """The ε of the worst pair found under the claimed noise; it checks the theorem."""
    exact: bool = False
    """Whether ``analytic`` is that ε, or only at least that."""
    tightness: float | None = None
    """The distance of the pair over the claimed sensitivity."""
    pair: str | None = None
    runs: int
    finds_half: bool | None = None
    """Whether so many runs refute noise of half the scale with power 0.95; None: not known."""
    could_refute: bool | None = None
    """Whether so many runs can refute the claim at all by what they measure; None: not known."""
    notes: tuple[str, ...] = ()

    @property
    def reach(self) -> str | None:
        """What so few runs cannot find, in words; None where they find half the noise."""
        if self.could_refute is False:
            return (
                f"{self.runs:,} runs in each world are too few to refute the claim by what is"
                " measured, whatever they show"
            )
        if self.finds_half is False:
            return (
                f"{self.runs:,} runs in each world would not find noise of half the scale: they"
                " find grosser errors alone"
            )
        return None
