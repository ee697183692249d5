"""``reticent.plot``: the report's figures, of a document or of one's own scores."""

import json
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from reticent import Guarantee, plot
from reticent.audit import ceiling
from reticent.report.figures import INTERNAL
from reticent.results import write_results
from reticent.validation import InputError
from tests.report.sample import sample_results

GUARANTEE = Guarantee(epsilon=1.0, delta=1e-5, relation="add-remove")


def labels(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_all_figures_of_a_document_in_the_order_of_the_page():
    made = plot.figures(sample_results())
    assert list(made) == [name for name in INTERNAL if name in made]
    assert {"epsilon-loss", "roc", "audits"} <= set(made)
    assert all(isinstance(figure, Figure) for figure in made.values())


def test_one_figure_from_a_file_or_its_folder(tmp_path):
    write_results(sample_results(), tmp_path / "results.json")
    for where in (tmp_path, str(tmp_path / "results.json")):
        assert plot.figure(where, "roc").axes
    with pytest.raises(InputError, match=r"name must be one of epsilon-loss.* got 'telepathy'"):
        plot.figure(tmp_path, "telepathy")
    with pytest.raises(InputError, match="results must be those of a run"):
        plot.figures(3)


def test_a_curve_is_the_scores_own():
    members, others = np.array([3.0, 2.0, 2.0, 0.0]), np.array([2.5, 1.0, 0.5, 0.0])
    (axes,) = plot.roc({"mine": (members, others)}, guarantee=GUARANTEE).axes
    line = next(one for one in axes.lines if one.get_label() == "mine")
    drawn = set(zip(*np.round(line.get_data(), 3).tolist(), strict=True))
    assert {(0.125, 0.25), (0.25, 0.75), (1.0, 1.0)} <= drawn  # the origin stands at the edge
    allowed = next(one for one in axes.lines if one.get_label().startswith("ceiling"))
    grid, values = allowed.get_data()
    assert np.allclose(values, ceiling(grid, 1.0, 1e-5))


def test_without_a_guarantee_there_is_no_ceiling():
    rng = np.random.default_rng(0)
    figure = plot.roc(
        {"a": (rng.normal(size=9), rng.normal(size=9)), "b": ([1.0, 2.0], [0.0, 1.0])}
    )
    assert labels(figure) == ["guessing", "a", "b"]
    assert "ceiling" in labels(plot.ceiling(GUARANTEE))[0]


@pytest.mark.parametrize(
    "attacks", [{}, {"a": ([], [1.0])}, {"a": ([np.nan], [1.0])}, {"a": ([1.0], [[1.0]])}]
)
def test_scores_that_are_none_are_refused(attacks):
    with pytest.raises(InputError):
        plot.roc(attacks)


def test_importing_it_draws_nothing():
    code = "import reticent.plot, sys; print(sorted({'matplotlib', 'pydantic'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_log_of_a_training_has_a_panel_for_each_thing_it_tells(tmp_path):
    log = tmp_path / "e.log.jsonl"
    told = [{"step": n, "gradient_norm": 2.0 / n, "coupling_norm": 1.0} for n in (1, 2, 3)]
    told[2]["contrastive_accuracy"] = 0.75  # told at one step alone
    log.write_text("".join(json.dumps(one) + "\n" for one in told))
    axes = plot.training(log).axes
    assert [one.get_ylabel() for one in axes] == [
        "other view found",
        "norm of gradient",
        "norm of coupling",
    ]
    assert axes[0].lines[0].get_xdata().tolist() == [3]
    assert axes[1].lines[0].get_ydata().tolist() == [2.0, 1.0, 2 / 3]
    assert axes[-1].get_xlabel() == "step"
    log.write_text('{"epoch": 1, "loss": 0.5, "contrastive_accuracy": 0.9}\n')
    assert plot.training(str(log)).axes[-1].get_xlabel() == "epoch"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must be the log of a pre-training"),
        ('{"step": 1}\n', "must be the log of a pre-training"),
        ('{"step": 1, "loss": true}\n', "must be the log of a pre-training"),
        ('{"step": 1, "loss": NaN}\n', "line 1 of"),
        ('{"step": 1, "loss": 2}\n[]\n', "line 2 of .* must be a JSON object"),
    ],
)
def test_what_is_no_log_of_a_training_is_refused_in_one_line(tmp_path, text, reason):
    log = tmp_path / "e.log.jsonl"
    log.write_text(text)
    with pytest.raises(InputError, match=reason) as caught:
        plot.training(log)
    assert "\n" not in str(caught.value)
