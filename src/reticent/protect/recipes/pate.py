"""PATE: teachers on disjoint parts vote on public records, and a student learns the noisy votes.

Papernot et al. 2017 and 2018 (Confident-GNMax), with a data-independent account. A record goes to a
teacher by a public hash of itself, so that one record more moves no other, and one vote at most
(docs/theory.md I.3). What leaves is the student, computed from noisy votes and public records.
"""

import base64
import binascii
import hashlib
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from reticent import bounds
from reticent.arrays import Floats, Integers
from reticent.guarantee.guarantee import checked_by
from reticent.mechanisms.rounded.kernels import compiled
from reticent.protect.recipe import Affine, Plan, Step, Tensors
from reticent.protect.recipes import linear, statistics
from reticent.protect.recipes.exact_rows import unit_rows
from reticent.protect.terms import Terms
from reticent.validation import InputError, count, float_rows

CONFIDENCE, VOTES = "confidence", "votes"
_INTERCEPT: Final = 0.1
_RIDGE: Final = 1.0
"""Of teachers and student, beside unit rows."""
_RECORDS_A_TEACHER: Final = 128
"""About 250 teachers, as in the paper, for some 30,000 records."""
_QUERIES: Final = 200
_CHECK_SHARE: Final = 0.2
_CONFIDENT: Final = 0.6
"""The share of all teachers that must agree, up to noise, for a query to be answered."""
_MOST_ENTRIES: Final = 2**22
HASHED = checked_by(
    "a record goes to the teacher that a public hash of the record itself names, and a teacher's "
    "vote is a function of its own records to the last bit",
    "protect.recipes.pate.teacher_of",
)
_PUBLIC_STATED: Final = (
    "the records that the teachers vote on are public: no private record was looked at to choose"
    " them"
)


def public_text(rows: Floats) -> str:
    """Public records as a recipe and its certificate hold them: 32-bit floats, base64."""
    narrow = np.ascontiguousarray(float_rows("public", rows), dtype="<f4")
    if not np.isfinite(narrow).all() or not 0 < narrow.size <= _MOST_ENTRIES:
        raise InputError(f"public must hold 1 to {_MOST_ENTRIES} numbers of 32 bits, got others")
    return base64.b64encode(narrow.tobytes()).decode("ascii")


def hashes(rows: Floats, labels: Integers) -> NDArray[np.uint64]:
    """64 public bits of each record: of its row and its label, and of nothing else."""
    ordered = np.ascontiguousarray(rows, dtype="<f8")
    marks = np.ascontiguousarray(labels, dtype="<i8")
    digests = b"".join(
        hashlib.blake2b(row.tobytes() + mark.tobytes(), digest_size=8).digest()
        for row, mark in zip(ordered, marks, strict=True)
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def teacher_of(rows: Floats, labels: Integers, teachers: int) -> Integers:
    """The teacher of each record: its hash, modulo their number."""
    return (hashes(rows, labels) % np.uint64(teachers)).astype(np.int64)


@dataclass(frozen=True, kw_only=True, slots=True)
class PateRecipe(linear.LinearRecipe):
    """A linear student of noisy votes; teachers are ridge classifiers on unit rows."""

    name: ClassVar[str] = "pate"
    options: ClassVar[tuple[str, ...]] = ("public", "teachers", "queries", "answers", "threshold")
    checked: ClassVar[tuple[str, ...]] = (
        linear.UNIT_ROWS,
        HASHED,
        linear.NOISY_SUMS,
        linear.OWN_CLASS,
    )
    stated: ClassVar[tuple[str, ...]] = (*linear.STATED, _PUBLIC_STATED)

    public: str
    """The records that are voted on (``public_text``); random directions where there are none."""
    teachers: int
    queries: int
    answers: int
    """At most so many queries are answered; each of them is checked first."""
    threshold: float
    """Votes that the largest class needs, noise included; 0 for no check."""

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """About 128 records a teacher, and 200 queries of which half may be answered."""
        del terms
        public = options.get("public") or ""
        held = decoded_rows(public, numbers["features"])
        queries = count("queries", options.get("queries") or min(_QUERIES, len(held) or _QUERIES))
        teachers = options.get("teachers") or max(1, numbers["records"] // _RECORDS_A_TEACHER)
        threshold = options.get("threshold")
        return cls(
            **numbers,
            public=public,
            teachers=count("teachers", teachers),
            queries=queries,
            answers=count("answers", options.get("answers") or math.ceil(queries / 2)),
            threshold=_CONFIDENT * teachers if threshold is None else threshold,
        )

    def __post_init__(self) -> None:
        """Numbers that do not go together are refused before anything is planned."""
        held = len(decoded_rows(self.public, self.features))
        if self.public and self.queries > held:
            raise InputError(
                f"queries must be at most the {held} public records, got {self.queries}"
            )
        if self.answers > self.queries:
            raise InputError(
                f"answers must be at most queries = {self.queries}, got {self.answers}"
            )
        if not 0 <= self.threshold < math.inf:
            raise InputError(f"threshold must be >= 0, got {self.threshold}")
        if max(self.teachers, self.queries) > 10**6:
            raise InputError("teachers and queries must be at most 10⁶, got more")

    def steps(self, terms: Terms) -> dict[str, Step]:
        """A check of each query, also of those that it refuses, and the votes of those answered."""
        public: dict[str, Any] = {
            "relation": terms.relation,
            "max_records_per_person": terms.records_touched,
        }
        checked = self.threshold > 0
        steps = {}
        if checked:
            steps[CONFIDENCE] = Step(
                sensitivity=bounds.largest_vote(**public),
                share=_CHECK_SHARE,
                theorem="bounds.votes.largest_vote",
                times=self.queries,
            )
        votes = Step(
            sensitivity=bounds.teacher_votes(**public),
            share=1 - _CHECK_SHARE if checked else 1.0,
            theorem="bounds.votes.teacher_votes",
            times=self.answers,
        )
        return steps | {VOTES: votes}

    def learn(self, rows: Floats, labels: Integers, plan: Plan) -> Tensors:
        """Teachers vote, queries are checked and answered in their order, the student learns."""
        asked = self._asked()
        votes = self._votes(rows, np.asarray(labels), asked)
        answered: list[int] = []
        noisy_votes: list[Floats] = []
        for place, vote in enumerate(votes):
            if len(noisy_votes) == self.answers:
                break
            if CONFIDENCE in plan:
                largest = plan[CONFIDENCE].release(np.array([vote.max()]))
                if not largest[0] >= self.threshold:
                    continue
            noisy_votes.append(plan[VOTES].release(vote))
            answered.append(place)
        return linear.layer_tensors(
            self._student(asked[answered], np.reshape(noisy_votes, (-1, self.classes)))
        )

    def _asked(self) -> Floats:
        """The public queries: unit rows with a constant entry, on the grid."""
        held = decoded_rows(self.public, self.features)
        if not self.public:
            held = np.random.default_rng(0).normal(size=(self.queries, self.features))
        return _longer(held[: self.queries])

    def _votes(self, rows: Floats, labels: Integers, asked: Floats) -> Floats:
        """The number of teachers for each class, of each query; one without records abstains."""
        votes = np.zeros((len(asked), self.classes))
        teacher = teacher_of(rows, labels, self.teachers)
        order = np.argsort(teacher, kind="stable")
        places = np.split(order, np.flatnonzero(np.diff(teacher[order])) + 1) if len(order) else []
        for own in places:
            scores = _taught(_longer(rows[own]), labels[own], asked, self.classes)
            votes[np.arange(len(asked)), scores.argmax(axis=1)] += 1.0
        return votes

    def _student(self, asked: Floats, votes: Floats) -> Affine:
        """Ridge regression on the shares of votes, as a layer on unit rows."""
        shares = votes / self.teachers
        moment = asked.T @ asked + _RIDGE * np.eye(asked.shape[1])
        weights = np.linalg.solve(moment, asked.T @ (shares - 1 / self.classes)).T
        weights /= math.sqrt(1 + _INTERCEPT**2)
        offsets: Floats = np.asarray(_INTERCEPT * weights[:, -1], dtype=np.float64)
        return Affine(np.ascontiguousarray(weights[:, :-1]), offsets)


def _longer(rows: Floats) -> Floats:
    """Unit rows with a constant entry, on the grid: each a function of itself."""
    return statistics.with_intercept(unit_rows(rows, np.zeros(rows.shape[1])), _INTERCEPT)


def _taught(rows: Floats, labels: Integers, asked: Floats, classes: int) -> Floats:
    """The scores of one teacher: ridge regression on the classes, of its rows alone.

    Products of rows on the grid are exact in whatever order; what follows is added up in one order.
    With fewer rows than entries it is solved for a weight of each row.
    """
    if len(rows) <= rows.shape[1]:
        system, rhs = rows @ rows.T, np.eye(classes)[labels]
        seen = asked @ rows.T
    else:
        system, rhs = (
            statistics.second_moment(rows),
            statistics.class_sums(rows, labels, classes).T,
        )
        seen = asked
    factor, solution = np.ascontiguousarray(system), np.ascontiguousarray(rhs)
    _factor(factor, _RIDGE)
    _substitute(factor, solution)
    return _products(np.ascontiguousarray(seen), solution)


@compiled
def _factor(system: Floats, penalty: float) -> None:
    """Cholesky's factor of system + penalty, over its lower half; each sum in one order."""
    for i in range(len(system)):
        for j in range(i + 1):
            total = system[i, j]
            for k in range(j):
                total -= system[i, k] * system[j, k]
            if i == j:
                system[i, i] = math.sqrt(max(total + penalty, penalty))
            else:
                system[i, j] = total / system[j, j]


@compiled
def _substitute(factor: Floats, rhs: Floats) -> None:
    """(factor factorᵀ)⁻¹ rhs, over ``rhs``; each sum in one order."""
    size = len(rhs)
    for c in range(rhs.shape[1]):
        for i in range(size):
            total = rhs[i, c]
            for k in range(i):
                total -= factor[i, k] * rhs[k, c]
            rhs[i, c] = total / factor[i, i]
        for i in range(size - 1, -1, -1):
            total = rhs[i, c]
            for k in range(i + 1, size):
                total -= factor[k, i] * rhs[k, c]
            rhs[i, c] = total / factor[i, i]


@compiled
def _products(seen: Floats, solution: Floats) -> Floats:
    """seen @ solution, each entry added up from first to last."""
    scores = np.zeros((seen.shape[0], solution.shape[1]))
    for q in range(seen.shape[0]):
        for c in range(solution.shape[1]):
            total = 0.0
            for i in range(seen.shape[1]):
                total += seen[q, i] * solution[i, c]
            scores[q, c] = total
    return scores


def decoded_rows(public: str, features: int) -> Floats:
    """The rows of a text; none of an empty one."""
    try:
        entries = np.frombuffer(base64.b64decode(public, validate=True), dtype="<f4")
    except (binascii.Error, ValueError):
        raise InputError(
            "public must be rows as public_text writes them, got another text"
        ) from None
    if entries.size % features or entries.size > _MOST_ENTRIES or not np.isfinite(entries).all():
        raise InputError(f"public must be finite rows of {features} features, got others")
    return entries.reshape(-1, features).astype(np.float64)
