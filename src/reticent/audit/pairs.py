"""Two vectors that neighbours lead to, and noise on either: the same two figures as for a release.

``audit_release`` looks for the worst pair of a released head. Here the pair is given: whoever
claims a sensitivity has made a claim about every pair, and one that is known is enough.
"""

from __future__ import annotations

from reticent.attacks.released_weights import Worlds
from reticent.audit.lower_bound import checked_beta
from reticent.audit.many_runs import SeparateRuns, many_runs
from reticent.audit.release import (
    Draw,
    ReleaseAudit,
    WorstPair,
    drawn_ratios,
    pair_epsilon,
    runs_for_half,
)
from reticent.guarantee import Guarantee
from reticent.mechanisms import AdditiveMechanism, Gaussian, L2Laplace
from reticent.validation import count


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
    worlds = Worlds(absent=pair.absent, present=pair.present, noise=noise)
    without, with_it = (
        drawn_ratios(worlds, start, times, draw) for start in (pair.absent, pair.present)
    )
    return ReleaseAudit(
        claim=claim,
        mechanism=noise.name,
        pair=pair.kind,
        tightness=exceeding(noise, pair),
        analytic=pair_epsilon(noise, pair, claim.delta),
        exact=isinstance(noise, Gaussian) or claim.delta == 0,
        measured=many_runs(
            without,
            with_it,
            delta=claim.delta,
            beta=beta,
            threshold=SeparateRuns(),
            relation=claim.relation,
        ),
        runs=times,
        finds_half=times >= runs_for_half(noise, pair, claim, beta),
    )


def exceeding(noise: AdditiveMechanism, pair: WorstPair) -> float:
    """The pair's distance over the claimed sensitivity, in the norm that the noise answers for."""
    claimed = noise.sensitivity
    if isinstance(noise, (Gaussian, L2Laplace)) or claimed.l1 is None:
        return pair.l2 / claimed.require_l2(noise.name)
    return pair.l1 / claimed.l1
