"""Loss distributions: from above always, and tight, against closed forms and other libraries."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as library_pld
from scipy import integrate, signal

from reticent.accounting import account, convolution
from reticent.accounting.convolution import connect_dots
from reticent.accounting.dominating import (
    GaussianPair,
    LaplacePair,
    LogisticPair,
    PoissonPair,
    ResponsePair,
    SubsetPair,
)
from reticent.guarantee import (
    ApproximateEvent,
    BoundedRangeEvent,
    Composed,
    GaussianEvent,
    LaplaceEvent,
    LogisticEvent,
    PoissonSampled,
    Repeated,
    SampledWithoutReplacement,
)
from reticent.mechanisms.profiles import laplace, logistic, pure
from tests.accounting.library import logistic_pld

PAIRS = [
    *(GaussianPair(shift) for shift in (0.01, 0.4, 0.6, 3.0, 40.0)),
    *(LaplacePair(shift) for shift in (0.01, 1.0, 20.0)),
    *(LogisticPair(shift) for shift in (0.01, 1.0, 20.0)),
    ResponsePair(1.0),
    ResponsePair(0.5, 1e-4),
]


def epsilon(event, *, relation="add-remove", delta=1e-5):
    return account(event, relation=relation, delta=delta, methods=["pld"]).epsilon


def repeated(event, count, *, rate=1.0):
    return Repeated(event=PoissonSampled(event=event, rate=rate), count=count)


@pytest.mark.parametrize("shift", [1e-9, 1e-3, 0.3, 0.499, 0.501, 1.0, 7.0, 100.0, 1000.0])
def test_the_gaussian_divergence_is_accurate_to_eleven_digits(shift):
    """Against 60 digits, to δ = 1e-200; the grid allows for 1e-11."""
    deviations = np.array([-3.0, -0.5, -1e-3, 0.0, 0.4, 2.0, 5.0, 11.0, 29.0])
    epsilons = shift * (deviations + shift / 2)
    epsilons = epsilons[epsilons >= 0]
    with mpmath.workdps(60):
        for got, at in zip(GaussianPair(shift).delta(epsilons), epsilons, strict=True):
            x, mu = mpmath.mpf(float(at)), mpmath.mpf(shift)
            exact = mpmath.ncdf(mu / 2 - x / mu) - mpmath.exp(x) * mpmath.ncdf(-mu / 2 - x / mu)
            assert abs(got / exact - 1) < 8e-12


@pytest.mark.parametrize(
    ("pair", "profile"),
    [
        (LaplacePair(1.3), lambda x: laplace.delta(1.3, x)),
        (LogisticPair(1.3), lambda x: logistic.delta(1.3, x)),
        (LogisticPair(0.7), lambda x: pure.bounded_range_delta(0.7, x)),
        (ResponsePair(1.3), lambda x: pure.delta(1.3, x)),
    ],
)
def test_the_other_divergences_are_those_of_the_profiles(pair, profile):
    epsilons = np.linspace(0, 1.5, 31)
    assert pair.delta(epsilons) == pytest.approx([profile(x) for x in epsilons], rel=1e-12)


@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.5, 0.999])
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_sampled_divergences_are_those_of_the_mixture(pair, rate):
    """H(mixture ‖ Q) and H(Q ‖ mixture) are tied by δ(ε) = 1 − e^ε + e^ε·δ_reverse(−ε)."""
    sampled = PoissonPair(pair, rate)
    epsilons = np.linspace(0, 5, 41)
    inner = np.log1p(np.expm1(epsilons) / rate)
    assert sampled.removed(epsilons) == pytest.approx(rate * pair.delta(inner), rel=1e-9)
    below = epsilons[epsilons < -math.log1p(-rate) * 0.99]
    outer = np.log1p(np.expm1(-below) / rate)
    removed_below_zero = rate * (1 - np.exp(outer) + np.exp(outer) * pair.delta(-outer))
    dual = 1 - np.exp(below) + np.exp(below) * removed_below_zero
    assert sampled.added(below) == pytest.approx(dual, abs=1e-12)
    beyond = epsilons[epsilons > -math.log1p(-rate)]
    assert np.all(sampled.added(beyond) == 0)


def hockey_stick(grid, epsilon):
    masses, losses = np.exp(grid.log_masses), grid.losses
    above = losses > epsilon
    return grid.infinite + float(np.sum(masses[above] * -np.expm1(epsilon - losses[above])))


@pytest.mark.parametrize("sampling", [PoissonPair, SubsetPair])
@pytest.mark.parametrize("rate", [1.0, 0.3, 0.01])
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_the_grid_dominates_and_meets_the_dots(pair, rate, sampling):
    sampled = sampling(pair, rate)
    step = (sampled.reach_removed(1e-12) + sampled.reach_added(1e-12)) / 300
    grid = connect_dots(sampled, step, 1e-12)
    assert np.exp(grid.log_masses).sum() + grid.infinite == pytest.approx(1, abs=1e-9)
    for divergence, direction in ((sampled.removed, grid), (sampled.added, grid.reverse())):
        for place in (0, 0.3, 1, 7.5, 40, 90.25):
            exact = float(divergence(np.array([place * step]))[0])
            got = hockey_stick(direction, place * step)
            assert got >= exact
            if place == int(place):
                assert got == pytest.approx(exact, rel=1e-6, abs=1e-13)


@pytest.mark.parametrize("theta", [0.02, 0.5, 3.0, 20.0])
def test_every_tilt_gives_a_true_epsilon(theta, monkeypatch):
    """The tilt decides tightness and never truth; with a bad one the error terms must show."""
    grid = connect_dots(PoissonPair(GaussianPair(0.5)), 0.002, 1e-14)
    parts = [(grid, 16)]
    monkeypatch.setattr(convolution, "tilt_for", lambda *_: convolution.tilted(parts, theta))
    found = convolution.epsilon(parts, 1e-5)
    true = account(
        GaussianEvent(noise_multiplier=0.5), relation="add-remove", delta=1e-5, methods=["gdp"]
    ).epsilon
    assert found >= true * (1 - 1e-12)


def test_the_pure_epsilon_is_never_exceeded():
    for event in (LaplaceEvent(noise_multiplier=1.0), BoundedRangeEvent(epsilon=1.0)):
        for count in (1, 2, 5):
            assert epsilon(Repeated(event=event, count=count), delta=1e-14) <= count * 1.001


@pytest.mark.parametrize("delta", [0.1, 1e-5, 1e-10])
@pytest.mark.parametrize("noise", [0.2, 1.0, 5.0])
def test_one_release_has_the_epsilon_of_its_profile(noise, delta):
    for event, exact in (
        (LaplaceEvent(noise_multiplier=noise), laplace.epsilon(1 / noise, delta)),
        (LogisticEvent(noise_multiplier=noise), logistic.epsilon(1 / noise, delta)),
        (BoundedRangeEvent(epsilon=noise), logistic.epsilon(noise, delta)),
        (ApproximateEvent(epsilon=noise, delta=0.0), pure.epsilon(noise, delta)),
    ):
        found = epsilon(event, delta=delta)
        assert exact <= found <= exact * (1 + 2e-4) + 1e-6


@pytest.mark.parametrize(
    ("event", "library"),
    [
        (GaussianEvent(noise_multiplier=0.9), library_pld.from_gaussian_mechanism),
        (LaplaceEvent(noise_multiplier=0.9), library_pld.from_laplace_mechanism),
        (LogisticEvent(noise_multiplier=0.9), logistic_pld),
    ],
)
@pytest.mark.parametrize(("rate", "count"), [(1.0, 20), (0.05, 400)])
def test_agrees_with_dp_accounting(event, library, rate, count):
    if library is logistic_pld:
        reference = logistic_pld(0.9, rate=rate, interval=1e-3)
    else:
        reference = library(0.9, sampling_prob=rate, value_discretization_interval=1e-3)
    expected = reference.self_compose(count).get_epsilon_for_delta(1e-6)
    assert epsilon(repeated(event, count, rate=rate), delta=1e-6) == pytest.approx(
        expected, rel=1e-3
    )


def test_agrees_with_dp_accounting_on_a_mixed_composition():
    event = Composed(
        events=(
            repeated(GaussianEvent(noise_multiplier=1.0), 100, rate=0.05),
            repeated(LaplaceEvent(noise_multiplier=2.0), 10),
            repeated(LogisticEvent(noise_multiplier=2.0), 50, rate=0.2),
            ApproximateEvent(epsilon=0.3, delta=1e-6),
        )
    )
    interval = 1e-3
    parts = [
        library_pld.from_gaussian_mechanism(
            1.0, sampling_prob=0.05, value_discretization_interval=interval
        ).self_compose(100),
        library_pld.from_laplace_mechanism(
            2.0, value_discretization_interval=interval
        ).self_compose(10),
        logistic_pld(2.0, rate=0.2, interval=interval).self_compose(50),
        library_pld.from_privacy_parameters(
            library_pld.common.DifferentialPrivacyParameters(0.3, 1e-6), interval
        ),
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total.compose(part)
    assert epsilon(event) == pytest.approx(total.get_epsilon_for_delta(1e-5), rel=1e-3)


def test_dp_accounting_loses_small_deltas_and_we_do_not():
    """Its transform has rounding noise of about 1e-14, below which its δ means nothing."""
    event = repeated(GaussianEvent(noise_multiplier=10.0), 100, rate=0.5)
    reference = library_pld.from_gaussian_mechanism(
        10.0, sampling_prob=0.5, value_discretization_interval=1e-3
    ).self_compose(100)
    assert math.isinf(reference.get_epsilon_for_delta(1e-16))
    small = epsilon(event, delta=1e-16)
    exact_unsampled = epsilon(GaussianEvent(noise_multiplier=1.0), delta=1e-16)
    assert epsilon(event, delta=1e-12) < small < 0.6 * exact_unsampled


GRID = np.linspace(-30, 30, 60_001)


def mixture_divergence(density, centres, others, epsilon):
    """H_{e^ε} between two equal mixtures of noise at the given centres, by the trapezoidal rule."""
    first, second = (
        np.mean([density(GRID - centre) for centre in places], axis=0)
        for places in (centres, others)
    )
    return integrate.trapezoid(np.maximum(first - math.exp(epsilon) * second, 0.0), GRID)


@pytest.mark.parametrize(
    ("density", "pair"),
    [
        (lambda x: np.exp(-x * x / 2) / math.sqrt(2 * math.pi), GaussianPair(1.0)),
        (lambda x: np.exp(-np.abs(x)) / 2, LaplacePair(1.0)),
        (lambda x: 0.25 / np.cosh(x / 2) ** 2, LogisticPair(1.0)),
    ],
    ids=["gaussian", "laplace", "logistic"],
)
def test_sampling_without_replacement_is_dominated(density, pair):
    """The sum of two of four records in [0, 1], one of which is replaced."""
    worst = 0.0
    sampled = SubsetPair(pair, 0.5)
    for records in ([0.0, 0.0, 0.0], [0.4, 0.0, 0.9], [1.0, 1.0, 1.0]):
        for old, new in ((0.0, 1.0), (1.0, 0.0), (0.2, 0.8)):
            sums = [
                [sum(s) for s in itertools.combinations([*records, mine], 2)] for mine in (old, new)
            ]
            for at in (0.0, 0.1, 0.3):
                bound = float(sampled.removed(np.array([at]))[0])
                exact = mixture_divergence(density, *sums, at)
                assert exact <= bound + 1e-6
                worst = max(worst, exact / bound)
    assert worst > 0.5


def test_without_replacement_lies_between_poisson_and_no_sampling():
    event = GaussianEvent(noise_multiplier=1.0)
    subset = SampledWithoutReplacement(event=event, size=10, population=1000)
    found = epsilon(Repeated(event=subset, count=1000), relation="replace-one")
    poisson = epsilon(repeated(event, 1000, rate=0.01))
    assert poisson <= found < 1.5 * poisson


def test_samples_of_samples_multiply():
    event = GaussianEvent(noise_multiplier=1.0)
    twice = PoissonSampled(event=PoissonSampled(event=event, rate=0.5), rate=0.1)
    assert epsilon(Repeated(event=twice, count=50)) == pytest.approx(
        epsilon(repeated(event, 50, rate=0.05)), rel=1e-9
    )


def test_a_coarser_grid_is_never_better():
    """Connect-the-dots errs upwards only, and less and less."""
    event = repeated(GaussianEvent(noise_multiplier=1.0), 1000, rate=0.01)
    pair = PoissonPair(GaussianPair(1.0), 0.01)
    found = []
    for step in (4e-2, 1e-2, 2e-3, 5e-4):
        parts = [(connect_dots(pair, step, 1e-14), 1000)]
        found.append(convolution.epsilon(parts, 1e-5))
    assert found == sorted(found, reverse=True)
    assert epsilon(event) == pytest.approx(found[-1], rel=2e-3)
    assert found[0] > 1.02 * found[-1]


@pytest.mark.parametrize("points", [1, 7, convolution._BLOCK, convolution._BLOCK + 1, 100_000])
def test_damped_sums_are_those_of_a_filter(points):
    """Terms are positive: about a hundred roundings matter, fused or not by the processor."""
    terms = np.random.default_rng(points).random(points) ** 20
    filtered = signal.lfilter([1.0], [1.0, -0.99], terms)
    np.testing.assert_allclose(convolution._damped_sums(terms, 0.99), filtered, rtol=1e-13)
