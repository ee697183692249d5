"""The exact audit of a released head: two neighbouring data sets, and what their releases tell.

Whoever holds the data can solve the head on a neighbour exactly (``neighbours``), so both worlds
of a release are known: w₀ + noise and w₁ + noise. Two figures follow. The *analytic* one is the ε
of this pair under the noise that the certificate names: it checks the theorem, not the code. The
*measured* one draws the real release many times in both worlds and bounds ε from the errors of the
likelihood-ratio test, for every mechanism (Clopper–Pearson): it checks the code.

A claim about persons is about all rows of one of them, so it is given ``persons``, whose each row
is; the neighbours then differ by one person (``audit.pairs``). Where each kept one row, every row
that was fitted on is a person.

A claim graded *sampled* is about most pairs, so neither figure refutes it: fresh pairs from the
population do (``reticent.audit.release_audit``).

Of several claims about the same data, β is divided over them. Each of m audits at β may be wrong
with probability β, so that one of 20 true claims may fall in almost two reports of three. At β/m
each, none falls with probability 1 − β (Bonferroni), however the audits depend on each other.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Protocol

import numpy as np

from reticent.arrays import ArrayLike, Floats, Progress
from reticent.attacks.released_weights import convex_head_of, noise_of
from reticent.audit import lower_bound, pairs
from reticent.audit.release_audit import PairNorms, ReleaseAudit, SampledAudit, audit_sampled
from reticent.guarantee import Guarantee, Relation, rounding
from reticent.mechanisms import AdditiveMechanism
from reticent.neighbours import LeaveOneOut
from reticent.parallel import map_tasks
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
    draw: pairs.Draw | None = None,
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
    lower_bound.checked_beta(beta)
    noise = noise_of(released)
    most = _fresh_pairs(released.guarantee, noise, fresh, beta)
    pair = worst_pair(
        released, X, y, candidates=candidates, class_weight=class_weight, persons=persons
    )
    if runs is None:
        runs = usual_runs(pair, pairs.runs_for_half(noise, pair, released.guarantee, beta))
    audit = pairs.audit_pair(noise, pair, released.guarantee, draw=draw, beta=beta, runs=runs)
    return replace(audit, fresh=most)


def usual_runs(pair: pairs.WorstPair, needed: int | None) -> int:
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
) -> pairs.WorstPair:
    """The neighbours furthest apart: removed by influence, and built, as the claim's unit says."""
    each, most = released.terms.max_records_per_person, count("candidates", candidates)
    pairs.refuse_other_claim(released)
    _refuse_other_tables(released, X, y)
    groups = pairs.rows_of_units(persons, len(np.asarray(y)), each)
    head = convex_head_of(released, class_weight).fit(X, y)
    solver = LeaveOneOut(head, X, y)
    if each is not None and each > 1:
        changed = pairs.changed_by_persons(solver, groups, most, copies=each)
    else:
        changed = pairs.changed_by_records(solver, most, owned=each is not None)
    noise, full = noise_of(released), solver.coordinates.ravel()
    replaced = released.guarantee.relation is Relation.REPLACE_ONE
    furthest = [_furthest(changes, full, replaced) for changes in changed]
    return max(furthest, key=lambda pair: pairs.pair_epsilon(noise, pair, released.guarantee.delta))


def _refuse_other_tables(released: Release, X: ArrayLike, y: ArrayLike) -> None:
    """Another table is another claim's."""
    if len(np.asarray(y)) == 0:
        raise InputError("X must hold a record to audit a release on, got none")
    wide = float_rows("X", X).shape[1]
    if wide != released.features:
        raise InputError(f"X must have the {released.features} features of the release, got {wide}")


def _furthest(changes: pairs.Changed, full: Floats, replaced: bool) -> pairs.WorstPair:
    """One neighbour and the full head; under replace-one, two neighbours of equal size."""
    shifts = changes.moved
    if not replaced:
        furthest = int(np.linalg.norm(shifts, axis=1).argmax())
        kind = f"{changes.done}, and {changes.undone}"
        return pairs.WorstPair(absent=full, present=full + shifts[furthest], kind=kind)
    squares = (shifts**2).sum(axis=1)
    distances = squares[:, None] + squares[None, :] - 2 * shifts @ shifts.T
    equal = changes.sizes[:, None] == changes.sizes[None, :]
    furthest = int(np.where(equal, distances, -np.inf).argmax())
    one, other = np.unravel_index(furthest, distances.shape)
    kind = f"{changes.done}, and {changes.instead}"
    return pairs.WorstPair(absent=full + shifts[one], present=full + shifts[other], kind=kind)


class ClaimAudit(Protocol):
    """The audit of one claim."""

    @property
    def refuted(self) -> bool:
        """Whether the audit contradicts the claim."""

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values for a JSON file."""


AuditAt = Callable[[float], ClaimAudit]
"""The audit of one claim at its own share of β."""


@dataclass(frozen=True, kw_only=True)
class ClaimsAudit:
    """The audits of one report, by the names of what was audited; they hold together."""

    audits: Mapping[str, ClaimAudit]
    beta: float
    """The probability that any claim is refuted, if all are true."""

    @property
    def each(self) -> float:
        """The share of β that each audit had."""
        return lower_bound.divided(self.beta, len(self.audits))

    @property
    def refuted(self) -> bool:
        """Whether any of the claims is contradicted."""
        return bool(self.fallen)

    @property
    def fallen(self) -> tuple[str, ...]:
        """The names of those that did."""
        return tuple(name for name, audit in self.audits.items() if audit.refuted)

    @property
    def verdict(self) -> str:
        """In one line, with the correction."""
        names = ", ".join(self.fallen) or "none"
        return (
            f"{len(self.fallen)} of {len(self.audits)} claims refuted ({names}), each at"
            f" β = {rounding.upper_text(self.beta)}/{len(self.audits)}: all hold together at"
            f" β = {rounding.upper_text(self.beta)}"
        )

    def __str__(self) -> str:
        """Each audit under its name, and the verdict on all."""
        parts = [f"{name}\n{audit}" for name, audit in self.audits.items()]
        return "\n\n".join([*parts, f"together: {self.verdict}"])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in a JSON file."""
        return {
            "audits": {name: audit.to_dict() for name, audit in self.audits.items()},
            "beta": self.beta,
            "beta_each": self.each,
            "refuted": list(self.fallen),
        }


def audit_together(
    claims: Mapping[str, AuditAt],
    *,
    beta: float = 0.05,
    jobs: int = 1,
    progress: Progress | None = None,
) -> ClaimsAudit:
    """Audit claims of any kind, each at β over their number.

    Args:
        claims: For each name a function from a risk to an audit, as ``lambda beta:
            audit_function(…, beta=beta)``.
        beta: The probability that any claim is refuted, if all are true.
        jobs: How many are audited at a time; -1 takes every core.
        progress: Told how many are audited.
    """
    if not claims:
        raise InputError("claims must be one or more to be audited, got none")
    each = lower_bound.divided(lower_bound.checked_beta(beta), len(claims))
    on_done = None if progress is None else lambda done: progress(done, len(claims))
    audits = map_tasks(partial(_audited_at, each), claims.values(), jobs=jobs, on_done=on_done)
    return ClaimsAudit(audits=dict(zip(claims, audits, strict=True)), beta=beta)


def _audited_at(beta: float, audit: AuditAt) -> ClaimAudit:
    return audit(beta)


def audit_releases(
    releases: Sequence[Release] | Mapping[str, Release],
    X: ArrayLike,
    y: ArrayLike,
    *,
    beta: float = 0.05,
    **options: Any,
) -> ClaimsAudit:
    """Audit released softmax heads on the data that all of them were trained on.

    Args:
        releases: By name, or in order: they are then called 1, 2, ….
        X: The records, as they were before a head's own map.
        y: Their labels.
        beta: The probability that any claim is refuted, if all are true.
        **options: As for ``audit_release``: draw, runs, candidates, class_weight, fresh.
    """
    claims = {name: _audit_of(head, X, y, options) for name, head in _named(releases)}
    return audit_together(claims, beta=beta)


def _audit_of(head: Release, X: ArrayLike, y: ArrayLike, options: dict[str, Any]) -> AuditAt:
    return lambda beta: audit_release(head, X, y, beta=beta, **options)


def _named(releases: Sequence[Release] | Mapping[str, Release]) -> Iterable[tuple[str, Release]]:
    if isinstance(releases, Mapping):
        return releases.items()
    return ((str(number), head) for number, head in enumerate(releases, start=1))
