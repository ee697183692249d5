"""Seeds that are added to a study give the table that all of them together would have given."""

import json
from dataclasses import replace

import numpy as np
import pytest

from reticent.audit.metrics import over_repeats
from reticent.results.table import Limits, Table, limits_of
from reticent.studies import Run, dpcl_figures
from reticent.studies.trained import record
from tools import more_seeds

DIGITS = dpcl_figures.SPECS["digits"]
SMALL = replace(
    DIGITS,
    training=replace(DIGITS.training, steps=3, marks=(0, 2, 3), batch=16),
    records=100,
    public=20,
    labelled=60,
    queries=40,
    losses=("SimCLR",),
    ways=("none", "naive", "published"),
)


def limits(values):
    found = over_repeats(values)
    return Limits(found.value, found.low, found.high)


@pytest.mark.parametrize("seeds", [(3, 2), (2, 2), (5, 4)])
def test_two_samples_give_the_interval_of_both(seeds):
    values = np.random.default_rng(0).normal(size=sum(seeds))
    both = more_seeds.together(limits(values[: seeds[0]]), limits(values[seeds[0] :]), seeds)
    assert both == pytest.approx(limits(values))
    assert both != pytest.approx(limits(values[: seeds[0]]))


@pytest.mark.slow
def test_added_seeds_are_those_of_one_longer_study(monkeypatch, tmp_path):
    monkeypatch.setattr(dpcl_figures, "SPECS", {"digits": SMALL})
    command = "reticent reproduce dpcl figures --on digits"
    path = tmp_path / "dpcl-digits.json"
    path.write_text(json.dumps(record(dpcl_figures.study(SMALL, Run()), command=command)))
    more_seeds.main(["--on", "digits", "--results", str(tmp_path), "2"])
    whole = replace(SMALL, seeds=4)
    wanted = json.loads(json.dumps(record(dpcl_figures.study(whole, Run()), command=command)))
    found = json.loads(path.read_text())
    assert found["specifications"] == wanted["specifications"]
    assert [path.name for path in tmp_path.iterdir()] == ["dpcl-digits.json"]
    tables = [Table.from_dict(one["tables"][0]) for one in (found, wanted)]
    for own, other in zip(*(one.rows for one in tables), strict=True):
        assert own[:3] == other[:3]
        if own[2] == "0":  # before a sample is drawn, which is from secure bits: the same in both
            for cell, text in zip(own[3:], other[3:], strict=True):
                assert tuple(limits_of(cell)) == pytest.approx(tuple(limits_of(text)), abs=1e-6)
    assert any("4 seeds" in note for note in found["tables"][0]["notes"])
    assert any("2 more of" in note for note in found["tables"][0]["notes"])
    named = [
        [row[:4] for row in tables[1]["rows"]] for tables in (found["tables"], wanted["tables"])
    ]
    assert named[0] == named[1]


def test_a_file_of_another_specification_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(dpcl_figures, "SPECS", {"digits": SMALL})
    (tmp_path / "dpcl-digits.json").write_text(json.dumps({"specifications": [], "tables": []}))
    with pytest.raises(SystemExit, match="must be of the specification in the code"):
        more_seeds.main(["--on", "digits", "--results", str(tmp_path), "2"])
