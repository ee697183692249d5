"""SimCLR: an encoder learnt from public images without labels. NOT private, by design.

Every image leaves traces in the weights; images that must stay private do not belong in here.
"""

from reticent.training.contrastive.augmentations import Augmentation, digits, natural
from reticent.training.contrastive.nt_xent import contrastive_accuracy, nt_xent
from reticent.training.contrastive.simclr import SimCLRSpec, pretrain
from reticent.training.contrastive.training_state import EpochRecord

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
