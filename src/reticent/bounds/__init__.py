"""Theorems that turn public numbers into proven sensitivities."""

from reticent.bounds.answers import SoftmaxAnswers
from reticent.bounds.heads import sigmoid_head, softmax_head
from reticent.bounds.means import clipped_sum
from reticent.bounds.statistics import class_statistics, target_statistics
from reticent.bounds.sums import clipped_gradients, rounded_sum

__all__ = [
    "SoftmaxAnswers",
    "class_statistics",
    "clipped_gradients",
    "clipped_sum",
    "rounded_sum",
    "sigmoid_head",
    "softmax_head",
    "target_statistics",
]
