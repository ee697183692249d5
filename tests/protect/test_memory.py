"""A release holds little beside the table: no copy of the rows, no entry for each record and class.

numpy tells tracemalloc of every array, so a peak is a count of bytes and not a measurement.
"""

import tracemalloc

import numpy as np
import pytest

from reticent.data import Dataset
from reticent.protect import ReleaseRequest, release_table
from reticent.training import linear_head, objective

LEARNERS = ("weights", "noisy-gradient", "class-means", "lda", "adassp")


def table(records, features, classes):
    rng = np.random.default_rng(0)
    labels = rng.integers(classes, size=records)
    rows = rng.standard_normal((records, features)) / np.sqrt(features)
    names = tuple(map(str, range(classes)))
    return Dataset(
        name="clusters", source="a generator", inputs=rows, labels=labels, classes=names
    )  # fmt: skip


def released(data, learner):
    request = ReleaseRequest.of(
        epsilon=4.0, delta=1e-6, relation="add-remove", records=len(data), recipe=learner
    )
    if learner == "weights":
        request = request.with_options(bound=2.0)
    return release_table(data, request)


def peak_of(learner, *shape):
    """Bytes that a release takes at most beside its table, everything imported and compiled."""
    released(table(200, *shape[1:]), learner)
    data = table(*shape)
    tracemalloc.start()
    try:
        released(data, learner)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture
def as_if_large(monkeypatch):
    """Whatever the size, nothing is kept that is not kept of a large table."""
    monkeypatch.setattr(linear_head, "LARGEST_COPY", 0)
    monkeypatch.setattr(objective, "KEPT", 0)


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_release_takes_no_copy_of_many_rows(as_if_large, learner):
    """noisy-gradient keeps whitened rows in float32, half of one."""
    records, features = 60_000, 48
    assert peak_of(learner, records, features, 3) < 0.85 * 8 * records * features


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_release_takes_no_entry_for_each_record_and_class(as_if_large, learner):
    """But for the search of an optimum: probabilities at two points, and a line between them."""
    records, classes = 40_000, 64
    allowed = {"weights": 4.5}.get(learner, 0.25)
    assert peak_of(learner, records, 4, classes) < allowed * 8 * records * classes


@pytest.mark.parametrize("learner", LEARNERS)
def test_rows_of_a_table_are_not_copied_where_all_count(learner, monkeypatch):
    data = table(60, 4, 3)
    seen = []
    recipe = type(released(data, learner).recipe)
    learn = recipe.learn
    monkeypatch.setattr(
        recipe, "learn", lambda self, rows, *rest, **more: seen.append(rows) or learn(
            self, rows, *rest, **more
        )
    )  # fmt: skip
    released(data, learner)
    assert np.shares_memory(seen[0], data.inputs)
