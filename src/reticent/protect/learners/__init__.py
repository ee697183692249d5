"""Learners with the noise inside: every look at the private rows is a noisy sum."""

from reticent.protect.learners.noisy_gradient import NoisyGradientHead
from reticent.protect.learners.released_linear import ReleasedLinear

__all__ = ["NoisyGradientHead", "ReleasedLinear"]
