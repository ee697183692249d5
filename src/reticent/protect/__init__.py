"""Releases: what leaves the house, with its guarantee. The only layer that mints proven ones."""

from reticent.protect.certificate import Verification, load, save, verify
from reticent.protect.learners import (
    AdaSSPHead,
    AdaSSPRegressor,
    ClassMeansHead,
    LDAHead,
    NoisyGradientHead,
    ReleasedLinear,
    ReleasedRegression,
)
from reticent.protect.mean import ReleasedMean, release_mean
from reticent.protect.penalty import mean_share, public_penalty
from reticent.protect.public_numbers import MeanNumbers, PublicNumbers
from reticent.protect.released_head import ReleasedHead
from reticent.protect.weights import release_weights

__all__ = [
    "AdaSSPHead",
    "AdaSSPRegressor",
    "ClassMeansHead",
    "LDAHead",
    "MeanNumbers",
    "NoisyGradientHead",
    "PublicNumbers",
    "ReleasedHead",
    "ReleasedLinear",
    "ReleasedMean",
    "ReleasedRegression",
    "Verification",
    "load",
    "mean_share",
    "public_penalty",
    "release_mean",
    "release_weights",
    "save",
    "verify",
]
