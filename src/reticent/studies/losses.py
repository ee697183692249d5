"""Rows of the training studies: what a mechanism cost, and what the rows say about a claim."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from reticent.arrays import Array
from reticent.audit import utility_loss
from reticent.guarantee import Guarantee, rounding
from reticent.randomness import seeded
from reticent.results.table import Cell, Judged
from reticent.studies.trained import numbered

Answers = Array
CLAIMED = ("grade", "mechanism", "ε", "δ")
MEASURED = ("before", "after", "loss", "low", "high")
READING = (
    "Before and after are the accuracies without and with noise; loss is 1 − after/before "
    "(Definition 6.1), low and high its 95 % interval over draws and queries."
)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What was promised for a draw, and how far it can be trusted."""

    grade: str
    mechanism: str
    epsilon: float
    delta: float

    @classmethod
    def of(cls, guarantee: Guarantee, mechanism: str) -> "Claim":
        """The claim that a release carries."""
        return Claim(
            grade=str(guarantee.grade),
            mechanism=mechanism,
            epsilon=guarantee.epsilon,
            delta=guarantee.delta,
        )


Drawn = dict[Claim, list[Answers]]
"""The answers of every draw, claim by claim."""


@dataclass(frozen=True, kw_only=True)
class LossRow(Claim):
    """Utility loss of one claim (Definition 6.1) with its interval, and the accuracies behind."""

    loss: float
    low: float
    high: float
    protected: float
    std: float
    """Between the draws' accuracies."""
    unprotected: float
    draws: int

    def claimed(self) -> tuple[str, ...]:
        """As text, in the order of CLAIMED."""
        return (
            self.grade,
            self.mechanism,
            rounding.upper_text(self.epsilon),
            rounding.upper_text(self.delta),
        )

    def measured(self) -> tuple[str, ...]:
        """As text, in the order of MEASURED."""
        accuracies = (bare(value, 4) for value in (self.unprotected, self.protected))
        return *accuracies, *(bare(value, 3) for value in (self.loss, self.low, self.high))

    def plain(self) -> dict[str, Any]:
        """Plain values, as they stand in a JSON file."""
        return asdict(self)


class _Answered:
    """A model that was asked already."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def predict(self, queries: Any) -> Answers:  # noqa: ARG002 - they are always the same
        return self._answers


def loss_row(
    claim: Claim, draws: Sequence[Answers], *, unprotected: Answers, truth: Answers
) -> LossRow:
    """From the answers of each draw and of the unprotected head to a row."""
    identity = (claim.grade, claim.mechanism, repr(claim.epsilon), repr(claim.delta))
    loss = utility_loss(
        [_Answered(answers) for answers in draws],
        _Answered(unprotected),
        np.zeros((len(truth), 1)),
        truth,
        rng=seeded("utility loss", *identity),
    )
    accuracies = [float(np.mean(answers == truth)) for answers in draws]
    return LossRow(
        **asdict(claim),
        loss=loss.value,
        low=loss.low,
        high=loss.high,
        protected=loss.metric_protected,
        std=float(np.std(accuracies, ddof=1)) if len(accuracies) > 1 else 0.0,
        unprotected=loss.metric_unprotected,
        draws=loss.draws,
    )


def bare(value: float, digits: int) -> Cell:
    """Without the leading zero, as in .9120 and -.003; many columns fit one terminal that way."""
    text = f"{value:.{digits}f}"
    return Cell(text.replace("0.", ".", 1) if abs(value) < 1 else text, value)


def rows_of(cells: Iterable[Sequence[dict[str, Any]]]) -> list[LossRow]:
    """From the plain values of the cells, in their order."""
    return [LossRow(**values) for cell in cells for values in cell]


def verdict(
    claim: str,
    epsilons: Sequence[float],
    holds: Callable[[float], bool],
    *,
    of: str = "",
    by: str = "",
) -> Judged:
    """Whether the rows bear out a claim, and at which ε.

    Args:
        claim: The sentence; in quotation marks where it is a paper's own.
        epsilons: At which it is judged.
        holds: Whether it holds at one of them.
        of: The rows that it is judged on, before the sentence.
        by: Whose rows of these, behind it.
    """
    borne = [epsilon for epsilon in epsilons if holds(epsilon)]
    refuted = [epsilon for epsilon in epsilons if epsilon not in borne]
    if not refuted:
        why = f"holds at every ε ({numbered(borne)})"
    elif not borne:
        why = f"does not hold at any ε ({numbered(refuted)})"
    else:
        why = f"holds at ε = {numbered(borne)}, does not hold at ε = {numbered(refuted)}"
    before, behind = f"{of}: " if of else "", f", {by}" if by else ""
    return Judged(
        f"{before}{claim}{behind}: {why}.",
        claim=claim,
        of=of,
        by=by,
        holds=not refuted,
        why=why,
        at=borne,
        not_at=refuted,
    )
