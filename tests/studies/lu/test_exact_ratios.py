"""Ratios that carry no noise are told from those that do."""

import numpy as np
import pytest
from scipy import special

from reticent.randomness import seeded
from reticent.studies.lu.verdicts import exact_ratios, likelier_logits
from reticent.validation import InputError


def test_pairs_without_noise_are_counted():
    rng = seeded("logits")
    logits = rng.normal(size=6)
    for noised, pairs in ((0, 15), (1, 10), (4, 1), (5, 0), (6, 0)):
        added = np.zeros((100, 6))
        added[:, :noised] = rng.normal(size=(100, noised))
        found = exact_ratios(special.softmax(logits + added, axis=1), logits)
        assert (found == pairs).all()


def test_worlds_that_differ_by_little_are_told_apart():
    rng = seeded("worlds")
    one = rng.normal(size=4)
    other = one + 1e-6 * rng.normal(size=4)
    for truth, sign in ((one, -1), (other, 1)):
        noisy = np.tile(truth, (50, 1))
        noisy[:, 2] += 10 * rng.normal(size=50)
        assert (likelier_logits(special.softmax(noisy, axis=1), one, other) == sign).all()


def test_noise_on_all_logits_tells_nothing_by_ratios():
    rng = seeded("all")
    answers = special.softmax(rng.normal(size=(500, 3)), axis=1)
    assert (likelier_logits(answers, np.zeros(3), np.ones(3)) == 0).all()


def test_a_probability_that_vanished_counts_as_no_ratio():
    assert exact_ratios([[1.0, 0.0, 0.0]], [800.0, 0.0, 0.0]).tolist() == [0]


def test_bad_input_gets_one_line():
    with pytest.raises(InputError, match="answers must have a column"):
        exact_ratios([[0.5, 0.5]], [0.0, 0.0, 0.0])
