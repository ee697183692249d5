"""One training run as its own audit: canaries by fair coins, one model, guesses at the coins.

Whatever can be trained can be audited: nothing is asked of the training but that it takes rows and
labels and returns a classifier. What comes out is about add-remove neighbours, since a coin puts a
canary in or leaves it out. Guesses are made on all canaries, half, a quarter and an eighth of them,
a grid that is fixed before the scores are seen, and β is divided over it.

One run tells less than many: m canaries that are all guessed rightly show ε ≈ ln(m/ln(4/β)), and no
more however much a model tells; the audit says how much that is (``reach``).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from sklearn.base import clone

from reticent.arrays import Array, ArrayLike, Flags, Floats
from reticent.attacks import Records, lira, targets
from reticent.audit.canaries import Canaries, CanaryKind, insert_canaries
from reticent.audit.lower_bound import LowerBound, checked_beta, divided
from reticent.audit.one_run import halving_guesses, one_run, one_run_epsilon, one_run_gdp_epsilon
from reticent.guarantee import Grade, Guarantee, Relation, guarantee, rounding
from reticent.protect.terms import unit_of
from reticent.training.records import indices_of
from reticent.validation import InputError, count, describe, float_array, probability

Labels = Array
Train = Callable[[Floats, Labels], Any]
"""From rows and labels to a fitted classifier."""
Score = Callable[[Any, Floats, Labels], ArrayLike]
"""From a model, rows of canaries and their labels to a number each, higher where one was in."""

_FEWEST: Final = 10
"""Canaries: with fewer, hardly any ε could be shown."""


@dataclass(frozen=True, kw_only=True)
class TrainingAudit:
    """What one training run told about its canaries, and the claim, where there is one."""

    claim: Guarantee | None
    kind: CanaryKind | Literal["given"]
    canaries: int
    measured: LowerBound
    """For every training."""
    conditional: LowerBound | None
    """If the trade-off curve were Gaussian; None at δ = 0."""
    reach: float
    """The bound that so many canaries would give if every guess were right."""

    @property
    def refuted(self) -> bool:
        """Whether the bound for every training is above the claim."""
        return self.claim is not None and self.measured.refutes(
            epsilon=self.claim.epsilon, delta=self.claim.delta
        )

    @property
    def verdict(self) -> str:
        """One of "refuted", "not refuted", and "no claim" where there is none."""
        if self.claim is None:
            return "no claim"
        return "refuted" if self.refuted else "not refuted"

    def __str__(self) -> str:
        """Claim, figures and verdict, a line each."""
        return "\n".join(
            (
                f"claim: {self.claim or 'none'}",
                f"canaries: {self.canaries:,} {self.kind} ones; {self.measured.evidence}",
                f"measured: {self.measured}",
                *(() if self.conditional is None else (f"beside it: {self.conditional}",)),
                "reach: so many canaries show at most ε ≥"
                f" {rounding.lower_text(self.reach)}{self._short}",
                f"verdict: {self.verdict}",
            )
        )

    @property
    def _short(self) -> str:
        """Whether the audit could have refuted the claim at all."""
        if self.claim is None or self.reach > self.claim.epsilon:
            return ""
        return f", which could not refute ε ≤ {rounding.upper_text(self.claim.epsilon)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in a JSON file."""
        return {
            "claim": None if self.claim is None else self.claim.to_dict(),
            "kind": str(self.kind),
            "canaries": self.canaries,
            "measured": self.measured.to_dict(),
            "conditional": None if self.conditional is None else self.conditional.to_dict(),
            "reach": self.reach,
            "verdict": self.verdict,
        }


def margin_scores(model: Any, rows: Floats, labels: Labels) -> Floats:
    """z_y − log Σ exp z_j over the other classes: high where the model believes the label."""
    target = targets.target_of(model)
    return lira.margins(target.logits(rows), indices_of(labels, target.classes))


def one_run_audit(  # noqa: PLR0913 - a training, its data and their domain, a claim, the canaries
    train: Train | Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    classes: Sequence[Any],
    bound: float,
    rng: np.random.Generator,
    canaries: int = 200,
    kind: CanaryKind | str = CanaryKind.ORTHOGONAL,
    claim: Guarantee | None = None,
    delta: float | None = None,
    beta: float = 0.05,
    score: Score = margin_scores,
) -> TrainingAudit:
    """Train once on data with canaries, and bound ε by how well they are told.

    Args:
        train: A function from rows and labels to a fitted classifier, or an estimator, of which a
            copy is fitted.
        X: Feature rows.
        y: Their labels.
        classes: All labels there can be.
        bound: The public bound on the norm of a row, which canaries keep.
        rng: The auditor's generator: who has its seed has the coins.
        canaries: How many; those of the kinds ``mislabelled`` and ``max-norm`` are rows of X.
        kind: ``orthogonal``, ``mislabelled`` or ``max-norm``; a few orthogonal ones, not many
            more than there are features, are told best in linear layers.
        claim: What the training promises; by default what the model says of itself, if it does.
        delta: The δ at which ε is bounded; by default that of the claim.
        beta: The probability with which the bound may be wrong.
        score: How a canary is scored; it must be fixed before scores are seen.

    >>> from sklearn.datasets import load_digits
    >>> from reticent.training import SoftmaxHead
    >>> X, y = load_digits(return_X_y=True)
    >>> found = one_run_audit(
    ...     SoftmaxHead(penalty=1e-5, bound=2.5),  # no noise, and hardly a penalty
    ...     X / 16 - 0.3,
    ...     y,
    ...     classes=range(10),
    ...     bound=2.5,
    ...     rng=np.random.default_rng(1),
    ...     delta=1e-5,
    ... )
    >>> print(found.measured)
    ε ≥ 2.25... at δ = 1e-5 with 95 % confidence (one run; neighbours: add-remove)
    """
    checked_beta(beta)
    _refuse_other_claim(claim)
    if delta is not None:
        probability("delta", delta)
    put = insert_canaries(
        X, y, classes=classes, bound=bound, kind=kind, count=_enough(canaries), rng=rng
    )
    model = _trained(train, put)
    promised = _own_claim(model) if claim is None else claim
    at = _delta_of(delta, promised)
    scores = float_array("scores", score(model, put.rows, put.labels))
    return _audited((scores, put.inside), put.kind, promised, at, beta)


def audit_answers(
    target: targets.Target,
    records: Records,
    inside: Flags,
    *,
    claim: Guarantee | None,
    delta: float | None = None,
    beta: float = 0.05,
) -> TrainingAudit:
    """Bound ε by how well the records of a model that is there already are told by its answers.

    For every record a fair coin must have said whether the model was trained on it (``inside``):
    then they are canaries of one run. They are scored by their margins in what ``target`` shows.
    """
    checked_beta(beta)
    _refuse_other_claim(claim)
    _enough(len(records))
    at = _delta_of(delta, claim)
    scores = lira.margins(target.logits(records.inputs), indices_of(records.labels, target.classes))
    return _audited((scores, inside), "given", claim, at, beta)


def _audited(
    scored: tuple[Floats, Flags],
    kind: CanaryKind | Literal["given"],
    claim: Guarantee | None,
    delta: float,
    beta: float,
) -> TrainingAudit:
    canaries = len(scored[0])
    guesses = halving_guesses(canaries)
    terms: dict[str, Any] = {"guesses": guesses, "delta": delta, "beta": beta}
    measured = one_run(*scored, **terms)
    conditional = None
    if delta > 0:
        conditional = one_run(*scored, bound=one_run_gdp_epsilon, **terms)
    return TrainingAudit(
        claim=claim,
        kind=kind,
        canaries=canaries,
        measured=measured,
        conditional=conditional,
        reach=_reach(canaries, guesses, delta, beta),
    )


def _reach(canaries: int, guesses: Sequence[tuple[int, int]], delta: float, beta: float) -> float:
    share = divided(beta, len(guesses))
    return max(
        one_run_epsilon(canaries, sum(pair), sum(pair), delta=delta, beta=share).epsilon
        for pair in guesses
    )


def _trained(train: Train | Any, put: Canaries) -> Any:
    if hasattr(train, "fit") and not isinstance(train, type):
        return clone(train).fit(*put.data)
    if not callable(train):
        raise InputError(f"train must be a function or an estimator, got {describe(train)}")
    return train(*put.data)


def _own_claim(model: Any) -> Guarantee | None:
    """A learner's or a release's, where the model is one."""
    claim = getattr(model, "guarantee_", getattr(model, "guarantee", None))
    if not isinstance(claim, Guarantee):
        return None
    _refuse_other_claim(claim)
    return claim


def _refuse_other_claim(claim: Guarantee | None) -> None:
    """Coins are about single records that are there or not, and about every one of them.

    A canary may as well be all that a person owns.
    """
    if claim is None:
        return
    if claim.relation is not Relation.ADD_REMOVE or claim.unit not in (
        guarantee.ONE_RECORD,
        unit_of(1),
    ):
        raise InputError(
            "claim must be about add-remove neighbours of one record or of one person with at"
            " most 1, as coins are, got"
            f" {claim.relation} of {claim.unit}"
        )
    if claim.grade is Grade.SAMPLED:
        raise InputError(
            "claim must hold for every pair of neighbours, got a sampled one: canaries are no"
            " sample of its population"
        )


def _delta_of(delta: float | None, claim: Guarantee | None) -> float:
    if delta is not None:
        return delta
    if claim is None:
        raise InputError("delta must be given where there is no claim, got None")
    return claim.delta


def _enough(canaries: int) -> int:
    return count("canaries", canaries, at_least=_FEWEST)
