"""Members and others of two kinds are told apart without the model; those of one kind are not."""

import numpy as np
import pytest

from reticent.attacks.records import Records
from reticent.audit.attack_plan import AttackPlan
from reticent.audit.attack_run import attack_model
from reticent.audit.blind_check import blind_check
from reticent.randomness import seeded
from reticent.training import SoftmaxHead


def records(size, shift, *, seed, likelier=0.5):
    rng = seeded("blind", seed, str(shift))
    labels = (rng.random(size) < likelier).astype(int)
    rows = rng.normal(size=(size, 8))
    rows[:, 0] += shift + labels
    return Records(rows, labels)


def checked(shift, *, seed=0, likelier=0.5, size=600):
    members = records(size, 0.0, seed=seed)
    others = records(size, shift, seed=seed + 1000, likelier=likelier)
    return blind_check(members.joined(others), np.arange(2 * size) < size)


def test_records_of_one_kind_pass():
    """20 checks, each wrong with probability 0.0005: all pass with probability 0.99."""
    assert sum(checked(0.0, seed=seed).differs for seed in range(20)) <= 2  # 1e-6 for more


@pytest.mark.parametrize("given", [{"shift": 0.7}, {"shift": 0.0, "likelier": 0.85}])
def test_another_mean_or_other_classes_are_found(given):
    found = checked(**given)
    assert found.differs
    assert "records of two kinds" in str(found)


def test_the_check_is_made_without_the_model():
    """An attack on a model that knows nothing: its AUC is the records' doing, and it is said."""
    members, others = records(300, 0.0, seed=1), records(300, 1.0, seed=2)
    head = SoftmaxHead(penalty=0.1, bound=8.0, classes=[0, 1])
    head.fit(members.inputs, members.labels)
    found = attack_model(head, members, others, plan=AttackPlan(attacks=("loss",)))
    assert found.blind.differs
    assert found.notes[0] == str(found.blind)
    assert found.verdict.startswith("not a fair test: members and others are records of two kinds")


def test_few_records_are_not_judged():
    assert checked(3.0, size=30) is None
