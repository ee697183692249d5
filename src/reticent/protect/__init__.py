"""Releases: what leaves the house, with its guarantee. The only layer that mints proven ones."""

from reticent.protect.answers import (
    Answered,
    AnswerPlan,
    PrivateAnswers,
    calibrated_answers,
    charge_answers,
    numbers_of,
    private_answers,
    set_answer_budget,
)
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
    "AnswerPlan",
    "Answered",
    "ClassMeansHead",
    "LDAHead",
    "MeanNumbers",
    "NoisyGradientHead",
    "PrivateAnswers",
    "PublicNumbers",
    "ReleasedHead",
    "ReleasedLinear",
    "ReleasedMean",
    "ReleasedRegression",
    "Verification",
    "calibrated_answers",
    "charge_answers",
    "load",
    "mean_share",
    "numbers_of",
    "private_answers",
    "public_penalty",
    "release_mean",
    "release_weights",
    "save",
    "set_answer_budget",
    "verify",
]
