"""An undecided draw keeps its bits and gets more: as many as it needs, and never new ones."""

import itertools

import mpmath
import numpy as np
import pytest
from flint import arb, ctx, fmpq

from reticent.mechanisms.rounded.balls import Pool, Uniform, precision
from reticent.mechanisms.rounded.grid import frame
from reticent.mechanisms.rounded.l2_laplace import release_vector
from reticent.mechanisms.rounded.release import (
    EXPONENTIAL,
    GAUSSIAN,
    GUMBEL,
    LAPLACE,
    LOGISTIC,
    release_block,
    select_rows,
)
from reticent.randomness import seeded

UNIT_GRID = frame(1.0, 1.0)


class Script:
    """Bits that were written beforehand; remembers how often it was asked."""

    def __init__(self, bits):
        self.bits = iter(bits)
        self.asked = 0

    def __call__(self, count):
        self.asked += 1
        return int("".join(str(next(self.bits)) for _ in range(count)), 2)


def boundary_bits(length):
    """The bits of u with ln(u/(1 − u)) = ½, where cell 0 ends and cell 1 begins."""
    with ctx.workprec(length + 100):
        u = 1 / (1 + arb(fmpq(-1, 2)).exp())
        number = int((u * arb(fmpq(2**length))).floor().unique_fmpz())
    return [int(bit) for bit in f"{number:0{length}b}"]


@pytest.mark.parametrize("length", [128, 640, 6400])
@pytest.mark.parametrize(("last", "cell"), [(0, 0.0), (1, 1.0)])
def test_the_bits_that_follow_decide_and_there_is_no_cap(length, last, cell):
    """The uniform runs along the boundary for ``length`` bits and then leaves it."""
    along = boundary_bits(length)
    word = int("".join(map(str, along[:64])), 2)
    script = Script(itertools.chain(along[64:], itertools.repeat(last)))
    words = np.array([word, 2**63], dtype=np.uint64)
    out = release_block(np.zeros(1), words, script, LOGISTIC, UNIT_GRID)
    assert out.tolist() == [cell]
    assert script.asked == length // 64


def test_a_decided_draw_asks_for_nothing():
    script = Script([])
    words = np.array([2**63, 2**62], dtype=np.uint64)
    release_block(np.zeros(2), words, script, LAPLACE, UNIT_GRID)
    assert script.asked == 0


@pytest.mark.parametrize(("noise", "sign"), [(LOGISTIC, -1), (LAPLACE, 1)])
def test_a_word_of_zeros_becomes_a_tail_draw_of_the_right_size(noise, sign):
    """u = 2⁻⁶⁵ to 2⁻⁶⁴ (one bit less for Laplace): about 44.7 scales, not a redrawn word."""
    script = Script(itertools.repeat(1))
    out = release_block(np.zeros(1), np.zeros(2, np.uint64), script, noise, frame(1.0, 0.5))
    assert sign * out[0] in (43.5, 44.5)
    assert script.asked == 1


def test_both_draws_of_a_pair_see_the_same_continuation():
    """Both are open until the shared uniform of the radius leaves 1; it is extended once."""
    words = np.array([2**64 - 1, 2**63 + 2**62], dtype=np.uint64)
    grid = frame(1.0, 2.0**-45)
    script = Script(seeded("pair").integers(2, size=10_000).tolist())
    out = release_block(np.zeros(2), words, script, GAUSSIAN, grid)
    radius, turn = Pool(words, Script(seeded("pair").integers(2, size=10_000).tolist())), 62
    first, angle = radius.uniform(0), radius.uniform(1, spent=2)
    for _ in range(script.asked // 2):
        radius.extend()
    assert first.length > 64
    assert angle.length > turn
    with precision(300):
        square = 2 * -first.ball().log()
        assert abs(float(arb(out[0]) ** 2 + arb(out[1]) ** 2 - square)) < 2.0**-75


def test_an_extension_keeps_the_prefix():
    uniform = Uniform(0b101, 3)
    before = uniform.ball()
    uniform.extend(Script(itertools.repeat(0)))
    assert uniform.number == 0b101 << 64
    with precision(200):
        assert before.contains(uniform.ball())


# --- joint decisions ------------------------------------------------------------------------------

PATTERN = 0x9E3779B97F4A7C15  # what the fake source always answers


def completed(number, length):
    """The uniform whose prefix is continued by the pattern, far enough for any test here."""
    for _ in range(6):
        number, length = (number << 64) | PATTERN, length + 64
    return mpmath.mpf(number) / mpmath.mpf(2) ** length


@pytest.mark.parametrize("size", [1, 2, 3, 8])
@pytest.mark.parametrize("exponent", [20, 36, 44])
def test_l2_laplace_is_exact_in_every_coordinate(size, exponent):
    rng = seeded("l2", size, exponent)
    grid = frame(1.0, 2.0**-exponent)
    for _ in range(40):
        values = rng.normal(size=size)
        radial = rng.integers(2**64, size=size, dtype=np.uint64)
        directional = rng.integers(2**64, size=size + size % 2, dtype=np.uint64)
        out = release_vector(values, (radial, directional), lambda count: PATTERN, grid)
        with mpmath.workdps(80):
            exact = l2_laplace(values, radial, directional)
            cells = [int(mpmath.floor(place * 2**exponent + 0.5)) for place in exact]
        assert (out * 2.0**exponent).tolist() == cells


def l2_laplace(values, radial, directional):
    """values + R·G/‖G‖, straight from the definition."""
    half = len(directional) // 2
    radius = -sum(mpmath.log(completed(int(word), 64)) for word in radial)
    gaussian = []
    for index in range(len(values)):
        turn = int(directional[half + index % half])
        size = mpmath.sqrt(-2 * mpmath.log(completed(int(directional[index % half]), 64)))
        angle = mpmath.pi / 2 * completed(turn >> 2, 62)
        first = index < half
        sign = -1 if (turn >> (0 if first else 1)) & 1 else 1
        gaussian.append(sign * size * (mpmath.cos(angle) if first else mpmath.sin(angle)))
    norm = mpmath.sqrt(sum(part**2 for part in gaussian))
    return [mpmath.mpf(float(x)) + radius * g / norm for x, g in zip(values, gaussian, strict=True)]


def test_fast_and_slow_path_of_l2_laplace_agree():
    rng = seeded("l2 slow")
    grid = frame(1.0, 2.0**-30)
    words = tuple(rng.integers(2**64, size=(2, 500), dtype=np.uint64))
    values = rng.normal(size=500)
    both = [
        release_vector(values, words, lambda count: PATTERN, grid._replace(caution=caution))
        for caution in (1.0, np.inf)
    ]
    assert (both[0] == both[1]).all()


@pytest.mark.parametrize(("last", "cell"), [(0, 1.0), (1, 0.0)])
def test_an_open_coordinate_extends_every_uniform_of_the_vector(last, cell):
    """One coordinate is ±R; R = −ln u is ½ up to the 64 bits of the first word."""
    with ctx.workprec(200):
        word = int((arb(fmpq(-1, 2)).exp() * arb(fmpq(2**64))).floor().unique_fmpz())
    words = np.array([word], np.uint64), np.array([2**61, 2**63], np.uint64)
    script = Script(itertools.repeat(last))
    assert release_vector(np.zeros(1), words, script, UNIT_GRID).tolist() == [cell]
    assert script.asked == 3


@pytest.mark.parametrize(
    ("noise", "first_wins"),
    [(GUMBEL, lambda a, b: a > b), (EXPONENTIAL, lambda a, b: a < b)],
    ids=["gumbel", "exponential"],
)
def test_equal_words_are_told_apart_by_the_bits_that_follow(noise, first_wins):
    words = np.full(2, 0x7123456789ABCDEF, dtype=np.uint64)
    for following in [(5, 9), (9, 5), (2**64 - 1, 0)]:
        bits = Script(int(bit) for number in following for bit in f"{number:064b}")
        winner = select_rows(np.zeros((1, 2)), words, bits, noise, 1.0)
        assert winner.tolist() == [0 if first_wins(*following) else 1]


@pytest.mark.parametrize("noise", [GUMBEL, EXPONENTIAL])
def test_the_winner_is_exact_where_two_are_nearly_equal(noise):
    rng = seeded("near ties")
    with mpmath.workdps(80):
        for _ in range(150):
            words = rng.integers(2**64, size=3, dtype=np.uint64)
            u = [completed(int(word), 64) for word in words]
            drawn = [-mpmath.log(part) for part in u]
            drawn = [-mpmath.log(part) for part in drawn] if noise is GUMBEL else drawn
            scores = np.array([float(-part) for part in drawn]) * 0.25
            scores[2] -= 1.0
            places = [mpmath.mpf(s) + part / 4 for s, part in zip(scores, drawn, strict=True)]
            winner = select_rows(scores[None], words, lambda count: PATTERN, noise, 0.25)
            assert winner[0] == max(range(3), key=places.__getitem__)


def test_scores_whose_difference_overflows_are_decided_exactly():
    scores = np.array([[1e308, -1e308, 1e308], [-1e308, 1e308, -1e308]])
    words = np.array([2**63, 2**64 - 1, 2**62] * 2, dtype=np.uint64)
    assert select_rows(scores, words, lambda count: 0, GUMBEL, 1e-300).tolist() == [0, 1]
