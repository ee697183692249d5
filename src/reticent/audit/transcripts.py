"""The audit of a learner by its transcript: every noisy sum of a fit, in two neighbouring worlds.

A fit is a chain of noisy sums, each of which may depend on the answers before it, and the claim is
about an adversary who sees all of them. So one run draws a transcript in one world and replays it
in the other: the same answers, the other world's sums. The losses of all sums add up to the log
likelihood ratio Λ of the whole transcript, exactly, and its errors over many runs bound ε for
every mechanism (Clopper–Pearson): that checks the code. Beside it stands what the distances between
the worlds' sums are worth under the noise of the plan, which checks the theorem: for Gaussian noise
μ² = Σ‖sum − sum′‖²/scale² of a transcript (Dong, Roth & Su 2022, Theorem 3). And since the answers
were equal, the models must be: a number that differs has passed by the noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.audit.error_counts import GDP
from reticent.audit.lower_bound import checked_beta
from reticent.audit.many_runs import SeparateRuns, many_runs
from reticent.audit.neighbouring import refuse_others
from reticent.audit.power import runs_to_refute
from reticent.audit.transcript_audit import TranscriptAudit
from reticent.guarantee import Guarantee, Sensitivity
from reticent.mechanisms import AdditiveMechanism, Gaussian, L2Laplace
from reticent.mechanisms.profiles import gaussian
from reticent.protect.budget import together
from reticent.protect.learners.recipe import Watched
from reticent.protect.noisy_query import NoiseFunction
from reticent.protect.public_numbers import records_touched
from reticent.validation import InputError, count, describe

Floats = NDArray[np.float64]
World = tuple[ArrayLike, ArrayLike]
"""Rows and labels (or targets)."""
Progress = Callable[[int, int], object]

SHARE: Final = 0.2
"""Of the runs, for choosing the threshold."""
_FEWEST_RUNS: Final = 10
_VARIES: Final = 1e-6
"""Relative: transcripts whose distances differ by less were not steered by their answers."""


class Learner(Protocol):
    """What can be audited: the learners of ``reticent.protect.learners``."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Its public numbers."""

    def planned_guarantee(self, X: ArrayLike, y: ArrayLike) -> Guarantee:
        """What a fit on these records would promise."""

    def watched(self, X: ArrayLike, y: ArrayLike) -> Watched:
        """The fit, with its sums answered by the audit."""


class Look(NamedTuple):
    """One sum over the records, the noise it is due, and what was answered."""

    noise: AdditiveMechanism
    value: Floats
    answer: Floats


class Transcript(NamedTuple):
    """The looks of one fit in order, and the numbers of the model that came of the answers."""

    looks: list[Look]
    model: Floats


class Shifts(NamedTuple):
    """How far sums of one noise are from those of the other world, a number each."""

    noise: AdditiveMechanism
    l1: Floats
    l2: Floats

    @property
    def distances(self) -> Floats:
        """In the norm that the noise is calibrated to."""
        return self.l2 if isinstance(self.noise, (Gaussian, L2Laplace)) else self.l1

    @property
    def spent(self) -> float:
        """Σ(distance/scale)² for Gaussian noise, else Σ distance/scale."""
        shifts = self.distances / self.noise.scale
        return float((shifts**2).sum() if isinstance(self.noise, Gaussian) else shifts.sum())

    @property
    def tightness(self) -> float:
        """The largest share of the claimed sensitivity."""
        claimed = self.noise.sensitivity
        by_l2 = isinstance(self.noise, (Gaussian, L2Laplace))
        bound = (claimed.require_l2 if by_l2 else claimed.require_l1)(self.noise.name)
        return float(self.distances.max()) / bound

    def noises(self) -> Iterator[AdditiveMechanism]:
        """The same noise on sums that a record moves so far."""
        for l1, l2 in zip(self.l1.tolist(), self.l2.tolist(), strict=True):
            if l2 > 0:
                moved = Sensitivity(l1=l1, l2=l2, source="the distance of two worlds")
                yield type(self.noise)(scale=self.noise.scale, sensitivity=moved)


class Path(NamedTuple):
    """What one run told: Λ, how far the worlds were apart on the way, whether models agree."""

    ratio: float
    """The log density of the answers in the other world over that in their own."""
    shifts: list[Shifts]
    sealed: bool

    @property
    def spent(self) -> float:
        """What all sums spent."""
        return sum(part.spent for part in self.shifts)

    def epsilon(self, delta: float) -> float:
        """The ε at δ of noisy sums at these distances; rounded up."""
        noises = [noise for part in self.shifts for noise in part.noises()]
        return together(noises, delta=delta) if noises else 0.0


def audit_learner(  # noqa: PLR0913 - a learner, two worlds, and how hard to look
    learner: Learner,
    one_world: World,
    other_world: World,
    *,
    runs: int = 1_000,
    beta: float = 0.05,
    draw: NoiseFunction | None = None,
    progress: Progress | None = None,
) -> TranscriptAudit:
    """Try to refute what a learner's fit promises, on two neighbouring data sets.

    Args:
        learner: A learner of ``reticent.protect.learners``; it is not changed, nothing is charged.
        one_world: Rows and labels (or targets).
        other_world: A neighbour under the learner's relation.
        runs: Transcripts drawn in each world.
        beta: The probability with which the measured bound may be wrong.
        draw: The code under audit: called with the noise that a sum is due and the sum, returns
            the noisy sum. By default the mechanism's own release.
        progress: Called with the runs done and in all.

    >>> from reticent.protect.learners import ClassMeansHead
    >>> learner = ClassMeansHead(
    ...     classes=range(2), records=4, epsilon=1.0, delta=1e-5, relation="add-remove"
    ... )
    >>> with_it, without = ([[1.0, 0.0]], [0]), (np.zeros((0, 2)), [])
    >>> audit_learner(learner, without, with_it, runs=50).verdict
    'not refuted'
    """
    if not hasattr(learner, "watched"):
        raise InputError(f"learner must be one with the noise inside, got {describe(learner)}")
    free = type(learner)(**learner.get_params(deep=False) | {"charge": None})
    claim = free.planned_guarantee(*other_world)
    refuse_others(one_world, other_world, claim.relation, _touched(free))
    worlds = free.watched(*one_world), free.watched(*other_world)
    return audit_transcripts(worlds, claim, runs=runs, beta=beta, draw=draw, progress=progress)


def _touched(learner: Learner) -> int:
    """The records by which two neighbours differ at most."""
    return records_touched(getattr(learner, "records_each", None))


def audit_transcripts(
    worlds: tuple[Watched, Watched],
    claim: Guarantee,
    *,
    runs: int = 1_000,
    beta: float = 0.05,
    draw: NoiseFunction | None = None,
    progress: Progress | None = None,
) -> TranscriptAudit:
    """The same for any procedure whose every look at the records is a noisy sum.

    Args:
        worlds: The procedure on either data set; called with an answer to its sums.
        claim: What it promises.
        runs: As for ``audit_learner``.
        beta: As for ``audit_learner``.
        draw: As for ``audit_learner``.
        progress: As for ``audit_learner``.
    """
    checked_beta(beta)
    times = count("runs", runs, at_least=_FEWEST_RUNS)
    without, present = _arms(worlds, times, draw or _genuine, progress or _silent)
    paths = without + present
    # In the first world Λ is the other's density over its own, in the second the other way round.
    scores = [path.ratio for path in without], [-path.ratio for path in present]
    furthest = max(paths, key=lambda path: path.spent)
    noise = furthest.shifts[0].noise
    steady = furthest.spent - min(path.spent for path in paths) <= _VARIES * furthest.spent
    analytic = furthest.epsilon(claim.delta)
    is_gaussian = isinstance(noise, Gaussian)
    mu = math.sqrt(furthest.spent) if is_gaussian else _equivalent_mu(analytic, claim.delta)
    rule: dict[str, Any] = {
        "delta": claim.delta,
        "beta": beta,
        "threshold": SeparateRuns(share=SHARE),
        "relation": claim.relation,
    }
    return TranscriptAudit(
        claim=claim,
        mechanism=noise.name,
        looks=sum(len(part.l2) for part in furthest.shifts),
        tightness=max(part.tightness for path in paths for part in path.shifts),
        analytic=analytic,
        exact=steady and (is_gaussian or claim.delta == 0),
        mu=mu if is_gaussian else None,
        sealed=all(path.sealed for path in paths),
        measured=many_runs(*scores, **rule),
        conditional=many_runs(*scores, **rule, reading=GDP) if is_gaussian else None,
        runs=times,
        needed=(
            runs_to_refute(2 * mu, claim, beta=beta, counted=1 - SHARE),
            runs_to_refute(4 * mu, claim, beta=beta, counted=1 - SHARE),
        ),
    )


def transcript(watched: Watched, answer: NoiseFunction) -> Transcript:
    """Every look of one fit, each answered by ``answer``."""
    looks: list[Look] = []

    def look(noise: AdditiveMechanism, value: Floats) -> Floats:
        given = answer(noise, value)
        looks.append(Look(noise, np.array(value).ravel(), np.array(given).ravel()))
        return given

    model = watched(look)
    return Transcript(looks, model)


def replayed(watched: Watched, answers: Sequence[Look]) -> Transcript:
    """The looks of a fit that gets the answers of another one."""
    left = iter(answers)

    def again(noise: AdditiveMechanism, value: Floats) -> Floats:
        drawn = next(left, None)
        if drawn is None or drawn.noise != noise or drawn.answer.size != value.size:
            raise InputError(_OTHER_SUMS)
        return drawn.answer.reshape(np.shape(value)).copy()

    found = transcript(watched, again)
    if next(left, None) is not None:
        raise InputError(_OTHER_SUMS)
    return found


_OTHER_SUMS: Final = (
    "sums must be as many, as large and as noisy in both worlds after the same answers, got others:"
    " which sums there are is public"
)


def path(own: Watched, other: Watched, draw: NoiseFunction) -> Path:
    """One run: a transcript drawn in its own world, and the other world's sums beside it."""
    drawn = transcript(own, draw)
    beside = replayed(other, drawn.looks)
    ratio, shifts = 0.0, []
    for places in _of_one_noise(drawn.looks):
        noise = drawn.looks[places[0]].noise
        here = np.stack([drawn.looks[place].value for place in places])
        there = np.stack([beside.looks[place].value for place in places])
        answers = np.stack([drawn.looks[place].answer for place in places])
        densities = [noise.log_density(answers - sums) for sums in (here, there)]
        ratio += float((densities[1] - densities[0]).sum())
        moved = there - here
        shifts.append(Shifts(noise, np.abs(moved).sum(axis=1), np.linalg.norm(moved, axis=1)))
    return Path(ratio, shifts, sealed=drawn.model.tobytes() == beside.model.tobytes())


def _of_one_noise(looks: list[Look]) -> list[list[int]]:
    """A hundred gradients share noise and size: the density of a hundred rows is soon computed."""
    places: dict[tuple[int, int], list[int]] = {}
    for place, look in enumerate(looks):
        places.setdefault((id(look.noise), look.value.size), []).append(place)
    return list(places.values())


def _arms(
    worlds: tuple[Watched, Watched], runs: int, draw: NoiseFunction, tell: Progress
) -> tuple[list[Path], list[Path]]:
    """Runs in either world, in turns."""
    found: tuple[list[Path], list[Path]] = ([], [])
    for run in range(1, runs + 1):
        for arm, (own, other) in zip(found, (worlds, worlds[::-1]), strict=True):
            arm.append(path(own, other, draw))
        tell(run, runs)
    return found


def _genuine(noise: AdditiveMechanism, value: Floats) -> Floats:
    return noise.release(value)


def _silent(_done: int, _all: int) -> None:
    pass


def _equivalent_mu(epsilon: float, delta: float) -> float:
    """Of the Gaussian pair of the same ε, for the power of runs with other noise."""
    return gaussian.shift(max(epsilon, 1e-6), max(delta, 1e-5))
