"""The exact noise at the ends of what a word leaves open, and words next to rounding boundaries.

Noise is monotone in each of its uniforms, so the cells at the corners of the box of uniforms
decide: where they agree, every continuation of the bits gives that cell. Nothing here uses the
engine's own kernels, bounds or balls.
"""

import itertools

import numpy as np
from flint import arb, ctx, fmpq

from reticent.mechanisms.rounded.release import GAUSSIAN, LAPLACE, LOGISTIC

PRECISION = 400
NOISES = {"logistic": LOGISTIC, "laplace": LAPLACE, "gaussian": GAUSSIAN}


def ends(number, length, known):
    """The interval of uniforms whose first ``known`` bits are those of number/2^length."""
    number >>= length - known
    return fmpq(number, 2**known), fmpq(number + 1, 2**known)


def logistic(words, index, known):
    lower, upper = ends(int(words[index]), 64, known)
    return [arb(u).log() - arb(1 - u).log() for u in (lower, upper)]


def laplace(words, index, known):
    word = int(words[index])
    sign = -1 if word & 1 else 1
    return [-sign * arb(u).log() for u in ends(word >> 1, 63, min(known, 63))]


def gaussian(words, index, known):
    half = len(words) // 2
    turn = int(words[half + index % half])
    sign = -1 if (turn >> int(index >= half)) & 1 else 1
    radii = ends(int(words[index % half]), 64, known)
    turns = ends(turn >> 2, 62, min(known, 62))
    places = []
    for u, v in itertools.product(radii, turns):
        angle = arb(v) / 2  # of the first quadrant, in half turns
        side = angle.sin_pi() if index >= half else angle.cos_pi()
        places.append(sign * (-2 * arb(u).log()).sqrt() * side)
    return places


CORNERS = {"logistic": logistic, "laplace": laplace, "gaussian": gaussian}


def cell(name, words, index, known, value, frame):
    """The cell that every continuation gives; None where the corners differ or are infinite."""
    with ctx.workprec(PRECISION):
        cells = set()
        for noise in CORNERS[name](words, index, known):
            place = arb(clamped(value, frame)) + arb(frame.ratio) * noise
            whole = (place + arb(0.5)).floor().unique_fmpz()
            cells.add(None if whole is None else max(-(2**52), min(2**52, int(whole))))
        return cells.pop() if len(cells) == 1 else None


def clamped(value, frame):
    place = fmpq(*float(value).as_integer_ratio()) * fmpq(*frame.inverse.as_integer_ratio())
    return max(fmpq(-(2**51)), min(fmpq(2**51), place))


def adversarial(name, values, frame, rng):
    """Words whose draw for the value at the same index lies next to a half-integer.

    Gaussian words are pairs (i, half + i); only the first output of a pair is near a boundary.
    """
    count = len(values)
    words = rng.integers(2**64, size=count, dtype=np.uint64)
    aimed = count // 2 if name == "gaussian" else count
    with ctx.workprec(PRECISION):
        for i in range(aimed):
            middle = fmpq(int(np.rint(rng.laplace() * frame.ratio))) + fmpq(1, 2)
            boundary = arb(clamped(values[i], frame)).floor() + arb(middle)
            target = (boundary - arb(clamped(values[i], frame))) / arb(frame.ratio)
            shift = int(rng.choice([0, 0, 1, -1, 3, -3, 30, -30, 300, -300])) << 12
            word = WORD_AT[name](target, words, i)
            words[i] = max(0, min(2**64 - 1, word + shift))
    return words


def logistic_word(target, words, index):
    return int((arb(2**64) / (1 + (-target).exp())).floor().unique_fmpz())


def laplace_word(target, words, index):
    number = int((arb(2**63) * (-abs(target)).exp()).floor().unique_fmpz())
    return 2 * min(number, 2**63 - 1) + (target < 0)


def gaussian_word(target, words, index):
    half = len(words) // 2
    turn = int(words[half + index]) & ~1 | (target < 0)
    words[half + index] = turn
    side = (arb(fmpq(turn >> 2, 2**62)) / 2).cos_pi()
    return int((arb(2**64) * (-((target / side) ** 2) / 2).exp()).floor().unique_fmpz())


WORD_AT = {"logistic": logistic_word, "laplace": laplace_word, "gaussian": gaussian_word}
