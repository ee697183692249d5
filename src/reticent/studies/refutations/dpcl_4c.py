"""DPCL: 4C is no bound on the gradient, noisy similarities or not; on embeddings, no training."""

from typing import Final

import numpy as np

from reticent.arrays import Floats
from reticent.audit import FunctionAudit, ReleaseAudit, audit_function, pairs
from reticent.bounds.published import dpcl
from reticent.guarantee import Grade, Relation, Sensitivity
from reticent.mechanisms import Gaussian
from reticent.randomness import seeded
from reticent.results.table import Table
from reticent.studies.refutations.rows import BETA, function_row, refutation_table, release_row

BATCHES: Final = {8: ("7.07", "6.6"), 128: ("127", "4.6")}
"""Batch size: how often 4C the gradient moves by theory, without and with noise on S."""
CLIP: Final = 1e-9
"""So small that every gradient is clipped at exact similarities, where the ratio to 4C is then free
of it. At noisy ones many gradients nearly vanish, and the ratio depends on it."""
LARGER_CLIP: Final = 1e-6
TEMPERATURE: Final = 0.5
SIMILARITY_NOISE: Final = 0.4021
"""The paper's noise multiplier."""
BARLOW_BATCH: Final = 129
EPSILON, DELTA = 1.0, 1e-5
RUNS: Final = 10_000


def gradients(
    batch: int, similarities: Floats | None = None, *, clip: float = CLIP
) -> tuple[Floats, Floats]:
    """Of both neighbouring batches, at their own similarities or at noisy ones."""
    views = dpcl.turned_pair(batch)
    used = views.one @ views.one.T if similarities is None else similarities
    return gradient(views.one, used, clip), gradient(views.other, used, clip)


def gradient(views: Floats, similarities: Floats, clip: float = CLIP) -> Floats:
    """The clipped sum of one batch."""
    return dpcl.gradient_sum(views, similarities, clip=clip, temperature=TEMPERATURE)


def noisy_similarities(batch: int, draws: int) -> Floats:
    """S + N(0, (Δ_S σ)²): equal in law for both batches, so they tell nothing apart."""
    views = dpcl.turned_pair(batch).one
    bound = dpcl.similarity_sensitivity(batch)
    noise = Gaussian(scale=SIMILARITY_NOISE * bound, sensitivity=Sensitivity(l2=bound))
    source = noise.with_float_noise(seeded("noisy similarities", batch, draws))
    return source.release(np.tile(views @ views.T, (draws, 1, 1)))


def exceeded(batch: int) -> float:
    """How often 4C the gradients of both batches are apart, at exact similarities."""
    one, other = gradients(batch)
    return float(np.linalg.norm(one - other)) / dpcl.gradient_sensitivity(CLIP)


def exceeded_with_noise(batch: int, *, draws: int = 200, clip: float = CLIP) -> float:
    """The same at the paper's noise on S, on average."""
    one, other = gradients(batch, noisy_similarities(batch, draws), clip=clip)
    shift = np.linalg.norm(one - other, axis=(-2, -1)).mean()
    return float(shift) / dpcl.gradient_sensitivity(clip)


def barlow_exceeded(batch: int) -> float:
    """How often 4C the gradients of Barlow Twins are apart, mean and deviations being released."""
    one, other = (
        dpcl.barlow_gradient_sum(views, clip=CLIP, off_diagonal=5e-3)
        for views in dpcl.correlated_pair(batch)
    )
    return float(np.linalg.norm(one - other)) / dpcl.gradient_sensitivity(CLIP)


def noise_for(sensitivity: float, grade: Grade, source: str) -> Gaussian:
    """Gaussian noise for ε = 1 at δ = 10⁻⁵."""
    claimed = Sensitivity(l2=sensitivity, grade=grade, relation=Relation.REPLACE_ONE, source=source)
    return Gaussian.calibrate(claimed, epsilon=EPSILON, delta=DELTA)


def audit_step(batch: int, noise: Gaussian) -> ReleaseAudit:
    """One noisy gradient, the similarities known to both sides."""
    one, other = gradients(batch)
    pair = pairs.WorstPair(
        absent=one.ravel(), present=other.ravel(), kind="one example turned from e₂ to −e₂"
    )
    return pairs.audit_pair(noise, pair, noise.guarantee(delta=DELTA), beta=BETA, runs=RUNS)


def audit_noisy_step(batch: int, noise: Gaussian) -> FunctionAudit:
    """A noisy gradient with the noisy similarities that it was computed at, many steps.

    S̃ is released, so whoever sees it computes both batches' gradients and compares.
    """

    def ratios(views: Floats, runs: int) -> Floats:
        similarities = noisy_similarities(batch, runs)
        seen = noise.release(gradient(views, similarities))
        one, other = (
            noise.log_density((seen - mean).reshape(runs, -1))
            for mean in gradients(batch, similarities)
        )
        return np.asarray(other - one)

    return audit_function(
        None,
        *dpcl.turned_pair(batch),
        epsilon=EPSILON,
        delta=DELTA,
        many=ratios,
        runs=RUNS,
        beta=BETA,
    )


def refutation() -> Table:
    """DPCL: gradient sensitivity 4C given noisy similarities.

    Noise for 4C falls at both batch sizes; noise for 4|B|C stands.
    """
    bound = dpcl.gradient_sensitivity(CLIP)
    claimed = noise_for(bound, Grade.PUBLISHED, "4C (DPCL, Section 3.2.2)")
    rows = [release_row(f"4C, |B| = {batch}", audit_step(batch, claimed)) for batch in BATCHES]
    rows.append(
        function_row(
            "4C, |B| = 8, similarities with the paper's noise",
            Grade.PUBLISHED,
            audit_noisy_step(8, claimed),
        )
    )
    for batch in BATCHES:
        bound = dpcl.naive_gradient_sensitivity(batch, CLIP)
        whole = noise_for(bound, Grade.DECLARED, "4|B|C (DPCL, Section 3.2.1)")
        rows.append(release_row(f"4|B|C, |B| = {batch}", audit_step(batch, whole)))
    ratios = "; ".join(
        f"|B| = {batch}: {exceeded(batch):.4g} times 4C ({exact} by theory), at the paper's noise"
        f" on S {exceeded_with_noise(batch):.3g} for C = {CLIP:g} and"
        f" {exceeded_with_noise(batch, clip=LARGER_CLIP):.3g} for C = {LARGER_CLIP:g} ({noisy} by"
        " theory)"
        for batch, (exact, noisy) in BATCHES.items()
    )
    return refutation_table(
        "gradient sensitivity 4C given noisy similarities (DPCL)",
        rows,
        "Grade published: one step of a linear encoder, everybody at e₁ and one example turned from"
        f" e₂ to −e₂, which leaves S as it was and turns every other gradient. {ratios}.",
        "The exact ratios do not depend on C while every gradient is clipped. Those at noisy S do,"
        " and the one for |B| = 128 is not reproduced: the clip behind 4.6 is not known.",
        f"Barlow Twins, N = {BARLOW_BATCH}: with released mean and deviations, and everybody at e₁"
        f" but one at (1, ±1)/√2, the gradient moves by {barlow_exceeded(BARLOW_BATCH):.4g} times"
        " 4C (127.5 by theory): the cross-correlation is a sum over the batch that nobody"
        " released.",
        "The counterpart is the paper's own 4|B|C for plain DP-SGD, declared here: a bound by the"
        " triangle inequality, which this pair nearly reaches.",
    )
