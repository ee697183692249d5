"""What protection costs and what a model tells: metrics with intervals."""

from reticent.audit.attack_report import AttackReport, measured_attack
from reticent.audit.metrics import Measured, auc
from reticent.audit.rates import balanced_accuracy, leakage, precision, share_above, tpr_at_fpr
from reticent.audit.roc import Roc, ceiling, roc
from reticent.audit.score_file import write_scores
from reticent.audit.slices import Slice, Sliced, deciles, holm, sliced
from reticent.audit.utility import UtilityLoss, utility_loss

__all__ = [
    "AttackReport",
    "Measured",
    "Roc",
    "Slice",
    "Sliced",
    "UtilityLoss",
    "auc",
    "balanced_accuracy",
    "ceiling",
    "deciles",
    "holm",
    "leakage",
    "measured_attack",
    "precision",
    "roc",
    "share_above",
    "sliced",
    "tpr_at_fpr",
    "utility_loss",
    "write_scores",
]
