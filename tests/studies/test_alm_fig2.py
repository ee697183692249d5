"""ALM Fig. 2 as a study: attack and utility under three mechanisms, and the claims about them."""

from dataclasses import replace

import pytest

from reticent.studies import Run, alm_fig2
from reticent.studies.alm_fig2 import SPECS, claims
from reticent.studies.trained import Cells


def cells(laplace, others):
    """Two seeds with these attack accuracies at the one ε."""
    return [
        {
            "laplace": [[laplace + jitter, 0.5, 0.1]],
            "logistic": [[others + jitter, 0.5, 0.1]],
            "classical gaussian": [[others - jitter, 0.5, 0.1]],
        }
        for jitter in (0.0, 0.0001)
    ]


@pytest.mark.parametrize(
    ("laplace", "others", "near", "highest"),
    [(0.6, 0.5, True, True), (0.5, 0.6, False, False), (0.5, 0.5, True, False)],
)
def test_claims_are_what_the_rows_say(laplace, others, near, highest):
    spec = replace(SPECS["digits"], epsilons=(1.0,))
    about, first = claims(spec, cells(laplace, others))
    assert ("holds at every ε" in about) == near
    assert ("holds at every ε" in first) == highest


@pytest.mark.slow
def test_a_small_figure_runs():
    spec = replace(
        SPECS["digits"],
        members=60,
        pairs=1,
        draws=2,
        seeds=2,
        epsilons=(0.01, 1e6),
        victim=replace(SPECS["digits"].victim, passes=40),
    )
    (table,) = alm_fig2.study(spec, Run()).tables
    rows = {(row[0], row[1]): row[2:] for row in table.rows}
    assert rows["logistic", "1e+06"] == rows["none", "–"]  # next to no noise
    assert float(rows["logistic", "0.01"][2].split()[0]) > 0.3


def test_more_seeds_go_on_from_the_cells_that_are_kept(monkeypatch, tmp_path):
    taken = []

    def cell(_spec, seed, _run):
        taken.append(seed)
        return {
            name: [[0.5, 0.5, 0.1 + seed / 1000]]
            for name in ("none", *(kind.name for kind in alm_fig2.KINDS))
        }

    monkeypatch.setattr(alm_fig2, "_cell", cell)
    spec = replace(SPECS["digits"], epsilons=(1.0,), seeds=2)
    for seeds in (2, 3):
        run = Run(cells=Cells(tmp_path / "figure.json.part"))
        alm_fig2.study(replace(spec, seeds=seeds), run)
    assert taken == [10, 11, 12]
