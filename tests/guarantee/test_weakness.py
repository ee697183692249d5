"""A true claim that promises little says so, and its grade stays what it was."""

import pytest

from reticent.guarantee.weakness import weaknesses


@pytest.mark.parametrize(
    ("epsilon", "delta", "records", "lines"),
    [
        (1.0, 1e-5, 10_000, 0),
        (10.0, 0.0, 1, 0),
        (10.001, 0.0, 1, 1),
        (1.0, 1e-4, 10_000, 1),
        (1e6, 0.5, 10_000, 2),
    ],
)
def test_each_weak_number_has_a_line(epsilon, delta, records, lines):
    assert len(weaknesses(epsilon=epsilon, delta=delta, records=records)) == lines


def test_what_an_epsilon_allows_is_never_rounded_down():
    (line,) = weaknesses(epsilon=10.5, delta=0.0, records=5)
    assert "99.9972" in line
    (line,) = weaknesses(epsilon=1e6, delta=0.0, records=5)
    assert "100 %" in line
