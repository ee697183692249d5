"""A target that remembers its records, and shadows like it: digits, a fifth of the labels wrong."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from reticent.attacks.records import Records
from reticent.attacks.shadow_models import train_shadows
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import ModelTarget

SHADOWS = 16
HEAD = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=1e-3)
"""64 features and 300 records: fitted in milliseconds, and it remembers."""
MISSED_ONCE_IN = 1e-6
"""The chance that a test of an interval fails although the code is right."""


@dataclass(frozen=True, kw_only=True)
class Remembering:
    """The target, 600 records of which half are members, and what the adversary has."""

    target: ModelTarget
    records: Records
    member: np.ndarray
    shadows: Shadows
    population: Records

    def split(self, values):
        """Scores of members, and of the others."""
        return values[self.member], values[~self.member]

    def shuffled(self, values):
        """The same with a membership that has nothing to do with the scores."""
        order = np.random.default_rng(1).permutation(len(values))
        return self.split(values[order])


@cache
def remembering() -> Remembering:
    rng = np.random.default_rng(0)
    X, y = load_digits(return_X_y=True)
    order = rng.permutation(len(X))
    X, y = X[order] / 16, y[order]
    wrong = rng.random(len(y)) < 0.2
    y[wrong] = rng.integers(0, 10, wrong.sum())
    records = Records(X[:600], y[:600])
    member = np.zeros(600, dtype=bool)
    member[rng.permutation(600)[:300]] = True
    return Remembering(
        target=ModelTarget(clone(HEAD).fit(X[:600][member], y[:600][member])),
        records=records,
        member=member,
        shadows=train_shadows(HEAD, records, count=SHADOWS, seed=1),
        population=Records(X[600:1400], y[600:1400]),
    )
