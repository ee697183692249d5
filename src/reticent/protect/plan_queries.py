"""Weights released once, or an answer for each query: which needs less noise, from public numbers.

Both are compared at one convex head, whose penalty follows from the release of weights
(``public_penalty``): every noise is proportional to Δ·R, so the penalty does not change the order.
The noise that is compared is the standard deviation on a difference of two logits over √2, which
is that of one logit where each has noise of its own (docs/theory.md D.6).
"""

import math
from dataclasses import asdict, dataclass
from typing import Any, Final

from reticent.guarantee.grade import as_relation
from reticent.mechanisms.registry import MECHANISMS, for_any_vector
from reticent.protect.answers.answer_mechanisms import LABEL, WAYS, is_pure
from reticent.protect.answers.plan import calibrated_answers
from reticent.protect.head_numbers import PublicNumbers
from reticent.protect.penalty import public_penalty
from reticent.protect.plan import Situation
from reticent.training import SoftmaxHead
from reticent.training.features import radius
from reticent.validation import count

ONCE: Final = "weights once"
EACH: Final = "an answer each"
LOGITS: Final = "logits"
LABELS: Final = "labels"
_INTERCEPT: Final = 1.0
"""Of the head that is compared; it does not change the order either."""


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way to serve the queries, and the noise that it puts on a logit."""

    release: str
    """ONCE or EACH."""
    mechanism: str
    gives: str
    """LOGITS, from which labels follow, or LABELS alone."""
    logit_noise: float
    composed_by: str | None
    """The theorem that k answers rest on; None for one release."""


@dataclass(frozen=True, kw_only=True)
class QueryAdvice:
    """What k queries are best served by, with the noise of every way, the least first."""

    situation: Situation
    queries: int
    ways: tuple[Way, ...]

    @property
    def for_labels(self) -> Way:
        """The least noise of all: logits give labels too."""
        return self.ways[0]

    @property
    def for_logits(self) -> Way:
        """The least noise among those that give logits."""
        return self._least(LOGITS)

    @property
    def once(self) -> Way:
        """The best release of weights."""
        return next(way for way in self.ways if way.release == ONCE)

    @property
    def most_by_logits(self) -> int | None:
        """δ = 0: up to how many queries answers with logits are better than weights."""
        return self._most(LOGITS)

    @property
    def most_by_labels(self) -> int | None:
        """δ = 0: up to how many queries answers with labels alone are better than weights."""
        return self._most(LABELS)

    @property
    def why(self) -> tuple[str, ...]:
        """The facts behind the choice."""
        if self.situation.delta > 0:
            return (
                "One Gaussian release of the weights puts on each logit the noise of one Gaussian "
                "query at the same μ, and k queries need √k times that: answering each query with "
                "Gaussian noise is never better.",
            )
        root = math.sqrt(self.situation.features)
        return (
            "δ = 0: the noise of an answer grows with the number of queries, that of the weights "
            f"with √d = {root:.3g} instead. Answers have less up to {self.most_by_logits} queries "
            f"with logits, and up to {self.most_by_labels} with labels alone.",
        )

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain values for a JSON file."""
        return {
            "queries": self.queries,
            "for_logits": asdict(self.for_logits),
            "for_labels": asdict(self.for_labels),
            "ways": [asdict(way) for way in self.ways],
            "most_by_logits": self.most_by_logits,
            "most_by_labels": self.most_by_labels,
            "why": list(self.why),
        }

    def _least(self, gives: str, release: str | None = None) -> Way:
        return next(
            way for way in self.ways if way.gives == gives and release in (None, way.release)
        )

    def _most(self, gives: str) -> int | None:
        """The noise of answers is proportional to their number where ε is divided."""
        if self.situation.delta > 0:
            return None
        one = self._least(gives, EACH).logit_noise / self.queries
        return math.ceil(self.once.logit_noise / one * (1 - 1e-9)) - 1


def plan_queries(situation: Situation, queries: int) -> QueryAdvice:
    """Every way to answer k queries of a convex head, from the one with the least noise on.

    >>> situation = Situation(
    ...     records=50_000,
    ...     features=1_280,
    ...     classes=10,
    ...     epsilon=1.0,
    ...     delta=0.0,
    ...     relation="add-remove",
    ... )
    >>> plan_queries(situation, 20).for_logits.release
    'an answer each'
    >>> plan_queries(situation, 50).for_logits.release
    'weights once'
    """
    asked = count("queries", queries)
    public = compared_head(situation)
    ways = [*_once(situation, public), *_each(situation, public, asked)]
    # Sorting keeps the order of equals, and weights that are out answer every later query too.
    ordered = sorted(ways, key=lambda way: float(f"{way.logit_noise:.8g}"))
    return QueryAdvice(situation=situation, queries=asked, ways=tuple(ordered))


def compared_head(situation: Situation) -> PublicNumbers:
    """The head of which the weights would be released, as its public numbers."""
    penalty = public_penalty(
        records=situation.records,
        radius=radius(situation.bound, _INTERCEPT),
        coordinates=(situation.classes - 1) * (situation.features + 1),
        epsilon=situation.epsilon,
        delta=situation.delta,
        relation=situation.relation,
        mechanism="gaussian" if situation.delta > 0 else "l2-laplace",
        max_records_per_person=situation.max_records_per_person,
    )
    head = SoftmaxHead(
        penalty=penalty,
        bound=situation.bound,
        classes=range(situation.classes),
        records=situation.records,
        intercept=_INTERCEPT,
    )
    numbers = head.planned(situation.features)
    return PublicNumbers.of(
        numbers, max_records_per_person=situation.max_records_per_person, mean=None
    )


def _once(situation: Situation, public: PublicNumbers) -> list[Way]:
    ways = []
    for name in for_any_vector():
        kind = MECHANISMS[name]
        if kind.needs_delta and situation.delta == 0:
            continue
        noise = kind.calibrate(
            public.sensitivity(situation.terms.relation),
            epsilon=situation.epsilon,
            delta=situation.delta,
        )
        std = noise.std_in(public.shape[0] * public.shape[1]) * public.radius
        ways.append(
            Way(release=ONCE, mechanism=name, gives=LOGITS, logit_noise=std, composed_by=None)
        )
    return ways


def _each(situation: Situation, public: PublicNumbers, queries: int) -> list[Way]:
    ways = []
    for name, kind in WAYS.items():
        if situation.delta == 0 and not is_pure(kind):
            continue
        plan = calibrated_answers(public, mechanism=name, queries=queries, **_budget(situation))
        ways.append(
            Way(
                release=EACH,
                mechanism=name,
                gives=LABELS if name in LABEL else LOGITS,
                logit_noise=plan.logit_noise,
                composed_by=plan.method,
            )
        )
    return ways


def _budget(situation: Situation) -> dict[str, Any]:
    return {
        "epsilon": situation.epsilon,
        "delta": situation.delta,
        "relation": as_relation(situation.relation),
    }
