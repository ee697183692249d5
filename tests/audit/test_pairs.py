"""A pair within the claimed sensitivity stands, one beyond it falls by the exact figure."""

import numpy as np
import pytest

from reticent import Sensitivity
from reticent.audit.pairs import WorstPair, audit_pair, tightness_of
from reticent.guarantee import Grade
from reticent.mechanisms import Gaussian, L2Laplace, Laplace, Logistic
from reticent.validation import InputError

RARE = 1e-6
CLAIMED = Sensitivity(l1=2.0, l2=1.0, relation="replace-one", source="a test")


def pair(distance):
    """L2 distance as said, L1 twice that."""
    return WorstPair(absent=np.zeros(4), present=np.full(4, distance / 2), kind="given")


@pytest.mark.parametrize(
    ("kind", "delta"), [(Gaussian, 1e-5), (Laplace, 0.0), (Logistic, 0.0), (L2Laplace, 0.0)]
)
@pytest.mark.parametrize("distance", [0.99, 1.5])
def test_the_distance_decides(kind, delta, distance):
    noise = kind.calibrate(CLAIMED, epsilon=1.0, delta=delta)
    found = audit_pair(noise, pair(distance), noise.guarantee(delta=delta), beta=RARE, runs=1_000)
    assert found.tightness == pytest.approx(distance)
    assert found.exact
    assert found.verdict == ("refuted" if distance > 1 else "not refuted")
    assert str(found.measured.relation) == "replace-one"


def test_draws_that_are_wrong_fall_by_the_measured_bound():
    noise = Gaussian.calibrate(CLAIMED, epsilon=1.0, delta=1e-2)
    rng = np.random.default_rng(0)
    found = audit_pair(
        noise,
        pair(0.99),
        noise.guarantee(delta=1e-2),
        draw=lambda value: value + noise.scale / 4 * rng.normal(size=value.shape),
        beta=RARE,
        runs=4_000,
    )
    assert found.analytic < 1 < found.measured.epsilon
    assert found.refuted_by == "measured bound, for every mechanism"


def test_tightness_is_in_the_norms_that_the_noise_answers_for():
    only = Sensitivity(l2=1.0, grade=Grade.PUBLISHED, relation="replace-one", source="a test")
    assert tightness_of(Laplace(scale=1.0, sensitivity=only), pair(3.0)) == pytest.approx(3.0)
    assert tightness_of(Laplace(scale=1.0, sensitivity=CLAIMED), pair(3.0)) == pytest.approx(3.0)
    wide = Sensitivity(l1=4.0, l2=1.0)
    assert tightness_of(Laplace(scale=1.0, sensitivity=wide), pair(3.0)) == pytest.approx(3.0)
    alone = Sensitivity(l1=4.0)
    assert tightness_of(Laplace(scale=1.0, sensitivity=alone), pair(3.0)) == pytest.approx(1.5)
    assert tightness_of(Gaussian(scale=1.0, sensitivity=wide), pair(3.0)) == pytest.approx(3.0)


def test_bad_input_gets_one_line():
    noise = Gaussian.calibrate(CLAIMED, epsilon=1.0, delta=1e-5)
    with pytest.raises(InputError, match="runs must be >= 10"):
        audit_pair(noise, pair(1.0), noise.guarantee(delta=1e-5), runs=1)
    with pytest.raises(InputError, match="beta must be"):
        audit_pair(noise, pair(1.0), noise.guarantee(delta=1e-5), beta=0.6)
