"""Encoders, losses and heads. No noise is added in here, and nothing here imports torch early."""

from typing import TYPE_CHECKING

from reticent.lazy import lazy_exports

if TYPE_CHECKING:
    from reticent.training.mlp_head import MLPHead
    from reticent.training.public_step import PublicStep
    from reticent.training.sigmoid_head import SigmoidHead
    from reticent.training.softmax_head import SoftmaxHead

__all__ = ["MLPHead", "PublicStep", "SigmoidHead", "SoftmaxHead"]

__getattr__ = lazy_exports(__name__)
