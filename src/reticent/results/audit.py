"""What a release claims, and what the audit made of it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from reticent.results.value import Value


class Claim(Value):
    """A guarantee as plain values (``Guarantee.to_dict``)."""

    epsilon: float = Field(ge=0)
    delta: float = Field(ge=0, le=1)
    grade: Literal["proven", "declared", "sampled", "published"]
    relation: str
    unit: str
    checked: tuple[str, ...]
    stated: tuple[str, ...]
    gamma: float | None = None
    text: str
    """One line, rounded up, as the program prints it."""


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
    notes: tuple[str, ...] = ()
