"""Values that were computed elsewhere or that a paper prints."""

import math

import numpy as np
import pytest

from reticent.accounting import account, amplification
from reticent.accounting.rdp import ORDERS, RDP
from reticent.guarantee import (
    Composed,
    GaussianEvent,
    LaplaceEvent,
    LogisticEvent,
    PoissonSampled,
    Relation,
    Repeated,
    SampledWithoutReplacement,
)
from reticent.mechanisms.profiles.conversions import rdp_to_epsilon

STEPS = 390
BATCH, RECORDS = 128, 50_000
NAIVE_SIMCLR, SIMCLR = (0.3812,), (0.4021, 0.4021)
NAIVE_BARLOW, BARLOW = (0.3633,), (0.3931, 0.416, 0.416, 0.416, 0.416)


def noise(*multipliers):
    return Composed(events=tuple(GaussianEvent(noise_multiplier=m) for m in multipliers))


def drawn(event):
    return SampledWithoutReplacement(event=event, size=BATCH, population=RECORDS)


def by(method, event, count, *, relation="replace-one", delta=1e-5):
    repeated = Repeated(event=event, count=count)
    return account(repeated, relation=relation, delta=delta, methods=[method]).epsilon


@pytest.mark.parametrize(
    ("multipliers", "epochs", "published"),
    [
        (NAIVE_SIMCLR, 200, 999.86),
        (SIMCLR, 200, 999.41),
        (NAIVE_BARLOW, 100, 995.30),
        (BARLOW, 100, 998.73),
    ],
)
def test_published_accounting_of_dp_contrastive_learning(multipliers, epochs, published):
    """Each release of a step amplified apart, then added: how the paper gets to 1,000."""
    apart = Composed(events=tuple(drawn(noise(multiplier)) for multiplier in multipliers))
    assert by("rdp", apart, STEPS * epochs) == pytest.approx(published, abs=0.005)


def theorem_nine_alone(multipliers, count):
    """Without the bound by the unsampled curve, which our accountant takes where it is smaller."""
    slope = sum(0.5 / multiplier**2 for multiplier in multipliers)
    nodes = amplification.without_replacement(lambda orders: slope * orders, BATCH / RECORDS)
    unbounded = amplification.interpolate(
        nodes, lambda orders: np.full(orders.shape, math.inf), math.inf
    )
    return rdp_to_epsilon(ORDERS, count * unbounded(ORDERS), 1e-5)[0]


@pytest.mark.parametrize(
    ("multipliers", "epochs", "expected"), [(SIMCLR, 200, 110_009), (BARLOW, 100, 716_529)]
)
def test_the_same_accountant_with_the_step_composed_first(multipliers, epochs, expected):
    count = epochs * RECORDS / BATCH
    assert theorem_nine_alone(multipliers, count) == pytest.approx(expected, abs=1)
    ours = by("rdp", drawn(noise(*multipliers)), int(count))
    assert ours <= expected + 1
    assert ours > 100_000


@pytest.mark.parametrize(
    ("multipliers", "epochs", "expected"),
    [(SIMCLR, 200, 430), (BARLOW, 100, 1285), (NAIVE_SIMCLR, 200, 112), (NAIVE_BARLOW, 100, 88)],
)
def test_tight_accounting_of_the_same_noise_under_poisson_sampling(multipliers, epochs, expected):
    step = PoissonSampled(event=noise(*multipliers), rate=BATCH / RECORDS)
    count = int(epochs * RECORDS / BATCH)
    assert by("pld", step, count, relation="add-remove") == pytest.approx(expected, abs=1.2)


@pytest.mark.parametrize(
    ("multipliers", "epochs", "expected"),
    [(SIMCLR, 200, 517), (BARLOW, 100, 1376), (NAIVE_SIMCLR, 200, 143), (NAIVE_BARLOW, 100, 107)],
)
def test_tight_accounting_of_the_same_noise_under_the_sampling_of_the_paper(
    multipliers, epochs, expected
):
    count = int(epochs * RECORDS / BATCH)
    assert by("pld", drawn(noise(*multipliers)), count) == pytest.approx(expected, rel=5e-3)


@pytest.mark.parametrize(
    ("event", "count", "expected"),
    [
        (LogisticEvent(noise_multiplier=1.0), 1, 0.995),
        (LogisticEvent(noise_multiplier=1.0), 10, 7.63),
        (LogisticEvent(noise_multiplier=1.0), 100, 38.9),
        (LaplaceEvent(noise_multiplier=1.0), 1, 0.99998),
        (LaplaceEvent(noise_multiplier=1.0), 10, 9.99),
        (LaplaceEvent(noise_multiplier=1.0), 100, 68.3),
    ],
)
def test_compositions_of_logistic_and_laplace_noise(event, count, expected):
    assert by("pld", event, count) == pytest.approx(expected, rel=1.3e-3)


@pytest.mark.slow  # for the import
def test_sampled_gaussian_against_opacus():
    from opacus.accountants.analysis import rdp as opacus_rdp

    orders = np.arange(2, 65)
    for multiplier, rate in ((0.8, 0.01), (2.0, 0.1)):
        expected = opacus_rdp.compute_rdp(
            q=rate, noise_multiplier=multiplier, steps=1, orders=list(orders)
        )
        event = PoissonSampled(event=noise(multiplier), rate=rate)
        got = RDP.value(event, Relation.ADD_REMOVE).bound(orders.astype(float))
        assert got == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow  # for the import
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # inside autodp
def test_sampled_laplace_against_autodp():
    """Its tight Poisson amplification, composed a hundred times."""
    from autodp import mechanism_zoo, transformer_zoo

    mechanism = mechanism_zoo.LaplaceMechanism(1.0)
    mechanism.neighboring = "add_remove"
    sampled = transformer_zoo.AmplificationBySampling(PoissonSampling=True)(
        mechanism, 0.05, improved_bound_flag=True
    )
    expected = transformer_zoo.Composition()([sampled], [100]).get_approxDP(1e-5)
    event = PoissonSampled(event=LaplaceEvent(noise_multiplier=1.0), rate=0.05)
    assert by("rdp", event, 100, relation="add-remove") == pytest.approx(expected, rel=0.01)
