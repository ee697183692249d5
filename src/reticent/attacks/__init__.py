"""Membership inference: a target and records in, a score for each record out.

An attack never sees whether a record that it scores was a member.
"""

from reticent.attacks.attack import Scores
from reticent.attacks.label_only import BoundaryAttack, GapAttack, NoiseAttack
from reticent.attacks.metric import MetricAttack
from reticent.attacks.records import Records

__all__ = [
    "BoundaryAttack",
    "GapAttack",
    "MetricAttack",
    "NoiseAttack",
    "Records",
    "Scores",
]
