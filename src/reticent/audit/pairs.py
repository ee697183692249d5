"""Two vectors that neighbours lead to, and noise on either: the same two figures as for a release.

``audit_release`` looks for the worst pair of a released head. Here the pair is given: whoever
claims a sensitivity has made a claim about every pair, and one that is known is enough.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from reticent.arrays import Floats
from reticent.attacks.released_weights import InfluenceMap, Worlds
from reticent.audit.lower_bound import checked_beta
from reticent.audit.many_runs import SeparateRuns, many_runs
from reticent.audit.power import runs_to_refute
from reticent.audit.release_audit import ReleaseAudit
from reticent.guarantee import Guarantee
from reticent.mechanisms import AdditiveMechanism, Gaussian
from reticent.mechanisms.profiles import gaussian
from reticent.validation import count

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
) -> ReleaseAudit:
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
    checked_beta(beta)
    times = count("runs", runs, at_least=10)
    needed = runs_for_half(noise, pair, claim, beta)
    worlds = Worlds(absent=pair.absent, present=pair.present, noise=noise)
    without, with_it = (
        drawn_ratios(worlds, start, times, draw) for start in (pair.absent, pair.present)
    )
    return ReleaseAudit(
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
    found = []
    for first in range(0, runs, block):
        times = min(block, runs - first)
        if stacked:
            rows = worlds.noise.release(np.tile(start, times)).reshape(times, -1)
        else:
            rows = np.stack([single(start) for _ in range(times)])
        found.append(worlds.ratios(rows))
    return np.concatenate(found)


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
