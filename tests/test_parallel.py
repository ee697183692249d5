"""Tasks give the same rows in the same order, however many run at once."""

import os

import pytest

from reticent.parallel import map_tasks, workers
from reticent.randomness import seeded
from reticent.validation import InputError


def draw(index):
    return index, float(seeded("test", index).normal())


def test_one_and_two_processes_give_equal_rows():
    alone = map_tasks(draw, range(6))
    assert map_tasks(draw, range(6), jobs=2) == alone
    assert [index for index, _ in alone] == list(range(6))
    assert len({value for _, value in alone}) == 6


def test_progress_counts_up():
    seen = []
    map_tasks(draw, range(3), on_done=seen.append)
    assert seen == [1, 2, 3]


@pytest.mark.parametrize("jobs", [0, True, "2", 1.5])
def test_bad_jobs(jobs):
    with pytest.raises(InputError, match="jobs must be a whole number"):
        map_tasks(draw, range(2), jobs=jobs)
    with pytest.raises(InputError, match="jobs must be a whole number"):
        workers(jobs)


def test_workers():
    assert (workers(), workers(1), workers(3)) == (1, 1, 3)
    assert 1 <= workers(-1) <= (os.cpu_count() or 1)
