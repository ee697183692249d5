"""Gaussian noise in float32 from secure bits: the formula, the law, and no word twice."""

import os

import numpy as np
import pytest
from scipy import stats

from reticent.guarantee import Sensitivity
from reticent.mechanisms import Gaussian, Logistic, float32_noise
from reticent.mechanisms.float32_noise import add_gaussian, add_gaussian_of_words
from reticent.protect.noisy_query import noisy_query_float32, with_noise_function
from tests.mechanisms.rounded.goodness import DRAWS, TOO_WIDE, follows, independent

ONE = Sensitivity(l2=1.0)


def drawn(size, scale=1.0):
    values = np.zeros(size, np.float32)
    add_gaussian(values, scale)
    return values


def box_muller(words):
    """The documented reading of the bits, in float64."""
    first, second = np.split(words.astype(np.uint64), 2)
    uniform = ((first >> 1) + ((second & 255) + 0.5) / 256) / 2**31
    angle = ((second >> 10) + 0.5 - 2**21) / 2**22 * np.pi / 2
    radius = np.sqrt(-np.log(uniform))
    signs = [1 - 2.0 * ((second >> place) & 1) for place in (8, 9)]
    parts = np.cos(angle) - np.sin(angle), np.cos(angle) + np.sin(angle)
    return np.concatenate([radius * part * sign for part, sign in zip(parts, signs, strict=True)])


def test_the_kernel_is_box_and_muller_to_float32():
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**32, 200_000, dtype=np.uint32)
    edges = np.array([0, 1, 2, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1], np.uint32)
    words[:7], words[100_000:100_007] = edges, edges[::-1]
    words[7:14], words[100_007:100_014] = 0, edges
    values = np.full(words.size, 3.0, np.float32)
    add_gaussian_of_words(words, np.float32(0.5), values)
    off = np.abs(values - (3.0 + 0.5 * box_muller(words)))
    assert off.max() < 3e-4  # √ of a rounding of float32, where the uniform is next to 1
    assert np.quantile(off, 0.99) < 1e-6


def test_the_tail_ends_where_it_is_said_to():
    values = np.zeros(2, np.float32)
    add_gaussian_of_words(np.zeros(2, np.uint32), np.float32(1.0), values)
    assert np.sqrt(np.square(values).sum()) == pytest.approx(np.sqrt(80 * np.log(2)), rel=1e-5)


def test_the_law_is_gaussian_and_another_is_rejected():
    """False alarms: see goodness.ALARM."""
    sample = drawn(DRAWS, 2.0) / 2.0
    assert follows(sample, stats.norm.cdf)
    assert not follows(sample * TOO_WIDE, stats.norm.cdf)
    block = sample[: float32_noise._BLOCK]
    uniform = stats.norm.cdf(block)
    assert independent(*np.split(uniform, 2))
    assert independent(*np.split(stats.norm.cdf(np.abs(block)) * 2 - 1, 2))


@pytest.mark.parametrize("size", [1, 2, 3, float32_noise._BLOCK + 1])
def test_every_entry_has_noise_and_no_two_calls_the_same(size):
    one, other = drawn(size), drawn(size)
    assert np.all(one != 0)
    assert np.all(one[:3] != other[:3])
    assert len(np.unique(one)) > 0.9 * size


def test_a_forked_child_draws_other_noise():
    add_gaussian(np.zeros(2, np.float32), 1.0)  # a stream is there
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, drawn(64).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = np.frombuffer(os.read(reader, 256), np.float32)
    assert not np.array_equal(theirs, drawn(64))


def test_a_key_serves_so_many_words_and_no_more(monkeypatch):
    keys, secure = [], float32_noise.SecureBits
    monkeypatch.setattr(float32_noise, "SecureBits", lambda: (keys.append(1), secure())[1])
    monkeypatch.setattr(float32_noise, "_WORDS_OF_A_KEY", 100)
    monkeypatch.setattr(float32_noise._STREAMS, "left", 0)
    for _ in range(10):
        drawn(50)
    assert len(keys) == 5


def test_other_noise_is_the_exact_one():
    value = np.zeros(100, np.float32)
    logistic = Logistic(scale=1.0, sensitivity=Sensitivity(l1=1.0))
    assert logistic.release_over_float32(value) is value
    grid = logistic.grid_in(100)
    assert np.array_equal(np.rint(value / grid) * grid, value)
    assert np.count_nonzero(value) > 90


def test_an_audit_stands_before_it():
    value, seen = np.ones(4, np.float32), []
    noise = Gaussian(scale=1.0, sensitivity=ONE)
    with with_noise_function(lambda noise, value: (seen.append((noise, value)), 7 * value)[1]):
        noisy_query_float32(noise, value)
    assert value.tolist() == [7.0] * 4
    assert seen[0][0] is noise
    assert seen[0][1].dtype == np.float64
