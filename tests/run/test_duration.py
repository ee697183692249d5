"""How long a run will take: the factors are those of the benchmark, which keeps the promise."""

import dataclasses
import itertools
import time
from dataclasses import fields

import numpy as np
import pytest

from benchmarks import bench_run_time
from benchmarks.bench_run_time import Case, fitted, recorded, work_of
from reticent.cli.run import _say_time
from reticent.run import duration
from reticent.run.bounded import bounded
from reticent.run.duration import (
    ALWAYS,
    CALIBRATION,
    COSTS,
    Work,
    calibration_seconds,
    expected_seconds,
    machine_slowness,
    stage_seconds,
)

WORK = work_of(
    {"records": 2000, "features": 30, "classes": 10, "ε": 5, "noises": 3, "draws": 5, "shadows": 32}
)


def test_the_factors_are_those_that_the_recorded_runs_give():
    for name, cost in fitted(recorded()).items():
        for field in fields(cost):
            said, measured = (getattr(one, field.name) for one in (COSTS[name], cost))
            assert said == pytest.approx(measured, rel=0.02, abs=1e-5), (name, field.name)
    measured = [row["calibration s"] for row in recorded()]
    assert pytest.approx(np.median(measured), rel=0.02) == CALIBRATION


def test_each_recorded_run_keeps_what_the_others_would_have_said_of_it():
    rows = recorded()
    assert len(rows) >= 4
    assert all(0.5 <= row["ratio"] <= 2 for row in rows)
    plain = [[row[name] for name in bench_run_time.MEASURED] for row in rows]
    again = bench_run_time.with_said(plain)
    assert [line[-1] for line in again] == [row["ratio"] for row in rows]


def test_work_is_counted_from_public_sizes():
    case = Case((40, 3, 2), epsilons=(2.0,), mechanisms=("gaussian",), draws=2, shadows=10)
    data, spec = case.data(), case.spec()
    row = dict(zip(bench_run_time.COLUMNS, [40, 3, 2, 1, 1, 2, 10], strict=False))
    assert Work.of(data, bounded(data, spec)) == work_of(row)


def test_more_work_takes_longer_and_more_processes_less(monkeypatch):
    monkeypatch.setattr(duration, "workers", lambda jobs: jobs)
    monkeypatch.setattr(duration, "cores", lambda: 8)
    small = work_of(dict(zip(bench_run_time.COLUMNS, [200, 3, 2, 1, 1, 2, 10], strict=False)))
    alone = expected_seconds(WORK, jobs=1, slowness=1.0)
    assert alone == pytest.approx(ALWAYS + sum(stage_seconds(WORK).values()))
    assert expected_seconds(small, jobs=1, slowness=1.0) < alone
    assert expected_seconds(WORK, jobs=8, slowness=1.0) < alone
    assert expected_seconds(WORK, jobs=1, slowness=3.0) == pytest.approx(3 * alone)


def test_only_what_runs_in_parallel_is_divided(monkeypatch):
    """By the cores that there are, by the tasks that there are, and never below the longest one."""
    monkeypatch.setattr(duration, "workers", lambda jobs: jobs)
    monkeypatch.setattr(duration, "cores", lambda: 2)
    alone, stages = expected_seconds(WORK, jobs=1, slowness=1.0), stage_seconds(WORK)
    two = expected_seconds(WORK, jobs=2, slowness=1.0)
    assert two == expected_seconds(WORK, jobs=16, slowness=1.0)  # there are two cores
    shared = stages["attacks"] + stages["audits"]
    serial = alone - shared
    assert two >= serial + duration.WORKER_START + shared / 2
    assert two <= serial + duration.WORKER_START + shared
    monkeypatch.setattr(duration, "cores", lambda: 1)
    assert expected_seconds(WORK, jobs=2, slowness=1.0) == pytest.approx(alone)
    monkeypatch.setattr(duration, "cores", lambda: 1000)
    many = expected_seconds(WORK, jobs=1000, slowness=1.0)
    audits = stages["audits"] / WORK.audits
    first = COSTS["attacks"].first(WORK.measured)
    one = first + (stages["attacks"] - first) / WORK.releases
    assert many == pytest.approx(serial + duration.WORKER_START + one + audits)


def test_a_slower_machine_is_measured_as_one():
    ticks = itertools.count(0.0, 7 * CALIBRATION)  # each look at the clock is so much later
    assert machine_slowness(lambda: next(ticks)) == pytest.approx(7.0)


def test_the_fixed_job_is_short():
    started = time.process_time()
    calibration_seconds(time.perf_counter)
    assert time.process_time() - started < 3  # with compiling, on a slow machine


def test_the_command_says_it_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr(duration, "machine_slowness", lambda: 2.0)
    huge = work_of(dict(zip(bench_run_time.COLUMNS, [10**6, 99, 9, 1, 1, 2, 10], strict=False)))
    assert "longer than those whose times are known" in duration.line_of(huge, jobs=1)
    case = Case((40, 3, 2))
    _say_time(case.data(), dataclasses.replace(case.spec(), learner="network"))
    assert "longer than those whose times are known" in capsys.readouterr().err
    _say_time(case.data(), case.spec())
    line = capsys.readouterr().err
    assert line.startswith("reticent: this run takes about ")
    assert line.endswith(" on this machine, as busy as it is now\n")
    assert line.count("\n") == 1
