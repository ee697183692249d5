"""A certified head that answers queries one by one, each with noise of its own."""

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline

from reticent.arrays import Array, Floats, frozen
from reticent.data.schema import Schema
from reticent.guarantee import Grade, Guarantee, Relation
from reticent.guarantee.guarantee import checked_by
from reticent.protect import certified_head, public_facts
from reticent.protect.answers.counting import AnswerCounter
from reticent.protect.answers.plan import AnswerPlan
from reticent.protect.head_numbers import MeanNumbers, PublicNumbers
from reticent.protect.noisy_query import minted, noisy_rows, still_minted
from reticent.protect.recipes.mean import EXACT_SUM, MEAN
from reticent.protect.recipes.weights import CERTIFIED
from reticent.protect.recipes.weights import STATED as HEAD_STATED
from reticent.protect.release import Charge, Release
from reticent.protect.terms import Terms, inferred_sources
from reticent.training import SoftmaxHead, features, linear_head, row_kernels, softmax
from reticent.validation import InputError, describe, float_rows

CHECKED = (
    *CERTIFIED,
    checked_by(
        "the floats that were certified are the floats that answer, bit by bit",
        "training.linear_head.LinearHead.certified",
    ),
    checked_by(
        "queries are brought within the same public bound as the rows, in float64, one by one; the "
        "bound on an answer covers the rounding of its floats",
        "bounds.answers.SoftmaxAnswers",
    ),
)
COUNTED = checked_by(
    "each answer is counted, and charged where a ledger is kept, before its noise is drawn",
    "protect.answers.counting.AnswerCounter.take",
)
NOISED = {
    space: checked_by(sentence, "protect.noisy_query.noisy_rows")
    for space, sentence in {
        "coordinates": "all C − 1 coordinates of the logits in a fixed basis of the zero-sum space "
        "are noised, and nothing else of an answer is released",
        "logits": "all logits are noised, and nothing else of an answer is released",
        "label": "the label is all that is released of an answer",
    }.items()
}
MEAN_COVERED = checked_by(
    "ε covers the noisy mean that the head was centred by, also that of one answer",
    "protect.answers.plan.AnswerPlan.one_answer_epsilon",
)
STATED = (
    *HEAD_STATED,
    "the number of answers was fixed without looking at the private data, and queries depend on "
    "that data through earlier answers alone",
    "answers by another object or process, and other releases on the same data, add up",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """Noisy answers to some queries: public from now on.

    ``released`` are the noisy numbers themselves, one row for each query; ``logits`` (None where
    only a label was released) and ``labels`` are computed from them. ``guarantee`` is that of each
    answer by itself, with the noisy mean that it depends on; that of all of them together is
    ``PrivateAnswers.guarantee``.
    """

    released: Array
    logits: Floats | None
    labels: Array
    guarantee: Guarantee

    def __init_subclass__(cls) -> None:
        """A subclass could skip the checks and keep a proven guarantee."""
        raise TypeError("Answered must not be subclassed")

    def __post_init__(self) -> None:
        """Whoever builds one by hand, or changes a field, has a declared guarantee at most."""
        for name in ("released", "logits", "labels"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(getattr(self, name)))
        if type(self.guarantee) is not Guarantee:
            raise InputError("answers must have a Guarantee itself, got another")
        if self.guarantee.grade is Grade.PROVEN:
            declared = dataclasses.replace(self.guarantee, grade=Grade.DECLARED)
            object.__setattr__(self, "guarantee", declared)


class PrivateAnswers:
    """The weights stay here; what leaves is one noisy answer at a time, ``plan.queries`` in all.

    It can neither be copied nor pickled: a copy would give all answers once more.
    """

    __slots__ = ("_centre", "_classes", "_coordinates", "_counter", "_each", "_guarantee", "_plan")

    def __init__(
        self,
        *,
        coordinates: Floats,
        classes: Array,
        centre: Floats | None,
        plan: AnswerPlan,
        claims: tuple[Guarantee, Guarantee],
        charge: Charge | None = None,
    ) -> None:
        self._coordinates = frozen(coordinates)
        self._classes = frozen(classes)
        self._centre = None if centre is None else frozen(centre)
        self._plan = plan
        self._each, self._guarantee = (_declared(claim) for claim in claims)
        self._counter = AnswerCounter(plan.event, most=plan.queries, charge=charge)

    @property
    def plan(self) -> AnswerPlan:
        """The public plan by which queries are answered."""
        return self._plan

    @property
    def each(self) -> Guarantee:
        """What one answer promises by itself, with the noisy mean that it depends on."""
        return self._each

    @property
    def guarantee(self) -> Guarantee:
        """What all answers promise together, however the queries are chosen."""
        return self._guarantee

    @property
    def left(self) -> int:
        """How many answers may still be given, as far as this process knows."""
        return self._counter.left

    @property
    def classes_(self) -> Array:
        """The classes in the order of the logits."""
        return self._classes

    def ask(self, X: ArrayLike) -> Answered:
        """One answer for each row, all or none of them: BudgetExhausted where too few are left.

        The rows are checked first, then counted and charged, and only then looked at by the head.
        """
        rows = float_rows("X", X)
        if rows.shape[1] != self._plan.public.features:
            raise InputError(
                f"X must have {self._plan.public.features} features, got {rows.shape[1]}"
            )
        if not len(rows):
            raise InputError("X must hold at least one query, got none")
        self._counter.take(len(rows))
        answered = self._answered(noisy_rows(self._plan.noise, self._values(rows)))
        object.__setattr__(answered, "guarantee", still_minted(self._each))
        return answered

    def _values(self, rows: Floats) -> Floats:
        """What is noised, without noise."""
        public = self._plan.public
        mapped = features.public_map(
            rows,
            bound=public.bound,
            intercept=public.intercept,
            centre=self._centre,
            norms=public.norms,
        )
        coordinates: Floats = mapped @ self._coordinates.T
        if self._plan.space == "coordinates":
            return coordinates
        logits: Floats = coordinates @ softmax.zero_sum_basis(len(self._classes)).T
        return logits

    def _answered(self, released: Array) -> Answered:
        """From the noisy numbers alone."""
        labels, logits = self._said(released)
        return Answered(released=released, logits=logits, labels=labels, guarantee=self._each)

    def _said(self, released: Array) -> tuple[Array, Floats | None]:
        """Labels, and logits where they were released."""
        if self._plan.space == "label":
            return self._classes[released], None
        logits = released
        if self._plan.space == "coordinates":
            # In one order of summation: a kept answer says the same whenever it is given again.
            logits = row_kernels.products(released, softmax.zero_sum_basis(len(self._classes)).T)
        return self._classes[logits.argmax(axis=1)], logits

    def __repr__(self) -> str:
        """No private number."""
        return f"PrivateAnswers({self._plan.mechanism}, {self.left} left, {self._guarantee})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("PrivateAnswers must not be copied or pickled: a copy answers once more")


def private_answers(
    head: SoftmaxHead | Pipeline,
    plan: AnswerPlan,
    *,
    mean: Release | None = None,
    inferred: Collection[str] = (),
    charge: Charge | None = None,
    schema: Schema | None = None,
) -> PrivateAnswers:
    """A certified head that answers by a plan, graded proven.

    ``charge`` is called with the event before each answer (``charge_answers`` charges a ledger);
    if it raises, there is no answer. With ``mean`` the head was centred by that released mean and
    the plan was made for it too. ``inferred`` names public numbers that were read off the private
    data: the claim is declared then, and so it is with a ``schema``, by which the rows were
    prepared from a raw table, that has such a fact. What else would make it unproven is refused in
    one line.
    """
    if type(plan) is not AnswerPlan:
        raise InputError(f"plan must be an AnswerPlan, got {describe(plan)}")
    plan = dataclasses.replace(plan)  # from its public numbers alone: what hangs on it stays behind
    final, steps = certified_head.head_of(head)
    facts = () if schema is None else public_facts.inferred_facts(schema)
    terms = _terms(plan, (*inferred, *facts, *(() if mean is None else mean.terms.inferred)))
    certified_head.refuse_unproven(final, terms)
    certified_head.refuse_other_mean(final, mean, terms)
    fit, steps = certified_head.certified_fit(final, steps)
    _refuse_other_plan(fit, plan, mean)
    plan.require_enough()
    refuse_other_schema(schema, plan, tuple(map(str, fit.classes)))
    known = () if schema is None else schema.stated
    terms = dataclasses.replace(terms, public_steps=steps)
    claims = claims_of(plan, (*terms.stated, *known, *terms.steps_stated))
    answers = PrivateAnswers(
        coordinates=np.frombuffer(fit.coordinates).reshape(fit.numbers.shape),
        classes=np.asarray(fit.classes),
        centre=None if final.centre is None else np.array(final.centre, dtype=np.float64),
        plan=plan,
        claims=claims,
        charge=charge,
    )
    if not terms.inferred:
        answers._each, answers._guarantee = map(minted, claims)
    return answers


def numbers_of(
    head: SoftmaxHead | Pipeline,
    *,
    max_records_per_person: int | None = None,
    mean: Release | None = None,
) -> PublicNumbers:
    """The public numbers of a fitted head, which a plan is made from."""
    final, _ = certified_head.head_of(head)
    if type(final) is not SoftmaxHead:
        raise InputError(f"head must be a SoftmaxHead itself, got {describe(final)}")
    return PublicNumbers.of(
        linear_head.LinearHead.certified(final).numbers,
        max_records_per_person=max_records_per_person,
        mean=mean_numbers(mean),
    )


def mean_numbers(mean: Release | None) -> MeanNumbers | None:
    """The public numbers of the noisy mean that a head was centred by."""
    if mean is None:
        return None
    bound = float(mean.recipe.to_dict()["bound"])
    return MeanNumbers(bound=bound, features=mean.features, scale=mean.scales[MEAN])


def _terms(plan: AnswerPlan, inferred: Collection[str]) -> Terms:
    return Terms(
        epsilon=plan.epsilon,
        delta=plan.delta,
        relation=plan.relation,
        max_records_per_person=plan.public.max_records_per_person,
        sources=inferred_sources(inferred),
    )


def _refuse_other_plan(
    fit: linear_head.CertifiedFit, plan: AnswerPlan, mean: Release | None
) -> None:
    public = PublicNumbers.of(
        fit.numbers,
        max_records_per_person=plan.public.max_records_per_person,
        mean=mean_numbers(mean),
    )
    if public != plan.public:
        raise InputError("plan must be made from the numbers of this head and mean, got others")
    if (None if mean is None else mean.event) != plan.before:
        raise InputError("plan must count the mean before the answers, and nothing else, got other")


def refuse_other_schema(schema: Schema | None, plan: AnswerPlan, classes: tuple[str, ...]) -> None:
    """A schema that does not prepare the rows of this plan's head; from public numbers alone."""
    if schema is None:
        return
    if type(schema) is not Schema:
        raise InputError(f"schema must be a Schema itself, got {describe(schema)}")
    public, width = plan.public, len(schema.names)
    if schema.task != "classification" or schema.classes != classes:
        raise InputError("schema must have the classes of the head in their order, got others")
    if width != public.features or schema.bound != public.bound:
        raise InputError(
            f"schema must be the one of the fit, whose rows have {public.features} features of"
            f" norm {public.bound:.6g} at most, got {width} and {schema.bound:.6g}"
        )
    if schema.invalid == "leave-out" and plan.relation is not Relation.ADD_REMOVE:
        raise InputError(
            "schema must refuse invalid records where neighbours are replace-one, got leave-out: a"
            " replaced record may be one that does not count"
        )


def claims_of(plan: AnswerPlan, steps: tuple[str, ...]) -> tuple[Guarantee, Guarantee]:
    """Of one answer, and of all of them; declared here, minted by ``private_answers`` alone."""
    alone = plan.noise.guarantee(delta=plan.delta, unit=plan.public.unit)
    theorem = checked_by(
        f"the sensitivity is a theorem about public numbers: {plan.sensitivity.source}",
        plan.public.theorem,
    )
    checked = (theorem, *alone.checked, *CHECKED, COUNTED, NOISED[plan.space])
    stated = (*STATED, *steps)
    if plan.before is not None:  # the head was centred by it: an answer tells of the mean too
        checked = (*checked, EXACT_SUM, MEAN_COVERED)
    each = dataclasses.replace(
        alone, epsilon=plan.one_answer_epsilon, checked=checked, stated=stated
    )
    composition = checked_by(
        f"{plan.queries} answers at most, together by {plan.theorem}: it holds for queries that "
        "are chosen after seeing earlier answers",
        "protect.answers.plan.AnswerPlan.require_enough",
    )
    whole = dataclasses.replace(each, epsilon=plan.epsilon, checked=(*checked, composition))
    return each, whole


def _declared(claim: Guarantee) -> Guarantee:
    if claim.grade is not Grade.PROVEN:
        return claim
    return dataclasses.replace(claim, grade=Grade.DECLARED)
