"""Theorems that turn public numbers into proven sensitivities."""

from reticent.bounds.softmax import softmax_head

__all__ = ["softmax_head"]
