"""The formulas give the paper's own table, and simple cases show where they fail."""

import math

import numpy as np
import pytest

from reticent.bounds.published import lu
from reticent.validation import InputError

HIDDEN, PENALTY, RECORDS = 128, 5e-4, 10_000


def of_purchase(classes, inputs=594):
    """Δz, Δp and the stability of the paper's network inputs–128–classes."""
    rho = lu.lipschitz_constant(classes, (inputs, HIDDEN))
    changed = lu.weights_change(rho, PENALTY, RECORDS)
    neuron = lu.neuron_change(lu.weight_change(changed, HIDDEN * (inputs + classes)), HIDDEN)
    return neuron, lu.probability_change(neuron), lu.average_stability(rho, PENALTY, RECORDS)


def test_the_papers_table_6():
    neuron, probability, _ = of_purchase(2)
    assert neuron == pytest.approx(0.1997, abs=5e-5)
    assert probability == pytest.approx(0.4908, abs=5e-5)
    assert of_purchase(20)[2] == pytest.approx(1.6753, abs=5e-5)


def test_one_weight_may_take_all_of_the_change():
    """Eq. 18: 100 features of which one is active."""
    change = np.zeros(100)
    change[7] = 1.0
    assert np.abs(change).max() == pytest.approx(10 * lu.weight_change(1.0, 100))


def test_a_gradient_beyond_the_lipschitz_constant():
    """Lemma 5 with three classes and two inputs: (p − e_y)xᵀ at p → another class."""
    x = np.array([1.0, 0.0])
    gradient = np.outer(np.array([1.0, 0.0, 0.0]) - np.array([0.0, 1.0, 0.0]), x)
    assert np.linalg.norm(gradient) == pytest.approx(math.sqrt(2))
    assert lu.lipschitz_constant(3, (2,), largest=1 / math.sqrt(2)) == pytest.approx(1 / 3)


@pytest.mark.parametrize("neuron", [1e-3, 0.1, 0.3, 2.0, 1e6])
def test_a_probability_moves_less_than_corollary_2_says(neuron):
    """tanh(Δz/2) is the most, for two classes at z = ±Δz/2."""
    assert math.tanh(neuron / 2) <= lu.probability_change(neuron) <= 1


def test_the_tight_change_of_a_probability_is_attained():
    for neuron in (0.01, 0.1871, 3.0):
        low, high = 1 / (1 + math.exp(neuron)), 1 / (1 + math.exp(-neuron))
        assert lu.tight_probability_change(neuron) == pytest.approx(high - low)


def test_the_proof_of_theorem_6_has_a_larger_change_of_scores():
    assert lu.score_change_of_proof(1.0) == pytest.approx(math.e)
    for neuron in (1e-3, 0.2, 5.0):
        change = lu.probability_change(neuron)
        assert lu.score_change_of_proof(change) > change


def test_the_leakage_of_randomised_response_is_the_tight_bound():
    for epsilon in (1e-3, 1.0, 4.0):
        truth = math.exp(epsilon) / (1 + math.exp(epsilon))
        assert lu.tight_leakage_bound(epsilon) == pytest.approx(truth - (1 - truth))
        assert lu.tight_leakage_bound(epsilon) < lu.leakage_bound(epsilon)


def test_the_parts_make_up_the_budget():
    for classes in (2, 3, 10):
        assert (2 * classes + 1) * lu.laplace_part(1.5, classes) == pytest.approx(1.5)
        parts = [lu.gaussian_part(1.5, classes)] + [2 * lu.gaussian_part(1.5, classes)] * classes
        assert math.hypot(*parts) == pytest.approx(1.5)


def test_bad_input_gets_one_line():
    with pytest.raises(InputError, match="classes must be >= 2"):
        lu.lipschitz_constant(1, (2,))
    with pytest.raises(InputError, match="widths must be"):
        lu.lipschitz_constant(2, ())
    with pytest.raises(InputError, match="penalty must be > 0"):
        lu.weights_change(1.0, math.nan, 10)
