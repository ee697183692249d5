"""Step sizes: every loss is searched over one grid, and the rule takes the best of it."""

import dataclasses

import pytest

from reticent.studies import Run, pretraining_rates
from reticent.studies.pretraining import Row
from reticent.studies.pretraining_rates import SPECS, Rates


def test_both_losses_have_the_same_grid() -> None:
    spec = SPECS["digits"]
    assert [row.method for row in spec.rows()] == ["spectral", "masked-patches"]
    for row in spec.rows():
        rates = [spec.at(rate).request(row, 0).planned(64, 0).learning_rate for rate in spec.rates]
        assert rates == list(spec.rates)


def test_the_best_rate_of_each_loss_is_named() -> None:
    spec = Rates(base=SPECS["digits"].base, rates=(0.5, 0.1))
    spectral, masked = spec.rows()
    starts = [{"knn": 0.5, "probe": 0.5}]

    def cell(knn: float, probe: float) -> list[dict[str, float]]:
        return [{"knn": knn, "probe": probe}]

    cells: dict[tuple[Row, float], list[dict[str, float]]] = {
        (spectral, 0.5): cell(0.9, 0.6),
        (spectral, 0.1): cell(0.7, 0.7),
        (masked, 0.5): cell(0.6, 0.6),
        (masked, 0.1): cell(0.5, 0.8),
    }
    rows = pretraining_rates._table(spec, starts, cells).rows
    assert [(row[0], row[1]) for row in rows if row[-1] == "yes"] == [
        ("spectral", "0.5"),
        ("masked-patches", "0.1"),
    ]
    assert rows[0][2] == "0.9000 (+0.4000)"


@pytest.mark.slow
def test_a_small_grid_runs() -> None:
    base = dataclasses.replace(SPECS["digits"].base, seeds=1, steps=2)
    table = pretraining_rates.study(Rates(base=base, rates=(0.5, 0.02)), Run()).tables[0]
    assert [row[:2] for row in table.rows] == [
        ("spectral", "0.5"),
        ("spectral", "0.02"),
        ("masked-patches", "0.5"),
        ("masked-patches", "0.02"),
    ]
    assert [row[-1] for row in table.rows].count("yes") == 2
