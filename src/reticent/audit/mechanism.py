"""Any function that claims (ε, δ)-privacy, audited by drawing it on two neighbouring inputs.

Half of the runs look for an event that is more than e^ε times as likely on one input as on the
other: a quarter of all teaches scorers (``reticent.audit.events``), a quarter chooses a scorer and
a threshold. The other half counts how often that one event happens on either input, and Clopper's
and Pearson's limits of both rates give a lower bound on ε. The event was fixed before, so the bound
is wrong with probability β at most, whatever the function is and however bad the event: no more is
taken for granted than that runs are independent.

A claim that is not refuted is not proven: other inputs, other events or more runs may refute it.

``assert_private`` is one line for a test suite: it fails where the claim can be refuted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from reticent.arrays import Floats, Progress
from reticent.audit.error_counts import clopper_pearson_epsilon, highest_rate, log_ratio
from reticent.audit.events import Scorer, scorers
from reticent.audit.lower_bound import ErrorCounts, LowerBound, checked_beta
from reticent.audit.outputs import Answers, Outputs, known_answers, read_outputs
from reticent.guarantee.rounding import upper_text
from reticent.validation import InputError, count, describe, non_negative, probability

Mechanism = Callable[[Any], Any]
Many = Callable[[Any, int], Any]

FEWEST_RUNS: Final = 100
MOST_NUMBERS: Final = 200_000_000
_MOST_TEACHING: Final = 50_000
"""Runs on each input: more would take long and teach little."""
_CAUTION: Final = 1e-3
"""The risk of a limit while choosing: the best of many thresholds is also the luckiest."""
_TELLS: Final = 100
"""How often progress is told."""


@dataclass(frozen=True, kw_only=True)
class FunctionAudit:
    """A claim, a lower bound on ε, and the event that it rests on."""

    epsilon: float
    """Claimed."""
    delta: float
    """Claimed."""
    bound: LowerBound
    event: str
    runs: int
    """On each input."""

    @property
    def refuted(self) -> bool:
        """Whether the bound is above the claim."""
        return self.bound.refutes(epsilon=self.epsilon, delta=self.delta)

    @property
    def verdict(self) -> str:
        """Either "refuted" or "not refuted", as JSON and pages say it."""
        return "refuted" if self.refuted else "not refuted"

    def __str__(self) -> str:
        """One line."""
        claim = f"ε ≤ {upper_text(self.epsilon)}, δ ≤ {upper_text(self.delta)}"
        return f"{claim} {self.verdict}: {self.bound}; event: {self.event}; {self.runs:,} runs"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in a JSON file."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "bound": self.bound.to_dict(),
            "event": self.event,
            "runs": self.runs,
            "verdict": self.verdict,
        }


def audit_function(  # noqa: PLR0913 - a function, two inputs, its claim, and how hard to look
    mechanism: Mechanism | None,
    one: object,
    other: object,
    *,
    epsilon: float,
    delta: float,
    runs: int = 40_000,
    beta: float = 0.05,
    seed: int = 0,
    many: Many | None = None,
    progress: Progress | None = None,
) -> FunctionAudit:
    """Try to refute that a function is (ε, δ)-private.

    Outputs may be numbers, arrays of one shape, or anything that can be hashed, such as labels.
    Infinity and None are outputs as any other, unless there is nothing but None; NaN is refused.

    Args:
        mechanism: Called with an input, returns one output; independent random numbers each time.
        one: An input.
        other: A neighbouring input: where both are numbers of the outputs' shape, they are taken
            for the answers without noise, and floats that cannot come from either are looked for.
        epsilon: Claimed.
        delta: Claimed.
        runs: On each of the two inputs.
        beta: The probability with which the bound may be wrong.
        seed: Of what is learnt from the runs. The function's own randomness is not touched.
        many: ``many(input, runs)``, a sequence of that many outputs: the same function, faster.
            It is drawn instead of ``mechanism``, which may then be None.
        progress: Called with the runs done and in all.

    >>> rng = np.random.default_rng(0)
    >>> def noisy(count):  # the scale of ε = 1, where ε = ½ is claimed
    ...     return round(count + rng.laplace(scale=1.0))
    >>> audit_function(noisy, 20, 21, epsilon=0.5, delta=0.0, runs=4_000).verdict
    'refuted'
    """
    claim = _Claim(non_negative("epsilon", epsilon), probability("delta", delta), beta)
    checked_beta(beta)
    times = count("runs", runs, at_least=FEWEST_RUNS)
    count("seed", seed, at_least=0)
    if one is other:
        raise InputError("one and other must be two inputs, got the same object twice")
    raw = _drawn(_checked(mechanism, many), many, (one, other), times, progress)
    arms = read_outputs(*raw)
    event = _best_event(arms, known_answers(one, other, arms[0], claim.epsilon), claim, seed)
    counted = [arm[_parts(times)[2]] for arm in arms]
    errors = event.errors(*counted)
    bound = clopper_pearson_epsilon(
        errors.false_positives,
        errors.runs_without,
        errors.false_negatives,
        errors.runs_with,
        delta=claim.delta,
        beta=beta,
    )
    return FunctionAudit(
        epsilon=claim.epsilon,
        delta=claim.delta,
        bound=bound,
        event=event.described(errors),
        runs=times,
    )


class _Claim(NamedTuple):
    epsilon: float
    delta: float
    beta: float


class _Event(NamedTuple):
    """The score of an output is above the threshold."""

    scorer: Scorer
    threshold: float

    def errors(self, one: Outputs, other: Outputs) -> ErrorCounts:
        """Runs on one where it happens, and runs on the other where it does not."""
        happens = [self.scorer.scores(arm) > self.threshold for arm in (one, other)]
        return ErrorCounts(
            false_positives=int(happens[0].sum()),
            runs_without=len(one),
            false_negatives=int((~happens[1]).sum()),
            runs_with=len(other),
        )

    def described(self, found: ErrorCounts) -> str:
        """What it looks at, and how often it happened."""
        on_one = found.false_positives / found.runs_without
        on_other = 1 - found.false_negatives / found.runs_with
        never = on_one == on_other == 0
        if never or (1 - on_one) * on_one > on_other * (1 - on_other):  # its absence tells more
            on_one, on_other = 1 - on_one, 1 - on_other
        return (
            f"by {self.scorer.looks_at}, in {100 * on_one:.3g} % of the runs on one and"
            f" {100 * on_other:.3g} % of those on the other"
        )


def _best_event(
    arms: tuple[Outputs, Outputs], answers: Answers | None, claim: _Claim, seed: int
) -> _Event:
    """Scorers learn from the first part; scorer and threshold have the best bound on the second."""
    learning, choosing, _ = _parts(len(arms[0]))
    taught = arms[0][learning], arms[1][learning]
    merits = []
    for scorer in scorers(*taught, answers, seed):
        one, other = (scorer.scores(arm[choosing]) for arm in arms)
        merit, threshold = _best_threshold(one, other, claim)
        merits.append((merit, _Event(scorer, threshold)))
    if not merits:  # no two outputs are equal, and none is a number
        raise InputError(
            "outputs must be numbers, or repeat themselves, to be told apart; got"
            f" {sum(map(len, taught)):,} different ones"
        )
    return max(merits, key=lambda pair: pair[0])[1]


def _best_threshold(one: Floats, other: Floats, claim: _Claim) -> tuple[float, float]:
    """The bound on these runs and the threshold of the event that has the highest one."""
    thresholds = np.unique(np.concatenate([one, other]))
    false_positives = len(one) - np.searchsorted(np.sort(one), thresholds, side="right")
    false_negatives = np.searchsorted(np.sort(other), thresholds, side="right")
    tail = min(claim.beta / 2, _CAUTION)
    merits = log_ratio(
        highest_rate(false_positives, len(one), tail),
        highest_rate(false_negatives, len(other), tail),
        claim.delta,
    )
    best = int(np.argmax(merits))
    return float(merits[best]), float(thresholds[best])


def _parts(runs: int) -> tuple[slice, slice, slice]:
    """Runs that teach, runs that choose, runs that are counted."""
    first, second = min(runs // 4, _MOST_TEACHING), runs // 2
    return slice(0, first), slice(first, second), slice(second, runs)


def _checked(mechanism: Mechanism | None, many: Many | None) -> Mechanism | None:
    for name, part in (("mechanism", mechanism), ("many", many)):
        if part is not None and not callable(part):
            raise InputError(f"{name} must be a function, got {describe(part)}")
    if mechanism is None and many is None:
        raise InputError("mechanism must be a function unless many is given, got None")
    return mechanism


def _drawn(
    mechanism: Mechanism | None,
    many: Many | None,
    inputs: tuple[object, object],
    runs: int,
    progress: Progress | None,
) -> tuple[Sequence[Any], Sequence[Any]]:
    tell = progress or (lambda _done, _all: None)
    if many is not None:
        stacks = []
        for done, data in enumerate(inputs, start=1):
            # In one call, so that a generator that is seeded in it does not repeat itself.
            stacks.append(_stack(many(data, runs), runs))
            tell(done * runs, 2 * runs)
        return stacks[0], stacks[1]
    assert mechanism is not None
    drawn: tuple[list[Any], list[Any]] = ([], [])
    step = max(runs // _TELLS, 1)
    for run in range(1, runs + 1):  # in turns: whatever drifts, drifts on both inputs
        for outputs, data in zip(drawn, inputs, strict=True):
            outputs.append(mechanism(data))
        if run == 1:
            _bounded(np.size(drawn[0][0]), runs)
        if run % step == 0 or run == runs:
            tell(2 * run, 2 * runs)
    return drawn


def _stack(outputs: Any, runs: int) -> Sequence[Any]:
    if not hasattr(outputs, "__len__") or not hasattr(outputs, "__getitem__"):
        raise InputError(f"many must return a sequence of outputs, got {type(outputs).__name__}")
    if len(outputs) != runs:
        raise InputError(f"many must return the {runs:,} outputs asked for, got {len(outputs):,}")
    _bounded(np.size(outputs[0]), runs)
    stack: Sequence[Any] = outputs
    return stack


def _bounded(size: int, runs: int) -> None:
    if 2 * runs * size > MOST_NUMBERS:
        raise InputError(
            f"runs must be at most {MOST_NUMBERS // (2 * size):,} for outputs of {size:,} numbers,"
            f" got {runs:,}"
        )


def assert_private(
    function: Mechanism | None,
    one: object,
    other: object,
    *,
    epsilon: float,
    delta: float,
    **options: Any,
) -> FunctionAudit:
    """Audit the function on two neighbouring inputs; an AssertionError says what refutes it.

    A function whose claim is true fails once in a million audits (``beta``), so that a suite can
    run it every day.

    Args:
        function: Called with an input, returns one output.
        one: An input.
        other: A neighbouring input.
        epsilon: Claimed.
        delta: Claimed.
        **options: As for ``reticent.audit.mechanism.audit_function``: runs, beta, seed, many,
            progress.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> audit = assert_private(
    ...     lambda answer: answer if rng.random() < 0.75 else not answer,
    ...     True,
    ...     False,
    ...     epsilon=1.1,
    ...     delta=0.0,
    ...     runs=2_000,
    ... )
    >>> audit.verdict
    'not refuted'
    """
    __tracebackhide__ = True  # pytest shows the line that called
    beta = options.pop("beta", 1e-6)
    audit = audit_function(function, one, other, epsilon=epsilon, delta=delta, beta=beta, **options)
    if audit.refuted:
        raise AssertionError(f"not private as claimed: {audit}")
    return audit
