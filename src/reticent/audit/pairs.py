"""Two vectors that neighbours lead to, and noise on either: the same two figures as for a release.

``audit_release`` looks for the worst pair of a released head. Here the pair is given: whoever
claims a sensitivity has made a claim about every pair, and one that is known is enough.

Data sets that are no neighbours are refused: an audit of them would refute what nobody claimed. A
claim about one person with at most k records is about data with and without all of that person's
rows, or, under replace-one, about as many rows of another person in their place (theory F.4). With
one record each every row that was kept is a person, and nothing need say whose it is.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from reticent.arrays import ArrayLike, Floats, Integers
from reticent.attacks.released_weights import InfluenceMap, Worlds
from reticent.audit import lower_bound, release_audit
from reticent.audit.many_runs import SeparateRuns, many_runs, runs_to_refute
from reticent.data.dataset import persons_array
from reticent.guarantee import Guarantee, Relation
from reticent.mechanisms import AdditiveMechanism, Gaussian
from reticent.mechanisms.profiles import gaussian
from reticent.neighbours import Differences, LeaveOneOut, search
from reticent.protect import Release
from reticent.protect.terms import records_touched, unit_of
from reticent.validation import InputError, count, float_rows

Draw = Callable[[Floats], Floats]
"""One release of a vector: the code under audit."""

_SHARE: Final = 0.2
"""Of the runs, for choosing the threshold."""
_BLOCK: Final = 1 << 21
"""Numbers drawn at a time."""


@dataclass(frozen=True, kw_only=True)
class WorstPair:
    """Two neighbouring data sets' heads as they are noised, the furthest apart that was found."""

    absent: Floats
    present: Floats
    kind: str

    @property
    def l1(self) -> float:
        """The L1 distance of what the two worlds release."""
        return float(np.abs(self.present - self.absent).sum())

    @property
    def l2(self) -> float:
        """The L2 distance of what the two worlds release."""
        return float(np.linalg.norm(self.present - self.absent))


def audit_pair(
    noise: AdditiveMechanism,
    pair: WorstPair,
    claim: Guarantee,
    *,
    draw: Draw | None = None,
    beta: float = 0.05,
    runs: int = 20_000,
) -> release_audit.ReleaseAudit:
    """Audit what noise on a vector claims, on the vectors of two neighbouring data sets.

    Args:
        noise: The noise, with the sensitivity that was claimed.
        pair: Both vectors.
        claim: What is promised.
        draw: The code under audit; by default the release of ``noise``.
        beta: The probability with which the measured bound may be wrong.
        runs: Releases of each vector.

    >>> import numpy as np
    >>> from reticent import Sensitivity
    >>> noise = Gaussian.calibrate(Sensitivity(l2=1.0), epsilon=1.0, delta=1e-5)
    >>> twice = WorstPair(absent=np.zeros(2), present=np.array([2.0, 0.0]), kind="twice as far")
    >>> audit = audit_pair(noise, twice, noise.guarantee(delta=1e-5), runs=100)
    >>> audit.verdict, round(audit.tightness, 6), round(audit.analytic, 2)
    ('refuted', 2.0, 2.15)
    """
    lower_bound.checked_beta(beta)
    times = count("runs", runs, at_least=10)
    needed = runs_for_half(noise, pair, claim, beta)
    worlds = Worlds(absent=pair.absent, present=pair.present, noise=noise)
    without, with_it = (
        drawn_ratios(worlds, start, times, draw) for start in (pair.absent, pair.present)
    )
    return release_audit.ReleaseAudit(
        claim=claim,
        mechanism=noise.name,
        pair=pair.kind,
        tightness=tightness_of(noise, pair),
        analytic=pair_epsilon(noise, pair, claim.delta),
        exact=isinstance(noise, Gaussian) or claim.delta == 0,
        measured=many_runs(
            without,
            with_it,
            delta=claim.delta,
            beta=beta,
            threshold=SeparateRuns(share=_SHARE),
            relation=claim.relation,
        ),
        runs=times,
        finds_half=needed is not None and times >= needed,
    )


def pair_epsilon(noise: AdditiveMechanism, pair: WorstPair, delta: float) -> float:
    """The ε of one pair of worlds at δ: exact for Gaussian noise and at δ = 0, else at most."""
    sizes = {"l1": np.array([pair.l1]), "l2": np.array([pair.l2])}
    known = np.zeros(1, dtype=bool)
    return float(InfluenceMap(noise=noise, known=known, **sizes).epsilon(delta=delta)[0])


def tightness_of(noise: AdditiveMechanism, pair: WorstPair) -> float:
    """The distance over the claimed sensitivity: the larger ratio of the norms that count."""
    claimed = noise.sensitivity
    if noise.norm == "l2" or claimed.l1 is None:
        return pair.l2 / float(claimed.l2 or np.nan)
    return max(pair.l1 / claimed.l1, pair.l2 / (claimed.l2 or np.inf))


def drawn_ratios(worlds: Worlds, start: Floats, runs: int, draw: Draw | None) -> Floats:
    """The log likelihood ratio of each of many real releases of one world."""
    single = draw or worlds.noise.release
    # Additive noise is independent from entry to entry, but for L2-Laplace and for code unknown.
    stacked = draw is None and not worlds.noise.is_joint
    block = max(_BLOCK // start.size, 1)
    ratios = []
    for first in range(0, runs, block):
        times = min(block, runs - first)
        if stacked:
            rows = worlds.noise.release(np.tile(start, times)).reshape(times, -1)
        else:
            rows = np.stack([single(start) for _ in range(times)])
        ratios.append(worlds.ratios(rows))
    return np.concatenate(ratios)


def runs_for_half(
    noise: AdditiveMechanism, pair: WorstPair, claim: Guarantee, beta: float
) -> int | None:
    """Runs in each world after which half the noise would be refuted with power 0.95.

    For Gaussian noise, where the test's error rates are known; other noise takes the Gaussian pair
    of the same ε. None stands for more than a million.
    """
    mu = 2 * _equivalent_mu(noise, pair, claim.delta)
    return runs_to_refute(mu, claim, beta=beta, counted=1 - _SHARE)


def _equivalent_mu(noise: AdditiveMechanism, pair: WorstPair, delta: float) -> float:
    if isinstance(noise, Gaussian):
        return pair.l2 / noise.scale
    return gaussian.shift(max(pair_epsilon(noise, pair, delta), 1e-6), max(delta, 1e-5))


World = tuple[ArrayLike, ArrayLike]
"""Rows and labels (or targets)."""


def refuse_others(
    one: World, other: World, relation: Relation, max_records_per_person: int = 1
) -> None:
    """Refuse two data sets that differ by more than one person's records, in whatever order.

    >>> refuse_others(([[1.0]], [0]), ([[1.0], [2.0]], [0, 1]), Relation.ADD_REMOVE)
    """
    mine, theirs = _records(one), _records(other)
    only = (mine - theirs).total(), (theirs - mine).total()
    if relation is Relation.REPLACE_ONE:
        fits = only[0] == only[1] <= max_records_per_person
    else:
        fits = min(only) == 0 and max(only) <= max_records_per_person
    if not fits or max(only) == 0:
        raise InputError(
            f"worlds must differ by {max_records_per_person} record(s) at most and one at least,"
            f" neighbours: {relation}; got {only[0]} records of the first that the second lacks,"
            f" {only[1]} the other way round"
        )


def refuse_other_claim(released: Release) -> None:
    """Refuse a release whose guarantee is about other neighbours than its terms.

    Its noise and its neighbours follow from the terms, so the audit would be of another claim.
    """
    terms, claim = released.terms, released.guarantee
    if claim.unit != terms.unit:
        raise InputError(f"unit must be that of the terms, {terms.unit}, got {claim.unit}")
    if claim.relation is not terms.relation:
        raise InputError(
            f"relation must be that of the terms, {terms.relation}, got {claim.relation}"
        )


def _records(world: World) -> Counter[bytes]:
    rows, labels = float_rows("world", world[0]), np.asarray(world[1])
    if len(rows) != len(labels):
        raise InputError(f"world must have a label for each of {len(rows)} rows, got {len(labels)}")
    return Counter(
        row.tobytes() + repr(label).encode()
        for row, label in zip(rows, labels.tolist(), strict=True)
    )


class Changed(NamedTuple):
    """Heads that one change each leads to, less the full head's coordinates: changes × p."""

    done: str
    undone: str
    instead: str
    moved: Floats
    sizes: Integers
    """The records that each change adds or leaves out."""

    @classmethod
    def of(cls, heads: Differences, sizes: Integers, words: tuple[str, str, str]) -> "Changed":
        """By what was done, how it reads undone, and what stands instead under replace-one."""
        done, undone, instead = words
        moved = heads.coordinates.reshape(len(heads), -1)
        return cls(done=done, undone=undone, instead=instead, moved=moved, sizes=sizes)


def rows_of_units(
    persons: ArrayLike | None, records: int, max_records_per_person: int | None
) -> list[Integers]:
    """The rows of each unit of a claim: of each person, or every row by itself.

    Refused where they are not those that the claim is about.
    """
    unit, most_rows = unit_of(max_records_per_person), records_touched(max_records_per_person)
    if max_records_per_person is None and persons is not None:
        raise InputError(f"persons must not be given: the claim is about {unit}, whoever owns it")
    if persons is None and most_rows > 1:
        raise InputError(f"persons must be given, one for each row: the claim is about {unit}")
    named = np.arange(records) if persons is None else persons_array(persons, records)
    order = np.argsort(named, kind="stable")
    starts = np.flatnonzero(named[order][1:] != named[order][:-1]) + 1
    groups = np.split(order, starts)
    most = max(len(group) for group in groups)
    if most == 0:
        raise InputError("persons must be at least one, got none")
    if most > most_rows:
        raise InputError(
            f"persons must have at most {most_rows} of the rows each, as the claim says, got"
            f" {most}: give the rows that were fitted on"
        )
    return groups


def changed_by_records(solver: LeaveOneOut, most: int, *, owned: bool) -> list[Changed]:
    """Removed records by influence, and records that are built; ``owned`` by a person each."""
    removed, built = search.most_influential(solver, most), search.worst_built(solver, most)
    record, instead = "a record", "another in its place"
    if owned:
        record, instead = "the one record of a person", "another's in its place"
    added = f"with {record} built within the bound"
    return [
        Changed.of(removed, _all(removed, 1), (f"without {record}", "with it", instead)),
        Changed.of(built, _all(built, 1), (added, "without it", instead)),
    ]


def changed_by_persons(
    solver: LeaveOneOut, groups: list[Integers], most: int, *, copies: int
) -> list[Changed]:
    """Removed persons by influence, and persons who own equal copies of a built record."""
    chosen, removed = search.most_influential_groups(solver, groups, most)
    built = search.worst_built(solver, most, copies=copies)
    sizes = np.array([len(groups[place]) for place in chosen], dtype=np.int64)
    instead = "another's in their place"
    owned = f"with {copies} equal records of a person built within the bound"
    return [
        Changed.of(removed, sizes, ("without all records of a person", "with them", instead)),
        Changed.of(built, _all(built, copies), (owned, "without them", instead)),
    ]


def _all(heads: Differences, records: int) -> Integers:
    return np.full(len(heads), records, dtype=np.int64)
