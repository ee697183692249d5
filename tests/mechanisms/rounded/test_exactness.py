"""What the fast path decides is what exact arithmetic decides, for the same bits."""

import numpy as np
import pytest

from reticent.mechanisms.rounded import kernels
from reticent.mechanisms.rounded.grid import frame
from reticent.mechanisms.rounded.release import release_block
from reticent.randomness import seeded
from tests.mechanisms.rounded import oracle

COUNT = 1500
EXPONENTS = (0, 20, 30, 40)  # scale/grid = 2^exponent: at 2⁴⁰ undecided words are common

every_case = pytest.mark.parametrize(
    ("name", "exponent"), [(name, e) for name in oracle.NOISES for e in EXPONENTS]
)


def values(exponent, rng):
    """Ordinary ones and all that is awkward: ties, subnormals, the edge of saturation, beyond."""
    grid = 2.0**-exponent
    awkward = [0.0, -0.0, 1 / 3, grid / 2, -1.5 * grid, 5e-324, -1e-310, 2.0**51 * grid, 1e300]
    awkward += [-(2.0**50 - 0.5) * grid, -1e308, 1e-30, 12345.678]
    found = np.concatenate([awkward, rng.normal(size=COUNT - len(awkward)) * 1e3])
    return rng.permutation(found)


def fast(name, words, x, grid):
    """The fast path alone: NaN where it leaves the decision open."""
    draws, errors, out = np.empty(words.size), np.empty(words.size), np.empty(x.size)
    oracle.NOISES[name].fill(words, draws, errors)
    kernels.settle(x, draws, errors, grid, out)
    return out


def wrong(name, words, x, grid, known):
    """The indices at which the fast path is certain of another cell than exact arithmetic."""
    found = fast(name, words, x, grid)
    certain = np.flatnonzero(~np.isnan(found))
    cells = {i: oracle.cell(name, words, i, known, x[i], grid) for i in certain}
    return [i for i in certain if cells[i] is None or found[i] != cells[i] * grid.step]


@every_case
def test_certain_on_random_words_means_exact(name, exponent):
    rng = seeded("random words", name, exponent)
    x = values(exponent, rng)
    words = rng.integers(2**64, size=COUNT, dtype=np.uint64)
    # All continuations of the 52 bits that the kernel reads lie in the cell it names.
    assert wrong(name, words, x, frame(1.0, 2.0**-exponent), known=52) == []


@every_case
def test_certain_next_to_a_boundary_means_exact(name, exponent):
    rng = seeded("adversarial words", name, exponent)
    grid = frame(1.0, 2.0**-exponent)
    x = values(exponent, rng)
    words = oracle.adversarial(name, x, grid, rng)
    assert np.isnan(fast(name, words, x, grid)).sum() > 100
    assert wrong(name, words, x, grid, known=52) == []


@every_case
def test_without_the_bounds_the_same_test_finds_errors(name, exponent):
    rng = seeded("adversarial words", name, exponent)
    grid = frame(1.0, 2.0**-exponent)._replace(caution=0.0)
    x = values(exponent, rng)
    words = oracle.adversarial(name, x, grid, rng)
    assert len(wrong(name, words, x, grid, known=62)) > 50


@every_case
def test_the_whole_release_is_exact(name, exponent):
    rng = seeded("whole release", name, exponent)
    grid = frame(1.0, 2.0**-exponent)
    x = values(exponent, rng)
    words = oracle.adversarial(name, x, grid, rng)
    bits = seeded("more bits")
    out = release_block(
        x,
        words,
        lambda count: int(bits.integers(2**count, dtype=np.uint64)),
        oracle.NOISES[name],
        grid,
    )
    cells = [oracle.cell(name, words, i, 64, x[i], grid) for i in range(COUNT)]
    settled = [i for i, cell in enumerate(cells) if cell is not None]
    assert len(settled) > 0.7 * COUNT
    assert [i for i in settled if out[i] != cells[i] * grid.step] == []


@pytest.mark.parametrize("name", oracle.NOISES)
@pytest.mark.parametrize("word", [0, 2**64 - 1])
def test_a_word_at_the_end_of_the_interval_is_left_to_the_slow_path(name, word):
    words = np.full(2, word, dtype=np.uint64)
    found = fast(name, words, np.zeros(2), frame(1.0, 2.0**-20))
    open_at_one = name == "logistic"
    assert np.isnan(found).all() or (word > 0 and not open_at_one)


@pytest.mark.parametrize("scale", [3.7e-250, 0.001, 1.0, 1e250])
def test_a_scale_moves_nothing_but_the_scale(scale):
    rng = seeded("scales")
    words = rng.integers(2**64, size=COUNT, dtype=np.uint64)
    grid = frame(scale, None)
    x = rng.normal(size=COUNT) * scale
    assert wrong("logistic", words, x, grid, known=52) == []


def test_zero_has_no_sign():
    """−0 would tell that the value lay below the grid point."""
    x = np.full(100_000, -1e-9)
    out = release_block(
        x,
        seeded("zeros").integers(2**64, size=x.size, dtype=np.uint64),
        lambda count: 0,
        oracle.NOISES["logistic"],
        frame(2.0**-10, 1.0),
    )
    assert (out == 0).sum() > 90_000
    assert not np.signbit(out[out == 0]).any()
