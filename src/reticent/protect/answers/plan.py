"""k answers of a certified head within one (ε, δ): the noise of each, fixed beforehand."""

import math
from dataclasses import dataclass
from functools import cached_property

from reticent.accounting.account import ACCOUNTANTS, PrivacyCost, account
from reticent.guarantee import Composed, Event, Relation, Sensitivity, grade, rounding
from reticent.ledger import FilterKind, filters
from reticent.mechanisms import Mechanism
from reticent.protect.answers import answer_mechanisms, calibration
from reticent.protect.head_numbers import PublicNumbers
from reticent.validation import InputError, NotCoveredError, count, describe, positive, probability


@dataclass(frozen=True, kw_only=True)
class AnswerPlan:
    """How each query is answered, and how many are: all of it public.

    ``filter`` names the sum of a ledger that the answers were fitted to: an account opened with
    ``epsilon``, ``delta``, that filter and ``plan=whole`` takes exactly ``queries`` charges.
    ``before`` is what was released of the same data for these answers: a noisy mean.
    """

    public: PublicNumbers
    relation: Relation
    epsilon: float
    delta: float
    queries: int
    mechanism: str
    space: answer_mechanisms.Space
    scale: float
    filter: FilterKind | None = None
    before: Event | None = None

    def __post_init__(self) -> None:
        """Every number is checked; whether the noise is enough is asked when it is used."""
        if type(self.public) is not PublicNumbers:
            raise InputError(f"public must be PublicNumbers, got {describe(self.public)}")
        answer_mechanisms.kind_of(self.mechanism)
        checked: dict[str, object] = {
            "relation": grade.as_relation(self.relation),
            "epsilon": positive("epsilon", self.epsilon),
            "delta": probability("delta", self.delta),
            "queries": count("queries", self.queries),
            "space": answer_mechanisms.space_of(self.mechanism, self.space),
            "scale": positive("scale", self.scale),
            "filter": None if self.filter is None else filters.as_filter(self.filter),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """How far one record moves the numbers that are noised, proven."""
        return answer_mechanisms.sensitivity_of(self.public.answers(self.relation), self.space)

    @cached_property
    def noise(self) -> Mechanism:
        """The noise of one answer."""
        return answer_mechanisms.noise_of(
            self.mechanism,
            scale=self.scale,
            sensitivity=self.sensitivity,
            space=self.space,
            classes=self.public.classes,
        )

    @property
    def logit_noise(self) -> float:
        """The standard deviation of the noise on one logit, comparable between all ways."""
        return answer_mechanisms.logit_noise(self.noise)

    @cached_property
    def event(self) -> Event:
        """One answer as an accountant sees it, by the bound that makes the whole cheapest."""
        events = answer_mechanisms.events_of(self.noise)
        if self.filter is not None:
            fitting = [event for event in events if self._asked.fits(event)]
            return (fitting or [events[0]])[0]
        return min(events, key=self._cost)

    @property
    def whole(self) -> Event:
        """All answers, and what was released before them."""
        return self._asked.whole(self.event)

    @cached_property
    def account(self) -> PrivacyCost:
        """The ε of the whole at δ, by every method that covers it."""
        return self._account(self.event)

    @property
    def composed_epsilon(self) -> float:
        """The ε that the whole has, rounded up: at most ``epsilon``, or the noise is too little."""
        return rounding.up(self.account.epsilon)

    @cached_property
    def one_answer_epsilon(self) -> float:
        """The ε of one answer and of what it depends on (``before``), rounded up."""
        if self.before is None:
            return rounding.up(self.noise.epsilon(delta=self.delta))
        return min(
            self.epsilon,
            rounding.up(
                min(
                    self._together((self.before, event))
                    for event in answer_mechanisms.events_of(self.noise)
                )
            ),
        )

    @property
    def method(self) -> str:
        """What the whole is composed by."""
        return str(self.filter) if self.filter is not None else self.account.method

    @property
    def theorem(self) -> str:
        """The composition theorem behind ε, in words."""
        return ACCOUNTANTS[self.method].theorem

    def require_enough(self) -> None:
        """Refuse noise that does not give (ε, δ): whoever changed a scale has made another plan."""
        if self.filter is not None and not self._asked.fits(self.event):
            raise InputError(
                f"scale must let {self.queries} charges fit the filter {self.filter} of the "
                f"budget, got {self.scale}"
            )
        if not self.account.epsilon <= self.epsilon:
            raise InputError(
                f"epsilon must be >= {self.composed_epsilon}, what {self.queries} answers cost, "
                f"got {self.epsilon}"
            )

    @cached_property
    def _asked(self) -> calibration.Asked:
        return calibration.Asked(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            queries=self.queries,
            filter=self.filter,
            before=self.before,
        )

    def _cost(self, event: Event) -> float:
        """Infinite where no method covers it, such as an L2 bound at δ = 0."""
        try:
            return self._account(event).epsilon
        except NotCoveredError:
            return math.inf

    def _together(self, events: tuple[Event, ...]) -> float:
        """The ε of these releases; infinite where no method covers them."""
        try:
            cost = account(Composed(events=events), relation=self.relation, delta=self.delta)
        except NotCoveredError:
            return math.inf
        return cost.epsilon

    def _account(self, event: Event) -> PrivacyCost:
        return account(
            self._asked.whole(event),
            relation=self.relation,
            delta=self.delta,
            methods=self._asked.methods,
        )


def calibrated_answers(  # noqa: PLR0913 - one argument for each public choice
    public: PublicNumbers,
    *,
    epsilon: float,
    delta: float,
    relation: Relation | str,
    queries: int,
    mechanism: str = "gaussian",
    space: answer_mechanisms.Space | None = None,
    filter: FilterKind | str | None = None,
    before: Event | None = None,
) -> AnswerPlan:
    """The plan with the least noise with which ``queries`` answers together are (ε, δ)-DP.

    Args:
        public: The numbers of the head (``numbers_of`` reads them off a fitted one).
        epsilon: Of all answers together.
        delta: Likewise.
        relation: Which data sets are neighbours.
        queries: How many answers there will be at most.
        mechanism: "gaussian", "logistic", "laplace" or "l2-laplace" noise on logits, or a label
            alone by "exponential" or "permute-and-flip".
        space: What is noised: "coordinates" (by default) or "logits".
        filter: The sum of a ledger that will count the answers. Without one, the best theorem for
            a fixed plan is used, and the answers are counted in this process.
        before: A release for these answers that (ε, δ) covers too, as an event.
    """
    asked = calibration.Asked(
        epsilon=positive("epsilon", epsilon),
        delta=probability("delta", delta),
        relation=grade.as_relation(relation),
        queries=count("queries", queries),
        filter=None if filter is None else filters.as_filter(filter),
        before=before,
    )
    kind = answer_mechanisms.kind_of(mechanism)
    chosen = answer_mechanisms.space_of(mechanism, space)
    sensitivity = answer_mechanisms.sensitivity_of(public.answers(asked.relation), chosen)
    plan = AnswerPlan(
        public=public,
        relation=asked.relation,
        epsilon=asked.epsilon,
        delta=asked.delta,
        queries=asked.queries,
        mechanism=mechanism,
        space=chosen,
        scale=calibration.least_scale(kind, sensitivity, asked),
        filter=asked.filter,
        before=before,
    )
    plan.require_enough()
    return plan
