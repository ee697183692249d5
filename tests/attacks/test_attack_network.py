"""The network of the shadow attacks: what it learns, exactly how it answers, and its refusals."""

import math

import numpy as np
import pytest
from scipy import special
from sklearn.neural_network import MLPClassifier

from reticent.attacks.shadow_network import NetworkRecipe, trained_network
from reticent.validation import InputError

SMALL = NetworkRecipe(hidden=(5, 3), batch=16, passes=8)


def rows_and_flags(seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.random((80, 4)) * [1, 2, 0.01, 1]
    return rows, rows[:, 1] > 1


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_log_odds_equal_a_loop_over_neurons(activation):
    rows, inside = rows_and_flags()
    recipe = NetworkRecipe(hidden=(5, 3), batch=16, passes=8, activation=activation)
    network = trained_network(rows, inside, recipe=recipe, seed=1)
    bend = math.tanh if activation == "tanh" else lambda value: max(value, 0.0)
    for row, odds in zip(rows[:9], network.log_odds(rows[:9]), strict=True):
        values = list(row)
        for place, (weight, bias) in enumerate(network.layers):
            sums = [sum(v * w for v, w in zip(values, column, strict=True)) for column in weight.T]
            values = [total + b for total, b in zip(sums, bias, strict=True)]
            if place < 2:
                values = [bend(value) for value in values]
        assert odds == pytest.approx(values[0])


def test_it_is_the_library():
    rows, inside = rows_and_flags()
    direct = MLPClassifier(
        hidden_layer_sizes=(5, 3),
        alpha=1e-6 * 16,
        batch_size=16,
        learning_rate_init=0.01,
        max_iter=60,
        n_iter_no_change=60,
        random_state=3,
    )
    with pytest.warns(match="hasn't converged"):
        direct.fit(rows, inside)
    recipe = NetworkRecipe(hidden=(5, 3), batch=16, passes=60)
    found = trained_network(rows, inside, recipe=recipe, seed=3).log_odds(rows)
    assert special.expit(found) == pytest.approx(direct.predict_proba(rows)[:, 1])


def test_turning_membership_turns_the_answers():
    rows, inside = rows_and_flags()
    recipe = NetworkRecipe(passes=50)
    right = trained_network(rows, inside, recipe=recipe, seed=0).log_odds(rows)
    turned = trained_network(rows, ~inside, recipe=recipe, seed=0).log_odds(rows)
    assert np.mean((right > 0) == inside) > 0.9
    assert np.mean((turned > 0) == inside) < 0.1


def test_odds_stay_finite_and_ordered_where_probabilities_would_round_to_one():
    rows, inside = rows_and_flags()
    network = trained_network(rows, inside, recipe=NetworkRecipe(passes=50), seed=0)
    far = rows.mean(axis=0) + np.array([[0, 1e4, 0, 0], [0, 2e4, 0, 0]])
    odds = network.log_odds(far)
    assert np.isfinite(odds).all()
    assert odds[1] > odds[0] > 100


def test_the_seed_decides_alone():
    rows, inside = rows_and_flags()
    first, again, other = (
        trained_network(rows, inside, recipe=SMALL, seed=seed).log_odds(rows) for seed in (0, 0, 1)
    )
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()


def test_rows_of_one_kind_are_refused():
    rows, inside = rows_and_flags()
    with pytest.raises(InputError, match="rows must be of members and of others, got one kind"):
        trained_network(rows, np.ones_like(inside), recipe=SMALL, seed=0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden": ()}, r"hidden must be a list of widths, got tuple \(\)"),
        ({"hidden": 64}, "hidden must be a list of widths, got int 64"),
        ({"hidden": (64, 0)}, "hidden must be >= 1, got 0"),
        ({"activation": "gelu"}, "activation must be relu or tanh, got str 'gelu'"),
        ({"penalty": float("nan")}, "penalty must be >= 0 and finite, got nan"),
        ({"learning_rate": 0}, "learning_rate must be > 0 and finite, got 0"),
        ({"batch": 0}, "batch must be >= 1, got 0"),
        ({"passes": 1.5}, "passes must be a whole number, got float 1.5"),
    ],
)
def test_other_recipes_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        NetworkRecipe(**settings)


def test_ctrl_c_ends_the_attack_and_leaves_no_half_trained_network(monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(MLPClassifier, "_backprop", stopped)
    with pytest.raises(KeyboardInterrupt):
        trained_network(*rows_and_flags(), recipe=SMALL, seed=1)
