"""The step limit of a head on scattering: chosen by its rule, on images that are public."""

import numpy as np
import pytest

from reticent.data import Dataset
from reticent.studies import scattering_step
from reticent.studies.trained import Run


@pytest.mark.parametrize(
    ("shares", "best"),
    [
        ({1.0: (0.5, 0.6), 2.0: (0.55, 0.6), 4.0: (0.4, 0.74)}, 2.0),
        ({1.0: (0.5, 0.6), 4.0: (0.4, 0.75), 2.0: (0.55, 0.6)}, 2.0),
        ({4.0: (0.5,), 2.0: (0.5,)}, 2.0),
        ({8.0: (0.9, 0.2), 1.0: (0.5, 0.5)}, 8.0),
    ],
)
def test_the_limit_with_the_most_right_answers_is_chosen_and_of_equals_the_smallest(shares, best):
    assert scattering_step.chosen(shares) == best


def test_grey_is_the_luma_of_an_image():
    colours = np.zeros((2, 8, 8, 3), np.uint8)
    colours[0], colours[1, ..., 1] = 255, 100
    data = Dataset(name="two", source="by hand", inputs=colours, labels=[0, 1], classes=("a", "b"))
    plane = scattering_step.grey(data).inputs
    assert plane.shape == (2, 8, 8, 1)
    assert plane.dtype == np.uint8
    assert set(plane[0].flat) == {255}
    assert set(plane[1].flat) == {59}


def test_each_limit_is_the_learners_own_and_the_table_says_which_is_chosen(monkeypatch):
    spec = scattering_step.SPECS["cifar10-grey"]
    for limit in spec.limits:
        assert spec.head(limit).request(1.0).options["longest_step"] == limit
    monkeypatch.setattr(scattering_step, "_task", lambda *_: None)
    monkeypatch.setattr(
        scattering_step, "_drawn", lambda _, limit, epsilon, __: 0.5 - abs(limit - 2) / epsilon / 99
    )
    (table,) = scattering_step.study(spec, Run()).tables
    assert [row[0] for row in table.rows if row[-1] == "yes"] == ["2"]
    assert len(table.rows) == len(spec.limits)
