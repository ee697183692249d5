"""Encoders, losses and heads. No noise is added in here."""

from reticent.training.softmax_head import SoftmaxHead

__all__ = ["SoftmaxHead"]
