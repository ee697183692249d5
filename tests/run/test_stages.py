"""The stages of a run: one list that the job, the times and the progress follow."""

from contextlib import contextmanager

from reticent.cli import progress
from reticent.run.duration import COSTS, IN_PARALLEL, Work
from reticent.run.job import Job
from reticent.run.stages import PLACED, STAGES


def test_each_stage_computes_a_part_of_the_job_and_counts_what_a_run_repeats():
    for stage in STAGES:
        assert hasattr(Job, stage.part)
    assert STAGES[0].part == "kept"  # charged before anything else is done
    assert {*COSTS, *IN_PARALLEL, *IN_PARALLEL.values()} <= set(Work.__dataclass_fields__)
    assert list(COSTS) == ["shadows", "draws", "attacks", "audits"]


def test_progress_names_the_place_of_what_is_told(monkeypatch):
    lines = []

    @contextmanager
    def kept(first):
        lines.append(first)
        yield lambda *told: lines.append(told)

    monkeypatch.setattr(progress, "_lines", kept)
    with progress.stages(named=PLACED) as show:
        show("releases", 1, 3)
        show("something else", 0, 1)
    assert lines == ["starting", ("stage 5 of 9, releases", 1, 3), ("something else", 0, 1)]
