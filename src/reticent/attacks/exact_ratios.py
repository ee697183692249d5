"""Probabilities of which some logits carry no noise: their ratios are the exact ones.

log(p_u/p_w) = z_u − z_w whatever was added to the other logits, so whoever knows the logits with
and without a record reads off which of them answered (Lu et al., Algorithm 1, three classes and
more). Nothing is estimated.
"""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from reticent.arrays import Integers
from reticent.validation import InputError, float_array

Counts = Integers

CLOSE: Final = 1e-10
"""Far above the rounding of a softmax, far below what a record does to a logit."""


def exact_ratios(answers: ArrayLike, logits: ArrayLike) -> Counts:
    """Of each answer, how many pairs of classes have the very ratio that the logits say.

    >>> logits = np.array([2.0, 1.0, 0.0])
    >>> noisy = logits + [0.3, 0.0, 0.0]
    >>> exact_ratios(np.exp([logits, noisy]), logits)
    array([3, 1])
    """
    p, z = np.atleast_2d(float_array("answers", answers)), float_array("logits", logits)
    if z.ndim != 1 or p.ndim != 2 or p.shape[1] != len(z):
        raise InputError(f"answers must have a column for each of {z.shape} logits, got {p.shape}")
    with np.errstate(divide="ignore", invalid="ignore"):  # a probability may vanish
        left = np.log(p) - z
        one, other = np.triu_indices(len(z), 1)
        equal = np.abs(left[:, one] - left[:, other]) <= CLOSE
    return np.asarray(equal.sum(axis=1))


def likelier_logits(answers: ArrayLike, one: ArrayLike, other: ArrayLike) -> Counts:
    """−1 where the exact ratios are those of the first logits, 1 of the second, 0 of neither."""
    return np.asarray(np.sign(exact_ratios(answers, other) - exact_ratios(answers, one)))
