"""A lower bound on ε that an audit measured: what it says, how sure it is and what it rests on.

If a mechanism is (ε, δ)-private, the audit gives a bound above that ε with probability β at most.
So a bound above a claimed ε refutes the claim, and a bound below it proves nothing. Several bounds
in one report hold together at risk β where each of them is taken at ``divided(beta, claims)``.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

from reticent import validation
from reticent.guarantee import Relation, grade, rounding
from reticent.mechanisms.profiles import gaussian

GAUSSIAN_DP = "Gaussian DP"
"""What a bound is conditional on that fits the trade-off curve of Gaussian noise."""


@dataclass(frozen=True, kw_only=True)
class ErrorCounts:
    """Runs without and with a record, and how many of either were taken for the other."""

    false_positives: int
    runs_without: int
    false_negatives: int
    runs_with: int

    def __post_init__(self) -> None:
        """Errors are at most as many as runs."""
        for errors, runs in (("false_positives", "runs_without"), ("false_negatives", "runs_with")):
            of = validation.count(runs, getattr(self, runs))
            if validation.count(errors, getattr(self, errors), at_least=0) > of:
                raise validation.InputError(
                    f"{errors} must be at most {runs} = {of:,}, got {getattr(self, errors):,}"
                )

    def __str__(self) -> str:
        return (
            f"{self.false_positives:,} of {self.runs_without:,} runs without the record taken for"
            f" runs with it, {self.false_negatives:,} of {self.runs_with:,} the other way round"
        )


@dataclass(frozen=True, kw_only=True)
class GuessCounts:
    """Canaries of one run, guesses made about some of them, and how many were right."""

    canaries: int
    guesses: int
    correct: int

    def __post_init__(self) -> None:
        """Right guesses are at most the guesses, and those at most the canaries."""
        canaries, guesses = (
            validation.count("canaries", self.canaries),
            validation.count("guesses", self.guesses),
        )
        if guesses > canaries:
            raise validation.InputError(
                f"guesses must be at most canaries = {canaries:,}, got {guesses:,}"
            )
        if validation.count("correct", self.correct, at_least=0) > guesses:
            raise validation.InputError(
                f"correct must be at most guesses = {guesses:,}, got {self.correct:,}"
            )

    def __str__(self) -> str:
        return f"{self.correct:,} of {self.guesses:,} guesses right, {self.canaries:,} canaries"


@dataclass(frozen=True, kw_only=True)
class LowerBound:
    """ε is at least so large, unless something of probability 1 − ``confidence`` happened.

    >>> from reticent.audit.error_counts import clopper_pearson_epsilon
    >>> print(clopper_pearson_epsilon(10, 1000, 800, 1000, delta=1e-5, beta=0.05))
    ε ≥ 2.2606 at δ = 1e-5 with 95 % confidence (many runs, Clopper–Pearson)
    """

    epsilon: float
    delta: float
    confidence: float
    method: str
    evidence: ErrorCounts | GuessCounts
    conditional: str | None = None
    """What the bound takes for granted about the mechanism; None where that is nothing."""
    credible: bool = False
    """A statement about a posterior: how often it errs in repeated audits is not promised."""
    mu: float | None = None
    """The lower bound on μ that ε follows from, where Gaussian DP is taken for granted."""
    relation: Relation | None = None
    """Which data sets the runs compared, where the audit knows."""
    notes: tuple[str, ...] = ()
    """How thresholds and numbers of guesses were chosen, and what that cost."""

    def __post_init__(self) -> None:
        """Check the fields; they will stand in a printed line."""
        validation.non_negative("epsilon", self.epsilon)
        validation.probability("delta", self.delta)
        validation.open_probability("confidence", self.confidence)
        validation.line("method", self.method)
        if self.conditional is not None:
            validation.line("conditional", self.conditional)
        if self.mu is not None:
            validation.non_negative("mu", self.mu)
        if self.relation is not None:
            object.__setattr__(self, "relation", grade.as_relation(self.relation))
        object.__setattr__(self, "notes", validation.lines("notes", self.notes))

    @property
    def holds_for_all(self) -> bool:
        """Whether it is a confidence statement about every mechanism."""
        return self.conditional is None and not self.credible

    def refutes(self, *, epsilon: float, delta: float) -> bool:
        """Whether it contradicts a claim of (ε, δ), which only a bound for all mechanisms may.

        A claim of a smaller δ is a claim of this one too; a claim of a larger δ is another.
        """
        claimed = validation.non_negative("epsilon", epsilon)
        covered = validation.probability("delta", delta) <= self.delta
        return self.holds_for_all and covered and self.epsilon > claimed

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in a JSON file."""
        plain = asdict(self)
        relation = None if self.relation is None else str(self.relation)
        return plain | {"relation": relation, "notes": list(self.notes)}

    def __str__(self) -> str:
        """One line, rounded down: ε, the confidence, and δ, where ε can only be larger."""
        kind = "credibility" if self.credible else "confidence"
        qualities = (
            self.method,
            None if self.conditional is None else f"conditional on {self.conditional}",
            "not a confidence statement" if self.credible else None,
            None if self.relation is None else f"neighbours: {self.relation}",
        )
        return (
            f"ε ≥ {rounding.lower_text(self.epsilon)} at δ = {rounding.lower_text(self.delta)} with"
            f" {percent(self.confidence)} % {kind} ({'; '.join(filter(None, qualities))})"
        )


def divided(beta: float, claims: int) -> float:
    """The risk of each of so many bounds that hold together at risk ``beta`` (Bonferroni).

    >>> divided(0.05, 4)
    0.0125
    """
    return checked_beta(beta) / validation.count("claims", claims)


def checked_beta(beta: object) -> float:
    """The probability with which a bound may be wrong: below ½, or nothing would be said.

    Below ½ the p-value of one run rises with ε, too (``reticent.audit.one_run``).
    """
    number = validation.real("beta", beta)
    if not 0 < number < 0.5:
        raise validation.InputError(
            f"beta must be in (0, 1/2), got {number}; it is the risk of a wrong bound"
        )
    return number


def epsilon_of_mu(mu: float, delta: float) -> float:
    """The ε at δ of exactly μ-GDP, rounded down."""
    return max(0.0, gaussian.epsilon(mu, delta) - mu * 2.0**-40)


def percent(confidence: float) -> str:
    """A confidence, in as many digits as show the first three of what may go wrong, rounded down.

    >>> percent(0.95), percent(1 - 0.05 / 7), percent(1 - 1e-6)
    ('95', '99.285', '99.9999')
    """
    wrong = max(100 * (1 - confidence), 1e-5)
    digits = 4 - math.floor(math.log10(wrong))
    # 1 − β carries the rounding of one subtraction, which must not turn 93 into 92.999.
    return rounding.lower_text(round(100 * confidence, 10), digits)
