"""Laws that hold for every mechanism; a new one is tested the day it is added."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from reticent import Sensitivity
from reticent.guarantee import Grade, Relation
from reticent.guarantee.minting import proven
from reticent.mechanisms import (
    BlockL2Laplace,
    ClassicalGaussian,
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteLogistic,
    Exponential,
    Gaussian,
    L2Laplace,
    Laplace,
    Logistic,
    MatrixLaplace,
    PermuteAndFlip,
    calibrated,
)
from reticent.mechanisms.profiles import conversions
from reticent.mechanisms.response import RandomisedResponse
from reticent.validation import InputError, NotCoveredError


def in_every_norm(size, **said):
    norms = dict.fromkeys(("l1", "l2", "linf", "l21", "nuclear"), size)
    return Sensitivity(**norms, blocks=3, **said)


ONE = in_every_norm(1.0)
PURE = (
    Laplace,
    Logistic,
    L2Laplace,
    Exponential,
    PermuteAndFlip,
    DiscreteLaplace,
    DiscreteLogistic,
    MatrixLaplace,
    BlockL2Laplace,
    RandomisedResponse,
)
APPROXIMATE = (Gaussian, DiscreteGaussian)
EVERY = (*PURE, *APPROXIMATE)
ADDITIVE = (Laplace, Logistic, Gaussian, L2Laplace)

every_mechanism = pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.name)
additive = pytest.mark.parametrize("kind", ADDITIVE, ids=lambda kind: kind.name)


def subclasses(kind):
    return {kind, *(leaf for child in kind.__subclasses__() for leaf in subclasses(child))}


def test_no_mechanism_is_left_out():
    from reticent.mechanisms import Mechanism

    concrete = {kind for kind in subclasses(Mechanism) if not kind.__abstractmethods__}
    assert concrete == {*EVERY, ClassicalGaussian}


@every_mechanism
@given(
    epsilon=st.floats(1e-3, 200),
    delta=st.floats(1e-12, 0.1),
    size=st.floats(1e-6, 1e6),
)
def test_calibration_keeps_its_promise(kind, epsilon, delta, size):
    """The claim holds with the rounding that guarantee() does, and hardly any noise is wasted."""
    sensitivity = in_every_norm(size)
    mechanism = kind.calibrate(sensitivity, epsilon=epsilon, delta=delta)
    claim = mechanism.guarantee(epsilon=epsilon, delta=delta)
    assert (claim.epsilon, claim.delta) == (epsilon, delta)
    assert mechanism.delta(epsilon=epsilon) <= delta * (1 + 1e-6)
    less = kind(scale=mechanism.scale * 0.999, sensitivity=sensitivity)
    assert less.epsilon(delta=delta) > epsilon


@pytest.mark.parametrize("kind", PURE, ids=lambda kind: kind.name)
@given(epsilon=st.floats(1e-3, 500))
def test_pure_calibration_is_sensitivity_over_epsilon(kind, epsilon):
    mechanism = kind.calibrate(ONE, epsilon=epsilon, delta=0.0)
    assert mechanism.guarantee(epsilon=epsilon, delta=0.0).delta == 0.0
    assert mechanism.rdp(order=math.inf) == pytest.approx(epsilon, rel=1e-5)
    assert mechanism.delta(epsilon=epsilon) == 0.0


@pytest.mark.parametrize("kind", APPROXIMATE, ids=lambda kind: kind.name)
def test_pure_is_refused_where_there_is_none(kind):
    with pytest.raises(InputError, match="delta must be > 0"):
        kind.calibrate(ONE, epsilon=1.0, delta=0.0)


@every_mechanism
def test_epsilon_and_delta_are_inverse_and_fall(kind):
    mechanism = kind(scale=0.7, sensitivity=ONE)
    deltas = [mechanism.delta(epsilon=epsilon) for epsilon in (0.05, 0.3, 0.8, 1.2)]
    assert deltas == sorted(deltas, reverse=True)
    for epsilon, delta in zip((0.05, 0.3, 0.8, 1.2), deltas, strict=True):
        assert mechanism.epsilon(delta=delta) == pytest.approx(epsilon, rel=1e-4)


@every_mechanism
def test_more_noise_means_less_of_everything(kind):
    small, large = kind(scale=1.0, sensitivity=ONE), kind(scale=2.0, sensitivity=ONE)
    assert large.epsilon(delta=1e-3) < small.epsilon(delta=1e-3)
    assert large.rdp(order=3.0) < small.rdp(order=3.0)
    assert large.zcdp() < small.zcdp()


@every_mechanism
def test_rdp_lies_below_zcdp_and_converts_to_no_less_than_the_exact_epsilon(kind):
    mechanism = kind(scale=1.3, sensitivity=ONE)
    orders = np.array([1.1, 1.5, 2, 4, 8, 16, 32, 64, 128])
    curve = [mechanism.rdp(order=order) for order in orders]
    assert all(
        value <= order * mechanism.zcdp() * (1 + 1e-12)
        for order, value in zip(orders, curve, strict=True)
    )
    assert curve == sorted(curve)
    by_rdp, _ = conversions.rdp_to_epsilon(orders, curve, 1e-5)
    assert by_rdp >= mechanism.epsilon(delta=1e-5) * (1 - 1e-9) or mechanism.curve == "upper bound"


@every_mechanism
def test_gdp_dominates_where_it_exists(kind):
    from reticent.mechanisms.profiles import gaussian

    mechanism = kind(scale=0.9, sensitivity=ONE)
    if kind is DiscreteGaussian:
        with pytest.raises(NotCoveredError, match="no Gaussian-DP parameter"):
            mechanism.gdp()
        return
    for epsilon in (0.0, 0.2, 0.7):
        assert gaussian.delta(mechanism.gdp(), epsilon) >= mechanism.delta(epsilon=epsilon) * (
            1 - 1e-9
        )


@additive
def test_log_density_integrates_to_one_and_gives_the_std(kind):
    mechanism = kind(scale=0.6, sensitivity=ONE)
    if kind is L2Laplace:
        mechanism = mechanism.in_dimension(1)

    def density(x):
        return float(np.exp(mechanism.log_density([x])))

    total = 2 * integrate.quad(density, 0, 30)[0]
    variance = 2 * integrate.quad(lambda x: x * x * density(x), 0, 30)[0]
    assert total == pytest.approx(1.0, rel=1e-8)
    assert math.sqrt(variance) == pytest.approx(mechanism.std, rel=1e-8)


def test_l2_laplace_density_in_three_dimensions():
    mechanism = L2Laplace(scale=0.6, sensitivity=ONE, dimension=3)

    def shell(radius):
        return 4 * math.pi * radius**2 * float(np.exp(mechanism.log_density([radius, 0.0, 0.0])))

    assert integrate.quad(shell, 0, 60)[0] == pytest.approx(1.0, rel=1e-8)
    second_moment = integrate.quad(lambda r: r * r * shell(r), 0, 60)[0]
    assert math.sqrt(second_moment / 3) == pytest.approx(mechanism.std, rel=1e-8)


@additive
def test_density_ratio_never_exceeds_what_is_claimed(kind):
    """The worst log ratio of shifted densities is the pure ε, and the loss has mean KL."""
    mechanism = kind(scale=0.5, sensitivity=ONE)
    noise = np.linspace(-8, 8, 4001)[:, None]
    loss = mechanism.log_density(noise) - mechanism.log_density(noise - 1.0)
    if kind in PURE:
        assert np.abs(loss).max() == pytest.approx(mechanism.epsilon(delta=0.0), rel=1e-5)


def test_log_density_sums_over_the_last_axis():
    mechanism = Logistic(scale=2.0, sensitivity=ONE)
    noise = np.arange(6.0).reshape(2, 3)
    single = [mechanism.log_density([value]) for value in noise.ravel()]
    assert mechanism.log_density(noise) == pytest.approx(np.reshape(single, (2, 3)).sum(axis=1))


@every_mechanism
def test_a_guarantee_says_where_it_comes_from(kind):
    source = in_every_norm(1.0, relation="replace-one", source="a count of votes")
    claim = kind(scale=1.0, sensitivity=source).guarantee(delta=1e-4)
    assert claim.grade is Grade.DECLARED
    assert claim.relation is Relation.REPLACE_ONE
    assert any("a count of votes" in line for line in claim.stated)
    assert any("AES-CTR" in line for line in claim.checked)
    assert claim.epsilon >= kind(scale=1.0, sensitivity=source).epsilon(delta=1e-4)


@every_mechanism
def test_grades_pass_through_and_proven_does_not(kind):
    minted = proven(ONE)
    assert kind(scale=1.0, sensitivity=minted).guarantee(delta=1e-4).grade is Grade.DECLARED
    sampled = in_every_norm(1.0, grade="sampled", gamma=0.05)
    claim = kind(scale=1.0, sensitivity=sampled).guarantee(delta=1e-4)
    assert (claim.grade, claim.gamma) == (Grade.SAMPLED, 0.05)


@pytest.mark.parametrize("kind", [Laplace, Logistic, Gaussian], ids=lambda kind: kind.name)
@given(scale=st.floats(1e-3, 1e3), size=st.floats(1e-3, 1e3))
def test_events_never_claim_more_noise_than_there_is(kind, scale, size):
    from fractions import Fraction

    event = kind(scale=scale, sensitivity=Sensitivity(l1=size, l2=size)).event()
    assert Fraction(event.noise_multiplier) <= Fraction(scale) / Fraction(size)


@every_mechanism
def test_a_false_claim_is_refused(kind):
    mechanism = kind(scale=1.0, sensitivity=ONE)
    reached = mechanism.epsilon(delta=1e-4)
    with pytest.raises(InputError, match=r"epsilon must be >= .* got"):
        mechanism.guarantee(epsilon=reached * 0.999, delta=1e-4)


@every_mechanism
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 0, -1.0, "1", None, True, 1j])
def test_bad_scales_and_epsilons(kind, bad):
    with pytest.raises(InputError, match=r"^scale must"):
        kind(scale=bad, sensitivity=ONE)
    with pytest.raises(InputError, match=r"^epsilon must"):
        kind.calibrate(ONE, epsilon=bad, delta=1e-5)


@every_mechanism
@pytest.mark.parametrize("bad", [float("nan"), 1.0, -1e-9, "0", None])
def test_bad_deltas(kind, bad):
    with pytest.raises(InputError, match=r"^delta must"):
        kind.calibrate(ONE, epsilon=1.0, delta=bad)
    with pytest.raises(InputError, match=r"^delta must"):
        kind(scale=1.0, sensitivity=ONE).epsilon(delta=bad)


@every_mechanism
def test_bad_orders_and_sensitivities(kind):
    with pytest.raises(InputError, match=r"order must be > 1, got 1.0"):
        kind(scale=1.0, sensitivity=ONE).rdp(order=1.0)
    with pytest.raises(InputError, match="sensitivity must be a Sensitivity"):
        kind(scale=1.0, sensitivity=1.0)


@every_mechanism
@pytest.mark.parametrize(
    "value", [[], [float("nan")], [float("inf")], [1j], ["a"], [object()], [[1.0], [1.0, 2.0]]]
)
def test_bad_values_are_refused_before_any_noise(kind, value):
    with pytest.raises(InputError, match=r"^(value|scores) must") as caught:
        kind(scale=1.0, sensitivity=ONE).release(value)
    assert "\n" not in str(caught.value)


@additive
@pytest.mark.parametrize("shape", [(), (1,), (7,), (2, 3), (2, 1, 3)])
def test_release_keeps_the_shape(kind, shape):
    released = kind(scale=1.0, sensitivity=ONE).release(np.zeros(shape))
    assert released.shape == shape
    assert released.dtype == np.float64


@additive
def test_releases_lie_on_the_public_grid(kind):
    """Plain float noise would not: the classes must go through the rounded engine."""
    mechanism = kind(scale=1.0, sensitivity=ONE)
    released = mechanism.release(np.linspace(-1, 1, 1000))
    assert (released * 2**12 == np.rint(released * 2**12)).all()
    coarse = mechanism.release(np.linspace(-1, 1, 1000), grid=2.0**-5)
    assert (coarse * 2**5 == np.rint(coarse * 2**5)).all()


@additive
def test_two_releases_differ(kind):
    mechanism = kind(scale=1.0, sensitivity=ONE)
    assert not np.array_equal(mechanism.release(np.zeros(4)), mechanism.release(np.zeros(4)))


@additive
def test_float_noise_is_asked_for_by_name_and_says_so(kind):
    mechanism = kind(scale=1.0, sensitivity=ONE)
    first = mechanism.with_float_noise(np.random.default_rng(0)).release(np.zeros(3))
    again = mechanism.with_float_noise(np.random.default_rng(0)).release(np.zeros(3))
    assert np.array_equal(first, again)
    claim = mechanism.with_float_noise(np.random.default_rng(0)).guarantee(delta=1e-5)
    assert any("floating-point attacks are not covered" in line for line in claim.stated)
    assert claim.checked == ()
    with pytest.raises(InputError, match="must be a numpy Generator"):
        mechanism.with_float_noise(0)


@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteLogistic, DiscreteGaussian])
def test_integers_stay_integers(kind):
    mechanism = kind.calibrate(ONE, epsilon=0.3, delta=1e-6)
    released = mechanism.release(np.arange(6).reshape(2, 3))
    assert released.shape == (2, 3)
    assert released.dtype == np.int64
    with pytest.raises(InputError, match="value must hold integers"):
        mechanism.release([0.5])


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])
def test_selection_shapes_and_probabilities(kind):
    mechanism = kind.calibrate(ONE, epsilon=1.0, delta=0.0)
    assert mechanism.release([0.0, 1.0, 2.0]).shape == ()
    assert mechanism.release(np.zeros((5, 3))).shape == (5,)
    scores = np.array([[0.0, 1.0, 2.5], [3.0, 3.0, -50.0]])
    assert np.exp(mechanism.log_probabilities(scores)).sum(axis=1) == pytest.approx([1.0, 1.0])
    with pytest.raises(InputError, match=r"scores must have shape"):
        mechanism.release(np.zeros((2, 2, 2)))


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])
@given(
    scores=st.lists(st.floats(-5, 5), min_size=2, max_size=6),
    move=st.lists(st.floats(-1, 1), min_size=6, max_size=6),
)
def test_selection_is_private_for_every_move_of_the_scores(kind, scores, move):
    """The log ratio of every candidate stays within ε when each score moves by at most 1."""
    mechanism = kind.calibrate(Sensitivity(linf=1.0), epsilon=1.0, delta=0.0)
    here = mechanism.log_probabilities(scores)
    there = mechanism.log_probabilities(np.array(scores) + move[: len(scores)])
    assert np.abs(here - there).max() <= 1.0 + 1e-9
    if kind is Exponential:  # bounded range: largest minus smallest loss
        assert np.ptp(here - there) <= 1.0 + 1e-9


def test_permute_and_flip_never_errs_more():
    scores = [0.0, 0.5, 2.0]
    flip = PermuteAndFlip.calibrate(ONE, epsilon=1.0, delta=0.0).log_probabilities(scores)
    exponential = Exponential.calibrate(ONE, epsilon=1.0, delta=0.0).log_probabilities(scores)
    assert np.exp(flip) @ scores > np.exp(exponential) @ scores


def test_an_l2_bound_alone_goes_by_zcdp():
    only_l2 = Sensitivity(l2=1.0)
    noise = Logistic.calibrate(only_l2, epsilon=1.0, delta=1e-5)
    assert noise.zcdp() == pytest.approx(1 / (6 * noise.scale**2))
    assert noise.epsilon(delta=0.0) == math.inf
    assert any("by way of zCDP" in line for line in noise.guarantee(delta=1e-5).checked)
    exact = Logistic(scale=1.0, sensitivity=Sensitivity(l1=1.0)).guarantee(delta=1e-5)
    assert any("exact privacy curve" in line for line in exact.checked)
    assert noise.delta(epsilon=1.0) == pytest.approx(1e-5, rel=1e-4)
    with pytest.raises(InputError, match="logistic needs an L1 sensitivity at delta = 0"):
        Logistic.calibrate(only_l2, epsilon=1.0, delta=0.0)


def test_both_bounds_give_the_better_one():
    both = Logistic(scale=3.0, sensitivity=Sensitivity(l1=50.0, l2=1.0))
    assert both.zcdp() == pytest.approx(1 / 54)
    assert both.epsilon(delta=1e-5) < 2
    assert both.epsilon(delta=0.0) == pytest.approx(50 / 3)


def test_classical_gaussian_is_published_from_one_on():
    below = ClassicalGaussian.calibrate(ONE, epsilon=0.9, delta=1e-5)
    assert below.published_guarantee().grade is Grade.DECLARED
    above = ClassicalGaussian.calibrate(ONE, epsilon=9.0, delta=1e-5)
    assert above.published_guarantee().grade is Grade.PUBLISHED
    assert above.published_guarantee().epsilon == 9.0
    assert above.epsilon(delta=1e-5) > 9.0  # what the noise really gives


class TestComparison:
    def rows(self, epsilon=1.0, delta=1e-5, **norms):
        rows = calibrated(Sensitivity(**norms), epsilon=epsilon, delta=delta)
        return {row.mechanism: row for row in rows}

    def test_every_mechanism_that_the_norms_allow(self):
        assert [*self.rows(l1=1.0, l2=1.0)] == ["laplace", "logistic", "gaussian", "l2-laplace"]
        assert [*self.rows(l1=1.0, l2=1.0, delta=0.0)] == ["laplace", "logistic", "l2-laplace"]
        assert [*self.rows(l2=1.0, delta=0.0)] == ["l2-laplace"]
        assert self.rows(linf=1.0) == {}

    def test_pure_rows_first_and_what_delta_buys_beside_them(self):
        logistic = self.rows(l1=0.017492, l2=0.013842)["logistic"]
        assert logistic.std == pytest.approx(0.0317, abs=5e-5)
        assert logistic.guarantee.delta == 0.0
        assert [way.route for way in logistic.alternatives] == ["exact δ(ε), L1", "zCDP, L2"]
        assert logistic.alternatives[0].scale < logistic.scale

    def test_the_textbook_formula_is_published(self):
        gaussian = self.rows(l2=1.0)["gaussian"]
        (textbook,) = gaussian.alternatives
        assert textbook.guarantee.grade is Grade.PUBLISHED
        assert textbook.std > gaussian.std

    def test_grades_pass_through(self):
        rows = self.rows(l1=1.0, grade="sampled", gamma=0.1)
        assert {row.guarantee.grade for row in rows.values()} == {Grade.SAMPLED}
        assert rows["logistic"].guarantee.gamma == 0.1
