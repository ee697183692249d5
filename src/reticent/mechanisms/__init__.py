"""Noise with its exact privacy: calibrate, ask, release."""

from typing import TYPE_CHECKING

from reticent.lazy import lazy_exports

if TYPE_CHECKING:
    from reticent.mechanisms.additive import AdditiveMechanism, FloatNoise
    from reticent.mechanisms.comparison import Calibrated, calibrated
    from reticent.mechanisms.gaussian import ClassicalGaussian, Gaussian
    from reticent.mechanisms.integer import DiscreteGaussian, DiscreteLaplace, DiscreteLogistic
    from reticent.mechanisms.mechanism import Mechanism
    from reticent.mechanisms.pure import L2Laplace, Laplace, Logistic
    from reticent.mechanisms.selection import Exponential, PermuteAndFlip, SelectionMechanism
    from reticent.mechanisms.structured import BlockL2Laplace, MatrixLaplace

__all__ = [
    "AdditiveMechanism",
    "BlockL2Laplace",
    "Calibrated",
    "ClassicalGaussian",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DiscreteLogistic",
    "Exponential",
    "FloatNoise",
    "Gaussian",
    "L2Laplace",
    "Laplace",
    "Logistic",
    "MatrixLaplace",
    "Mechanism",
    "PermuteAndFlip",
    "SelectionMechanism",
    "calibrated",
]

__getattr__ = lazy_exports(__name__)
