"""The density-ratio bound of matrix Laplace noise, and what an audit sees of it (theory H)."""

import math

import numpy as np
import pytest

from reticent import Sensitivity
from reticent.audit.many_runs import SeparateRuns, many_runs
from reticent.mechanisms import BlockL2Laplace, L2Laplace, Laplace, MatrixLaplace
from reticent.mechanisms.structured import from_upper_triangle, order_of, upper_triangle
from reticent.randomness import seeded
from reticent.validation import InputError, NotCoveredError

ONE = Sensitivity(nuclear=1.0)


def noise_of(scale=1.0):
    return MatrixLaplace(scale=scale, sensitivity=ONE)


def density_2x2(matrix, nodes=80, reach=12.0):
    """e^{−tr N}·∫ e^{−2·tr W} dW over W ⪰ 0, N + W ⪰ 0, scale 1: f(N) up to a constant.

    The inner integral, over the entry off the diagonal, is the length of an interval.
    """
    x, weight = np.polynomial.legendre.leggauss(nodes)
    u = (x + 1) / 2
    t, step = reach * u**2, weight * reach * u  # nodes cluster at the square-root edge
    (n1, n12), (_, n2) = matrix
    a, b = (max(0.0, -n1) + t)[:, None], (max(0.0, -n2) + t)[None, :]
    own, other = np.sqrt(a * b), np.sqrt(np.maximum((n1 + a) * (n2 + b), 0))
    length = np.minimum(own, other - n12) - np.maximum(-own, -other - n12)
    kept = np.maximum(length, 0) * np.exp(-(n1 + n2) - 2 * (a + b))
    return float((kept * step[:, None] * step[None, :]).sum())


def pairs(order, many, *identity):
    """N and a positive semidefinite A of trace 1, many times."""
    rng = seeded("density ratio", order, *identity)
    for _ in range(many):
        half = rng.normal(size=(order, order))
        direction = rng.normal(size=order)
        direction /= np.linalg.norm(direction)
        yield 1.2 * (half + half.T) / 2, np.outer(direction, direction)


def test_one_entry_is_the_laplace_mechanism():
    numbers = np.linspace(-8, 8, 801)[:, None]
    laplace = Laplace(scale=0.7, sensitivity=Sensitivity(l1=1.0))
    assert np.allclose(noise_of(0.7).log_density(numbers), laplace.log_density(numbers), atol=1e-9)
    shifted = noise_of(0.7).log_ratio(numbers, numbers - 1.0)
    assert np.abs(shifted).max() == pytest.approx(1 / 0.7, rel=1e-6)


def test_the_density_ratio_of_two_by_two_matrices_is_at_most_epsilon():
    """Quadrature: no ratio above e^1 for a shift of trace 1, some close to it; 1e-3 for the nodes.

    With half the scale the ratios are those of a shift of trace 2: the bound would be broken.
    """
    ratios, doubled = [], []
    for matrix, shift in pairs(2, 60):
        here = density_2x2(matrix)
        ratios.append(abs(math.log(density_2x2(matrix + shift) / here)))
        doubled.append(abs(math.log(density_2x2(matrix + 2 * shift) / here)))
    assert 0.9 < max(ratios) <= 1 + 1e-3
    assert 1.5 < max(doubled) <= 2 + 1e-3


def test_the_density_ratio_of_indefinite_changes_is_at_most_their_nuclear_norm():
    for matrix, shift in pairs(2, 40, "replaced"):
        turned = np.array([[shift[1, 1], -shift[0, 1]], [-shift[0, 1], shift[0, 0]]])
        moved = shift - turned  # one record for another, orthogonal to it: nuclear norm 2
        ratio = math.log(density_2x2(matrix + moved) / density_2x2(matrix))
        assert abs(ratio) <= 2 + 1e-3


def positive_definite(triangles):
    """Of 3 × 3 matrices, by their leading minors."""
    a, b, c, d, e, f = triangles.T
    determinant = a * (d * f - e * e) - b * (b * f - e * c) + c * (b * e - d * c)
    return (a > 0) & (a * d > b * b) & (determinant > 0)


def test_the_density_ratio_of_three_by_three_matrices_is_at_most_epsilon():
    """f(N) ∝ e^{−tr N}·P(N + W ⪰ 0), W of p + 1 degrees of freedom and a quarter of the scale.

    By 60,000 common W: the estimate of ln f(N + A)/f(N) has a standard error of √(1/hits) at most,
    of which 7 are allowed: a false alarm in one of 40 pairs has probability below 1e-10.
    """
    half = seeded("three").normal(size=(60_000, 3, 4))
    wishart = upper_triangle(half @ half.transpose(0, 2, 1) / 4)
    for matrix, shift in pairs(3, 40):
        both = (wishart + upper_triangle(one) for one in (matrix, matrix + shift))
        hits = [positive_definite(one).sum() for one in both]
        if hits[0] < 500:
            continue
        ratio = math.log(hits[1] / hits[0]) - 1.0
        assert hits[1] >= hits[0]  # the domain grows: the one direction, without an error
        assert ratio <= 1 + 7 / math.sqrt(hits[0])


def drawn_bound(scale, runs=10_000):
    """ε ≥, from real releases of 0 and of a matrix of trace 1; β = 1e-6.

    What is compared is v·Nv, v the direction in which the worlds differ: of one number a threshold
    is the best test, as its likelihood ratio rises with it.
    """
    direction = np.array([0.6, 0.8])
    moved = upper_triangle(np.outer(direction, direction))
    along = upper_triangle(np.outer(direction, direction) * (2 - np.eye(2)))
    noise = noise_of(scale)
    scores = [
        np.array([noise.release(start) @ along for _ in range(runs)])
        for start in (np.zeros(3), moved)
    ]
    return many_runs(
        *scores, delta=0.0, beta=1e-6, threshold=SeparateRuns(share=0.2), relation="add-remove"
    ).epsilon


@pytest.mark.slow
def test_two_worlds_are_told_apart_by_half_the_noise_and_not_by_the_whole():
    """A false alarm has probability 1e-6: the bound holds for every mechanism.

    Half the noise has a loss of 1.78 at the best of thresholds, of which 8,000 runs leave 1.35.
    """
    assert drawn_bound(1.0) <= 1.0
    assert drawn_bound(0.5) > 1.0


def test_the_ratio_along_a_direction_is_a_likelihood_ratio():
    """E₀[e^Λ] = 1 in 4,000 draws of p = 3, within 7 standard errors (below 1e-11)."""
    rng = seeded("ratio")
    one, other = rng.normal(size=(2, 4_000, 3, 4))
    noise = (one @ one.transpose(0, 2, 1) - other @ other.transpose(0, 2, 1)) / 2
    one, other = np.array([0.36, 0.48, 0.8]), np.array([0.8, -0.6, 0.0])
    entries = upper_triangle(noise)
    added, replaced = np.outer(one, one), np.outer(one, one) - np.outer(other, other)
    for moved, epsilon in ((added, 1.0), (replaced, 2.0)):
        ratio = np.exp(noise_of().log_ratio(entries, entries - upper_triangle(moved)))
        assert abs(ratio.mean() - 1) < 7 * ratio.std() / math.sqrt(len(ratio))
        assert math.exp(0.6 * epsilon) < ratio.max() <= math.exp(epsilon) * (1 + 1e-9)


def test_norms_and_triangles():
    matrix = np.diag([3.0, -1.0, 0.0])
    entries = upper_triangle(matrix)
    assert np.array_equal(from_upper_triangle(entries), matrix)
    assert noise_of().length(entries) == pytest.approx(4.0)
    assert (order_of(1), order_of(6)) == (1, 3)
    block = BlockL2Laplace(scale=1.0, sensitivity=Sensitivity(l21=1.0, blocks=2))
    assert block.length(np.array([3.0, 4.0, 0.0, 2.0])) == pytest.approx(7.0)


def test_blocks_have_the_density_of_independent_l2_laplace():
    block = BlockL2Laplace(scale=0.5, sensitivity=Sensitivity(l21=1.0, blocks=2))
    one = L2Laplace(scale=0.5, sensitivity=Sensitivity(l2=1.0))
    noise = seeded("blocks").normal(size=(5, 6))
    alone = one.log_density(noise[:, :3]) + one.log_density(noise[:, 3:])
    assert np.allclose(block.log_density(noise), alone)
    moved = np.zeros(6)
    moved[:3] = 1 / math.sqrt(3)
    assert np.abs(block.log_ratio(noise, noise - moved)).max() <= 2.0 + 1e-12


def test_what_does_not_fit_is_refused_in_one_line():
    with pytest.raises(InputError, match="needs a sensitivity in nuclear norm, got l2"):
        MatrixLaplace(scale=1.0, sensitivity=Sensitivity(l2=1.0))
    with pytest.raises(InputError, match="needs an L21 sensitivity with its blocks, got l1"):
        BlockL2Laplace(scale=1.0, sensitivity=Sensitivity(l1=1.0))
    with pytest.raises(InputError, match="l21 must be given with its blocks"):
        Sensitivity(l21=1.0)
    with pytest.raises(InputError, match=r"upper triangle, got 4"):
        noise_of().release(np.zeros(4))
    with pytest.raises(InputError, match=r"3 blocks of equal size, got 4"):
        BlockL2Laplace(scale=1.0, sensitivity=Sensitivity(l21=1.0, blocks=3)).release(np.zeros(4))
    with pytest.raises(NotCoveredError, match="use log_ratio"):
        noise_of().log_density(np.zeros(3))
    with pytest.raises(InputError, match="ask std_in"):
        _ = noise_of().std
