"""The test of Long et al.: p-values that hold under the null, neighbours, and few false alarms."""

import numpy as np
import pytest
from scipy import stats

from reticent.attacks.records import Records
from reticent.attacks.reference import NOT_KEPT, ReferenceAttack, p_values
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import FunctionTarget
from reticent.audit import auc
from reticent.validation import InputError
from tests.attacks.remembering import MISSED_ONCE_IN, remembering

SURE = 1 - MISSED_ONCE_IN
EVERYTHING = 10**6


def all_of(others):
    return np.ones(others.shape, dtype=bool)


def naive(own, values):
    """Student's and the kernel's p-value of one record."""
    m, s = len(values), np.std(values, ddof=1)
    t = (own - np.mean(values)) / (s * np.sqrt(1 + 1 / m))
    width = 1.06 * s * m ** (-1 / 5)
    kernel = np.mean([stats.norm.sf(own, loc=value, scale=width) for value in values])
    return stats.t.sf(t, m - 1), kernel


def test_p_values_equal_a_loop():
    rng = np.random.default_rng(5)
    others, references = 3 * rng.gumbel(size=(12, 30)), rng.random((12, 30)) < 0.7
    own = others.mean(axis=0) + 8 * rng.standard_normal(30)
    both = np.array([naive(own[i], others[references[:, i], i]) for i in range(30)])
    expected = both.max(axis=1)
    assert p_values(own, others, references) == pytest.approx(expected, rel=1e-9, abs=0)
    assert 0 < (both[:, 0] > both[:, 1]).sum() < 30


@pytest.mark.parametrize("models", [4, 8, 32, 128])
@pytest.mark.parametrize("level", [0.001, 0.01, 0.05, 0.3])
def test_p_values_hold_for_records_that_are_no_members(models, level):
    """φ normal: P(p < level) <= level, for each number of references; false alarm 1e-6."""
    tries = 20_000
    phi = np.random.default_rng(models).standard_normal((models + 1, tries)) * 2 + 1
    p = p_values(phi[0], phi[1:], all_of(phi[1:]))
    assert (p < level).sum() <= stats.binom.isf(MISSED_ONCE_IN, tries, level)
    assert (p < level).sum() >= stats.binom.isf(SURE, tries, 0.4 * level)


def test_p_values_nearly_hold_where_margins_have_long_tails():
    """Logistic and Student (5) φ, 64 references: at most twice the level at .01."""
    rng = np.random.default_rng(2)
    for phi in (rng.logistic(size=(65, 20_000)), rng.standard_t(5, size=(65, 20_000))):
        p = p_values(phi[0], phi[1:], all_of(phi[1:]))
        assert (p < 0.01).mean() < 0.02


def test_a_larger_margin_has_a_smaller_p_value():
    others = np.repeat(np.arange(5.0)[:, None], 4, axis=1)
    p = p_values(np.array([-50.0, 2.0, 5.0, 50.0]), others, all_of(others))
    assert (np.diff(p) < 0).all()
    assert p[1] == pytest.approx(0.5)


def test_references_that_agree_give_finite_p_values():
    others = np.zeros((4, 3))
    p = p_values(np.array([-1.0, 0.0, 1.0]), others, all_of(others))
    assert p == pytest.approx([1.0, 0.5, 0.0])


def pixels(model, inputs):
    """The inputs themselves as features, whatever the model."""
    return inputs


def plain_shadows(pool, inside):
    model = FunctionTarget(lambda x: np.full((len(x), 2), 0.5), classes=[0, 1])
    return Shadows(pool=pool, inside=np.array(inside), models=[model] * len(inside))


def test_neighbours_are_counted_by_angle_and_without_the_record_itself():
    angles = np.radians([0.0, 1.0, 2.0, 90.0, 90.0, 180.0])
    inputs = np.stack([np.cos(angles), np.sin(angles)], axis=1) * [[1], [5], [1], [1], [1], [2]]
    pool = Records(inputs, [0, 0, 0, 1, 1, 1])
    shadows = plain_shadows(pool, [[False] * 6] * 4)
    near = 1 - np.cos(np.radians(1.5))
    attack = ReferenceAttack(shadows=shadows, distance=near, features=pixels)
    assert attack.neighbour_counts(pool).tolist() == [1, 2, 1, 1, 1, 0]
    others = Records([[3.0, 0.0], [0.0, 0.0]], [0, 1])  # not of the pool; no direction
    assert attack.neighbour_counts(others).tolist() == [2, 0]


def test_features_of_models_that_saw_the_record_do_not_count():
    """Two models see everything alike and saw record 0; the others keep it apart from record 1."""
    pool = Records(np.eye(3), [0, 0, 1])
    shadows = plain_shadows(pool, [[True, False, False]] * 2 + [[False] * 3] * 4)
    alike = [FunctionTarget(lambda x: np.full((len(x), 2), 0.5), classes=[0, 1]) for _ in range(2)]
    shadows = Shadows(pool=pool, inside=shadows.inside, models=[*alike, *shadows.models[2:]])

    def features(model, inputs):
        return np.ones((len(inputs), 3)) if model in alike else inputs

    attack = ReferenceAttack(shadows=shadows, distance=0.9, features=features)
    assert attack.neighbour_counts(pool).tolist() == [0, 2, 2]


def test_distances_do_not_depend_on_how_many_records_are_scored_at_a_time(monkeypatch):
    seen = remembering()
    attack = ReferenceAttack(shadows=seen.shadows)
    expected = attack.neighbour_counts(seen.records).tolist()
    monkeypatch.setattr("reticent.attacks.reference._CHUNK", 77)
    assert attack.neighbour_counts(seen.records).tolist() == expected
    assert len(set(expected)) > 3


def test_a_target_that_remembers_gives_its_members_away():
    seen = remembering()
    attack = ReferenceAttack(shadows=seen.shadows, neighbours=EVERYTHING)
    values = attack.scores(seen.target, seen.records).values
    assert auc(*seen.split(values), confidence=SURE).low > 0.5
    assert auc(*seen.split(-values)).value < 0.5
    assert auc(*seen.shuffled(values), confidence=SURE).contains(0.5)


def test_records_with_many_neighbours_are_left_out_and_counted():
    seen = remembering()
    every = ReferenceAttack(shadows=seen.shadows, neighbours=EVERYTHING)
    some = ReferenceAttack(shadows=seen.shadows, neighbours=2)
    kept = some.neighbour_counts(seen.records) <= 2
    found = some.scores(seen.target, seen.records)
    full = every.scores(seen.target, seen.records)
    assert 0 < kept.sum() < len(seen.records)
    assert found.values.tolist() == np.where(kept, full.values, NOT_KEPT).tolist()
    assert full.values.min() >= -1
    assert f"kept {kept.sum()} of 600 records" in found.notes[0]
    assert "the selection used no membership" in found.notes[0]


def test_it_decides_at_its_level_and_few_of_those_named_are_no_members():
    seen = remembering()
    found = ReferenceAttack(shadows=seen.shadows, neighbours=EVERYTHING).scores(
        seen.target, seen.records
    )
    assert found.decides_at == -0.01
    members, others = (part > found.decides_at for part in seen.split(found.values))
    assert members.sum() > 3 * others.sum()
    assert ReferenceAttack(shadows=seen.shadows, level=0.05).scores(
        seen.target, seen.records
    ).decides_at == pytest.approx(-0.05)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"distance": 0.0}, "distance must be > 0"),
        ({"distance": float("nan")}, "distance must be > 0"),
        ({"neighbours": -1}, "neighbours must be >= 0"),
        ({"level": 1.0}, r"level must be in \(0, 1\)"),
    ],
)
def test_other_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        ReferenceAttack(shadows=remembering().shadows, **settings)


def test_records_with_few_references_are_refused():
    pool = Records(np.eye(2), [0, 1])
    shadows = plain_shadows(pool, [[False, True], *[[False, False]] * 3])
    attack = ReferenceAttack(shadows=shadows)
    with pytest.raises(InputError, match="at least 4 shadows that did not see it, 1 of 2 have"):
        attack.scores(shadows.models[0], pool)


def test_features_that_are_not_numbers_are_refused():
    pool = Records(np.eye(2), [0, 1])
    shadows = plain_shadows(pool, [[False, False]] * 4)
    attack = ReferenceAttack(shadows=shadows, features=lambda model, inputs: inputs * np.nan)
    with pytest.raises(InputError, match="features must be finite, got NaN"):
        attack.scores(shadows.models[0], pool)
