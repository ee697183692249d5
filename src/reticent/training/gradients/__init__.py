"""Clipped per-example gradients of ordinary torch modules. No noise is added in here."""

from reticent.training.gradients.batch_sum import GradientSum
from reticent.training.gradients.check import (
    check_gradients,
    check_outputs,
    check_slots,
    random_batch,
)
from reticent.training.gradients.clipper import ClippedSums, Clipper
from reticent.training.gradients.modules import (
    HookedAttention,
    LoraLinear,
    WeightStandardisedConv2d,
    add_lora,
    hook_attention,
)
from reticent.training.gradients.shared_sum import SharedGradientSum
from reticent.training.gradients.views import Views

__all__ = [
    "ClippedSums",
    "Clipper",
    "GradientSum",
    "HookedAttention",
    "LoraLinear",
    "SharedGradientSum",
    "Views",
    "WeightStandardisedConv2d",
    "add_lora",
    "check_gradients",
    "check_outputs",
    "check_slots",
    "hook_attention",
    "random_batch",
]
