"""Theorems about public numbers, and the formulas that papers print."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from reticent import bounds
from reticent.bounds.published import dpcl, lu
from tools.mutation.probes.record import Figures

RELATIONS = ("add-remove", "replace-one", "as declared with the sensitivity")


def fill(figures: Figures) -> None:
    """All figures of bounds."""
    for relation, each in product(RELATIONS, (1, 3)):
        _heads(figures, relation, each)
        _sums(figures, relation, each)
        _statistics(figures, relation, each)
        _answers(figures, relation, each)
    _published_lu(figures)
    _table_1(figures)
    _published_dpcl(figures)


def _heads(figures: Figures, relation: str, each: int) -> None:
    for penalty, records, radius, tolerance in (
        (0.01, 1000, 1.0, 1e-9),
        (3.0, 2, 17.0, 0.1),
        (1e-7, 10**9, 1e-3, 1e-12),
        (1e-80, 10, 1.0, 1e-3),
        (1e80, 10, 1.0, 1e-3),
        (0.1, 2**53, 1.0, 1e-3),
        (0.1, 2**53 + 1, 1.0, 1e-3),
    ):
        public: dict[str, Any] = {
            "penalty": penalty,
            "records": records,
            "radius": radius,
            "tolerance": tolerance,
            "relation": relation,
            "max_records_per_person": each,
        }
        at = f"{list(public.values())}"
        for weight in (1.0, 2.5):
            name = f"softmax_head {weight}, {at}"
            figures.add(name, bounds.softmax_head, **public, largest_weight=weight)
        for labels in (1, 4):
            figures.add(
                f"sigmoid_head {labels}, {at}", bounds.sigmoid_head, labels=labels, **public
            )


def _sums(figures: Figures, relation: str, each: int) -> None:
    common: dict[str, Any] = {"relation": relation, "max_records_per_person": each}
    for bound, size in ((1.0, 1), (0.1, 7), (30.0, 400)):
        at = f"{bound}, {size}, {relation}, {each}"
        figures.add(
            f"clipped_gradients {at}",
            bounds.clipped_gradients,
            clip=bound,
            size=size,
            records=1000,
            **common,
        )
        figures.add(f"clipped_sum {at}", bounds.clipped_sum, bound=bound, features=size, **common)
        for records, error in ((10, 0.0), (10**6, 1e-9), (10**8, 0.5)):
            figures.add(
                f"rounded_sum {records}, {error}, {at}",
                bounds.rounded_sum,
                "a sum",
                bound=bound,
                size=size,
                records=records,
                term_error=error,
                **common,
            )


def _statistics(figures: Figures, relation: str, each: int) -> None:
    weights = [(0.0, 1.0, 0.25), (0.0, 1.0, 3.0), (1.0, 2.0, 0.25), (1.0, 2.0, 2.0)]
    weights += [(4.0, 1.0, 0.1), (1.0, 1.0, 0.5), (0.1, 1.0, 5.1), (1.0, 1.0, 0.0), (2.0, 0.5, 4.0)]
    for weight, (features, records) in product(weights, ((1, 10), (30, 10**5), (4, 10**9))):
        common: dict[str, Any] = {
            "features": features,
            "records": records,
            "relation": relation,
            "max_records_per_person": each,
        }
        at = f"{weight}, {list(common.values())}"
        classes = dict(zip(("moment", "sums", "counts"), weight, strict=True))
        targets = dict(zip(("moment", "products", "targets"), weight, strict=True))
        figures.add(f"class_statistics {at}", bounds.class_statistics, **classes, **common)
        figures.add(f"target_statistics {at}", bounds.target_statistics, **targets, **common)


def _answers(figures: Figures, relation: str, each: int) -> None:
    for classes, features, penalty, radius in (
        (2, 4, 0.01, 1.0),
        (3, 10**6, 1e-6, 2.0),
        (10, 785, 0.3, 0.5),
        (7, 2**40, 1e-3, 1.0),
        (2, 2**40 + 1, 1e-3, 1.0),
        (2**12, 2**36, 1e-9, 5.0),
    ):
        public: dict[str, Any] = {
            "classes": classes,
            "features": features,
            "penalty": penalty,
            "radius": radius,
            "relation": relation,
            "max_records_per_person": each,
        }
        figures.add(f"SoftmaxAnswers {list(public.values())}", _asked, public)


def _asked(public: dict[str, Any]) -> object:
    head = bounds.SoftmaxAnswers(records=1000, tolerance=1e-7, largest_weight=1.5, **public)
    logits = head.logits()
    return logits, logits.range_bound, head.coordinates()


def _published_lu(figures: Figures) -> None:
    rules = (
        lu.probability_change,
        lu.bracketed_change,
        lu.tight_probability_change,
        lu.score_change_of_proof,
        lu.leakage_bound,
        lu.tight_leakage_bound,
    )
    for rule, value in product(rules, (1e-3, 0.1, 0.4, 0.9, 2.0)):
        figures.add(f"lu.{rule.__name__} {value}", rule, value)
    for classes in (1, 2, 3, 10):
        figures.add(f"lu.laplace_part {classes}", lu.laplace_part, 1.5, classes)
        figures.add(f"lu.gaussian_part {classes}", lu.gaussian_part, 1.5, classes)
        for widths in ((600, 128), (3,), ()):
            at = f"lu.lipschitz_constant {classes}, {widths}"
            figures.add(at, lu.lipschitz_constant, classes, widths, 0.7)
    figures.add("lu.lipschitz_constant", lu.lipschitz_constant, 2, (600, 128))
    figures.add("lu.weights_change", lu.weights_change, 1.3, 0.02, 500)
    figures.add("lu.average_stability", lu.average_stability, 1.3, 0.02, 500)
    figures.add("lu.weight_change", lu.weight_change, 0.3, 50)
    figures.add("lu.neuron_change", lu.neuron_change, 0.3, 50)
    figures.add("lu.neuron_change, longer", lu.neuron_change, 0.3, 50, 2.0)


def _table_1(figures: Figures) -> None:
    settings: list[dict[str, Any]] = [
        {"classes": 2},
        {"classes": 5, "largest_norm": 3.0},
        {"classes": 2, "largest_norm": 1.5},
        {"classes": 2, "convex": False},
        {"classes": 3, "smoothness": 1.0, "steps": "decreasing"},
        {"classes": 3, "smoothness": 2.0, "steps": "constant", "step_length": 0.5},
        {"classes": 3, "smoothness": 2.0, "steps": "constant", "step_length": 0.6},
        {"classes": 3, "smoothness": 0.001, "steps": "constant", "step_length": 30.0},
        {"classes": 1},
        {"classes": 3, "steps": "random"},
        {"classes": 3, "smoothness": -1.0},
    ]
    for (number, chosen), (name, rule) in product(enumerate(settings), lu.TABLE_1.items()):
        figures.add(f"lu.TABLE_1 {name}, {number}", _row_of_table_1, rule, chosen)


def _row_of_table_1(rule: Any, chosen: dict[str, Any]) -> object:
    return rule(lu.Setting(**{"rho": 1.1, "penalty": 0.04, "records": 30} | chosen))


def _published_dpcl(figures: Figures) -> None:
    figures.add("dpcl.gradient_sensitivity", dpcl.gradient_sensitivity, 0.3)
    for batch in (2, 5):
        figures.add(f"dpcl.similarity {batch}", dpcl.similarity_sensitivity, batch)
        figures.add(f"dpcl.naive {batch}", dpcl.naive_gradient_sensitivity, batch, 0.3)
        for place in range(2):
            figures.add(f"dpcl moved {batch}, {place}", _gradient, batch, place)


def _gradient(batch: int, place: int) -> object:
    views = dpcl.turned_pair(batch)[place]
    similarities = views @ views.T + 0.1 * np.arange(len(views))
    return dpcl.gradient_sum(views, similarities, clip=0.2, temperature=0.5)
