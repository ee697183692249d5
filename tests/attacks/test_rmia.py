"""RMIA against a loop over all pairs, on a target that remembers, and its refusals."""

import math

import numpy as np
import pytest
from scipy import special

from reticent.attacks.records import Records
from reticent.attacks.rmia import Rmia, dominated, log_expected, tuned_a
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import FunctionTarget
from reticent.audit import auc
from reticent.validation import InputError
from tests.attacks.remembering import MISSED_ONCE_IN, remembering

SURE = 1 - MISSED_ONCE_IN


def model(rng, width=3):
    """A random softmax of two features."""
    weights = 2 * rng.standard_normal((2, width))
    return FunctionTarget(
        lambda inputs: special.softmax(np.asarray(inputs) @ weights, axis=1), classes=range(width)
    )


def small():
    """A target, 12 records in 7 shadows, and a population of which half is in the shadows' pool."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((30, 2)), rng.integers(0, 3, 30)
    inside = np.argsort(rng.random((7, 20)), axis=0) < 3
    shadows = Shadows(
        pool=Records(X[:20], y[:20]), inside=inside, models=[model(rng) for _ in range(7)]
    )
    return model(rng), shadows, Records(X[:12], y[:12]), Records(X[12:28], y[12:28])


def naive_ratio(target, shadows, x, y, *, online, a):
    """P of one record, from probabilities."""
    inside, outside = [], []
    for place, shadow in enumerate(shadows.models):
        found = np.flatnonzero((shadows.pool.inputs == x).all(axis=1))
        seen = len(found) and shadows.inside[place, found[0]]
        (inside if seen else outside).append(shadow.probabilities(x[None])[0, y])
    if online and inside:
        expected = (np.mean(inside) + np.mean(outside)) / 2
    else:
        expected = ((1 + a) * np.mean(outside) + 1 - a) / 2
    return target.probabilities(x[None])[0, y] / expected


@pytest.mark.parametrize("online", [True, False])
@pytest.mark.parametrize("gamma", [1.0, 1.5])
def test_scores_equal_a_loop_over_all_pairs(online, gamma):
    target, shadows, records, population = small()
    ratio = [
        [
            naive_ratio(target, shadows, x, y, online=online, a=0.2)
            for x, y in zip(*part, strict=True)
        ]
        for part in (
            (records.inputs, records.labels),
            (population.inputs, population.labels),
        )
    ]
    expected = [(sum(P / Z > gamma for Z in ratio[1]) + P / (1 + P)) / 16 for P in ratio[0]]
    attack = Rmia(
        shadows=shadows,
        population=population,
        mode="online" if online else "offline",
        gamma=gamma,
        a=0.2,
    )
    assert attack.scores(target, records).values == pytest.approx(expected)


def test_the_offline_formula_stands_in_for_unseen_records_of_the_population_and_is_named():
    target, shadows, records, population = small()
    online = Rmia(shadows=shadows, population=population).scores(target, records)
    assert online.notes[1] == "no shadow saw 8 of the population: p(z) by the offline formula"
    offline = Rmia(shadows=shadows, population=population, mode="offline")
    assert offline.scores(target, records).notes == ("7 shadows, population of 16",)
    assert offline.threat.knows == ("shadow models without the record", "a population")
    assert offline.name == "RMIA, offline"


def test_scores_hold_the_share_and_order_ties_by_the_ratio():
    z = np.log([0.5, 0.5, 1.0, 2.0])
    x = np.log([0.1, 0.5, 0.6, 0.9, 1.0, 50.0, 60.0])
    found = dominated(x, z, gamma=1.0)
    assert np.floor(found * 4).tolist() == [0, 0, 2, 2, 2, 4, 4]
    assert (np.diff(found) > 0).all()


def test_a_scored_record_does_not_depend_on_the_others():
    target, shadows, records, population = small()
    attack = Rmia(shadows=shadows, population=population)
    alone = [attack.scores(target, records.take([i])).values[0] for i in range(len(records))]
    assert attack.scores(target, records).values == pytest.approx(alone)


@pytest.mark.parametrize(("a", "online"), [(0.0, True), (1.0, False)])
def test_probabilities_that_underflow_give_finite_numbers(a, online):
    """p = e^−900 is 0 in floats, and its logarithm is −900."""
    others, saw = np.array([[-900.0], [-900.0], [-1000.0]]), np.array([[True], [False], [False]])
    found = log_expected(others, saw, a=a, online=online)
    share = 0.5 * (1 + 0.5 * (1 + math.exp(-100)))
    assert found == pytest.approx([-900 + math.log(share if online else 0.5)])


def test_a_shadow_that_saw_the_record_does_not_overflow_the_mean_of_the_others():
    others, saw = np.array([[50.0], [-1000.0]]), np.array([[True], [False]])
    assert log_expected(others, saw, a=1.0, online=False) == pytest.approx([-1000.0])


@pytest.mark.parametrize("mode", ["online", "offline"])
def test_a_target_that_remembers_gives_its_members_away(mode):
    seen = remembering()
    attack = Rmia(shadows=seen.shadows, population=seen.population, mode=mode)
    values = attack.scores(seen.target, seen.records).values
    assert auc(*seen.split(values), confidence=SURE).low > 0.5
    assert auc(*seen.split(-values)).value < 0.5
    assert auc(*seen.shuffled(values), confidence=SURE).contains(0.5)


def test_a_is_tuned_on_shadows_alone_to_the_best_of_a_loop():
    seen = remembering()
    shadows, candidates = seen.shadows, [0.0, 0.5, 1.0]
    found = []
    for a in candidates:
        areas = []
        for turn in (0, 1):
            rest = [k for k in range(len(shadows)) if k != turn]
            others = Shadows(
                pool=shadows.pool,
                inside=shadows.inside[rest],
                models=[shadows.models[k] for k in rest],
            )
            attack = Rmia(shadows=others, population=seen.population, mode="offline", a=a)
            values = attack.scores(shadows.models[turn], shadows.pool).values
            areas.append(
                auc(values[shadows.inside[turn]], values[~shadows.inside[turn]]).value,
            )
        found.append(np.mean(areas))
    best = candidates[int(np.argmax(found))]
    assert tuned_a(shadows, candidates=candidates, targets=2) == best


def test_a_pair_of_shadows_is_not_enough_to_tune():
    seen = remembering()
    pair = Shadows(
        pool=seen.shadows.pool, inside=seen.shadows.inside[:2], models=seen.shadows.models[:2]
    )
    with pytest.raises(InputError, match="shadow 0 of 2 has none of one kind: use more shadows"):
        tuned_a(pair)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "best"}, "mode must be one of online, offline"),
        ({"gamma": 0.0}, "gamma must be > 0"),
        ({"gamma": float("nan")}, "gamma must be > 0"),
        ({"a": 1.5}, r"a must be in \[0, 1\], got 1.5"),
        ({"a": float("nan")}, r"a must be in \[0, 1\], got nan"),
        ({"population": Records(np.empty((0, 2)), [])}, "population must have records"),
    ],
)
def test_other_settings_are_refused(settings, message):
    _, shadows, _, population = small()
    with pytest.raises(InputError, match=message):
        Rmia(**{"shadows": shadows, "population": population, **settings})


@pytest.mark.parametrize("candidates", [[], [2.0]])
def test_other_candidates_are_refused(candidates):
    with pytest.raises(InputError, match="candidates must"):
        tuned_a(small()[1], candidates=candidates)


def test_records_without_shadows_of_a_kind_are_refused():
    target, shadows, records, population = small()
    attack = Rmia(shadows=shadows, population=population)
    with pytest.raises(InputError, match=r"at least 1 shadows that saw it \(or use mode='offline"):
        attack.scores(target, population)
    everywhere = Shadows(
        pool=shadows.pool, inside=np.ones_like(shadows.inside), models=shadows.models
    )
    with pytest.raises(InputError, match="each record must have at least 1 shadows that did not"):
        Rmia(shadows=everywhere, population=population).scores(target, records)
    with pytest.raises(InputError, match="each record of the population must have at least 1"):
        Rmia(shadows=everywhere, population=records).scores(target, population.take([10, 11]))
