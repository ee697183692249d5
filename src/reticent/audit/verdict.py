"""What every audit of a claim ends with."""

from abc import ABC, abstractmethod
from typing import Literal


class Verdict(ABC):
    """Refuted, by what; or not refuted, which proves nothing."""

    @property
    @abstractmethod
    def refuted_by(self) -> str | None:
        """What refutes the claim; None where nothing does."""

    @property
    def refuted(self) -> bool:
        """Whether anything contradicts the claim."""
        return self.refuted_by is not None

    @property
    def verdict(self) -> Literal["refuted", "not refuted"]:
        """Either "refuted" or "not refuted", as JSON and pages say it."""
        return "refuted" if self.refuted else "not refuted"
