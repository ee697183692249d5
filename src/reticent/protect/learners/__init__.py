"""Learners with the noise inside: every look at the private rows is a noisy sum."""

from reticent.protect.learners.class_means import ClassMeansHead
from reticent.protect.learners.lda import LDAHead
from reticent.protect.learners.noisy_gradient import NoisyGradientHead
from reticent.protect.learners.regression import AdaSSPRegressor
from reticent.protect.learners.released_linear import ReleasedLinear
from reticent.protect.learners.released_regression import ReleasedRegression
from reticent.protect.learners.sufficient_statistics import AdaSSPHead

__all__ = [
    "AdaSSPHead",
    "AdaSSPRegressor",
    "ClassMeansHead",
    "LDAHead",
    "NoisyGradientHead",
    "ReleasedLinear",
    "ReleasedRegression",
]
