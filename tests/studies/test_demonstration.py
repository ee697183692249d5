"""The demonstration repeated: each seed draws anew, and the verdict counts what it says."""

import pytest

from reticent.run.demo import DemoSpec
from reticent.studies import demonstration
from reticent.studies.trained import Cells, Run
from tests.run.test_demo import SMALL


@pytest.mark.slow
def test_each_seed_is_another_draw_and_is_kept(tmp_path):
    spec = demonstration.Demonstrations(demo=SMALL, on="digits", epsilons=(1.0,), seeds=2)
    run = Run(cells=Cells(tmp_path / "cells.json"))
    (table,) = demonstration.study(spec, run).tables
    assert run.steps.done == run.steps.whole == 2
    assert [row[0] for row in table.rows] == ["100", "101"]
    assert table.columns[-1] == "loss at ε = 1"
    first, second = (row[2:] for row in table.rows)
    assert first != second
    again = demonstration.study(spec, Run(cells=Cells(tmp_path / "cells.json"))).tables
    assert again == (table,)  # fresh noise would differ


def test_it_repeats_the_demonstration_as_it_is():
    spec = demonstration.SPECS["mnist-test"]
    assert spec.demo == DemoSpec.full()
    assert spec.epsilons[0] == spec.demo.run.epsilon
    assert spec.seeds >= 20
