"""Dense targets that learnt 400 digits by heart, a fifth of the labels drawn, and shadows."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from sklearn.datasets import load_digits

from reticent.attacks.records import Records
from reticent.attacks.shadow_models import train_shadows
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import ModelTarget
from reticent.training import MLPHead

INSIDE = 400
SURE = 1 - 1e-6
"""Of the intervals: a test fails once in a million although the code is right."""
HEAD = MLPHead(layers=2, width=64, penalty=0, steps=200, classes=range(10))


@dataclass(frozen=True, kw_only=True)
class Overfit:
    """800 records of which half are members, and 800 others for the adversary."""

    target: ModelTarget
    records: Records
    member: np.ndarray
    pool: Records
    shadows: Shadows
    """Of the pool's halves; no record is the target's."""

    def split(self, values):
        """Scores of members, and of the others."""
        return values[self.member], values[~self.member]

    def shuffled(self, values):
        """The same with a membership that has nothing to do with the scores."""
        return self.split(values[np.random.default_rng(1).permutation(len(values))])

    @property
    def one_shadow(self):
        """The first of them alone."""
        inside, models = self.shadows.inside[:1], self.shadows.models[:1]
        return Shadows(pool=self.pool, inside=inside, models=models)


def fitted(records, seed=0):
    head = MLPHead(**HEAD.get_params() | {"seed": seed})
    return ModelTarget(head.fit(records.inputs, records.labels))


@cache
def overfit() -> Overfit:
    rng = np.random.default_rng(0)
    X, y = load_digits(return_X_y=True)
    order = rng.permutation(len(X))
    X, y = X[order] / 16, y[order]
    drawn = rng.random(len(y)) < 0.2
    y[drawn] = rng.integers(0, 10, drawn.sum())
    everything = Records(X, y)
    pool = everything.take(np.arange(2 * INSIDE, 4 * INSIDE))
    return Overfit(
        target=fitted(everything.take(np.arange(INSIDE))),
        records=everything.take(np.arange(2 * INSIDE)),
        member=np.arange(2 * INSIDE) < INSIDE,
        pool=pool,
        shadows=train_shadows(HEAD, pool, count=4, seed=2),
    )
