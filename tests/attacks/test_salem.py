"""Salem's three adversaries on a target that remembers, exactly, and their refusals."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from reticent.attacks.records import Records
from reticent.attacks.salem import SalemAttack, SalemThreshold, largest
from reticent.attacks.shadow_models import train_shadows
from reticent.attacks.shadow_network import NetworkRecipe, trained_network
from reticent.attacks.synthesis import FeatureSpace
from reticent.attacks.targets import FunctionTarget
from reticent.audit import auc
from reticent.training import MLPHead
from reticent.validation import InputError
from tests.attacks.overfit_digits import HEAD, SURE, fitted, overfit

QUICK = NetworkRecipe(passes=20)


@pytest.fixture(scope="module")
def other_shadow():
    """Of tumours: 30 features and two classes, a fifth of the labels drawn."""
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(len(y)) < 0.2, rng.integers(0, 2, len(y)), y)
    head = MLPHead(**HEAD.get_params() | {"classes": None})
    return train_shadows(head, Records(scale(X), y), count=1, seed=1)


@pytest.fixture(scope="module")
def attacks(other_shadow):
    random = FeatureSpace(np.zeros(64), np.ones(64)).random(500, np.random.default_rng(0))
    return {
        1: SalemAttack(shadows=overfit().one_shadow, recipe=QUICK),
        2: SalemAttack(shadows=other_shadow, data="other", recipe=QUICK),
        3: SalemThreshold(random_inputs=random),
    }


@pytest.mark.parametrize("adversary", [1, 2, 3])
def test_a_target_that_remembers_gives_its_members_away(attacks, adversary):
    seen = overfit()
    found = attacks[adversary].scores(seen.target, seen.records)
    assert found.attack == f"Salem, adversary {adversary}"
    assert auc(*seen.split(found.values), confidence=SURE).low > 0.5
    assert auc(*seen.split(-found.values), confidence=SURE).high < 0.5
    assert auc(*seen.shuffled(found.values), confidence=SURE).contains(0.5)
    assert found.decides_at == 0.0


@pytest.mark.parametrize("adversary", [1, 2, 3])
def test_a_target_that_saw_none_of_the_records_tells_nothing(attacks, adversary):
    seen = overfit()
    values = attacks[adversary].scores(fitted(seen.pool), seen.records).values
    assert auc(*seen.split(values), confidence=SURE).contains(0.5)


def test_the_threat_says_which_data_the_shadow_saw(attacks):
    assert attacks[1].threat.knows == ("a shadow model on data of the same kind",)
    assert attacks[2].threat.knows == ("a shadow model on other data",)
    assert attacks[3].threat.knows == ("the form of an input",)


def test_labels_change_nothing(attacks):
    """No adversary of the three knows them: not even classes that the target has not."""
    seen = overfit()
    unknown = Records(seen.records.inputs[:20], ["?"] * 20)
    for attack in attacks.values():
        known = attack.scores(seen.target, seen.records.take(np.arange(20))).values
        assert attack.scores(seen.target, unknown).values.tolist() == known.tolist()


def test_scores_equal_a_network_on_rows_written_out():
    seen = overfit()
    records = seen.records.take(np.arange(5))
    attack = SalemAttack(shadows=seen.one_shadow, recipe=QUICK, seed=4)
    model, inside = seen.one_shadow.models[0], seen.one_shadow.inside[0]

    def written(target, inputs):
        return np.array([sorted(row, reverse=True)[:3] for row in target.probabilities(inputs)])

    network = trained_network(written(model, seen.pool.inputs), inside, recipe=QUICK, seed=4)
    expected = network.log_odds(written(seen.target, records.inputs))
    assert attack.scores(seen.target, records).values == pytest.approx(expected)


def test_the_threshold_is_passed_by_so_many_random_inputs():
    """Inputs are their own largest probability."""
    target = FunctionTarget(lambda x: np.column_stack([x, 1 - x]), classes=[0, 1])
    random = np.linspace(0.5, 0.9, 101)
    attack = SalemThreshold(random_inputs=random, top=25.0)
    found = attack.scores(target, Records(random, np.zeros(101)))
    assert (found.values > 0).sum() == 25
    limit = np.percentile(random, 75)
    assert np.array_equal(found.values > 0, random > limit)
    odds = np.log(random / (1 - random))
    assert found.values == pytest.approx(odds - np.log(limit / (1 - limit)))


def test_probabilities_that_round_to_one_are_still_ordered():
    seen = overfit()
    head = seen.target.model
    steep = head.with_weights([head.weights_[0], tuple(3 * part for part in head.weights_[1])])
    attack = SalemThreshold(random_inputs=np.full((3, 64), 0.5))
    sure = seen.records.take(seen.member)
    assert len(set(steep.predict_proba(sure.inputs).max(axis=1))) < len(sure)
    assert len(set(attack.scores(steep, sure).values)) == len(sure)


def test_the_largest_three_fall_and_missing_ones_are_zero():
    assert largest(np.array([[0.1, 0.4, 0.2, 0.3]])).tolist() == [[0.4, 0.3, 0.2]]
    assert largest(np.array([[0.1, 0.9]])).tolist() == [[0.9, 0.1, 0.0]]


def test_what_is_refused():
    with pytest.raises(InputError, match="data must be one of same, other, got str 'mine'"):
        SalemAttack(shadows=overfit().shadows, data="mine")
    for top in (0, 100, float("nan")):
        with pytest.raises(InputError, match="top must be a percentage between 0 and 100"):
            SalemThreshold(random_inputs=np.zeros((2, 64)), top=top)
    with pytest.raises(InputError, match="number of random_inputs must be >= 1, got 0"):
        SalemThreshold(random_inputs=np.zeros((0, 64)))
