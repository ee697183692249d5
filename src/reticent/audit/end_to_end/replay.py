"""One release on two neighbouring files: the same answers, the other file's exact values.

The first file is released with the audit's own answers to all noisy queries; the second gets the
same answers. What is then compared: how far each query moved against the sensitivity that its
noise was made for, what all movements are worth together against the claimed ε, and whether all
that leaves is the same, as it must be when it is computed from equal answers. Answers may be any
numbers at all: a sensitivity that holds, holds after every one of them.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from reticent.arrays import Array, Floats
from reticent.audit.end_to_end.movement import Movement, epsilon_of, movement
from reticent.guarantee import Guarantee
from reticent.mechanisms import AdditiveMechanism, Mechanism
from reticent.protect.noisy_query import with_noise_function

TIME_LIMIT: Final = 30.0
"""Seconds that one release may take on the small tables of the audit: a fit must end."""
ONE_REFUSED: Final = "only one of two neighbours is refused"
_ROUNDING: Final = 1 + 2.0**-40
"""Of ε alone: both sides are rounded up, by other ways."""


class Covered(NamedTuple):
    """A claim, and the places of the noisy queries that it covers; None for all of them."""

    guarantee: Guarantee
    queries: tuple[int, ...] | None = None


class Published(NamedTuple):
    """What one run gave to the world: its claims, and every byte that left beside them."""

    claims: tuple[Covered, ...]
    outputs: bytes


class NoisyQuery(NamedTuple):
    """One query of a run: its noise, its exact value and what was answered."""

    noise: Mechanism
    value: Floats
    answer: Array


class Run(NamedTuple):
    """A release on one file, or the line by which it was refused."""

    queries: list[NoisyQuery]
    published: Published | None
    refusal: str | None


Release = Callable[[Path], Published]
"""The code under audit: from a file to what it publishes."""


@dataclass(frozen=True, kw_only=True)
class PairOutcome:
    """What a pair showed: ``problems`` is empty where everything held."""

    problems: tuple[str, ...]
    queries: int = 0
    ratio: float = 0.0
    """The largest movement over its claimed sensitivity."""
    epsilon_ratio: float = 0.0
    """What all movements are worth, over the claimed ε."""
    refused: str | None = None
    """The line by which both were refused: what was asked is, not what the tables hold."""

    @property
    def holds(self) -> bool:
        """Whether the pair contradicts nothing that was claimed."""
        return not self.problems


class TimeLimitError(Exception):
    """A release did not end in time."""


def run_pair(
    release: Release,
    one: Path,
    neighbour: Callable[[Guarantee | None], Path],
    *,
    noise_share: float = 1.0,
    limit: float = TIME_LIMIT,
) -> PairOutcome:
    """Both worlds of one pair; ``neighbour`` writes the second file for what the first claims.

    ``noise_share`` is the part of its noise that an answer gets: with 0 the exact value is the
    answer, which steers later queries hardest.
    """
    try:
        first = _run(release, one, drawn(noise_share), limit)
        claim = first.published.claims[0].guarantee if first.published else None
        answer = replayed(first.queries) if first.published else drawn(noise_share)
        second = _run(release, neighbour(claim), answer, limit)
    except TimeLimitError:
        return PairOutcome(problems=(f"a release did not end within {limit:g} seconds",))
    except OtherQueriesError as error:
        return PairOutcome(problems=(str(error),))
    if first.published is None or second.published is None:
        return _refused(first, second)
    return _compared(first, second)


def drawn(noise_share: float) -> Callable[[Mechanism, Floats], Array]:
    """Answers with a part of the noise; of a choice, the choice itself."""

    def answer(noise: Mechanism, value: Floats) -> Array:
        if not isinstance(noise, AdditiveMechanism) or noise_share == 1:
            return np.asarray(noise.release(value))
        nothing = np.zeros_like(value)
        return value + noise_share * np.asarray(noise.release(nothing)) if noise_share else value

    return answer


class OtherQueriesError(Exception):
    """The second world asks something else, which tells the worlds apart."""


def replayed(queries: list[NoisyQuery]) -> Callable[[Mechanism, Floats], Array]:
    """The answers of an earlier run, one after the other."""
    left = iter(queries)

    def answer(noise: Mechanism, value: Floats) -> Array:
        due = next(left, None)
        if due is None:
            raise OtherQueriesError("the neighbour asks more queries after the same answers")
        if due.noise != noise:
            raise OtherQueriesError("the noise of a query differs between neighbours")
        if due.value.shape != np.shape(value):
            raise OtherQueriesError("the size of a query differs between neighbours")
        return np.array(due.answer)

    return answer


def _run(
    release: Release, file: Path, answer: Callable[[Mechanism, Floats], Any], limit: float
) -> Run:
    queries: list[NoisyQuery] = []

    def noise_function(noise: Mechanism, value: Floats) -> Array:
        exact = np.array(value, dtype=np.float64)
        given = answer(noise, exact)
        queries.append(NoisyQuery(noise, exact, np.array(given)))
        return np.array(given)

    try:
        with with_noise_function(noise_function), time_limit(limit):
            return Run(queries, release(file), None)
    except (ValueError, TypeError) as error:  # InputError, and what scikit-learn raises
        return Run(queries, None, str(error))


def _refused(first: Run, second: Run) -> PairOutcome:
    """Refusing one data set and not its neighbour tells them apart (theory F.1)."""
    if first.published is None and second.published is None:
        return PairOutcome(problems=(), refused=first.refusal)
    line = first.refusal or second.refusal or ""
    return PairOutcome(problems=(f"{ONE_REFUSED}: {line}",))


def _compared(first: Run, second: Run) -> PairOutcome:
    assert first.published is not None
    assert second.published is not None
    if len(first.queries) != len(second.queries):
        return PairOutcome(problems=("neighbours ask different numbers of queries",))
    moved = [
        movement(one.noise, one.value, other.value)
        for one, other in zip(first.queries, second.queries, strict=True)
    ]
    ratio = max((one.ratio for one in moved), default=0.0)
    worth = max((_epsilon_ratio(claim, moved) for claim in first.published.claims), default=0.0)
    problems = []
    if not ratio <= 1:
        problems.append(f"a query moved by {ratio:.12g} of its claimed sensitivity")
    if not worth <= _ROUNDING:
        problems.append(f"the pair has {worth:.12g} of the claimed ε")
    if first.published.claims != second.published.claims:
        problems.append("neighbours claim different guarantees")
    if first.published.outputs != second.published.outputs:
        problems.append("equal answers lead to different outputs: something passes by the noise")
    return PairOutcome(
        problems=tuple(problems), queries=len(moved), ratio=ratio, epsilon_ratio=worth
    )


def _epsilon_ratio(covered: Covered, moved: list[Movement]) -> float:
    claim = covered.guarantee
    places = range(len(moved)) if covered.queries is None else covered.queries
    worth = epsilon_of(
        [moved[place] for place in places], delta=claim.delta, relation=claim.relation
    )
    return worth / claim.epsilon


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Stop what takes longer; only where a signal can be received, in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_signal: int, _frame: object) -> None:
        raise TimeLimitError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
