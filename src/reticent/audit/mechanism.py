"""Any function that claims (ε, δ)-privacy, audited by drawing it on two neighbouring inputs.

Half of the runs look for an event that is more than e^ε times as likely on one input as on the
other: a quarter of all teaches scorers (``reticent.audit.events``), a quarter chooses a scorer and
a threshold. The other half counts how often that one event happens on either input, and Clopper's
and Pearson's limits of both rates give a lower bound on ε. The event was fixed before, so the bound
is wrong with probability β at most, whatever the function is and however bad the event: no more is
taken for granted than that runs are independent.

A claim that is not refuted is not proven: other inputs, other events or more runs may refute it.
Beside it stands what these runs would have found (``reticent.audit.function_power``). Unasked, as
many are drawn as find half the noise, up to a limit. Who states that Gaussian noise is added needs
fewer: then its size is measured, too (``reticent.audit.additive``).

``assert_private`` is one line for a test suite: it fails where the claim can be refuted, and where
not even half of the noise would have been found.
"""

from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from reticent.arrays import Floats, Progress
from reticent.audit.additive import GAUSSIAN, NoiseBound, noise_bound
from reticent.audit.error_counts import clopper_pearson_epsilon, highest_rate, log_ratio
from reticent.audit.events import Scorer, scorers
from reticent.audit.function_power import HALF, Asked, reach, runs_to_find_half
from reticent.audit.function_runs import Many, Mechanism, checked_function, drawn
from reticent.audit.lower_bound import ErrorCounts, LowerBound, checked_beta
from reticent.audit.many_runs import POWER
from reticent.audit.outputs import Answers, Outputs, known_answers, read_outputs
from reticent.guarantee.rounding import upper_text
from reticent.validation import InputError, count, non_negative, probability

FEWEST_RUNS: Final = 100
_MOST_TEACHING: Final = 50_000
"""Runs on each input: more would take long and teach little."""
_CAUTION: Final = 1e-3
"""The risk of a limit while choosing: the best of many thresholds is also the luckiest."""


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
    noise: NoiseBound | None = None
    """From the size of the noise, where the user states that Gaussian noise is added."""
    reach: float | None = None
    """The largest share of the noise that is due whose fault would have been found, power 0.95."""

    @property
    def refuted(self) -> bool:
        """Whether a bound is above the claim."""
        claim = {"epsilon": self.epsilon, "delta": self.delta}
        return self.bound.refutes(**claim) or (
            self.noise is not None and self.noise.refutes(**claim)
        )

    @property
    def condition(self) -> str:
        """What a refutation rests on beside the runs; nothing where it holds for every function."""
        if not self.refuted or self.bound.refutes(epsilon=self.epsilon, delta=self.delta):
            return ""
        return ", if Gaussian noise is added, as stated"

    @property
    def is_blind(self) -> bool:
        """Whether half of the noise that is due would have passed, too."""
        return self.epsilon > 0 and (self.reach is None or self.reach < HALF)

    @property
    def detectable_faults(self) -> str:
        """What so many runs would have found."""
        if self.epsilon == 0:
            return "at ε = 0 no share of noise is a measure of faults"
        if self.reach is None:
            return "no fault worth naming would have been found: more runs are needed"
        share = f"{100 * self.reach:g} % of the noise that is due, or less, would have been found"
        return f"{share} (power {POWER:g})" + (": half of it would not" if self.is_blind else "")

    @property
    def verdict(self) -> str:
        """Either "refuted" or "not refuted", as JSON and pages say it."""
        return "refuted" if self.refuted else "not refuted"

    def __str__(self) -> str:
        """One line."""
        claim = f"ε ≤ {upper_text(self.epsilon)}, δ ≤ {upper_text(self.delta)}"
        noise = "" if self.noise is None else f"; {self.noise}"
        power = "" if self.refuted else f"; {self.detectable_faults}"
        return (
            f"{claim} {self.verdict}{self.condition}: {self.bound}{noise}; event: {self.event};"
            f" {self.runs:,} runs{power}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in a JSON file."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "bound": self.bound.to_dict(),
            "event": self.event,
            "runs": self.runs,
            "verdict": self.verdict,
            "noise": None if self.noise is None else self.noise.to_dict(),
            "reach": self.reach,
            "power": POWER,
        }


def audit_function(  # noqa: PLR0913 - a function, two inputs, its claim, and how hard to look
    mechanism: Mechanism | None,
    one: object,
    other: object,
    *,
    epsilon: float,
    delta: float,
    runs: int | None = None,
    beta: float = 0.05,
    seed: int = 0,
    many: Many | None = None,
    noise: str | None = None,
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
        runs: On each of the two inputs; by default as many as find half of the noise that is due
            with power 0.95, from 40,000 to 400,000.
        beta: The probability with which the bound may be wrong.
        seed: Of what is learnt from the runs. The function's own randomness is not touched.
        many: ``many(input, runs)``, a sequence of that many outputs: the same function, faster.
            It is drawn instead of ``mechanism``, which may then be None.
        noise: "gaussian" if you know that Gaussian noise is added to an answer: its size is then
            measured, which needs far fewer runs. Taken for granted, and labelled so.
        progress: Called with the runs done and in all.

    >>> rng = np.random.default_rng(0)
    >>> def noisy(count):  # the scale of ε = 1, where ε = ½ is claimed
    ...     return round(count + rng.laplace(scale=1.0))
    >>> audit_function(noisy, 20, 21, epsilon=0.5, delta=0.0, runs=4_000).verdict
    'refuted'
    """
    claim = _Claim(non_negative("epsilon", epsilon), probability("delta", delta), beta)
    checked_beta(beta)
    stated = _stated(noise)
    if stated:  # two bounds, each at half of the risk
        claim = claim._replace(beta=beta / 2)
    asked = Asked(**claim._asdict(), gaussian_noise=stated)
    chosen = runs_to_find_half(asked, _counted) if runs is None else runs
    times = count("runs", chosen, at_least=FEWEST_RUNS)
    count("seed", seed, at_least=0)
    if one is other:
        raise InputError("one and other must be two inputs, got the same object twice")
    raw = drawn(checked_function(mechanism, many), many, (one, other), times, progress)
    arms = read_outputs(*raw)
    event = _best_event(arms, known_answers(one, other, arms[0], claim.epsilon), claim, seed)
    learning, _, last = _parts(times)
    errors = event.errors(*(arm[last] for arm in arms))
    sized = None
    if stated:
        values = _numbers_of(arms)
        pairs = ((values[0][part], values[1][part]) for part in (learning, last))
        sized = noise_bound(*pairs, delta=claim.delta, beta=claim.beta)
    bound = clopper_pearson_epsilon(
        errors.false_positives,
        errors.runs_without,
        errors.false_negatives,
        errors.runs_with,
        delta=claim.delta,
        beta=claim.beta,
    )
    return FunctionAudit(
        epsilon=claim.epsilon,
        delta=claim.delta,
        bound=bound,
        event=event.described(errors),
        runs=times,
        noise=sized,
        reach=reach(replace(asked, labels=_are_labels(arms)), _counted(times)),
    )


def _stated(noise: str | None) -> bool:
    if noise not in (None, GAUSSIAN):
        raise InputError(f"noise must be {GAUSSIAN!r} or None, got {noise!r}")
    return noise is not None


def _numbers_of(arms: tuple[Outputs, Outputs]) -> tuple[Floats, Floats]:
    one, other = (arm.values for arm in arms)
    if one is None or other is None or np.isnan(one).any() or np.isnan(other).any():
        raise InputError("outputs must all be numbers where noise is stated, got others")
    return one, other


def _are_labels(arms: tuple[Outputs, Outputs]) -> bool:
    """Two outputs, or others than numbers: no noise was added to them."""
    return arms[0].values is None or len(np.unique(arms[0].joined(arms[1]).codes)) <= 2


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

    def described(self, counts: ErrorCounts) -> str:
        """What it looks at, and how often it happened."""
        on_one = counts.false_positives / counts.runs_without
        on_other = 1 - counts.false_negatives / counts.runs_with
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
    first = min(runs // 4, _MOST_TEACHING)
    second = runs // 2 if runs <= 4 * _MOST_TEACHING else 2 * _MOST_TEACHING
    return slice(0, first), slice(first, second), slice(second, runs)


def _counted(runs: int) -> int:
    return runs - int(_parts(runs)[2].start)


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
    run it every day. With runs so few that half of the noise would not be missed it fails as well,
    and says how many are needed: a green test means something.

    Args:
        function: Called with an input, returns one output.
        one: An input.
        other: A neighbouring input.
        epsilon: Claimed.
        delta: Claimed.
        **options: As for ``reticent.audit.mechanism.audit_function``: runs, beta, seed, many,
            noise, progress.

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
    if audit.is_blind:
        raise AssertionError(
            f"too few runs to say anything: of {audit.runs:,} on each input"
            f" {audit.detectable_faults}; give more runs (with many=, they are fast), or"
            " noise='gaussian' if that is what is added"
        )
    return audit
