"""What protection costs and what a model tells: metrics with intervals."""

from reticent.audit.metrics import Measured, auc
from reticent.audit.utility import UtilityLoss, utility_loss

__all__ = ["Measured", "UtilityLoss", "auc", "utility_loss"]
