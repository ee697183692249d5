"""Contrastive losses, views of images, and an encoder learnt from PUBLIC images without labels.

``pretrain`` is NOT private, by design: every image leaves traces in the weights. What is private
is the recipe ``spectral`` of ``reticent.protect``, which takes losses and views from here.
"""

from reticent.training.contrastive.augmentations import Augmentation, digits, natural, turned_digits
from reticent.training.contrastive.barlow_twins import barlow_twins
from reticent.training.contrastive.nt_xent import contrastive_accuracy, nt_xent
from reticent.training.contrastive.simclr import EpochRecord, SimCLRSpec, pretrain
from reticent.training.contrastive.spectral import spectral, spectral_terms

__all__ = [
    "Augmentation",
    "EpochRecord",
    "SimCLRSpec",
    "barlow_twins",
    "contrastive_accuracy",
    "digits",
    "natural",
    "nt_xent",
    "pretrain",
    "spectral",
    "spectral_terms",
    "turned_digits",
]
