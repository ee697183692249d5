"""Are members and others records of one kind? Told apart without the model, they are not.

An attack compares members with others. Where both were drawn otherwise, by another time, place or
filter, features alone tell them apart, and the attack's AUC is no longer about the model. So a
classifier that never sees the model learns on one half of the records to tell members from others,
and is measured on the other half: given what it learnt, the scores there are independent, and the
interval of their AUC holds as that of an attack does. Of copies of a record one is taken; several
records of one person are taken for records of several.
"""

import warnings
from dataclasses import dataclass
from typing import Final

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from reticent.arrays import Array, Flags, Floats, Integers
from reticent.attacks.records import Records
from reticent.audit.metrics import Measured, auc
from reticent.randomness import seeded

CONFIDENCE: Final = 0.999
"""That records of one kind are not called two: a headline hangs on it."""
_FEWEST: Final = 20
"""Records on either side of either half."""
_MOST: Final = 4_000
_WIDEST: Final = 256
"""Features that trees look at: those whose means differ most among the records that teach."""


@dataclass(frozen=True, kw_only=True)
class BlindCheck:
    """The AUC of telling members from others by features and labels, without the model."""

    auc: Measured

    @property
    def differs(self) -> bool:
        """Whether members and others are records of two kinds."""
        return self.auc.low > 0.5

    def __str__(self) -> str:
        """One sentence."""
        if self.differs:
            return (
                f"members and others are records of two kinds: without the model they are told"
                f" apart with AUC {self.auc}, and what attacks find is not the model's doing alone"
            )
        return f"without the model members and others are not told apart: AUC {self.auc}"


def blind_check(records: Records, inside: Flags, *, seed: int = 0) -> BlindCheck | None:
    """The check on these records; None where they are too few, or no rows of numbers.

    Args:
        records: Members and others.
        inside: True for each member.
        seed: Of the halves, and of the records that are taken where there are very many.
    """
    if records.inputs.ndim < 2 or records.inputs.dtype.kind not in "biuf":
        return None
    return _checked(records, _features(records), inside, seed)


def blind_check_rows(
    rows: Floats, labels: Array, inside: Flags, *, seed: int = 0
) -> BlindCheck | None:
    """The same for labels that are numbers, or several of them: these stand beside the features."""
    both = np.column_stack([rows, labels.reshape(len(rows), -1)])
    return _checked(Records(both, np.zeros(len(both), dtype=np.int64)), both, inside, seed)


def _checked(records: Records, rows: Floats, inside: Flags, seed: int) -> BlindCheck | None:
    rng = seeded("blind check", seed)
    sides = [
        rng.permutation(_first_of_copies(records, flags))[:_MOST] for flags in (inside, ~inside)
    ]
    if min(map(len, sides)) < 2 * _FEWEST:
        return None
    halves = [np.concatenate([side[half::2] for side in sides]) for half in (0, 1)]
    learnt, judged = halves
    scores = _scores(rows[learnt], inside[learnt], rows[judged])
    members = inside[judged]
    return BlindCheck(auc=auc(scores[members], scores[~members], confidence=CONFIDENCE))


def _first_of_copies(records: Records, side: Flags) -> Integers:
    """Places on this side, of equal records the first: copies in both halves are remembered."""
    first: dict[bytes, int] = {}
    keys = records.keys
    for place in np.flatnonzero(side).tolist():
        first.setdefault(keys[place], place)
    return np.array(list(first.values()), dtype=np.int64)


def _features(records: Records) -> Floats:
    """Features, and a column for each label: classes may be drawn otherwise, too."""
    flat = records.inputs.reshape(len(records), -1).astype(np.float64)
    _, places = np.unique(records.labels, return_inverse=True)
    return np.column_stack([flat, np.eye(int(places.max()) + 1)[places]])


def _scores(rows: Floats, members: Flags, asked: Floats) -> Floats:
    """The sum of a linear score and of one by trees, each in units of its own deviation."""
    gaps = np.abs(rows[members].mean(axis=0) - rows[~members].mean(axis=0))
    apart = gaps / (rows.std(axis=0) + 1e-300)
    kept = np.argsort(-apart, kind="stable")[:_WIDEST]
    linear = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=200))
    trees = HistGradientBoostingClassifier(
        max_iter=40, max_leaf_nodes=8, early_stopping=False, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        linear.fit(rows, members)
    trees.fit(rows[:, kept], members)
    scores = linear.decision_function(asked), trees.decision_function(asked[:, kept])
    return np.asarray(sum(score / (score.std() + 1e-300) for score in scores))
