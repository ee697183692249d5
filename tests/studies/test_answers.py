"""What plan says about queries is what happens, and the study of it is made of proven releases."""

import numpy as np
import pytest

from reticent.studies import answers
from reticent.studies.tasks import task
from reticent.studies.trained import Cells, Run

PURE, GAUSSIAN = answers.SPECS["digits"]


@pytest.fixture(scope="module")
def asked():
    data = task("digits", records=1_400, seed=0)
    return data, answers._head(PURE, data)


def accuracies(spec, asked, queries, mechanism):
    data, head = asked
    return [
        np.mean(answers._answered(spec, head, data, queries, mechanism) == data.truth)
        for _ in range(10)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "queries", "said"),
    [(PURE, 2, "each"), (PURE, 40, "once"), (GAUSSIAN, 30, "once")],
)
def test_the_advice_is_borne_out_far_from_the_crossing(asked, spec, queries, said):
    """Ten draws of each; the mean accuracies differ by more than 10 standard errors."""
    data, head = asked
    once = [np.mean(answers._released(spec, head, data) == data.truth) for _ in range(10)]
    for mechanism in (spec.logits, spec.labels):
        assert answers._said(spec, spec.advice(data, queries), mechanism) == said
        each = accuracies(spec, asked, queries, mechanism)
        better, worse = (each, once) if said == "each" else (once, each)
        assert np.mean(better) > np.mean(worse) + 0.05


def test_the_noise_of_the_table_is_that_of_the_advice(asked):
    """The advice is about another penalty and constant; their quotients are the same."""
    data, head = asked
    for spec in (PURE, GAUSSIAN):
        once, logits, labels = answers._stds(spec, head, 8)
        advice = spec.advice(data, 8)
        found = {(way.release, way.mechanism): way.logit_noise for way in advice.ways}
        weights = found["weights once", spec.weights]
        assert found["an answer each", spec.logits] / weights == pytest.approx(logits / once, 1e-3)
        assert found["an answer each", spec.labels] / weights == pytest.approx(labels / once, 1e-3)


@pytest.mark.slow
def test_cells_are_kept_and_verdicts_follow_the_draws(tmp_path):
    spec = answers.ServedQueries(
        on="digits", records=600, epsilon=4.0, delta=0.0, queries=(50,), draws=3,
        weights="l2-laplace", logits="l2-laplace", labels="permute-and-flip", penalty=0.1,
    )  # fmt: skip
    path = tmp_path / "cells.json"
    (table,) = answers.study((spec,), Run(cells=Cells(path))).tables
    assert answers.study((spec,), Run(cells=Cells(path))).tables == (table,)
    assert len(table.rows[0]) == len(table.columns)
    assert "Proven" in table.notes[0]


def test_verdicts():
    low, high = [0.1, 0.11, 0.12], [0.8, 0.81, 0.82]
    assert answers._verdict(True, low, high, 0.5) == "yes"
    assert answers._verdict(False, low, high, 0.5) == "no"
    assert answers._verdict(False, high, low, 2.0) == "yes"
    assert answers._verdict(False, low, low, 1.1) == "equal"
    assert answers._verdict(False, low, low, 2.0) == "unclear"


def test_the_specification_has_enough_draws():
    assert all(spec.draws >= 10 for spec in answers.SPECS["digits"])
