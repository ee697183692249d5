"""DPCL's figures: what is drawn is what the table says, and the committed files are drawn of it."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from reticent import plot
from reticent.report.figures.along_steps import COLUMNS, PANELS, study_drawings
from reticent.results.table import Table
from reticent.validation import InputError

ROOT = Path(__file__).parents[2]
SETS = ("mnist", "cifar10")
OTHER = Table(title="Another", columns=(), rows=()).to_dict()


def committed(on):
    return json.loads((ROOT / "results" / f"dpcl-{on}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("on", SETS)
def test_the_committed_figures_are_drawn_of_the_committed_table(on):
    made = {f"{name}.svg": one.svg for name, one in study_drawings(committed(on)).items()}
    stored = sorted(path.name for path in (ROOT / "docs" / "images").glob(f"dpcl-{on}-*"))
    assert sorted(made) == stored
    for name, text in made.items():
        kept = (ROOT / "docs" / "images" / name).read_text(encoding="utf-8")
        assert kept == text, f"{name}: run make docs"
        assert len(kept) < 30_000


@pytest.mark.parametrize("on", SETS)
@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: f"fig-{panel.number}")
def test_a_line_is_the_cells_of_its_way(on, panel):
    document = committed(on)
    figure = study_drawings(document)[f"dpcl-{on}-fig-{panel.number}"].figure
    lines = {line.get_label(): line.get_data() for line in figure.axes[0].lines}
    assert list(lines) == ["none", "naive", "published", "proven"]
    place = COLUMNS.index(panel.metric, 3)
    for way, (steps, values) in lines.items():
        rows = [r for r in document["tables"][0]["rows"] if r[:2] == [panel.loss, way]]
        assert list(steps) == [int(row[2]) for row in rows]
        assert np.allclose(values, [float(row[place].split(" ")[0]) for row in rows], atol=0)
    low, high = figure.axes[0].get_ylim()
    assert all(low < min(values) and max(values) < high for _, values in lines.values())


def test_bands_stand_where_there_were_several_seeds():
    bands = {
        on: len(study_drawings(committed(on))[f"dpcl-{on}-fig-2"].figure.axes[0].collections)
        for on in SETS
    }
    assert bands == {"mnist": 4, "cifar10": 0}


def test_one_loss_alone_has_its_own_figures():
    document = committed("mnist")
    table = document["tables"][0]
    own = Table.from_dict(table)
    rows = tuple(row for row in own.rows if row[0] == "Barlow Twins")
    document["tables"][0] = replace(own, rows=rows).to_dict()
    assert list(study_drawings(document)) == ["dpcl-mnist-fig-4", "dpcl-mnist-fig-5"]


@pytest.mark.parametrize(
    "document",
    [
        {"specifications": [{"on": "mnist"}], "tables": [OTHER]},
        {"specifications": [{"on": "../mnist"}], "tables": committed("mnist")["tables"]},
        {"specifications": [], "tables": [OTHER]},
        {"specifications": [{"on": "mnist"}], "tables": [{"title": "", "rows": 3}]},
        {"specifications": [{"on": "mnist"}], "tables": [OTHER | {"figures": [1]}]},
        {"specifications": [{"on": "mnist"}], "tables": [OTHER | {"rows": [[[]]]}]},
        {"tables": 3},
        {},
        [],
        3,
    ],
)
def test_what_is_no_such_table_is_refused(document):
    with pytest.raises(InputError, match="must hold the table of reproduce dpcl figures, got"):
        study_drawings(document)


@pytest.mark.parametrize("value", [None, True, "0.1", [0.1, 0.2], {}])
def test_a_cell_without_a_figure_is_refused(value):
    document = committed("mnist")
    document["tables"][0]["values"][0][3] = value
    with pytest.raises(InputError, match=r"must have a figure|must hold the table of"):
        study_drawings(document)


def test_a_text_decides_nothing():
    document = committed("mnist")
    for row in document["tables"][0]["rows"]:
        row[2:] = ["9"] * 5
    document["tables"][0]["title"] = "Another"
    made = {name: one.svg for name, one in study_drawings(document).items()}
    assert made == {name: one.svg for name, one in study_drawings(committed("mnist")).items()}


def test_plot_draws_the_file_of_a_study():
    path = ROOT / "results" / "dpcl-mnist.json"
    made = plot.study(path)
    assert list(made) == [f"dpcl-mnist-fig-{number}" for number in range(1, 6)]
    assert all(isinstance(figure, Figure) for figure in made.values())
    assert list(plot.study(committed("mnist"))) == list(made)
