"""Logistic noise for dp-accounting, which has none: an independent reference for ours."""

import math

import numpy as np
from dp_accounting.pld import privacy_loss_distribution, privacy_loss_mechanism
from dp_accounting.pld.pld_pmf import create_pmf_pessimistic_connect_dots_fixed_gap
from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType
from scipy import special


class LogisticPrivacyLoss(privacy_loss_mechanism.AdditiveNoisePrivacyLoss):
    """Logistic noise of scale ``parameter`` with sensitivity 1."""

    def __init__(self, parameter, sampling_prob, adjacency_type):
        self.parameter = parameter
        super().__init__(1.0, False, sampling_prob, adjacency_type)

    def privacy_loss_tail(self):
        raise NotImplementedError

    @classmethod
    def from_privacy_guarantee(cls, *args, **kwargs):
        raise NotImplementedError

    def connect_dots_bounds(self):
        most = math.log1p(self.sampling_prob * math.expm1(1 / self.parameter))
        least = math.log1p(self.sampling_prob * math.expm1(-1 / self.parameter))
        if self.adjacency_type == AdjacencyType.ADD:
            most, least = -least, -most
        return privacy_loss_mechanism.ConnectDotsBounds(epsilon_upper=most, epsilon_lower=least)

    def _privacy_loss_without_subsampling_remove(self, x):
        left, right = (x + 1) / self.parameter, x / self.parameter
        return (right - left) + 2 * (np.logaddexp(0, -right) - np.logaddexp(0, -left))

    def _inverse_privacy_loss_without_subsampling_remove(self, privacy_loss):
        """Solves ((1 + e^{−x/s})/(1 + e^{−(x+1)/s}))²·e^{−1/s} = e^loss for x."""
        if privacy_loss * self.parameter >= 1:
            return -math.inf
        if privacy_loss * self.parameter <= -1:
            return math.inf
        half = math.exp((privacy_loss + 1 / self.parameter) / 2)
        return -self.parameter * math.log((half - 1) / (1 - half * math.exp(-1 / self.parameter)))

    def noise_cdf(self, x):
        return special.expit(np.asarray(x) / self.parameter)

    def noise_log_cdf(self, x):
        return special.log_expit(np.asarray(x) / self.parameter)


def logistic_pld(parameter, *, rate=1.0, interval=1e-4):
    """The privacy loss distribution, from above."""

    def pmf(adjacency):
        loss = LogisticPrivacyLoss(parameter, rate, adjacency)
        bounds = loss.connect_dots_bounds()
        low = math.floor(bounds.epsilon_lower / interval)
        high = math.ceil(bounds.epsilon_upper / interval)
        deltas = loss.get_delta_for_epsilon(interval * np.arange(low, high + 1))
        return create_pmf_pessimistic_connect_dots_fixed_gap(interval, low, high, deltas)

    if rate == 1:
        return privacy_loss_distribution.PrivacyLossDistribution(pmf(AdjacencyType.REMOVE))
    return privacy_loss_distribution.PrivacyLossDistribution(
        pmf(AdjacencyType.REMOVE), pmf(AdjacencyType.ADD)
    )
