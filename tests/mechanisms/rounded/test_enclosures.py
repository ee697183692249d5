"""Noise in floats comes with a bound on its distance from the exact noise, for every continuation.

A word leaves open all uniforms that begin with its leading 52 bits. The exact noise at the ends
of what it leaves open is computed in 60 digits: it must lie within the bound. The bound must not
be wider than its derivation says either: undecided draws are slow.
"""

import itertools

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from reticent.mechanisms.rounded import kernels, l2_laplace
from reticent.randomness import seeded

UNIT = mpf(2) ** -53
SLACK = 32 * UNIT
NARROW = 1 + mpf(2) ** -20
LAST = 2**64 - 1


def words():
    """Small and large uniforms, ordinary ones, and those at the ends of binades."""
    rng = seeded("enclosures")
    found = [0, 1 << 12, 2 << 12, 3 << 12, 7 << 12, LAST, LAST - (1 << 12), LAST - (5 << 12)]
    found += [1 << 63, (1 << 63) - 1, 3 << 62, 1 << 62]
    for zeros in (0, 1, 3, 10, 25, 40, 48):
        draws = rng.integers(2**64, size=6, dtype=np.uint64) >> np.uint64(zeros)
        found += [*map(int, draws), *(LAST - int(draw) for draw in draws)]
    return np.array(found, dtype=np.uint64)


WORDS = words()


def drawn(kernel, given):
    noise, error = np.empty(given.size), np.empty(given.size)
    kernel(given, noise, error)
    return noise, error


def middle(word):
    """m = 2k + 1, k the leading 52 bits."""
    return 2 * (int(word) >> 12) + 1


def ends(word):
    """The smallest and the largest uniform that begins so."""
    return [mpf(middle(word) + side) / 2**53 for side in (-1, 1)]


def minus_log(u):
    return -mpmath.log(u) if u > 0 else mpmath.inf


def logit(u):
    return mpmath.inf if u == 1 else -minus_log(u) - mpmath.log(1 - u)


def gumbel(u):
    magnitude = minus_log(u)
    return mpmath.inf if magnitude == 0 else -mpmath.log(magnitude)


def check(noise, error, exact, charged):
    """Every exact value is within the bound, and the bound within what is charged."""
    if not mpmath.isfinite(charged):
        assert error == np.inf
        return
    assert error <= charged * (1 + mpf(1e-12))
    for value in exact:
        assert abs(value - mpf(float(noise))) <= mpf(float(error))


@pytest.fixture(autouse=True)
def many_digits():
    with mpmath.workdps(60):
        yield


def slope(m):
    """1/(m − 1): infinite where the open uniforms reach 0."""
    return 1 / mpf(m - 1) if m > 1 else mpmath.inf


def test_logistic():
    for word, noise, error in zip(WORDS, *drawn(kernels.logistic_noise, WORDS), strict=True):
        m = middle(word)
        charged = SLACK * abs(float(noise)) + NARROW * (slope(m) + slope(2**53 - m))
        check(noise, error, map(logit, ends(word)), charged)


def test_exponential():
    for word, noise, error in zip(WORDS, *drawn(kernels.exponential_noise, WORDS), strict=True):
        charged = SLACK * abs(float(noise)) + NARROW * slope(middle(word))
        check(noise, error, map(minus_log, ends(word)), charged)


def test_laplace():
    for word, noise, error in zip(WORDS, *drawn(kernels.laplace_noise, WORDS), strict=True):
        charged = SLACK * abs(float(noise)) + NARROW * slope(middle(word))
        sign = -1 if int(word) & 1 else 1
        check(noise, error, (sign * minus_log(u) for u in ends(word)), charged)


def test_gumbel():
    for word, noise, error in zip(WORDS, *drawn(kernels.gumbel_noise, WORDS), strict=True):
        m = middle(word)
        spread = NARROW * slope(m) / minus_log(mpf(m) / 2**53)
        charged = SLACK * (2 + abs(float(noise))) + 2 * spread if spread < 0.49 else mpmath.inf
        check(noise, error, map(gumbel, ends(word)), charged)


def gaussian_pairs():
    """Every kind of radius with every kind of turn."""
    pairs = list(itertools.product(WORDS[::3].tolist(), WORDS[1::4].tolist()))
    return np.array(list(zip(*pairs, strict=True)), dtype=np.uint64)


def exact_gaussian(radius, turn, *, first):
    """r·√2 times cosine or sine of an angle of the first quadrant, at the four corners."""
    sign = -1 if (int(turn) >> (0 if first else 1)) & 1 else 1
    side = mpmath.cos if first else mpmath.sin
    return [
        sign * mpmath.sqrt(2 * minus_log(u)) * side(mpmath.pi / 2 * v)
        for u, v in itertools.product(ends(radius), ends(turn))
    ]


def test_gaussian():
    radii, turns = gaussian_pairs()
    half = len(radii)
    noise, error = drawn(kernels.gaussian_noise, np.concatenate([radii, turns]))
    for i, (radius, turn) in enumerate(zip(radii, turns, strict=True)):
        m = middle(radius)
        length = mpmath.sqrt(minus_log(mpf(m) / 2**53))
        charged = 2 * SLACK * length + mpf(1.5) * slope(m) / length
        for first, place in ((True, i), (False, half + i)):
            exact = exact_gaussian(radius, turn, first=first)
            check(noise[place], error[place], exact, charged)


@pytest.mark.parametrize("size", [1, 2, 5, 64])
@pytest.mark.parametrize("zeros", [0, 20, 44])
def test_l2_laplace(size, zeros):
    """b = R·G/‖G‖, with the uniforms of R at both ends of what their words leave open."""
    rng = seeded("enclosed vectors", size, zeros)
    radial = rng.integers(2**64, size=size, dtype=np.uint64)
    radial[0] >>= np.uint64(zeros)
    directional = rng.integers(2**64, size=size + size % 2, dtype=np.uint64)
    gaussian = [part[:size] for part in drawn(kernels.gaussian_noise, directional)]
    radii = drawn(kernels.exponential_noise, radial)
    pairs = drawn(kernels.exponential_noise, directional[: size // 2])
    noise, error = (part.copy() for part in gaussian)
    l2_laplace._to_l2_laplace(radii, pairs, noise, error)
    exact = [exact_vector(size, radial, directional, side) for side in (0, 1)]
    factor, spread = charged_factor(gaussian, radii, pairs)
    for place in range(size):
        length = abs(factor * mpf(gaussian[0][place]))
        own = mpf(1.01) * (factor * mpf(gaussian[1][place]) + length * spread)
        charged = SLACK * length + own if spread < mpf(2) ** -20 else mpmath.inf
        check(noise[place], error[place], (values[place] for values in exact), charged)


def charged_factor(gaussian, radii, pairs):
    """R/‖G‖ as computed, and how far it may be off, relatively: what rounding adds included."""
    size = len(gaussian[0])
    square, square_error = (2 * mpmath.fsum(map(mpf, part.tolist())) for part in pairs)
    if size % 2:
        last, last_error = (mpf(float(part[size // 2])) for part in gaussian)
        square += last**2
        square_error += (2 * abs(last) + last_error) * last_error
    radius, radius_error = (mpmath.fsum(map(mpf, part.tolist())) for part in radii)
    summing = 8 * UNIT + (2 * size * UNIT) ** 2
    spread = 2 * summing + NARROW * radius_error / radius + mpf(0.51) * square_error / square
    return radius / mpmath.sqrt(square), spread


def exact_vector(size, radial, directional, side):
    half = len(directional) // 2
    gaussian = []
    for place in range(size):
        first = place < half
        radius, turn = directional[place % half], directional[half + place % half]
        gaussian.append(exact_gaussian(radius, turn, first=first)[0])
    total = mpmath.fsum(minus_log(ends(word)[side]) for word in radial)
    norm = mpmath.sqrt(mpmath.fsum(part**2 for part in gaussian))
    return [total * part / norm for part in gaussian]
