"""Encoders, losses and heads. No noise is added in here, and nothing here imports torch early."""

from reticent.training.mlp_head import MLPHead
from reticent.training.public_step import PublicStep
from reticent.training.sigmoid_head import SigmoidHead
from reticent.training.softmax_head import SoftmaxHead

__all__ = ["MLPHead", "PublicStep", "SigmoidHead", "SoftmaxHead"]
