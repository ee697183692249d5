"""DPCL's figures: what is drawn is what the table says, and the committed files are drawn of it."""

import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from reticent import plot
from reticent.report.figures.along_steps import COLUMNS, PANELS, study_drawings
from reticent.results.table import figure_of
from reticent.validation import InputError

ROOT = Path(__file__).parents[2]
SETS = ("mnist", "cifar10")


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
    table["rows"] = [row for row in table["rows"] if row[0] == "Barlow Twins"]
    assert list(study_drawings(document)) == ["dpcl-mnist-fig-4", "dpcl-mnist-fig-5"]


@pytest.mark.parametrize(
    "document",
    [{"tables": [{"title": "Another", "columns": [], "rows": []}]}, {"tables": 3}, {}, [], 3],
)
def test_what_is_no_such_table_is_refused(document):
    with pytest.raises(InputError, match="must hold the table of reproduce dpcl figures, got"):
        study_drawings(document)


@pytest.mark.parametrize("cell", ["", "cannot", "0.1 [0.2]", "1.0 [0.5, 2.0] ", "nan"])
def test_a_cell_that_is_no_figure_is_refused(cell):
    with pytest.raises(InputError, match="a cell must be a figure"):
        figure_of(cell)


def test_plot_draws_the_file_of_a_study():
    path = ROOT / "results" / "dpcl-mnist.json"
    made = plot.study(path)
    assert list(made) == [f"dpcl-mnist-fig-{number}" for number in range(1, 6)]
    assert all(isinstance(figure, Figure) for figure in made.values())
    assert list(plot.study(committed("mnist"))) == list(made)
