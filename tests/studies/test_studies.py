"""The papers' exact figures come out of the library."""

import pytest

from reticent.studies import STUDIES, exact_items, papers, study

CELLS = {
    ("alm", "noise"): {
        "CIFAR-10": ("0.0247", "0.0317", "0.0516", "0.0671"),
        "CIFAR-100": ("0.0293", "0.0376", "0.0611", "0.0794"),
        "STL-10": ("0.0187", "0.0240", "0.0405", "0.0526"),
    },
    ("alm", "sampler"): {
        "CIFAR-10": ("500", "0.0775"),
        "STL-10": ("250", "0.106"),
        "γ = 0.1": ("285", "0.1"),
    },
    ("dpcl", "noise-scales"): {
        "SimCLR, naive": ("999.86", "1001"),
        "SimCLR, noisy similarity": ("999.41", "110009"),
        "Barlow Twins, naive": ("995.30",),
        "Barlow Twins, noisy mean and variance": ("998.73", "716529"),
    },
    ("slides", "smokers"): {"1.0": ("1.0000",), "0.1": ("10.0000",)},
}


@pytest.mark.parametrize(("paper", "item"), CELLS)
def test_figures(paper, item):
    rows = {row[0]: row for row in study(paper, item).rows}
    for label, expected in CELLS[paper, item].items():
        assert set(expected) <= set(rows[label])


@pytest.mark.parametrize(
    ("paper", "item"),
    # Refutations take seconds each; their own tests ask the same of them.
    [(paper, item) for paper in papers() if paper != "refutations" for item in exact_items(paper)],
)
def test_every_item_names_its_grade_and_fits_its_columns(paper, item):
    table = study(paper, item)
    assert {len(row) for row in table.rows} == {len(table.columns)}
    assert any("published" in note.lower() or "declared" in note.lower() for note in table.notes)
    assert STUDIES[f"{paper} {item}"].__doc__
