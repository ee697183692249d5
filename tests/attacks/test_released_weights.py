"""The exact likelihood ratio: its laws for every noise, its power, refits, and refusals."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_digits

from reticent.attacks.records import Records
from reticent.attacks.released_weights import ReleasedWeightsAttack, Worlds, noise_of
from reticent.attacks.targets import Access
from reticent.audit.metrics import auc
from reticent.guarantee import Sensitivity
from reticent.mechanisms import Gaussian
from reticent.mechanisms.registry import MECHANISMS, for_any_vector
from reticent.protect import release_weights
from reticent.training import SigmoidHead, SoftmaxHead
from reticent.training.optimum import certified_minimum
from reticent.validation import InputError, NotCoveredError

FALSE_ALARM = 1e-6
MEMBERS = 60
LAWS = {
    "gaussian": lambda noise, scale: stats.norm.logpdf(noise, scale=scale).sum(),
    "logistic": lambda noise, scale: stats.logistic.logpdf(noise, scale=scale).sum(),
    "laplace": lambda noise, scale: stats.laplace.logpdf(noise, scale=scale).sum(),
    "l2-laplace": lambda noise, scale: -np.linalg.norm(noise) / scale,
}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=3, return_X_y=True)
    return Records(X[:, 10:30] / 16, y)


def fitted(data, **settings):
    choices = {"penalty": 1e-2, "bound": 2.0, "classes": [0, 1, 2], "records": MEMBERS}
    return SoftmaxHead(**choices | settings).fit(data.inputs, data.labels)


def released(head, mechanism="gaussian", epsilon=60.0):
    delta = 1e-5 if mechanism == "gaussian" else 0.0
    return release_weights(
        head, epsilon=epsilon, delta=delta, relation="add-remove", mechanism=mechanism
    )


def numbers(target):
    return target.tensors["coordinates"].ravel()


def scale_of(target):
    return target.scales["coordinates"]


def attack_on(known, **settings):
    return ReleasedWeightsAttack(known=known, threads=1, **settings)


def exact_coordinates(head, records):
    """Newton's method to a gradient as small as float64 proves."""
    h, named = head._map(records.inputs), records.labels
    objective = head._objective(h, named, head._choices())
    return certified_minimum(objective, tolerance=4.1 * objective.worst_rounding()).point.ravel()


@pytest.mark.parametrize("mechanism", for_any_vector())
def test_scores_are_log_ratios_of_densities_at_refitted_heads(digits, mechanism):
    """Two members, two others, each by refits and by the density that scipy knows."""
    known = digits.take(np.arange(MEMBERS))
    head = fitted(known)
    target = released(head, mechanism)
    rows = [70, 3, 65, 40]
    found = attack_on(known).scores(target, digits.take(rows))
    full, release = exact_coordinates(head, known), numbers(target)
    for row, score in zip(rows, found.values, strict=True):
        if row < MEMBERS:
            absent = exact_coordinates(head, known.take(np.delete(np.arange(MEMBERS), row)))
            present = full
        else:
            absent, present = full, exact_coordinates(head, known.joined(digits.take([row])))
        law, scale = LAWS[mechanism], scale_of(target)
        expected = law(release - present, scale) - law(release - absent, scale)
        assert score == pytest.approx(expected, rel=2e-3, abs=1e-3)
    assert found.threat.access is Access.RELEASE
    assert "every other record" in found.threat.knows
    assert found.decides_at == 0.0


def test_a_record_that_is_known_twice_leaves_once(digits):
    once = digits.take(np.arange(MEMBERS))
    twice = once.joined(digits.take([3]))
    target = released(fitted(once))
    from_twice = attack_on(twice).worlds(target, digits.take([3]))
    from_once = attack_on(once).worlds(target, digits.take([3]))
    assert from_twice.absent == pytest.approx(from_once.present, abs=1e-4)


def test_the_map_of_influence_is_that_of_refits(digits):
    known = digits.take(np.arange(MEMBERS))
    head = fitted(known)
    target = released(head)
    found = attack_on(known).influence(target, digits.take([3, 70]))
    full = exact_coordinates(head, known)
    moved = full - exact_coordinates(head, known.take(np.delete(np.arange(MEMBERS), 3)))
    added = exact_coordinates(head, known.joined(digits.take([70]))) - full
    assert found.l2 == pytest.approx([np.linalg.norm(moved), np.linalg.norm(added)], rel=1e-3)
    assert found.l1 == pytest.approx([np.abs(moved).sum(), np.abs(added).sum()], rel=1e-3)
    assert found.mu == pytest.approx(found.l2 / scale_of(target))
    assert found.known.tolist() == [True, False]
    assert found.power(0.1) == pytest.approx(stats.norm.cdf(stats.norm.ppf(0.1) + found.mu))
    one = Gaussian(scale=scale_of(target), sensitivity=Sensitivity(l2=float(found.l2[0])))
    assert found.epsilon(delta=1e-5)[0] == pytest.approx(one.epsilon(delta=1e-5))
    assert len(found) == 2


@pytest.mark.parametrize("mechanism", ["laplace", "logistic", "l2-laplace"])
def test_a_pure_epsilon_is_the_supremum_of_the_ratio(digits, mechanism):
    """Far out in the direction of the change Λ tends to ε_x, and nowhere is it above."""
    known = digits.take(np.arange(MEMBERS))
    target, attack = released(fitted(known), mechanism), attack_on(known)
    record = digits.take([3])
    pair, epsilon = attack.worlds(target, record), attack.influence(target, record).epsilon
    moved = pair.present - pair.absent
    far = pair.present[0] + 1e4 * scale_of(target) * np.sign(moved[0])
    if mechanism == "l2-laplace":
        far = pair.present[0] + 1e4 * moved[0]
    assert pair.ratios(far)[0] == pytest.approx(epsilon(delta=0.0)[0], rel=1e-3)
    assert pair.ratios(numbers(target))[0] <= epsilon(delta=0.0)[0]
    with pytest.raises(NotCoveredError, match="gaussian"):
        _ = attack.influence(target, record).mu


def test_a_record_without_influence_has_epsilon_zero(digits):
    """Class weight 0: nothing moves."""
    known = digits.take(np.arange(MEMBERS))
    weights = {0: 0.0, 1: 1.0, 2: 2.0}
    target = released(fitted(known, class_weight=weights))
    attack = attack_on(known, class_weight=weights)
    of_class_0 = digits.take(np.flatnonzero(digits.labels[:MEMBERS] == 0)[:1])
    found = attack.influence(target, of_class_0)
    assert found.epsilon(delta=1e-5) == pytest.approx([0.0])
    assert attack.scores(target, of_class_0).values == pytest.approx([0.0])


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 20])
def test_the_power_against_real_releases_is_that_of_the_theorem(digits, rank):
    """Releases are drawn anew with secure noise; all eight intervals together: 1e-6."""
    known = digits.take(np.arange(MEMBERS))
    head = fitted(known)
    target, attack = released(head, epsilon=300.0), attack_on(known)
    row = int(np.argsort(-attack.influence(target, known).mu)[rank])
    record = known.take([row])
    mu = attack.influence(target, record).mu[0]
    assert 0.2 < mu < 3
    pair = attack.worlds(target, record)
    pair = replace(pair, absent=pair.absent[0], present=pair.present[0])
    rest = fitted(known.take(np.delete(np.arange(MEMBERS), row)))
    present, absent = (
        pair.ratios(np.stack([numbers(released(h, epsilon=300.0)) for _ in range(2500)]))
        for h in (head, rest)
    )
    for alpha in (0.01, 0.05, 0.1, 0.5):
        threshold = mu * stats.norm.isf(alpha) - mu**2 / 2
        power = stats.norm.cdf(stats.norm.ppf(alpha) + mu)
        for ratios, expected in ((present, power), (absent, alpha)):
            hits = stats.binomtest(int(np.sum(ratios > threshold)), len(ratios))
            interval = hits.proportion_ci(1 - FALSE_ALARM / 8, method="exact")
            assert interval.low <= expected <= interval.high


def small_worlds(mechanism, width=4, size=0.6):
    """Worlds that differ so little that e^Λ has a small variance."""
    noise = MECHANISMS[mechanism](scale=1.0, sensitivity=Sensitivity(l1=2.0, l2=1.0))
    moved = np.zeros(width)
    moved[0], moved[1] = size, -size / 2
    return Worlds(absent=np.arange(width) / 3, present=np.arange(width) / 3 + moved, noise=noise)


def simulated(pair, runs, *, seed):
    """Λ of releases without the record, and of as many with it."""
    source = pair.noise.with_float_noise(np.random.default_rng(seed))
    without = pair.ratios(np.stack([source.release(pair.absent) for _ in range(runs)]))
    return without, pair.ratios(np.stack([source.release(pair.present) for _ in range(runs)]))


def is_one(values):
    """Whether a mean may be 1: five standard errors, a false alarm of 6e-7."""
    return abs(values.mean() - 1) <= 5 * values.std() / np.sqrt(len(values))


@pytest.mark.parametrize("mechanism", for_any_vector())
def test_ratios_average_to_one(mechanism):
    """E₀[e^Λ] = 1 and E₁[e^−Λ] = 1: both densities integrate to 1."""
    pair = small_worlds(mechanism)
    absent, present = simulated(pair, 20000, seed=1)
    assert is_one(np.exp(absent))
    assert is_one(np.exp(-present))


@pytest.mark.parametrize("mechanism", for_any_vector())
def test_a_wrong_sign_or_scale_does_not_average_to_one(mechanism):
    pair = small_worlds(mechanism, size=1.0)
    absent, present = simulated(pair, 20000, seed=1)
    assert not is_one(np.exp(-absent))
    assert not is_one(np.exp(present))
    drawn = pair.noise.with_float_noise(np.random.default_rng(2))
    releases = np.stack([drawn.release(pair.absent) for _ in range(20000)])
    wide = replace(pair, noise=replace(pair.noise, scale=1.5))
    narrow = replace(pair, noise=replace(pair.noise, scale=0.7))
    assert is_one(np.exp(pair.ratios(releases)))
    assert not is_one(np.exp(wide.ratios(releases)))
    assert not is_one(np.exp(narrow.ratios(releases)))


@pytest.mark.parametrize("mechanism", ["laplace", "logistic", "l2-laplace"])
def test_ratios_of_secure_releases_average_to_one(mechanism):
    """|Λ| ≤ 0.9, so Hoeffding bounds the mean; both together: 1e-6."""
    pair = small_worlds(mechanism)
    room = 2 * np.sinh(0.9) * np.sqrt(np.log(4 / FALSE_ALARM) / 2 / 4000)
    for centre, sign in ((pair.absent, 1), (pair.present, -1)):
        releases = np.stack([pair.noise.release(centre) for _ in range(4000)])
        values = np.exp(sign * pair.ratios(releases))
        assert abs(values.mean() - 1) <= room


def test_gaussian_ratios_have_the_normal_law_of_mu():
    """Λ ~ N(∓μ²/2, μ²); Kolmogorov and Smirnov at 1e-6."""
    pair = small_worlds("gaussian")
    mu = np.linalg.norm(pair.present - pair.absent)
    absent, present = simulated(pair, 5000, seed=3)
    for ratios, middle in ((absent, -(mu**2) / 2), (present, mu**2 / 2)):
        assert stats.kstest((ratios - middle) / mu, "norm").pvalue > FALSE_ALARM
    assert stats.kstest((present + mu**2 / 2) / mu, "norm").pvalue < FALSE_ALARM


@pytest.mark.parametrize("mechanism", for_any_vector())
def test_a_release_near_a_world_speaks_for_it(mechanism):
    pair = small_worlds(mechanism)
    assert pair.ratios(pair.present) > 0 > pair.ratios(pair.absent)
    assert pair.ratios(np.stack([pair.present, pair.absent])).shape == (2,)


@pytest.fixture(scope="module")
def scored(digits):
    """Little noise, and a head with hardly any penalty: members and others of one release."""
    known = digits.take(np.arange(150))
    head = fitted(known, penalty=1e-3, records=150)
    target = released(head, epsilon=1e8)
    return attack_on(known).scores(target, digits.take(np.arange(300))).values


def test_members_are_found_where_there_is_little_noise(scored):
    assert auc(scored[:150], scored[150:], confidence=1 - FALSE_ALARM).low > 0.5
    assert auc(-scored[:150], -scored[150:], confidence=1 - FALSE_ALARM).high < 0.5


def test_shuffled_membership_is_not_found(scored):
    shuffled = np.random.default_rng(0).permutation(scored)
    assert auc(shuffled[:150], shuffled[150:], confidence=1 - FALSE_ALARM).contains(0.5)


def test_what_is_refused(digits):
    known = digits.take(np.arange(MEMBERS))
    target = released(fitted(known))
    with pytest.raises(InputError, match="known must be records, at least one"):
        ReleasedWeightsAttack(known=digits.take(np.arange(0)))
    with pytest.raises(InputError, match="target must be released weights of a head, got"):
        attack_on(known).scores(fitted(known), known)
    with pytest.raises(InputError, match="must be one of the classes"):
        attack_on(known).scores(target, Records(known.inputs, known.labels + 5))
    with pytest.raises(InputError, match="class_weight must be that of the released head"):
        attack_on(known, class_weight={1: 2.0}).scores(target, known)
    with pytest.raises(InputError, match="known must have the 20 features of the release, got 7"):
        attack_on(Records(known.inputs[:, :7], known.labels)).scores(target, known)
    labels = SigmoidHead(classes=[0, 1, 2], records=MEMBERS)
    labels.fit(known.inputs, np.eye(3)[known.labels])
    with pytest.raises(InputError, match="target must be a released softmax head, got another"):
        attack_on(known).scores(released(labels), known)
    pair = small_worlds("gaussian")
    with pytest.raises(InputError, match="release must be a vector of 4 numbers"):
        pair.ratios(np.zeros(3))
    with pytest.raises(InputError, match="of one shape, got"):
        replace(pair, absent=np.zeros(3))
    assert noise_of(target).scale == scale_of(target)
