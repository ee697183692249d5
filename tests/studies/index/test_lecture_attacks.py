"""Each attack of the lecture finds the members that it must, and none where there are none."""

import dataclasses
from functools import cache

import numpy as np
import pytest

from reticent.attacks import Records, synthesis
from reticent.studies.index import lecture_attacks

ATTACKS = lecture_attacks.ATTACKS
FINDING = (
    *("attack: shadow pipeline", "attack: white box (Nasr et al.)", "attack: five metrics"),
    *("attack: Salem's adversaries 1 and 2", "attack: Salem's adversary 3"),
    "attack: few false positives on models that generalise",
    "attack: white box without data",
)
"""Those that tell members of the victim from others."""


@pytest.mark.parametrize("name", ATTACKS)
def test_each_item_is_carried_out_and_holds(name):
    found = ATTACKS[name]()
    assert found.holds, found.why


@pytest.fixture
def no_members(monkeypatch):
    """The same victim, and a membership that has nothing to do with it."""
    seen = lecture_attacks.scene()
    order = np.random.default_rng(1).permutation(len(seen.member))
    other = seen._replace(member=seen.member[order])
    monkeypatch.setattr(lecture_attacks, "scene", cache(lambda: other))


@pytest.mark.parametrize("name", FINDING)
def test_a_membership_that_left_no_trace_is_not_found(name, no_members):
    assert not ATTACKS[name]().holds


def test_released_means_of_nobody_are_close_to_nobody(monkeypatch):
    means = lecture_attacks.attacks.Means
    halves = staticmethod(lambda records, **_: means(values=np.full(400, 0.5)))
    monkeypatch.setattr(means, "of", halves)
    assert not lecture_attacks.released_means().holds


def test_data_that_are_not_what_the_lecture_says_are_found(monkeypatch):
    real = lecture_attacks.scene().own

    def unsure(target, *, space, per_class, rng, search):
        return Records(space.random(10, rng), target.classes_[np.arange(10) % 10])

    monkeypatch.setattr(synthesis, "synthesized", unsure)
    monkeypatch.setattr(synthesis, "from_marginals", lambda records, number, rng: real)
    monkeypatch.setattr(synthesis, "noisy_real", lambda records, **_: records)
    for check in ("searched", "from_statistics", "noisy_real"):
        assert not getattr(lecture_attacks, check)().holds


def test_a_rate_that_sees_nothing_is_no_better_metric(monkeypatch):
    def guessing(scores, member):
        values = np.random.default_rng(0).normal(size=len(member))
        return measured(dataclasses.replace(scores, values=values), member)

    measured = lecture_attacks.audit.measured_attack
    monkeypatch.setattr(lecture_attacks.audit, "measured_attack", guessing)
    assert not lecture_attacks.better_metrics().holds


def test_a_discriminator_that_knows_nothing_of_its_records_is_not_found(monkeypatch):
    def log_odds(self, records):
        return np.random.default_rng(0).normal(size=len(records))

    monkeypatch.setattr(lecture_attacks._Discriminator, "log_odds", log_odds)
    assert not lecture_attacks.discriminator().holds
