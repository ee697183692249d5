"""The harness of the benchmarks; the benchmarks themselves are run by `make bench` only."""

import json
import platform
import types

import pytest

from benchmarks import harness
from tools import refresh_docs


@pytest.fixture
def benchmark(monkeypatch):
    """One benchmark in place of the real ones."""
    result = harness.Result(columns=["what", "ratio"], rows=[["a", 1.5]], note="A note.")
    module = types.SimpleNamespace(NAME="one", TITLE="One", run=lambda quick: result)
    monkeypatch.setattr(harness, "discover", lambda: {"one": module})
    return module


def test_a_result_is_recorded_with_what_is_needed_to_judge_it(benchmark, tmp_path, capsys):
    assert harness.main(["one"], results=tmp_path) == 0
    text = (tmp_path / "one.json").read_text(encoding="utf-8")
    recorded = json.loads(text)
    assert recorded["rows"] == [["a", 1.5]]
    assert recorded["machine"]["cores"] >= 1
    assert set(recorded["versions"]) >= {"python", "numpy", "scipy", "numba"}
    assert platform.node() not in text
    assert "1.5" in capsys.readouterr().out
    assert "| a | 1.5 |" in refresh_docs.benchmark_table(recorded)


def test_a_quick_run_is_not_recorded(benchmark, tmp_path):
    assert harness.main(["--quick"], results=tmp_path) == 0
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_name_is_refused(benchmark, tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        harness.main(["two"], results=tmp_path)
    assert "NAME must be one of one; got two" in capsys.readouterr().err


def test_nan_is_not_recorded(benchmark, tmp_path):
    benchmark.run = lambda quick: harness.Result(columns=["ratio"], rows=[[float("nan")]])
    with pytest.raises(ValueError, match="nan"):
        harness.main([], results=tmp_path)


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="rows must have 2 cells"):
        harness.Result(columns=["a", "b"], rows=[[1]])


def test_timing_leaves_the_first_call_out():
    calls = []
    timing = harness.best_of(lambda: calls.append(1), repeats=3)
    assert len(calls) == 4
    assert 0 < timing.minimum <= timing.median


def test_each_benchmark_has_a_name_a_title_and_a_run():
    for name, module in harness.discover().items():
        assert name == module.NAME
        assert module.TITLE
        assert callable(module.run)


STEPS = {
    ("MLP 512-128-10", 256): (1.5, 1.4),
    ("MNIST CNN", 256): (1.25, 1.4),
    ("MNIST CNN", 1024): (1.25, 1.4),
    ("ResNet-18, GroupNorm", 32): (1.35, 1.4),
    ("BERT, 6×384", 32): (1.3, 1.4),
    ("BERT, 6×384, LoRA", 32): (1.1, 0.95),
}
"""Of a network and its batch: what a fast private step may cost at most in plain steps, and how
many times as long Opacus' best mode must take at least."""
MEASURED_BEFORE = pytest.mark.xfail(
    reason="the file is of 256 records at a time; the case has 128 since, and is to be measured"
)


def private_steps():
    path = harness.RESULTS / "private_steps.json"
    result = json.loads(path.read_text(encoding="utf-8"))
    rows = [dict(zip(result["columns"], row, strict=True)) for row in result["rows"]]
    return {(row["network"], row["batch"]): row for row in rows}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(one, marks=MEASURED_BEFORE if one == ("MNIST CNN", 256) else ())
        for one in STEPS
    ],
)
def test_a_fast_private_step_costs_what_it_may_and_opacus_more(case):
    most, least = STEPS[case]
    row = private_steps()[case]
    assert row["fast ÷ plain"] <= most
    assert row["Opacus ÷ fast"] >= least


def test_every_network_that_is_measured_has_a_bar():
    assert set(private_steps()) == set(STEPS)


@pytest.mark.parametrize(
    ("network", "most"),
    [("three strided", 2.2), ("three strided, exact", 2.2), ("ResNet-18-GN", 1.6)],
)
def test_a_private_contrastive_step_costs_what_it_may(network, most):
    path = harness.RESULTS / "contrastive_steps.json"
    result = json.loads(path.read_text(encoding="utf-8"))
    rows = {row[0]: dict(zip(result["columns"], row, strict=True)) for row in result["rows"]}
    assert rows[network]["private ÷ plain"] <= most
    assert rows[network]["memory ÷ plain"] <= 3
