"""Lu et al.: each printed figure, and each counterexample."""

import dataclasses
import math

import numpy as np
import pytest

from reticent.studies import study
from reticent.studies.lu import formulas
from reticent.studies.lu import verdicts as cases
from reticent.studies.lu.tables import NETWORKS, TABLE_5, TABLE_6

MISMATCHES = {
    ("Purchase-2", "neuron"): "0.1997",
    ("Purchase-2", "probability"): "0.4909",
    ("Purchase-2", "bracketed"): "0.4909",
    ("Purchase-20", "stability"): "1.6753",
}


@pytest.mark.parametrize("name", NETWORKS)
def test_table_6_to_the_printed_digits(name):
    printed = dataclasses.asdict(TABLE_6[name])
    ours = dataclasses.asdict(NETWORKS[name].calculated().texts())
    for key, text in printed.items():
        assert ours[key] == MISMATCHES.get((name, key), text)
    assert float(printed["stability"]) == TABLE_5[name].stability


def test_table_6_says_where_it_differs():
    table = study("lu", "table6")
    cells = {row[0]: row for row in table.rows}
    assert len(cells) == 11
    assert "0.2000 / 0.1997" in cells["Purchase-2"]
    assert "0.4918 / 0.4909" in cells["Purchase-2"]
    assert "1.6750 / 1.6753" in cells["Purchase-20"]
    assert sum("/" in cell for row in table.rows for cell in row) == len(MISMATCHES)
    assert all(f"ours {value}" in table.notes[2] for value in MISMATCHES.values())


def test_unrounded_the_bracketed_column_is_another():
    """Δz is rounded to four decimals first: 510.8338 is not e^{2Δz} − 1 of Location's Δz."""
    neuron = NETWORKS["Location"].calculated().neuron
    assert math.expm1(2 * neuron) == pytest.approx(510.8637, abs=5e-5)
    assert math.expm1(2 * NETWORKS["Purchase-2"].calculated().neuron) == pytest.approx(
        0.4908, abs=5e-5
    )


@pytest.mark.parametrize(("pair", "coefficient"), formulas.PRINTED)
def test_the_nine_correlations_of_fig_2(pair, coefficient):
    value, p = formulas.correlation(pair, coefficient)
    printed, p_printed = map(float, formulas.PRINTED[pair, coefficient])
    assert value == pytest.approx(printed, abs=5e-5)
    assert p == pytest.approx(p_printed, abs=5e-5)


def test_print_errors_of_table_5_are_found():
    assert formulas.print_errors() == [
        "US Adult, convexified loss, gap 0.0002 for -0.0002",
        "CIFAR-100, original loss, gap 0.1647 for 0.1547",
    ]


def test_what_adults_sign_does_to_the_correlations(monkeypatch):
    right = dataclasses.replace(TABLE_5["US Adult"], gap=-0.0002)
    monkeypatch.setattr(formulas, "TABLE_5", {**TABLE_5, "US Adult": right})
    assert formulas.correlation("2c: leakage and gap", "Pearson")[0] == pytest.approx(
        0.9591, abs=5e-5
    )
    for pair, coefficient in formulas.PRINTED:
        if (pair, coefficient) != ("2c: leakage and gap", "Pearson"):
            printed = float(formulas.PRINTED[pair, coefficient][0])
            assert formulas.correlation(pair, coefficient)[0] == pytest.approx(printed, abs=5e-5)


def test_budgets_of_many_queries():
    rows = {(row[0], row[1]): row for row in study("lu", "queries").rows}
    assert rows["10", "1,000"][2:4] == ("0.01", "0.01")
    assert rows["10", "100"][2:4] == ("0.01", "0.1")  # the paper prints 0.01
    assert rows["1", "10,000"][4] == "0.01"
    assert rows["1", "1"][6] == "0.4621"


def test_splits_of_one_answer():
    rows = {row[0]: row[1:] for row in study("lu", "splits").rows}
    assert rows["US Adult"] == ("2", "0.2000", "0.3333", "1e-05", "4.377", "0.4538", "1.5742")
    assert rows["Location"][1:4] == (f"{1 / 61:.4f}", f"{1 / 11:.4f}", "8.3e-05")
    assert rows["MNIST"][5:] == ("1.0000", "2.7183")


def test_bounds_name_the_condition_that_fails():
    rows = {row[:2]: row[2:] for row in study("lu", "bounds").rows}
    assert len(rows) == 25
    assert rows["ten classes, ‖x‖ ≤ 5", "Lu et al., Theorem 4"] == ("2ρ/(λn)", "0.1414", "")
    assert rows["ten classes, ‖x‖ ≤ 5", "Chaudhuri et al."][1] == "3.536"
    for (setting, _), (_, value, condition) in rows.items():
        assert (value == "–") == bool(condition)
        if setting == "a network":
            assert "convex" in condition


@pytest.mark.parametrize(
    ("alpha", "penalty", "own", "times"),
    [
        (1.0, 0.01, False, 3.1),
        (10.0, 0.01, False, 126),
        (1.0, 0.01, True, 0.40),
        (10.0, 0.01, True, 73.5),
        (1.0, 5e-4, True, 1.19),
        (10.0, 5e-4, True, 9.57),
    ],
)
def test_theorem_4_for_the_loss_that_is_trained(alpha, penalty, own, times):
    assert cases.theorem_4(alpha, penalty, own_regulariser=own) == pytest.approx(times, rel=8e-3)


@pytest.mark.parametrize("penalty", [0.3, 0.01, 5e-4, 1e-6])
def test_theorem_4_for_the_averaged_loss(penalty):
    assert cases.theorem_4(None, penalty, own_regulariser=False) <= 1


def test_eq_18_cor_1_and_lemma_5():
    assert cases.single_weight() == pytest.approx(10)
    assert cases.moved_activation() == pytest.approx((0.997, 0.1), abs=5e-4)
    assert cases.steep_gradient() == pytest.approx((1.414, 0.333), abs=5e-4)


@pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0, 100.0])
def test_theorem_5_the_hessian_is_indefinite(alpha):
    saddle, step = cases.Saddle(alpha=alpha), 1e-3
    f = saddle.loss
    found = np.array(
        [
            [f(step, 0) - 2 * f(0, 0) + f(-step, 0), 0],
            [0, f(0, step) - 2 * f(0, 0) + f(0, -step)],
        ]
    )
    cross = (f(step, step) - f(step, -step) - f(-step, step) + f(-step, -step)) / 4
    found[0, 1] = found[1, 0] = cross
    assert found / step**2 == pytest.approx(saddle.hessian(), abs=1e-3)
    for penalty in (0.0, 5e-4):
        lowest, highest = np.linalg.eigvalsh(saddle.hessian(penalty))
        assert lowest < -0.5 < 0.5 < highest
    assert saddle.above_the_chord() > 0.3


def test_corollary_2_tight_value_is_attained():
    for neuron in (0.1871, 3.119):
        assert cases.probability_moves(neuron) == pytest.approx(math.tanh(neuron / 2))


def test_theorem_6():
    assert cases.told_apart() == (1.0, 0.0)
    assert cases.two_classes(1.0) == pytest.approx(0.4)


def test_every_claim_has_a_verdict():
    verdicts = {row[0]: row[1] for row in study("lu", "verdicts").rows}
    assert len(verdicts) == 13
    for claim in ("Theorem 4 for the loss", "Eq. 18", "Lemma 5", "Corollary 1", "Theorem 6, C ≥ 3"):
        (found,) = [said for name, said in verdicts.items() if name.startswith(claim)]
        assert found.startswith("false")
