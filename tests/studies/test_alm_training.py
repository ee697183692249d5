"""The training studies of the ALM paper on small specifications, and their computed verdicts."""

import re
from dataclasses import replace

import numpy as np
import pytest

from reticent.protect import public_penalty
from reticent.studies import Run, alm_fig1, alm_layers, alm_mnist
from reticent.studies.losses import LossRow
from reticent.training.features import radius

FIG1 = replace(alm_fig1.SPECS["digits"][0], epsilons=(0.5, 50.0), draws=3, pairs=3, seeds=(0, 1))
LAYERS = replace(
    alm_layers.SPECS["digits"],
    depths=(1, 2),
    width=16,
    steps=60,
    pairs=3,
    draws=3,
    epsilons=(1.0, 1e6),
)
MNIST = replace(
    alm_mnist.SPECS["mnist5k"],
    records=2_000,
    draws=2,
    approximate=("gaussian",),
    pure=("l2-laplace",),
    penalties=(1e-1, 1e-2),
)


def columns(table):
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def row(mechanism, epsilon, low, high, grade="published"):
    middle = (low + high) / 2
    return LossRow(
        grade=grade,
        mechanism=mechanism,
        epsilon=epsilon,
        delta=0.0,
        loss=middle,
        low=low,
        high=high,
        protected=0.9 * (1 - middle),
        std=0.01,
        unprotected=0.9,
        draws=10,
    )


@pytest.fixture(scope="module")
def fig1():
    (table,) = alm_fig1.study((FIG1,), Run()).tables
    return table


class TestFig1:
    @pytest.mark.slow
    def test_each_mechanism_has_a_row_for_each_epsilon_and_grade(self, fig1):
        rows = columns(fig1)
        seen = {(r["grade"], r["mechanism"]) for r in rows}
        assert {m for grade, m in seen if grade == "proven"} == set(FIG1.proven)
        published = {m for grade, m in seen if grade == "published"}
        assert published == {"laplace", "logistic", "classical gaussian", "gaussian"}
        assert len(rows) == 2 * len(seen)
        pure = {"laplace", "logistic", "l2-laplace"}
        assert all((r["δ"] == "0") == (r["mechanism"] in pure) for r in rows)

    @pytest.mark.slow
    def test_all_mechanisms_protect_the_same_head(self, fig1):
        before = {(r["ε"], r["before"]) for r in columns(fig1)}
        assert len(before) == 2

    @pytest.mark.slow
    def test_more_budget_costs_less(self, fig1):
        loss = {(r["grade"], r["mechanism"], r["ε"]): float(r["loss"]) for r in columns(fig1)}
        for grade, mechanism in {key[:2] for key in loss}:
            assert loss[grade, mechanism, "50"] < loss[grade, mechanism, "0.5"]

    @pytest.mark.slow
    def test_the_notes_name_pairs_draws_and_neighbours(self, fig1):
        text = " ".join(fig1.notes)
        for words in ("3 pairs", "3 draws", "2 splits", "add-remove", "same weights"):
            assert words in text

    @pytest.mark.slow
    def test_the_papers_way_is_a_function_of_the_specification(self):
        """Proven rows draw fresh noise; published rows are seeded."""
        spec = replace(FIG1, epsilons=(5.0,), proven=(), seeds=(0,))
        one, two = (alm_fig1.study((spec,), Run()).tables[0].rows for _ in range(2))
        assert one == two

    @pytest.mark.slow
    def test_a_noisy_mean_is_part_of_the_release(self):
        spec = replace(
            FIG1, centre="mean", epsilons=(20.0,), proven=("gaussian",), pairs=0, seeds=(0,)
        )
        (table,) = alm_fig1.study((spec,), Run()).tables
        (only,) = columns(table)
        assert only["grade"] == "proven"
        assert float(only["loss"]) < 0.3
        assert any("ε covers it and one draw" in note for note in table.notes)

    def test_claims_that_the_rows_bear_out(self):
        rows = [
            row("logistic", 0.5, 0.01, 0.03),
            row("laplace", 0.5, 0.02, 0.04),
            row("classical gaussian", 0.5, 0.20, 0.30),
        ]
        said = " ".join(alm_fig1.claims(rows))
        assert said.count("holds at every ε (0.5)") == 3
        assert "does not" not in said

    def test_claims_that_the_rows_refute(self):
        rows = [
            row("logistic", 0.5, 0.12, 0.13),
            row("laplace", 0.5, 0.05, 0.06),
            row("classical gaussian", 0.5, 0.05, 0.30),
        ]
        assert " ".join(alm_fig1.claims(rows)).count("does not hold at any ε (0.5)") == 3

    def test_a_claim_may_hold_at_some_budgets_only(self):
        rows = [
            row("logistic", epsilon, low, low + 0.01) for epsilon, low in ((0.1, 0.5), (0.5, 0.02))
        ] + [row("laplace", epsilon, 0.5, 0.6) for epsilon in (0.1, 0.5)]
        said = alm_fig1.claims(rows)
        assert "“logistic ≈ Laplace”: holds at ε = 0.1, does not hold at ε = 0.5" in said[0]
        assert "logistic: holds at ε = 0.5, does not hold at ε = 0.1" in said[1]

    def test_families_are_judged_apart(self):
        rows = [row("logistic", 0.5, 0.01, 0.02, grade="proven"), row("laplace", 0.5, 0.3, 0.4)]
        assert len(alm_fig1.claims(rows)) == 1


@pytest.fixture(scope="module")
def mnist():
    (table,) = alm_mnist.study(MNIST, Run()).tables
    return table


@pytest.mark.slow
class TestMnist:
    def test_rows_are_proven_with_the_penalty_of_their_own_mechanism(self, mnist):
        rows = columns(mnist)
        assert [(r["mechanism"], r["δ"], r["grade"]) for r in rows] == [
            ("gaussian", "1e-5", "proven"),
            ("l2-laplace", "0", "proven"),
        ]
        for r, delta in zip(rows, (1e-5, 0.0), strict=True):
            penalty = public_penalty(
                records=2_000,
                radius=radius(6.0, 0.1),
                coordinates=9 * 785,
                epsilon=1.0,
                delta=delta,
                relation="add-remove",
                mechanism=r["mechanism"],
            )
            (note,) = [n for n in mnist.notes if n.startswith("Penalties")]
            (said,) = re.findall(rf"{r['mechanism']} ([\d.]+\d)", note)
            assert float(said) == pytest.approx(penalty, rel=1e-3)

    def test_losses_are_relative_to_the_best_head_without_privacy(self, mnist):
        (note,) = [n for n in mnist.notes if "best of 2 heads" in n]
        accuracies = {
            penalty: float(part.split(" at ")[0])
            for penalty in ("0.1", "0.01")
            for part in note.rpartition(": ")[2].rstrip(".").split(", ")
            if part.endswith(f" at {penalty}")
        }
        best = max(accuracies, key=lambda penalty: accuracies[penalty])
        assert f"λ = {best}" in note
        for r in columns(mnist):
            assert float(r["before"]) == max(accuracies.values())
            assert float(r["loss"]) == pytest.approx(
                1 - float(r["after"]) / float(r["before"]), abs=1e-3
            )


@pytest.fixture(scope="module")
def layers():
    (table,) = alm_layers.study(LAYERS, Run()).tables
    return table


class TestLayers:
    @pytest.mark.slow
    def test_rows_are_the_last_layers_of_each_head(self, layers):
        rows = columns(layers)
        seen = [(r["layers"], r["noisy"], r["weights"], r["ε"]) for r in rows]
        assert seen == [
            (layers, noisy, weights, epsilon)
            for layers, noisy, weights in (
                ("1", "1", "650"),
                ("2", "1", "170"),
                ("2", "2", str(65 * 16 + 170)),
            )
            for epsilon in ("1", "1000000")
        ]
        assert "graded published" in layers.notes[0]

    @pytest.mark.slow
    def test_noise_costs_little_at_a_huge_epsilon_and_much_at_a_small_one(self, layers):
        for r in columns(layers):
            if r["ε"] == "1":
                assert float(r["loss"]) > 0.3
            else:
                assert abs(float(r["loss"])) < 0.02

    @pytest.mark.slow
    def test_more_layers_move_more(self, layers):
        l1 = {(r["layers"], r["noisy"]): float(r["L1"]) for r in columns(layers)}
        assert l1["2", "2"] > l1["2", "1"]

    @pytest.mark.parametrize(
        ("losses", "holds"),
        [
            ([(0.1, 0.2), (0.3, 0.4), (0.5, 0.6)], True),
            ([(0.1, 0.2), (0.52, 0.58), (0.5, 0.57)], True),  # the last two are one
            ([(0.1, 0.2), (0.7, 0.8), (0.5, 0.6)], False),  # clearly down
            ([(0.1, 0.3), (0.2, 0.4), (0.2, 0.5)], False),  # not clearly up
        ],
    )
    def test_growth_is_judged_by_the_intervals(self, losses, holds):
        rows = [
            alm_layers.LayersRow(
                depth=3, protected=place, coordinates=1, l1=1.0, loss=row("logistic", 1.0, *ends)
            )
            for place, ends in enumerate(losses, start=1)
        ]
        (said,) = alm_layers.claims(rows)
        assert ("holds at every ε" in said) == holds

    def test_the_heads_are_compared_with_all_layers_noisy(self):
        rows = [
            alm_layers.LayersRow(
                depth=depth,
                protected=noisy,
                coordinates=1,
                l1=1.0,
                loss=row("logistic", 1.0, low, low + 0.1),
            )
            for depth, noisy, low in ((1, 1, 0.5), (2, 1, 0.1), (2, 2, 0.3))
        ]
        inside, between = alm_layers.claims(rows)
        assert "holds at every ε" in inside
        assert "does not hold" in between


def test_a_refit_leaves_one_record_out_and_starts_at_the_head():
    data = alm_fig1.task("digits", records=200, seed=0)
    request = alm_fig1._request(replace(FIG1, records=200), data, 1.0, "gaussian")
    head = alm_fig1.unprotected_head(data, request)
    refit = alm_fig1.refits(data, head)
    everything = refit(np.arange(200))
    assert np.abs(everything - head.weights_.ravel()).max() < 1e-6
    assert np.abs(refit(np.arange(199)) - everything).max() > 1e-4
