"""One release on two neighbouring files: the same answers, the other file's exact values.

The first file is released with the audit's own answers to all noisy queries; the second gets the
same answers. What is then compared: how far each query moved against the sensitivity that its
noise was made for, what all movements are worth together against the claimed ε, and whether all
that leaves is the same, as it must be when it is computed from equal answers. Answers may be any
numbers at all: a sensitivity that holds, holds after every one of them.

Distances are first computed with more digits than the values have. Where one comes near its bound
they are compared as fractions, so that no rounding of the audit's own decides.
"""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from flint import arb, fmpq, fmpq_mat

from reticent.accounting.account import ACCOUNTANTS, account
from reticent.arrays import Array, Floats
from reticent.audit.same_places import SamePlaces
from reticent.guarantee import Composed, Event, Guarantee, Relation, Sensitivity, rounding
from reticent.mechanisms import AdditiveMechanism, BlockL2Laplace, Mechanism, structured
from reticent.mechanisms.response import RandomisedResponse
from reticent.mechanisms.rounded.balls import precision
from reticent.protect import noise_scales, noisy_query
from reticent.validation import NotCoveredError

_NEAR: Final = 1e-9
_SMALLEST: Final = 1e-300
"""A distance must be positive to be a sensitivity; nothing is lost by this one."""


class Movement(NamedTuple):
    """Distances of one query between two worlds in the norms that a sensitivity may bound."""

    noise: Mechanism
    distances: dict[str, float]
    ratio: float
    """The largest of them over its bound."""
    rate: float = 1.0
    """Of the sample that the query saw."""
    sample: int = 0
    """The number of that sample."""

    @property
    def moves(self) -> bool:
        """Whether the worlds differ at all."""
        return self.distances["linf"] > 0

    def at_distance(self) -> Mechanism:
        """The same noise, for a function that moves just so far."""
        claimed = self.noise.sensitivity
        norms = {
            name: max(distance, _SMALLEST)
            for name, distance in self.distances.items()
            if getattr(claimed, name) is not None
        }
        sensitivity = Sensitivity(
            **norms,  # type: ignore[arg-type]
            relation=claimed.relation,
            blocks=claimed.blocks if "l21" in norms else None,
        )
        return replace(self.noise, sensitivity=sensitivity)


def movement(
    noise: Mechanism, one: Floats, other: Floats, *, rate: float = 1.0, sample: int = 0
) -> Movement:
    """Of a query with this noise, from its exact values in both worlds."""
    apart = np.abs(one.ravel().astype(np.longdouble) - other.ravel().astype(np.longdouble))
    l1, linf = apart.sum(), apart.max(initial=np.longdouble(0))
    l2 = linf * np.sqrt(((apart / linf) ** 2).sum()) if linf > 0 else linf
    distances = {"l1": float(l1), "l2": float(l2), "linf": float(linf)}
    if isinstance(noise, AdditiveMechanism) and noise.norm not in distances:
        distances[noise.norm] = float(noise.length(one.ravel() - other.ravel()))
    claimed = {
        name: bound for name in distances if (bound := getattr(noise.sensitivity, name)) is not None
    }
    ratios = [distances[name] / bound for name, bound in claimed.items()]
    ratio = max(ratios, default=0.0)
    if abs(ratio - 1) < _NEAR:
        within = all(_within(noise, name, one, other, bound) for name, bound in claimed.items())
        ratio = min(ratio, 1.0) if within else max(ratio, float(np.nextafter(1.0, 2.0)))
    return Movement(noise=noise, distances=distances, ratio=ratio, rate=rate, sample=sample)


def _within(noise: Mechanism, norm: str, one: Floats, other: Floats, bound: float) -> bool:
    """Whether the distance is at most the bound, in exact arithmetic."""
    apart, unit = _exactly_apart(one, other)
    if norm in ("l21", "nuclear"):
        return _structured_within(noise, [fmpq(part, unit) for part in apart], bound)
    limit = Fraction(bound) * unit
    if norm == "l1":
        return sum(map(abs, apart)) <= limit
    if norm == "l2":
        return sum(part * part for part in apart) <= limit * limit
    return max(map(abs, apart), default=0) <= limit


def _exactly_apart(one: Floats, other: Floats) -> tuple[list[int], int]:
    """The difference of each entry as a whole number of 1/unit.

    Floats are whole numbers over powers of two, so the largest of these serves all, and sums need
    no fractions.
    """
    pairs = zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)
    ratios = [(a.as_integer_ratio(), b.as_integer_ratio()) for a, b in pairs]
    unit = max((below for pair in ratios for _, below in pair), default=1)
    return [a * (unit // below) - b * (unit // under) for (a, below), (b, under) in ratios], unit


def _structured_within(noise: Mechanism, exact: list[fmpq], bound: float) -> bool:
    """The same of norms that are sums of roots, enclosed with 300 bits.

    What they leave open is taken to be above the bound.
    """
    with precision(300):
        if isinstance(noise, (BlockL2Laplace, RandomisedResponse)):
            width = len(exact) // noise.blocks
            blocks = [exact[start : start + width] for start in range(0, len(exact), width)]
            roots = [arb(sum((x * x for x in block), fmpq(0))).sqrt() for block in blocks]
        else:
            roots = _singular_values(exact)
        return bool(sum(roots, arb(0)) <= arb(fmpq(*bound.as_integer_ratio())))


def _singular_values(triangle: list[fmpq]) -> list[arb]:
    """Of a symmetric matrix: the roots of its characteristic polynomial, by amount."""
    order = structured.order_of(len(triangle))
    entries: dict[tuple[int, ...], fmpq] = {}
    for place, value in zip(combinations_with_replacement(range(order), 2), triangle, strict=True):
        entries[place] = entries[place[::-1]] = value
    matrix = fmpq_mat(order, order, [entries[place] for place in product(range(order), repeat=2)])
    roots: Any = matrix.charpoly().complex_roots()  # pairs of a root and its multiplicity
    return [abs(root.real) for root, multiplicity in roots for _ in range(multiplicity)]


def epsilon_of(movements: Iterable[Movement], *, delta: float, relation: Relation) -> float:
    """The ε at δ of queries that move so far, all of them seen; rounded up.

    Exact for Gaussian noise and for pure noise at δ = 0, but at most for labels that come or go;
    else what the composition theorems give.
    """
    moving = [one for one in movements if one.moves]
    noises, rates = [one.at_distance() for one in moving], [one.rate for one in moving]
    if not noises:
        return 0.0
    additive = [noise for noise in noises if isinstance(noise, AdditiveMechanism)]
    if len(additive) == len(noises) and len({type(noise) for noise in noises}) == 1:
        samples = [one.sample for one in moving]
        return noise_scales.composed_epsilon_of(
            additive, relation=relation, delta=delta, rates=rates, samples=samples
        )
    return min(_accounted(noises, delta, relation), _pure(noises))


def _accounted(noises: list[Mechanism], delta: float, relation: Relation) -> float:
    events: list[Event] = [noise.event() for noise in noises]
    methods = tuple(name for name in ACCOUNTANTS if name != "pld" or len(events) <= 2)
    whole: Any = events[0] if len(events) == 1 else Composed(events=tuple(events))
    try:
        return rounding.up(account(whole, relation=relation, delta=delta, methods=methods).epsilon)
    except NotCoveredError:
        return float("inf")


def _pure(noises: list[Mechanism]) -> float:
    try:
        return rounding.up(sum(noise.epsilon(delta=0.0) for noise in noises))
    except (NotCoveredError, ValueError):
        return float("inf")


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
    rate: float = 1.0
    sample: int = 0


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


class TimeLimitError(BaseException):
    """A release did not end in time; no handler of errors in between may take it for one."""


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
    places, before = SamePlaces(), one.read_bytes()
    try:
        first = _run(release, one, drawn(noise_share), limit, places.first)
        claim = first.published.claims[0].guarantee if first.published else None
        answer = replayed(first.queries) if first.published else drawn(noise_share)
        other = neighbour(claim)
        second = _run(release, other, answer, limit, places.second)
        if places.is_missed and first.published:  # samples that hold what differs
            places.start_again()
            after = other.read_bytes()
            one.write_bytes(before)  # the neighbour may have been written over it
            first = _run(release, one, drawn(noise_share), limit, places.first)
            other.write_bytes(after)
            second = _run(release, other, replayed(first.queries), limit, places.second)
    except TimeLimitError:
        return PairOutcome(problems=(f"a release did not end within {limit:g} seconds",))
    except OtherQueriesError as error:
        return PairOutcome(problems=(str(error),))
    if first.published is None or second.published is None:
        return _refused(first, second)
    return _compared(first, second)


def drawn(noise_share: float) -> Callable[[Mechanism, Floats], Array]:
    """Answers with a part of the noise; of a choice, as a label is, the choice itself."""

    def answer(noise: Mechanism, value: Floats) -> Array:
        whole = noise_share == 1 or (noise_share and isinstance(noise, RandomisedResponse))
        if not isinstance(noise, AdditiveMechanism) or whole:
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
        return np.array(due.answer).view(noisy_query.Replayed)

    return answer


def _run(
    release: Release,
    file: Path,
    answer: Callable[[Mechanism, Floats], Any],
    limit: float,
    sampler: noisy_query.Sampler,
) -> Run:
    queries: list[NoisyQuery] = []

    def noise_function(noise: Mechanism, value: Floats) -> Array:
        copied = np.array(value, dtype=np.float64)
        exact, given = noisy_query.settled(copied, answer(noise, copied))
        sample = noisy_query.sampling_rate(), noisy_query.sample_number()
        queries.append(NoisyQuery(noise, exact, np.array(given), *sample))
        return np.array(given, subok=True)

    try:
        with (
            noisy_query.with_noise_function(noise_function),
            noisy_query.with_sampler(sampler),
            time_limit(limit),
        ):
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
    movements = [
        movement(one.noise, one.value, other.value, rate=one.rate, sample=one.sample)
        for one, other in zip(first.queries, second.queries, strict=True)
    ]
    ratio = max((one.ratio for one in movements), default=0.0)
    worth = max((_epsilon_ratio(claim, movements) for claim in first.published.claims), default=0.0)
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
        problems=tuple(problems), queries=len(movements), ratio=ratio, epsilon_ratio=worth
    )


def _epsilon_ratio(covered: Covered, movements: list[Movement]) -> float:
    claim = covered.guarantee
    places = range(len(movements)) if covered.queries is None else covered.queries
    worth = epsilon_of(
        [movements[place] for place in places], delta=claim.delta, relation=claim.relation
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
