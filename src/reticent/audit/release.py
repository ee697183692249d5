"""The exact audit of a released head: two neighbouring data sets, and what their releases tell.

Whoever holds the data can solve the head on a neighbour exactly (``neighbours``), so both worlds
of a release are known: w₀ + noise and w₁ + noise. Two figures follow. The *analytic* one is the ε
of this pair under the noise that the certificate names: it checks the theorem, not the code. The
*measured* one draws the real release many times in both worlds and bounds ε from the errors of the
likelihood-ratio test, for every mechanism (Clopper–Pearson): it checks the code.

A claim about persons is about all rows of one of them, so it is given ``persons``, whose each row
is; the neighbours then differ by one person (``person_pairs``). Where each kept one row, every row
that was fitted on is a person.

A claim graded *sampled* is about most pairs, so neither figure refutes it: fresh pairs from the
population do (``reticent.audit.sampled``).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from reticent.arrays import Floats
from reticent.attacks.released_weights import convex_head_of, noise_of
from reticent.audit.lower_bound import checked_beta
from reticent.audit.neighbouring import refuse_other_claim
from reticent.audit.pairs import Draw, WorstPair, audit_pair, pair_epsilon, runs_for_half
from reticent.audit.person_pairs import (
    Changed,
    changed_by_persons,
    changed_by_records,
    rows_of_units,
)
from reticent.audit.release_audit import ReleaseAudit
from reticent.audit.sampled import PairNorms, SampledAudit, audit_sampled
from reticent.guarantee import Guarantee, Relation
from reticent.mechanisms import AdditiveMechanism
from reticent.neighbours import LeaveOneOut
from reticent.protect import Release
from reticent.validation import InputError, count, float_rows

MOST_RUNS: Final = 200_000
MOST_NUMBERS: Final = 200_000_000
"""Numbers drawn in one world, a few seconds' work; runs are fewer where heads are large."""
_USUAL_RUNS: Final = 20_000
"""Where no affordable number finds halved noise."""


def audit_release(  # noqa: PLR0913 - a release, its data, and how hard to look
    released: Release,
    X: ArrayLike,
    y: ArrayLike,
    *,
    draw: Draw | None = None,
    beta: float = 0.05,
    runs: int | None = None,
    candidates: int = 32,
    class_weight: Mapping[Any, float] | None = None,
    fresh: PairNorms | None = None,
    persons: ArrayLike | None = None,
) -> ReleaseAudit:
    """Audit what a released softmax head claims, on the data that it was trained on.

    Args:
        released: The release with its guarantee.
        X: Its records, as they were before the head's own map.
        y: Their labels.
        draw: The code under audit: a vector in, a noisy vector out, fresh noise each time. By
            default the mechanism of the certificate.
        beta: The probability with which the measured bound may be wrong.
        runs: Releases in each world; by default as many as finding halved noise with power 0.95
            needs, at most 200,000; 20,000 where more were needed.
        candidates: How many records (or persons) are removed, and how many built, in search of
            the worst pair.
        class_weight: The public weights of classes, where the head was fitted with some.
        fresh: i.i.d. pairs from the population, for a claim graded sampled: nothing else can
            refute it.
        persons: Whose each row is, whole numbers or texts; needed where the claim is about one
            person with at most k records, k > 1; none of them may have more than k rows here. A
            claim about one record takes none.
    """
    checked_beta(beta)
    noise = noise_of(released)
    most = _fresh_pairs(released.guarantee, noise, fresh, beta)
    pair = worst_pair(
        released, X, y, candidates=candidates, class_weight=class_weight, persons=persons
    )
    if runs is None:
        runs = _usual_runs(pair, runs_for_half(noise, pair, released.guarantee, beta))
    found = audit_pair(noise, pair, released.guarantee, draw=draw, beta=beta, runs=runs)
    return replace(found, fresh=most)


def _usual_runs(pair: WorstPair, needed: int | None) -> int:
    """As many as finding halved noise needs, where that can be afforded."""
    affordable = min(MOST_RUNS, MOST_NUMBERS // pair.absent.size)
    return min(_USUAL_RUNS, affordable) if needed is None or needed > affordable else needed


def _fresh_pairs(
    claim: Guarantee, noise: AdditiveMechanism, fresh: PairNorms | None, beta: float
) -> SampledAudit | None:
    if fresh is None:
        return None
    return audit_sampled(claim, noise, fresh, beta=beta)


def worst_pair(
    released: Release,
    X: ArrayLike,
    y: ArrayLike,
    *,
    candidates: int = 32,
    class_weight: Mapping[Any, float] | None = None,
    persons: ArrayLike | None = None,
) -> WorstPair:
    """The neighbours furthest apart: removed by influence, and built, as the claim's unit says."""
    each, most = released.terms.max_records_per_person, count("candidates", candidates)
    refuse_other_claim(released)
    _refuse_other_tables(released, X, y)
    groups = rows_of_units(persons, len(np.asarray(y)), each)
    head = convex_head_of(released, class_weight).fit(X, y)
    solver = LeaveOneOut(head, X, y)
    if each is not None and each > 1:
        found = changed_by_persons(solver, groups, most, copies=each)
    else:
        found = changed_by_records(solver, most, owned=each is not None)
    noise, full = noise_of(released), solver.coordinates.ravel()
    replaced = released.guarantee.relation is Relation.REPLACE_ONE
    pairs = [_furthest(changes, full, replaced) for changes in found]
    return max(pairs, key=lambda pair: pair_epsilon(noise, pair, released.guarantee.delta))


def _refuse_other_tables(released: Release, X: ArrayLike, y: ArrayLike) -> None:
    """Another table is another claim's."""
    if len(np.asarray(y)) == 0:
        raise InputError("X must hold a record to audit a release on, got none")
    wide = float_rows("X", X).shape[1]
    if wide != released.features:
        raise InputError(f"X must have the {released.features} features of the release, got {wide}")


def _furthest(changes: Changed, full: Floats, replaced: bool) -> WorstPair:
    """One neighbour and the full head; under replace-one, two neighbours of equal size."""
    moved = changes.moved
    if not replaced:
        furthest = int(np.linalg.norm(moved, axis=1).argmax())
        kind = f"{changes.done}, and {changes.undone}"
        return WorstPair(absent=full, present=full + moved[furthest], kind=kind)
    squares = (moved**2).sum(axis=1)
    distances = squares[:, None] + squares[None, :] - 2 * moved @ moved.T
    equal = changes.sizes[:, None] == changes.sizes[None, :]
    furthest = int(np.where(equal, distances, -np.inf).argmax())
    one, other = np.unravel_index(furthest, distances.shape)
    kind = f"{changes.done}, and {changes.instead}"
    return WorstPair(absent=full + moved[one], present=full + moved[other], kind=kind)
