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

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from reticent.arrays import Array, ArrayLike, Floats, Integers, Progress
from reticent.audit.error_counts import GDP
from reticent.audit.lower_bound import checked_beta
from reticent.audit.many_runs import SeparateRuns, many_runs, runs_to_refute
from reticent.audit.pairs import refuse_other_claim, refuse_others
from reticent.audit.release_audit import TranscriptAudit
from reticent.guarantee import Guarantee, Relation
from reticent.mechanisms import AdditiveMechanism, Gaussian
from reticent.mechanisms.profiles import gaussian
from reticent.protect.estimators import AdaSSPRegressor
from reticent.protect.learner import Learner, Prepared
from reticent.protect.noise_scales import composed_epsilon_of, noise_plan, with_scales
from reticent.protect.noisy_query import (
    FixedSize,
    NoiseFunction,
    Replayed,
    Sampler,
    everyone,
    sample_number,
    sampling_rate,
    settled,
    with_sampler,
)
from reticent.protect.recipe import Replay, replay
from reticent.protect.release import Release, claim_of
from reticent.randomness import secret_sample
from reticent.training.records import indices_of
from reticent.validation import InputError, count, describe, float_rows

World = tuple[ArrayLike, ArrayLike]
"""Rows and labels (or targets)."""

SHARE: Final = 0.2
"""Of the runs, for choosing the threshold."""
_FEWEST_RUNS: Final = 10
_VARIES: Final = 1e-6
"""Relative: transcripts whose distances differ by less were not steered by their answers."""


class NoisyQuery(NamedTuple):
    """One sum over the records, the noise it is due, and what was answered."""

    noise: AdditiveMechanism
    value: Floats
    answer: Floats
    rate: float = 1.0
    """Of the sample that the sum was over."""
    sample: int = 0
    """The number of that sample: queries of one number saw the same records."""


class Transcript(NamedTuple):
    """The noisy queries of one fit in order, and the model that came of the answers."""

    queries: list[NoisyQuery]
    model: Floats


class Shifts(NamedTuple):
    """How far sums of one noise are from those of the other world, a number each."""

    noise: AdditiveMechanism
    norms: dict[str, Floats]
    """As the noise measures them."""
    rate: float = 1.0
    samples: tuple[int, ...] = ()
    """The sample of each, where they are of samples."""

    @property
    def distances(self) -> Floats:
        """In the norm that the noise is calibrated to."""
        return self.norms[self.noise.norm]

    @property
    def spent(self) -> float:
        """Σ(distance/scale)² for Gaussian noise, else Σ distance/scale; of samples, by their rate.

        A record that is there with probability q moves the mean of a sum by q times its distance.
        """
        shifts = self.rate * self.distances / self.noise.scale
        return float((shifts**2).sum() if isinstance(self.noise, Gaussian) else shifts.sum())

    @property
    def tightness(self) -> float:
        """The largest share of the claimed sensitivity."""
        return float(self.distances.max()) / self.noise.bound

    def noises(self) -> Iterator[tuple[AdditiveMechanism, int]]:
        """The same noise on sums that a record moves so far, each with its sample."""
        samples = self.samples or tuple(range(len(self.distances)))
        for place in np.flatnonzero(self.distances > 0):
            norms = {name: float(lengths[place]) for name, lengths in self.norms.items()}
            yield self.noise.at_distance(**norms), samples[place]


class PairedRun(NamedTuple):
    """What one run told: Λ, how far the worlds were apart on the way, whether models agree."""

    ratio: float
    """The log density of the answers in the other world over that in their own."""
    shifts: list[Shifts]
    sealed: bool

    @property
    def spent(self) -> float:
        """What all noisy queries of the run spent together."""
        return sum(part.spent for part in self.shifts)

    def epsilon(self, relation: Relation, delta: float) -> float:
        """The ε at δ of noisy sums at these distances; rounded up."""
        moved = [(one, part.rate, at) for part in self.shifts for one, at in part.noises()]
        if not moved:
            return 0.0
        noises, rates, samples = map(list, zip(*moved, strict=True))
        return composed_epsilon_of(
            noises, relation=relation, delta=delta, rates=rates, samples=samples
        )


def audit_learner(  # noqa: PLR0913 - a learner, two worlds, and how hard to look
    learner: Learner | AdaSSPRegressor,
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
        learner: An estimator of ``reticent.protect``; it is not changed, nothing is charged.
        one_world: Rows and labels (or targets).
        other_world: A neighbour under the learner's relation.
        runs: Transcripts drawn in each world.
        beta: The probability with which the measured bound may be wrong.
        draw: The code under audit: called with the noise that a sum is due and the sum, returns
            the noisy sum. By default the mechanism's own release.
        progress: Called with the runs done and in all.

    >>> from reticent.protect import ClassMeansHead
    >>> learner = ClassMeansHead(
    ...     classes=range(2), records=4, epsilon=1.0, delta=1e-5, relation="add-remove"
    ... )
    >>> with_it, without = ([[1.0, 0.0]], [0]), (np.zeros((0, 2)), [])
    >>> audit_learner(learner, without, with_it, runs=50).verdict
    'not refuted'
    """
    if not isinstance(learner, (Learner, AdaSSPRegressor)):
        raise InputError(f"learner must be one with the noise inside, got {describe(learner)}")
    worlds = learner.prepared(*one_world), learner.prepared(*other_world)
    return audit_prepared(worlds, runs=runs, beta=beta, draw=draw, progress=progress)


def audit_release_queries(
    released: Release, one_world: World, other_world: World, **options: Any
) -> TranscriptAudit:
    """Try to refute what a release claims, by all its noisy queries on two neighbouring data sets.

    Args:
        released: Its recipe is run again in either world, with noise of the released scales.
        one_world: Rows and labels (or targets), as the release was fitted on.
        other_world: A neighbour under the release's relation.
        **options: As for ``audit_transcripts``: runs, beta, draw, progress.
    """
    refuse_other_claim(released)
    worlds = _prepared(released, one_world), _prepared(released, other_world)
    return audit_prepared(worlds, claim=released.guarantee, scales=released.scales, **options)


def _prepared(released: Release, world: World) -> Prepared:
    rows, labels = float_rows("world", world[0]), np.asarray(world[1])
    if released.recipe.task == "classification" and labels.ndim == 1:  # several labels: a matrix
        labels = indices_of(labels, released.classes_)
    return Prepared(
        recipe=released.recipe,
        terms=released.terms,
        rows=rows,
        labels=labels,
        classes=released.classes_,
    )


def audit_prepared(
    worlds: tuple[Prepared, Prepared],
    *,
    claim: Guarantee | None = None,
    scales: Mapping[str, float] | None = None,
    **options: Any,
) -> TranscriptAudit:
    """The same for any recipe on two neighbouring data sets; nothing is charged.

    Args:
        worlds: One recipe under the same terms, on the records of either world.
        claim: What is tried, by default what the recipe's plan would promise, declared.
        scales: Of the noise, by default those that the recipe plans for its terms.
        **options: As for ``audit_transcripts``: runs, beta, draw, progress.
    """
    one, other = worlds
    recipe, terms = one.recipe, one.terms
    if (other.recipe, other.terms) != (recipe, terms):
        raise InputError("worlds must have one recipe and the same terms, got two")
    plan = noise_plan(recipe, terms) if scales is None else with_scales(recipe, scales, terms)
    refuse_others(
        (one.rows, one.labels), (other.rows, other.labels), terms.relation, terms.records_touched
    )
    replays = tuple(replay(recipe, plan, world.rows, world.labels) for world in worlds)
    promised = claim_of(recipe, terms, plan) if claim is None else claim
    own_rows = _rows_of_one_world(one, other), _rows_of_one_world(other, one)
    return audit_transcripts((replays[0], replays[1]), promised, own_rows=own_rows, **options)


def audit_transcripts(  # noqa: PLR0913 - as above
    worlds: tuple[Replay, Replay],
    claim: Guarantee,
    *,
    runs: int = 1_000,
    beta: float = 0.05,
    draw: NoiseFunction | None = None,
    progress: Progress | None = None,
    own_rows: tuple[frozenset[bytes], frozenset[bytes]] = (frozenset(), frozenset()),
) -> TranscriptAudit:
    """The same for any procedure whose every look at the records is a noisy sum.

    Args:
        worlds: The procedure on either data set; called with an answer to its sums.
        claim: What it promises.
        runs: As for ``audit_learner``.
        beta: As for ``audit_learner``.
        draw: As for ``audit_learner``.
        progress: As for ``audit_learner``.
        own_rows: The records that one world has alone (``row_keys``), where sums are of samples.
    """
    checked_beta(beta)
    times = count("runs", runs, at_least=_FEWEST_RUNS)
    without, present = _arms(worlds, times, draw or _genuine, progress or _silent, own_rows)
    paths = without + present
    # In the first world Λ is the other's density over its own, in the second the other way round.
    scores = [path.ratio for path in without], [-path.ratio for path in present]
    furthest = max(paths, key=lambda path: path.spent)
    noise = furthest.shifts[0].noise
    steady = furthest.spent - min(path.spent for path in paths) <= _VARIES * furthest.spent
    analytic = furthest.epsilon(claim.relation, claim.delta)
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
        queries=sum(len(part.distances) for part in furthest.shifts),
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


def transcript(recipe: Replay, answer: NoiseFunction) -> Transcript:
    """Every noisy query of one fit, each answered by ``answer``."""
    queries: list[NoisyQuery] = []

    def recorded(noise: AdditiveMechanism, value: Floats) -> Floats:
        exact, given = settled(value, answer(noise, value))
        drawn = np.array(exact).ravel(), np.array(given).ravel()
        queries.append(NoisyQuery(noise, *drawn, sampling_rate(), sample_number()))
        return given

    model = recipe(recorded)
    return Transcript(queries, model)


def replayed(recipe: Replay, answers: Sequence[NoisyQuery]) -> Transcript:
    """The queries of a fit that gets the answers of another one."""
    left = iter(answers)

    def again(noise: AdditiveMechanism, value: Floats) -> Floats:
        drawn = next(left, None)
        if drawn is None or drawn.noise != noise or drawn.answer.size != value.size:
            raise InputError(_OTHER_SUMS)
        return drawn.answer.reshape(np.shape(value)).copy().view(Replayed)

    queries = transcript(recipe, again)
    if next(left, None) is not None:
        raise InputError(_OTHER_SUMS)
    return queries


_OTHER_SUMS: Final = (
    "sums must be as many, as large and as noisy in both worlds after the same answers, got others:"
    " which sums there are is public"
)


def run_pair(
    own: Replay, other: Replay, draw: NoiseFunction, own_rows: frozenset[bytes] = frozenset()
) -> PairedRun:
    """One run: a transcript drawn in its own world, and the other world's sums beside it.

    Of queries over samples, the record in which the worlds differ takes part by a coin where the
    answers are drawn, and for certain where sums are compared; all others do for certain.
    """
    with with_sampler(_with_coins_for(own_rows)):
        drawn = transcript(own, draw)
    with with_sampler(everyone):
        beside = replayed(other, drawn.queries)
        is_sampled = any(query.rate < 1 for query in drawn.queries)
        whole = replayed(own, drawn.queries) if is_sampled else drawn
    losses, shifts = np.zeros(len(drawn.queries)), []
    for places in _of_one_noise(drawn.queries):
        noise, rate = drawn.queries[places[0]].noise, drawn.queries[places[0]].rate
        here = np.stack([whole.queries[place].value for place in places])
        there = np.stack([beside.queries[place].value for place in places])
        answers = np.stack([drawn.queries[place].answer for place in places])
        losses[places] = noise.log_ratio(answers - here, answers - there)
        samples = tuple(drawn.queries[place].sample for place in places) if rate < 1 else ()
        shifts.append(Shifts(noise, noise.norms(there - here), rate, samples))
    ratio = _ratio(losses, drawn.queries, bool(own_rows))
    return PairedRun(ratio, shifts, sealed=drawn.model.tobytes() == beside.model.tobytes())


def _with_coins_for(own_rows: frozenset[bytes]) -> Sampler:
    """Rows that only this world has take part by a coin, all others for certain."""

    def sampler(rows: Floats, labels: Array, rate: float) -> Integers:
        if isinstance(rate, FixedSize):
            raise InputError(
                "batch must be all records where an audit draws answers of samples of one size, got"
                f" {rate.size} of {rate.population}"
            )
        coins = secret_sample(len(rows), rate) if own_rows else np.arange(len(rows))
        taken = set(coins.tolist())
        keys = row_keys(rows, labels)
        return np.asarray(
            [place for place, key in enumerate(keys) if key not in own_rows or place in taken],
            dtype=np.int64,
        )

    return sampler


def _ratio(losses: Floats, queries: list[NoisyQuery], is_own: bool) -> float:
    """Λ of a transcript: the losses of queries on one sample add up before they are amplified."""
    total = sum(losses[place] for place, one in enumerate(queries) if one.rate == 1)
    by_sample: dict[tuple[int, float], list[float]] = {}
    for loss, query in zip(losses.tolist(), queries, strict=True):
        if query.rate < 1:
            by_sample.setdefault((query.sample, query.rate), []).append(loss)
    for (_, rate), of_sample in by_sample.items():
        total += float(_sampled_losses(np.array([sum(of_sample)]), rate, is_own)[0])
    return float(total)


def _sampled_losses(losses: Floats, rate: float, is_own: bool) -> Floats:
    """ln of the other world's density over the own, of samples that see a record at this rate.

    ``losses`` are those of samples that see it for certain: ln((1 − q) + q·e^ℓ) of the world with
    the record over the world without.
    """
    with_record = -losses if is_own else losses
    amplified: Floats = np.logaddexp(np.log1p(-rate), np.log(rate) + with_record)
    return -amplified if is_own else amplified


def row_keys(rows: Floats, labels: Array) -> list[bytes]:
    """Each record as bytes."""
    return [
        row.tobytes() + np.asarray(label).tobytes() for row, label in zip(rows, labels, strict=True)
    ]


def _rows_of_one_world(one: Prepared, other: Prepared) -> frozenset[bytes]:
    """The records that the other world has fewer of."""
    here, there = (Counter(row_keys(world.rows, world.labels)) for world in (one, other))
    return frozenset(here - there)


def _of_one_noise(queries: list[NoisyQuery]) -> list[list[int]]:
    """A hundred gradients share noise and size: the density of a hundred rows is soon computed."""
    places: dict[tuple[int, int], list[int]] = {}
    for place, query in enumerate(queries):
        places.setdefault((id(query.noise), query.value.size), []).append(place)
    return list(places.values())


def _arms(
    worlds: tuple[Replay, Replay],
    runs: int,
    draw: NoiseFunction,
    tell: Progress,
    own_rows: tuple[frozenset[bytes], frozenset[bytes]],
) -> tuple[list[PairedRun], list[PairedRun]]:
    """Runs in either world, in turns."""
    arms: tuple[list[PairedRun], list[PairedRun]] = ([], [])
    for run in range(1, runs + 1):
        for arm, (own, other), rows in zip(arms, (worlds, worlds[::-1]), own_rows, strict=True):
            arm.append(run_pair(own, other, draw, rows))
        tell(run, runs)
    return arms


def _genuine(noise: AdditiveMechanism, value: Floats) -> Floats:
    return noise.release(value)


def _silent(_done: int, _all: int) -> None:
    pass


def _equivalent_mu(epsilon: float, delta: float) -> float:
    """Of the Gaussian pair of the same ε, for the power of runs with other noise."""
    return gaussian.shift(max(epsilon, 1e-6), max(delta, 1e-5))
