"""What audits are tested on: mechanisms of known ε, and a test of how often audits are wrong."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from reticent.audit import intervals
from reticent.mechanisms.profiles import gaussian, laplace, logistic

BETA = 0.05
DELTA = 1e-5


def wrong_too_often(wrong, audits, beta=BETA):
    """Whether audits that are wrong with probability ``beta`` would be so with 1e-6 at most."""
    return intervals.wrong_too_often(wrong, audits, beta=beta)


@dataclass(frozen=True)
class Truth:
    """Scores without a record and with it, of a mechanism whose ε at DELTA is known."""

    name: str
    epsilon: float
    draw: object

    def without(self, rng, size):
        return self.draw(rng, size, np.zeros(size, dtype=bool))

    def present(self, rng, size):
        return self.draw(rng, size, np.ones(size, dtype=bool))

    def __str__(self):
        return self.name


def shifted(noise, shift):
    return lambda rng, size, inside: getattr(rng, noise)(size=size) + shift * inside


def randomised_response(epsilon):
    return lambda rng, size, inside: inside ^ (rng.random(size) > special.expit(epsilon))


TRUTHS = [
    Truth("laplace", laplace.epsilon(1.0, DELTA), shifted("laplace", 1.0)),
    Truth("logistic", logistic.epsilon(2.0, DELTA), shifted("logistic", 2.0)),
    Truth("gaussian", gaussian.epsilon(0.7, DELTA), shifted("normal", 0.7)),
    Truth(
        "randomised response",
        1.0 + np.log1p(-DELTA * (1 + np.exp(-1.0))),
        lambda *arguments: randomised_response(1.0)(*arguments).astype(float),
    ),
]
NOTHING = Truth("nothing", 0.0, shifted("normal", 0.0))
