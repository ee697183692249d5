"""Theorems that turn public numbers into proven sensitivities."""

from reticent.bounds.heads import sigmoid_head, softmax_head
from reticent.bounds.means import clipped_sum
from reticent.bounds.sums import rounded_sum

__all__ = ["clipped_sum", "rounded_sum", "sigmoid_head", "softmax_head"]
