"""Checks before the first step: in an audit once for a network, whatever its training numbers."""

import dataclasses

import numpy as np
import pytest

from reticent.protect import RECIPES, Terms, network_run
from reticent.protect.noisy_query import with_noise_function
from reticent.training.gradients import GradientSum

TERMS = Terms(epsilon=2.0, delta=1e-5, relation="add-remove")


def recipe(**options):
    return RECIPES["network"].planned(
        TERMS, records=20, features=4, classes=2, mechanism="gaussian", batch=10, **options
    )


@pytest.fixture
def checks(monkeypatch):
    """How often networks were checked."""
    counted = []
    honest = GradientSum._check

    def check(self, example):
        counted.append(self)
        honest(self, example)

    monkeypatch.setattr(GradientSum, "_check", check)
    monkeypatch.setattr(network_run, "_AUDITED", {})
    return counted


def build(one):
    return network_run.NetworkRun(one, one._network())


def exact_answers(_, value):
    return np.asarray(value)


def test_an_audit_checks_a_network_once_whatever_its_training_numbers(checks):
    with with_noise_function(exact_answers):
        for one in (recipe(), recipe(epochs=3.0), recipe(clip=0.5, learning_rate=0.1)):
            assert build(one).gradients.clip == one.clip
        assert len(checks) == 1
        build(recipe(seed=1))
        build(recipe(exact=False))
        build(dataclasses.replace(recipe(), classes=3))
    assert len(checks) == 4


def test_few_networks_are_kept(checks):
    with with_noise_function(exact_answers):
        for seed in range(network_run._KEPT + 2):
            network_run.keep_checked(recipe(seed=seed), object())
    assert len(network_run._AUDITED) == network_run._KEPT
    assert checks == []
