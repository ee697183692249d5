"""Membership inference: a target and records in, a score for each record out.

An attack never sees whether a record that it scores was a member.
"""

from reticent.attacks.loss import loss_scores

__all__ = ["loss_scores"]
