"""LiRA against a loop over the records, on a target that remembers, and its refusals."""

import numpy as np
import pytest
from scipy import stats

from reticent.attacks.lira import Lira, normal_fits, offline_scores, online_scores
from reticent.attacks.records import Records
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import FunctionTarget
from reticent.audit import auc
from reticent.validation import InputError
from tests.attacks.remembering import MISSED_ONCE_IN, SHADOWS, remembering

ATTACKS = [
    {"mode": "online"},
    {"mode": "online", "variance": "per-record"},
    {"mode": "offline"},
    {"mode": "offline", "variance": "per-record"},
]
SURE = 1 - MISSED_ONCE_IN


def simulated(records=40, shadows=9):
    """φ of a target and of shadows, each record seen by 4 of 9 shadows."""
    rng = np.random.default_rng(7)
    saw = np.argsort(rng.random((shadows, records)), axis=0) < 4
    others = rng.standard_normal((shadows, records)) * 2 + 3 * saw
    return rng.standard_normal(records) * 3, others, saw


def naive_fits(others, chosen):
    """Medians, a σ for each record, and the one σ of all residuals."""
    middle, spread, residuals = [], [], []
    for column, kept in zip(others.T, chosen.T, strict=True):
        values = column[kept]
        middle.append(np.median(values))
        spread.append(np.std(values, ddof=1))
        residuals.extend(values - np.median(values))
    free = len(residuals) - len(middle)
    return np.array(middle), np.array(spread), np.sqrt(np.sum(np.square(residuals)) / free)


@pytest.mark.parametrize("fixed", [False, True])
def test_scores_equal_a_loop(fixed):
    own, others, saw = simulated()
    inner, inner_spread, inner_all = naive_fits(others, saw)
    outer, outer_spread, outer_all = naive_fits(others, ~saw)
    sigma = [inner_all] * 40 if fixed else inner_spread
    tau = [outer_all] * 40 if fixed else outer_spread
    online = [
        stats.norm.logpdf(own[i], inner[i], sigma[i]) - stats.norm.logpdf(own[i], outer[i], tau[i])
        for i in range(40)
    ]
    offline = [stats.norm.logcdf(own[i], outer[i], tau[i]) for i in range(40)]
    assert online_scores(own, others, saw, fixed=fixed) == pytest.approx(online)
    assert offline_scores(own, others, saw, fixed=fixed) == pytest.approx(offline)


def test_the_fixed_spread_is_that_within_records():
    """Records differ by 100, shadows by about 2: the spread of all φ together would be ~100."""
    rng = np.random.default_rng(0)
    others = 100 * rng.standard_normal(5000) + 2 * rng.standard_normal((4, 5000))
    _, spread = normal_fits(others, np.ones((4, 5000), dtype=bool), fixed=True)
    assert spread == pytest.approx(np.full(5000, 2.0), rel=0.2)


def test_a_shadow_that_saw_the_record_says_nothing_offline():
    own, others, saw = simulated()
    changed = np.where(saw, 1e6, others)
    expected = offline_scores(own, others, saw, fixed=True)
    assert offline_scores(own, changed, saw, fixed=True).tolist() == expected.tolist()


def test_a_larger_margin_is_more_of_a_member_offline():
    """One-sided: an unusually small φ is no sign of a member."""
    others = np.array([[-1.0] * 3, [0.0] * 3, [1.0] * 3])
    found = offline_scores(np.array([-9.0, 0.0, 9.0]), others, others > 9, fixed=False)
    assert found[0] < found[1] < found[2]
    assert found[1] == pytest.approx(np.log(0.5))


def test_a_margin_near_those_of_shadows_that_saw_it_is_a_members():
    others = np.array([[4.0, 4.0], [5.0, 5.0], [0.0, 0.0], [1.0, 1.0]])
    saw = np.array([[True] * 2, [True] * 2, [False] * 2, [False] * 2])
    found = online_scores(np.array([4.5, 0.5]), others, saw, fixed=False)
    assert found == pytest.approx([16.0, -16.0])


def test_shadows_that_agree_give_finite_scores():
    others = np.zeros((4, 1))
    saw = np.array([[True], [True], [False], [False]])
    for own in (-1400.0, 0.0, 1400.0):
        assert np.isfinite(online_scores(np.array([own]), others, saw, fixed=False)).all()
        assert np.isfinite(offline_scores(np.array([own]), others, saw, fixed=True)).all()


@pytest.mark.parametrize("settings", ATTACKS)
def test_a_target_that_remembers_gives_its_members_away(settings):
    seen = remembering()
    values = Lira(shadows=seen.shadows, **settings).scores(seen.target, seen.records).values
    assert auc(*seen.split(values), confidence=SURE).low > 0.5
    assert auc(*seen.split(-values)).value < 0.5
    assert auc(*seen.shuffled(values), confidence=SURE).contains(0.5)


def test_scores_say_what_was_known_and_done():
    seen = remembering()
    online = Lira(shadows=seen.shadows).scores(seen.target, seen.records)
    assert online.attack == "LiRA, online"
    assert online.threat.knows == ("shadow models with and without each record",)
    assert online.notes == (f"{SHADOWS} shadows, one σ for all records",)
    attack = Lira(shadows=seen.shadows, mode="offline", augment=lambda inputs: [inputs] * 2)
    assert attack.threat.knows == (
        "shadow models without the record",
        "augmentations of the inputs",
    )


def many_shadows(count):
    models = [FunctionTarget(lambda x: np.full((len(x), 2), 0.5), classes=[0, 1])] * count
    inside = np.arange(count)[:, None] % 2 == [0, 1]
    return Shadows(pool=Records([[0.0], [1.0]], [0, 1]), inside=inside, models=models)


@pytest.mark.parametrize(("count", "spread"), [(63, "one σ for all"), (64, "a σ for each")])
def test_auto_trusts_a_records_own_spread_from_64_shadows_on(count, spread):
    shadows = many_shadows(count)
    found = Lira(shadows=shadows).scores(shadows.models[0], shadows.pool)
    assert spread in found.notes[0]


def test_equal_views_change_nothing_and_others_do():
    seen = remembering()
    plain = Lira(shadows=seen.shadows).scores(seen.target, seen.records).values
    twice = Lira(shadows=seen.shadows, augment=lambda inputs: [inputs, inputs])
    assert twice.scores(seen.target, seen.records).values == pytest.approx(plain)
    moved = Lira(shadows=seen.shadows, augment=lambda inputs: [inputs, np.roll(inputs, 1, axis=1)])
    assert not np.allclose(moved.scores(seen.target, seen.records).values, plain)


def test_records_that_no_shadow_saw_are_refused_online_and_scored_offline():
    seen = remembering()
    with pytest.raises(InputError, match=r"at least 2 shadows that saw it \(or use mode='off"):
        Lira(shadows=seen.shadows).scores(seen.target, seen.population)
    offline = Lira(shadows=seen.shadows, mode="offline").scores(seen.target, seen.population)
    assert len(offline.values) == len(seen.population)


def test_records_that_every_shadow_saw_are_refused():
    seen = remembering()
    inside = seen.shadows.inside.copy()
    inside[1:, 3] = True
    shadows = Shadows(pool=seen.shadows.pool, inside=inside, models=seen.shadows.models)
    for mode in ("online", "offline"):
        with pytest.raises(InputError, match="at least 2 shadows that did not see it, 1 of 600"):
            Lira(shadows=shadows, mode=mode).scores(seen.target, seen.records)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "both"}, "mode must be one of online, offline, got str 'both'"),
        ({"variance": None}, "variance must be one of auto, fixed, per-record, got NoneType"),
    ],
)
def test_other_words_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        Lira(shadows=remembering().shadows, **settings)
