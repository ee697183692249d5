"""Attribute inference: found where features tell of it, and a gap only where members are known."""

import numpy as np
import pytest

from reticent.attacks import AttributeInference, Records
from reticent.training.encoders.base import FunctionEncoder
from reticent.validation import InputError

RNG = np.random.default_rng(0)
HIDDEN = RNG.integers(0, 3, size=900)
INPUTS = RNG.normal(size=(900, 8)) + 1.5 * np.eye(8)[HIDDEN]
KNOWN, MEMBERS, OTHERS = (
    Records(INPUTS[part], HIDDEN[part]) for part in (slice(300), slice(300, 600), slice(600, 900))
)


class Remembering:
    """Adds the attribute of the records that it was trained on to their features."""

    def __init__(self, members, strength):
        self.hidden = {row.tobytes(): label for row, label in zip(*members, strict=True)}
        self.strength = strength

    def fingerprint(self):
        return "0" * 64

    def encode(self, inputs):
        rows = np.zeros((len(inputs), 3))
        for place, row in enumerate(inputs):
            if row.tobytes() in self.hidden:
                rows[place, self.hidden[row.tobytes()]] = self.strength
        return np.hstack([inputs, inputs[:, :3] + rows]).astype(np.float32)


def attack(encoder, **options):
    return AttributeInference(encoder=encoder, known=KNOWN, **options)


def test_features_that_tell_of_the_attribute_are_read():
    found = attack(FunctionEncoder(lambda rows: rows))
    guess = (OTHERS.labels == found.most_common).mean()
    assert found.correct_guesses(OTHERS).mean() > guess + 0.2
    assert abs(found.gap(MEMBERS, OTHERS)) < 0.13  # 4 deviations of a difference of 300 and 300
    nothing = attack(FunctionEncoder(lambda rows: rows[:, 3:]))
    assert nothing.correct_guesses(OTHERS).mean() < guess + 0.13


def test_what_an_encoder_remembers_of_members_is_the_gap():
    encoder = Remembering((MEMBERS.inputs, MEMBERS.labels), 5.0)
    found = attack(encoder)
    assert found.gap(MEMBERS, OTHERS) > 0.2
    forgetful = attack(Remembering((MEMBERS.inputs, MEMBERS.labels), 0.0))
    assert abs(forgetful.gap(MEMBERS, OTHERS)) < 0.13


def test_labels_of_victims_are_not_read():
    found = attack(FunctionEncoder(lambda rows: rows))
    blind = Records(OTHERS.inputs, np.zeros(len(OTHERS), dtype=np.int64))
    assert np.array_equal(found.guesses(OTHERS), found.guesses(blind))


def test_what_cannot_be_attacked_is_refused():
    with pytest.raises(InputError, match="encoder must be an encoder"):
        attack("efficientnet-lite0")
    with pytest.raises(InputError, match="penalty must be > 0"):
        attack(FunctionEncoder(lambda rows: rows), penalty=0.0)
    with pytest.raises(InputError, match="two values of the attribute"):
        AttributeInference(
            encoder=FunctionEncoder(lambda rows: rows),
            known=Records(INPUTS[:5], np.ones(5, dtype=np.int64)),
        )
    with pytest.raises(InputError, match="one row each"):
        attack(FunctionEncoder(lambda rows: rows[:1])).guesses(OTHERS)
