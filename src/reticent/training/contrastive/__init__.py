"""SimCLR: an encoder learnt from public images without labels. NOT private, by design.

Every image leaves traces in the weights; images that must stay private do not belong in here.
"""

from reticent.training.contrastive.augmentations import Augmentation, digits, natural
from reticent.training.contrastive.simclr import (
    EpochRecord,
    SimCLRSpec,
    contrastive_accuracy,
    nt_xent,
    pretrain,
)

__all__ = [
    "Augmentation",
    "EpochRecord",
    "SimCLRSpec",
    "contrastive_accuracy",
    "digits",
    "natural",
    "nt_xent",
    "pretrain",
]
