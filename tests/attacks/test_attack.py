"""What holds for every attack: finite scores, and the target's access in the threat."""

import dataclasses

import numpy as np
import pytest

from reticent.attacks.attack import Attack, ScoreAttack, Scores
from reticent.attacks.records import Records
from reticent.attacks.targets import (
    Access,
    AnsweredTarget,
    LabelTarget,
    RoundedTarget,
    Threat,
    TopTarget,
)
from reticent.validation import InputError

ANSWERS = AnsweredTarget([[0.9, 0.1], [0.3, 0.7]], classes=["a", "b"])
RECORDS = Records([0, 1], ["a", "b"])


class FirstClass(ScoreAttack):
    name = "first class"
    threat = Threat(access=Access.SCORES, knows=("nothing much",))

    def _values(self, target, records):
        return target.probabilities(records.inputs)[:, 0]

    def _notes(self, target, records):
        return (f"{len(records)} records",)


def test_a_score_attack_gives_all_of_its_scores():
    found = FirstClass().scores(ANSWERS, RECORDS)
    assert found.values == pytest.approx([0.9, 0.3])
    assert (found.attack, found.decides_at) == ("first class", None)
    assert found.notes == ("2 records",)
    assert found.threat == FirstClass.threat
    assert len(found) == 2


@pytest.mark.parametrize(
    ("target", "access"),
    [
        (TopTarget(ANSWERS, shown=1), Access.TOP_SCORES),
        (RoundedTarget(ANSWERS, decimals=1), Access.ROUNDED_SCORES),
        (LabelTarget(ANSWERS), Access.LABELS),
    ],
)
def test_the_threat_says_what_the_target_shows(target, access):
    found = FirstClass().scores(target, RECORDS).threat
    assert found == Threat(access=access, knows=("nothing much",))


def test_an_attack_without_a_name_or_scores_is_none():
    with pytest.raises(TypeError, match="name"):
        type("Nameless", (FirstClass,), {"name": ScoreAttack.name})()
    with pytest.raises(TypeError, match="scores"):
        type("Idle", (Attack,), {"name": "idle"})()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": [np.nan]}, "scores must be finite, got NaN"),
        ({"values": [np.inf]}, "scores must be finite, got infinity"),
        ({"values": []}, "scores must not be empty"),
        ({"values": [[1.0]]}, "scores must be one number for each record"),
        ({"values": ["a"]}, "scores must hold real numbers"),
        ({"decides_at": np.nan}, "decides_at must be finite"),
    ],
)
def test_bad_scores(change, message):
    arguments = {"attack": "a", "threat": FirstClass.threat, "values": [1.0], **change}
    with pytest.raises(InputError, match=message) as caught:
        Scores(**arguments)
    assert "\n" not in str(caught.value)


def test_scores_do_not_change_after_the_fact():
    values = np.array([1.0, 2.0])
    found = Scores(attack="a", threat=FirstClass.threat, values=values)
    values[0] = 5.0
    assert found.values.tolist() == [1.0, 2.0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.values = values
    assert found != dataclasses.replace(found)
