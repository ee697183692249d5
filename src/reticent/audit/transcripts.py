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
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from reticent.arrays import ArrayLike, Floats, Progress
from reticent.audit import error_counts, lower_bound, pairs
from reticent.audit.many_runs import SeparateRuns, many_runs, runs_to_refute
from reticent.audit.release_audit import TranscriptAudit
from reticent.audit.same_places import row_keys
from reticent.audit.transcript_replay import PairedRun, run_pair
from reticent.guarantee import Guarantee
from reticent.mechanisms import AdditiveMechanism, Gaussian
from reticent.mechanisms.profiles import gaussian
from reticent.mechanisms.response import RandomisedResponse
from reticent.protect import estimators, noise_scales, noisy_query, release
from reticent.protect.learner import Learner, Prepared
from reticent.protect.recipe import Replay, replay
from reticent.training.records import indices_of
from reticent.validation import InputError, count, describe, float_rows

World = tuple[ArrayLike, ArrayLike]
"""Rows and labels (or targets)."""

SHARE: Final = 0.2
"""Of the runs, for choosing the threshold."""
_FEWEST_RUNS: Final = 10
_VARIES: Final = 1e-6
"""Relative: transcripts whose distances differ by less were not steered by their answers."""


def audit_learner(  # noqa: PLR0913 - a learner, two worlds, and how hard to look
    learner: Learner | estimators.AdaSSPRegressor,
    one_world: World,
    other_world: World,
    *,
    runs: int = 1_000,
    beta: float = 0.05,
    draw: noisy_query.NoiseFunction | None = None,
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
    >>> audit_learner(learner, without, with_it, runs=80, beta=1e-6).verdict
    'not refuted'
    """
    if not isinstance(learner, (Learner, estimators.AdaSSPRegressor)):
        raise InputError(f"learner must be one with the noise inside, got {describe(learner)}")
    worlds = learner.prepared(*one_world), learner.prepared(*other_world)
    return audit_prepared(worlds, runs=runs, beta=beta, draw=draw, progress=progress)


def audit_release_queries(
    released: release.Release, one_world: World, other_world: World, **options: Any
) -> TranscriptAudit:
    """Try to refute what a release claims, by all its noisy queries on two neighbouring data sets.

    Args:
        released: Its recipe is run again in either world, with noise of the released scales.
        one_world: Rows and labels (or targets), as the release was fitted on.
        other_world: A neighbour under the release's relation.
        **options: As for ``audit_transcripts``: runs, beta, draw, progress.
    """
    pairs.refuse_other_claim(released)
    worlds = _prepared(released, one_world), _prepared(released, other_world)
    return audit_prepared(worlds, claim=released.guarantee, scales=released.scales, **options)


def _prepared(released: release.Release, world: World) -> Prepared:
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
    plan = (
        noise_scales.noise_plan(recipe, terms)
        if scales is None
        else noise_scales.with_scales(recipe, scales, terms)
    )
    pairs.refuse_others(
        (one.rows, one.labels), (other.rows, other.labels), terms.relation, terms.records_touched
    )
    replays = tuple(replay(recipe, plan, world.rows, world.labels) for world in worlds)
    promised = release.claim_of(recipe, terms, plan) if claim is None else claim
    own_rows = _rows_of_one_world(one, other), _rows_of_one_world(other, one)
    return audit_transcripts((replays[0], replays[1]), promised, own_rows=own_rows, **options)


def audit_transcripts(  # noqa: PLR0913 - as above
    worlds: tuple[Replay, Replay],
    claim: Guarantee,
    *,
    runs: int = 1_000,
    beta: float = 0.05,
    draw: noisy_query.NoiseFunction | None = None,
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
    lower_bound.checked_beta(beta)
    times = count("runs", runs, at_least=_FEWEST_RUNS)
    without, present = _arms(worlds, times, draw or _genuine, progress or _silent, own_rows)
    paths = without + present
    # In the first world Λ is the other's density over its own, in the second the other way round.
    scores = [path.ratio for path in without], [-path.ratio for path in present]
    furthest = max(paths, key=lambda path: path.spent)
    noise = furthest.shifts[0].noise
    steady = furthest.spent - min(path.spent for path in paths) <= _VARIES * furthest.spent
    analytic = furthest.epsilon(claim.relation, claim.delta)
    is_gaussian = all(isinstance(part.noise, Gaussian) for part in furthest.shifts)
    # A label that comes or goes is counted as one that changes, which is further.
    responds = any(isinstance(part.noise, RandomisedResponse) for part in furthest.shifts)
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
        exact=steady and (is_gaussian or (claim.delta == 0 and not responds)),
        mu=mu if is_gaussian else None,
        sealed=all(path.sealed for path in paths),
        measured=many_runs(*scores, **rule),
        conditional=many_runs(*scores, **rule, reading=error_counts.GDP) if is_gaussian else None,
        runs=times,
        needed=(
            runs_to_refute(2 * mu, claim, beta=beta, counted=1 - SHARE),
            runs_to_refute(4 * mu, claim, beta=beta, counted=1 - SHARE),
        ),
    )


def _rows_of_one_world(one: Prepared, other: Prepared) -> frozenset[bytes]:
    """The records that the other world has fewer of."""
    here, there = (Counter(row_keys(world.rows, world.labels)) for world in (one, other))
    return frozenset(here - there)


def _arms(
    worlds: tuple[Replay, Replay],
    runs: int,
    draw: noisy_query.NoiseFunction,
    progress: Progress,
    own_rows: tuple[frozenset[bytes], frozenset[bytes]],
) -> tuple[list[PairedRun], list[PairedRun]]:
    """Runs in either world, in turns."""
    arms: tuple[list[PairedRun], list[PairedRun]] = ([], [])
    for run in range(1, runs + 1):
        for arm, (own, other), rows in zip(arms, (worlds, worlds[::-1]), own_rows, strict=True):
            arm.append(run_pair(own, other, draw, rows))
        progress(run, runs)
    return arms


def _genuine(noise: AdditiveMechanism, value: Floats) -> Floats:
    return noise.release(value)


def _silent(_done: int, _all: int) -> None:
    pass


def _equivalent_mu(epsilon: float, delta: float) -> float:
    """Of the Gaussian pair of the same ε, for the power of runs with other noise."""
    return gaussian.shift(max(epsilon, 1e-6), max(delta, 1e-5))
