"""The exact audit of a released head: two neighbouring data sets, and what their releases tell.

Whoever holds the data can solve the head on a neighbour exactly (``neighbours``), so both worlds
of a release are known: w₀ + noise and w₁ + noise. Two figures follow. The *analytic* one is the ε
of this pair under the noise that the certificate names: it checks the theorem, not the code. The
*measured* one draws the real release many times in both worlds and bounds ε from the errors of the
likelihood-ratio test, for every mechanism (Clopper–Pearson): it checks the code.

A claim graded *sampled* is about most pairs, so neither figure refutes it: fresh pairs from the
population do (``reticent.audit.sampled``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from reticent.attacks.released_weights import InfluenceMap, Worlds, noise_of, unfitted_head
from reticent.audit.error_counts import highest_rate, log_ratio
from reticent.audit.lower_bound import LowerBound, checked_beta
from reticent.audit.many_runs import SeparateRuns, many_runs
from reticent.audit.sampled import CANNOT, PairNorms, SampledAudit, audit_sampled
from reticent.guarantee import Grade, Guarantee, Relation
from reticent.guarantee.rounding import upper_text
from reticent.mechanisms import AdditiveMechanism, Gaussian, L2Laplace
from reticent.mechanisms.profiles import gaussian
from reticent.neighbours import LeaveOneOut
from reticent.neighbours.search import most_influential, worst_built
from reticent.protect import ReleasedHead
from reticent.validation import InputError, count

Floats = NDArray[np.float64]
Draw = Callable[[Floats], Floats]
"""One release of a vector: the code under audit."""

MOST_RUNS: Final = 200_000
MOST_NUMBERS: Final = 200_000_000
"""Numbers drawn in one world, a few seconds' work; runs are fewer where heads are large."""
_FEWEST_RUNS: Final = 2_000
_USUAL_RUNS: Final = 20_000
"""Where no affordable number finds halved noise."""
_POWER: Final = 0.95
_SHARE: Final = 0.2
_BLOCK: Final = 1 << 21
"""Numbers drawn at a time."""
_ROUNDING: Final = 1e-9
_TOO_MANY: Final = "share of fresh pairs beyond it"


@dataclass(frozen=True, kw_only=True)
class WorstPair:
    """Two neighbouring data sets' heads as they are noised, the furthest apart that was found."""

    absent: Floats
    present: Floats
    kind: str

    @property
    def l1(self) -> float:
        """The L1 distance."""
        return float(np.abs(self.present - self.absent).sum())

    @property
    def l2(self) -> float:
        """The L2 distance."""
        return float(np.linalg.norm(self.present - self.absent))


@dataclass(frozen=True, kw_only=True)
class ReleaseAudit:
    """A claim, and both figures of its audit."""

    claim: Guarantee
    mechanism: str
    pair: str
    tightness: float
    """The distance of the pair over the claimed sensitivity: at most 1 if the theorem holds."""
    analytic: float
    """The pair's ε at the claimed δ under the noise of the certificate."""
    exact: bool
    """Whether ``analytic`` is that ε, or only at least that."""
    measured: LowerBound
    runs: int
    finds_half: bool
    """Whether so many runs refute noise of half the scale on this pair, with power 0.95."""
    fresh: SampledAudit | None = None
    """Of a sampled claim: the share of fresh pairs beyond it, where some were given."""

    @property
    def refuted_by(self) -> str | None:
        """What refutes the claim: an exact pair, or the measured bound; None where nothing does."""
        if self.claim.grade is Grade.SAMPLED:
            return _TOO_MANY if self.fresh is not None and self.fresh.refuted else None
        claimed = self.claim.epsilon * (1 + _ROUNDING)
        if self.measured.refutes(epsilon=self.claim.epsilon, delta=self.claim.delta):
            return "measured bound, for every mechanism"
        if self.exact and self.analytic > claimed:
            return "exact pair of neighbours, whose ε exceeds the claim"
        return None

    @property
    def verdict(self) -> str:
        """One word, or two."""
        return "not refuted" if self.refuted_by is None else "refuted"

    @property
    def refuted(self) -> bool:
        """Whether something does."""
        return self.refuted_by is not None

    def __str__(self) -> str:
        """Claim, both figures and the verdict, a line each."""
        half = "would" if self.finds_half else "would NOT"
        reason = "" if self.refuted_by is None else f" by the {self.refuted_by}"
        return "\n".join(
            (
                f"claim: {self.claim}",
                f"pair: {self.pair}",
                f"tightness: {self.tightness:.3f}, how far this pair moves what is noised, over the"
                " most that the theorem allows: at 1 the worst case is on these data",
                f"analytic: ε {'=' if self.exact else '≤'} {upper_text(self.analytic)} at"
                f" δ = {upper_text(self.claim.delta)} for this pair: it checks the theorem",
                f"measured: {self.measured}: it checks the code",
                f"runs: {self.runs:,} in each world, which {half} find noise of half the scale",
                *self._about_most_pairs(),
                f"verdict: {self.verdict}{reason}",
            )
        )

    def _about_most_pairs(self) -> tuple[str, ...]:
        if self.claim.grade is not Grade.SAMPLED:
            return ()
        return (f"note: {CANNOT}",) if self.fresh is None else tuple(self.fresh.figures)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in a JSON file."""
        return {
            "claim": self.claim.to_dict(),
            "mechanism": self.mechanism,
            "pair": self.pair,
            "tightness": self.tightness,
            "analytic": {"epsilon": self.analytic, "exact": self.exact},
            "measured": self.measured.to_dict(),
            "runs": self.runs,
            "finds_half": self.finds_half,
            "fresh": None if self.fresh is None else self.fresh.to_dict(),
            "verdict": self.verdict,
            "refuted_by": self.refuted_by,
        }


def audit_release(  # noqa: PLR0913 - a release, its data, and how hard to look
    released: ReleasedHead,
    X: ArrayLike,
    y: ArrayLike,
    *,
    draw: Draw | None = None,
    beta: float = 0.05,
    runs: int | None = None,
    candidates: int = 32,
    class_weight: Mapping[Any, float] | None = None,
    fresh: PairNorms | None = None,
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
        candidates: How many records are removed, and how many built, in search of the worst pair.
        class_weight: The public weights of classes, where the head was fitted with some.
        fresh: i.i.d. pairs from the population, for a claim graded sampled: nothing else can
            refute it.
    """
    checked_beta(beta)
    noise = noise_of(released)
    most = _fresh_pairs(released.guarantee, noise, fresh, beta)
    if released.guarantee.unit != "one record":
        raise InputError(f"unit must be one record to be audited, got {released.guarantee.unit}")
    pair = worst_pair(released, X, y, candidates=candidates, class_weight=class_weight)
    needed = runs_for_half(noise, pair, released.guarantee, beta)
    affordable = min(MOST_RUNS, MOST_NUMBERS // pair.absent.size)
    usual = needed if needed <= affordable else min(_USUAL_RUNS, affordable)
    times = count("runs", usual if runs is None else runs, at_least=10)
    worlds = Worlds(absent=pair.absent, present=pair.present, noise=noise)
    without, with_it = (
        drawn_ratios(worlds, start, times, draw) for start in (pair.absent, pair.present)
    )
    return ReleaseAudit(
        claim=released.guarantee,
        mechanism=noise.name,
        pair=pair.kind,
        tightness=_tightness(noise, pair),
        analytic=pair_epsilon(noise, pair, released.guarantee.delta),
        exact=isinstance(noise, Gaussian) or released.guarantee.delta == 0,
        measured=many_runs(
            without,
            with_it,
            delta=released.guarantee.delta,
            beta=beta,
            threshold=SeparateRuns(share=_SHARE),
            relation=released.guarantee.relation,
        ),
        runs=times,
        finds_half=times >= needed,
        fresh=most,
    )


def _fresh_pairs(
    claim: Guarantee, noise: AdditiveMechanism, fresh: PairNorms | None, beta: float
) -> SampledAudit | None:
    if fresh is None:
        return None
    return audit_sampled(claim, noise, fresh, beta=beta)


def worst_pair(
    released: ReleasedHead,
    X: ArrayLike,
    y: ArrayLike,
    *,
    candidates: int = 32,
    class_weight: Mapping[Any, float] | None = None,
) -> WorstPair:
    """The neighbours furthest apart: removed records by influence, and records that are built."""
    head = unfitted_head(released, class_weight).fit(X, y)
    solver = LeaveOneOut(head, X, y)
    most = count("candidates", candidates)
    full = solver.coordinates.ravel()
    moved = {
        "without a record, and with it": most_influential(solver, most).coordinates,
        "with a record built within the bound, and without it": worst_built(
            solver, most
        ).coordinates,
    }
    noise = noise_of(released)
    replaced = released.guarantee.relation is Relation.REPLACE_ONE
    pairs = [
        _furthest(kind, full, changes.reshape(len(changes), -1), replaced)
        for kind, changes in moved.items()
    ]
    return max(pairs, key=lambda pair: pair_epsilon(noise, pair, released.guarantee.delta))


def _furthest(kind: str, full: Floats, moved: Floats, replaced: bool) -> WorstPair:
    """One neighbour and the full head; under replace-one, two neighbours."""
    if not replaced:
        furthest = int(np.linalg.norm(moved, axis=1).argmax())
        return WorstPair(absent=full, present=full + moved[furthest], kind=kind)
    squares = (moved**2).sum(axis=1)
    distances = squares[:, None] + squares[None, :] - 2 * moved @ moved.T
    one, other = np.unravel_index(int(distances.argmax()), distances.shape)
    pair = WorstPair(absent=full + moved[one], present=full + moved[other], kind=kind)
    return replace(pair, kind=f"{kind.split(',', maxsplit=1)[0]}, and another in its place")


def pair_epsilon(noise: AdditiveMechanism, pair: WorstPair, delta: float) -> float:
    """The ε of one pair of worlds at δ: exact for Gaussian noise and at δ = 0, else at most."""
    sizes = {"l1": np.array([pair.l1]), "l2": np.array([pair.l2])}
    known = np.zeros(1, dtype=bool)
    return float(InfluenceMap(noise=noise, known=known, **sizes).epsilon(delta=delta)[0])


def _tightness(noise: AdditiveMechanism, pair: WorstPair) -> float:
    """In the norm that the mechanism is calibrated to."""
    claimed = noise.sensitivity
    if isinstance(noise, (Gaussian, L2Laplace)) or claimed.l1 is None:
        return pair.l2 / float(claimed.l2 or np.nan)
    return max(pair.l1 / claimed.l1, pair.l2 / (claimed.l2 or np.inf))


def drawn_ratios(worlds: Worlds, start: Floats, runs: int, draw: Draw | None) -> Floats:
    """The log likelihood ratio of each of many real releases of one world."""
    single = draw or worlds.noise.release
    # Additive noise is independent from entry to entry, but for L2-Laplace and for code unknown.
    stacked = draw is None and not isinstance(worlds.noise, L2Laplace)
    block = max(_BLOCK // start.size, 1)
    found = []
    for first in range(0, runs, block):
        times = min(block, runs - first)
        if stacked:
            rows = worlds.noise.release(np.tile(start, times)).reshape(times, -1)
        else:
            rows = np.stack([single(start) for _ in range(times)])
        found.append(worlds.ratios(rows))
    return np.concatenate(found)


def runs_for_half(noise: AdditiveMechanism, pair: WorstPair, claim: Guarantee, beta: float) -> int:
    """Runs in each world after which half the noise would be refuted with power 0.95.

    For Gaussian noise, where the test's error rates are known; other noise takes the Gaussian pair
    of the same ε. More than MOST_RUNS stands for never.
    """
    mu = 2 * _equivalent_mu(noise, pair, claim.delta)
    thresholds = np.linspace(-4.0, mu + 4.0, 400)
    rates = stats.norm.sf(thresholds), stats.norm.cdf(thresholds - mu)
    runs = _FEWEST_RUNS
    while runs <= MOST_RUNS:
        counted = round((1 - _SHARE) * runs)
        errors = [stats.binom.ppf((1 + _POWER) / 2, counted, rate) for rate in rates]
        fpr, fnr = (highest_rate(found, counted, beta / 2) for found in errors)
        if float(log_ratio(fpr, fnr, claim.delta).max()) > claim.epsilon:
            return runs
        runs = round(1.25 * runs)
    return MOST_RUNS + 1


def _equivalent_mu(noise: AdditiveMechanism, pair: WorstPair, delta: float) -> float:
    if isinstance(noise, Gaussian):
        return pair.l2 / noise.scale
    return gaussian.shift(max(pair_epsilon(noise, pair, delta), 1e-6), max(delta, 1e-5))
