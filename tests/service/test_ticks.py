"""Draws take a whole number of ticks: how long an answer takes does not tell which path they took.

The clock here is the test's own. What a clock outside sees is measured by ``answer_time`` of
``make bench``.
"""

from types import SimpleNamespace

import pytest

from reticent.ledger import questions
from reticent.ledger.questions import DRAW_TICK, Questions, _Slot


class Clock:
    """Time that passes where somebody says so."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        assert seconds >= 0
        self.now += seconds


def drawn_in(clock, *seconds):
    """How long a transaction draws whose sources take these seconds."""

    def source(taken):
        def draw(due):
            clock.now += taken
            return [b"answer"] * len(due)

        return draw

    asked = [SimpleNamespace(draw=source(taken), payload=None) for taken in seconds]
    slots = [_Slot() for _ in asked]
    due = Questions(0, {}, _drawn=[(one, 0, slot) for one, slot in zip(asked, slots, strict=True)])
    started = clock.now
    due.draw()
    assert all(slot.body == b"answer" for slot in slots)
    return clock.now - started


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(questions, "time", found)
    return found


@pytest.mark.parametrize(
    ("seconds", "ticks"),
    [((0.0,), 1), ((0.0006,), 1), ((0.0079,), 1), ((0.009,), 2), ((0.0032, 0.0072), 2)],
)
def test_drawing_takes_whole_ticks(clock, seconds, ticks):
    assert drawn_in(clock, *seconds) == pytest.approx(ticks * DRAW_TICK, abs=1e-9)


def test_fast_and_slow_draws_take_the_same_time(clock):
    """In a service the slow path was seen to take 0.9 ms, 1.1 in the mean, the fast one 0.6."""
    assert drawn_in(clock, 0.0006) == pytest.approx(drawn_in(clock, 0.0011), abs=1e-9)


def test_nothing_to_draw_takes_no_time(clock):
    assert drawn_in(clock) == 0.0
