"""What protection costs and what a model tells: metrics with intervals."""

from reticent.audit.utility import UtilityLoss, utility_loss

__all__ = ["UtilityLoss", "utility_loss"]
