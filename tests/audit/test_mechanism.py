"""True claims stand, false ones fall: with β = 1e-6 a true one falls once in a million."""

import math

import numpy as np
import pytest
from scipy import stats

from reticent import Sensitivity
from reticent.audit.mechanism import audit_function
from reticent.mechanisms import Gaussian, Laplace, Logistic
from reticent.mechanisms.integer import DiscreteLaplace
from reticent.randomness import seeded
from reticent.validation import InputError

RARE = 1e-6
UNIT = Sensitivity(l1=1.0, l2=1.0, relation="add-remove", source="a test")


def audited(many, one=0.0, other=1.0, *, epsilon=1.0, delta=0.0, **options):
    return audit_function(
        None, one, other, epsilon=epsilon, delta=delta, many=many, **{"beta": RARE} | options
    )


def grid(numbers):
    """Noise in floats tells more than its value; here it lies on one grid for all answers."""
    return np.rint(numbers * 2**20) / 2**20


def laplace(scale, seed=0):
    rng = seeded("laplace", seed)
    return lambda answer, runs: grid(answer + rng.laplace(scale=scale, size=runs))


def geometric(decay, rng, runs):
    """The difference of two geometric numbers: P[k] ∝ decay^|k|."""
    return rng.geometric(1 - decay, runs) - rng.geometric(1 - decay, runs)


OURS = {
    "laplace": (Laplace.calibrate(UNIT, epsilon=1.0, delta=0.0), 0.0),
    "logistic": (Logistic.calibrate(UNIT, epsilon=1.0, delta=0.0), 0.0),
    "gaussian": (Gaussian.calibrate(UNIT, epsilon=1.0, delta=1e-5), 1e-5),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
def test_our_mechanisms_are_not_refuted(name):
    mechanism, delta = OURS[name]
    found = audited(
        lambda answer, runs: mechanism.release(np.full(runs, answer)), delta=delta, runs=20_000
    )
    assert found.verdict == "not refuted"
    assert found.bound.epsilon > 0.05


def test_true_laplace_stands_and_is_nearly_told():
    found = audited(laplace(1.0))
    assert not found.refuted
    assert 0.8 < found.bound.epsilon < 1


def test_half_the_noise_falls():
    found = audited(laplace(0.5))
    assert found.verdict == "refuted"
    assert found.bound.epsilon > 1.7


def test_too_little_noise_in_one_of_many_numbers_falls():
    rng = seeded("vector")
    start, moved = np.zeros(30), np.eye(30)[7]

    def release(answer, runs):
        noise = rng.normal(scale=Gaussian.calibrate(UNIT, epsilon=1, delta=1e-5).scale, size=runs)
        others = rng.normal(size=(runs, 30))
        others[:, 7] = noise / 8
        return grid(answer + others)

    assert audited(release, start, moved, delta=1e-5, runs=8_000).bound.epsilon > 1.5


def test_noise_of_the_right_size_but_the_wrong_law_falls():
    """Uniform noise: outputs next to either end come from one answer alone."""
    rng = seeded("uniform")
    found = audited(lambda answer, runs: grid(answer + rng.uniform(-5, 5, runs)), runs=20_000)
    assert found.bound.epsilon > 3


def test_a_variance_that_depends_on_the_data_falls():
    """No linear score sees it."""
    rng = seeded("variance")
    found = audited(lambda wide, runs: grid(rng.normal(0, 1 + 3 * wide, runs)), delta=1e-5)
    assert found.bound.epsilon > 1.5


@pytest.mark.parametrize(("keep", "refuted"), [(0.73, False), (0.8, True)])
def test_randomised_response(keep, refuted):
    """ε = log(keep/(1 − keep)), 0.99 and 1.39."""
    rng = seeded("response")
    change = {"yes": "no", "no": "yes"}
    found = audit_function(
        lambda answer: answer if rng.random() < keep else change[answer],
        "yes",
        "no",
        epsilon=1.0,
        delta=0.0,
        beta=RARE,
    )
    assert found.refuted == refuted
    assert found.bound.epsilon == pytest.approx(math.log(keep / (1 - keep)), abs=0.12)


def test_a_geometric_mechanism_stands_and_with_a_bug_falls():
    rng = seeded("geometric")

    def right(answer, runs):
        return answer + geometric(math.exp(-1.0), rng, runs)

    def folded(answer, runs):  # negative counts look wrong, so somebody takes the size of noise
        return answer + np.abs(geometric(math.exp(-1.0), rng, runs))

    assert 0.8 < audited(right, 20, 21).bound.epsilon < 1
    assert audited(folded, 20, 21).bound.epsilon > 5
    ours = DiscreteLaplace.calibrate(UNIT, epsilon=1.0, delta=0.0)
    found = audited(lambda count, runs: ours.release(np.full(runs, count)), 20, 21, runs=10_000)
    assert not found.refuted


@pytest.mark.slow
def test_a_rare_leak_beyond_delta_falls():
    rng = seeded("rare leak")
    noisy = laplace(1.0)

    def leaky(answer, runs):
        return np.where(rng.random(runs) < 0.01, answer, noisy(answer, runs))

    assert audited(leaky, delta=1e-5).bound.epsilon > 1.5
    assert not audited(leaky, delta=0.02).refuted


def test_a_seed_that_is_left_in_the_code_falls():
    found = audit_function(
        lambda answer: answer + np.random.default_rng(7).laplace(),
        0.0,
        1.0,
        epsilon=1.0,
        delta=0.0,
        runs=500,
    )
    assert found.bound.epsilon > 3


def test_an_answer_that_is_sometimes_missing_is_seen():
    """Numbers beside refusals: both the numbers and the refusals tell."""
    noise = laplace(0.5)(0.0, 20_000).tolist()
    rng = seeded("missing")

    def draw(answer):
        return None if rng.random() < 0.5 else answer + noise.pop()

    found = audit_function(draw, 0.0, 1.0, epsilon=1.0, delta=0.0, beta=RARE, runs=8_000)
    assert found.bound.epsilon > 1.2


def test_infinity_on_one_input_alone_falls():
    """In one of three numbers, so that no output is repeated."""
    rng = seeded("infinity")

    def release(answer, runs):
        rows = grid(rng.normal(size=(runs, 3)))
        rows[rng.random(runs) < 0.3 * answer, 1] = np.inf
        return rows

    assert audited(release, 0, 1, runs=4_000).bound.epsilon > 1.5
    alone = audited(lambda answer, runs: release(answer, runs)[:, 1], 0, 1, runs=4_000)
    assert alone.bound.epsilon > 1.5


def test_a_number_that_is_always_zero_hides_nothing():
    rng = seeded("zero")

    def release(answer, runs):
        return np.stack([grid(answer + rng.laplace(scale=0.2, size=runs)), np.zeros(runs)], axis=1)

    assert audited(release, 0, 1, runs=2_000).bound.epsilon > 1.5


def test_numbers_too_rare_to_learn_from_are_left_aside():
    """None among the runs that teach: labels are told apart as ever."""

    def release(answer, runs):
        labels = ["yes" if answer else "no"] * runs
        return [*labels[:-1], 1.5]

    assert audited(release, 0, 1, runs=400).bound.epsilon > 1.5


class TestNoiseInFloats:
    """Mironov 2012: which floats come out tells the answer, whatever their law on the line."""

    @pytest.mark.parametrize(("one", "other"), [(0.0, 1.0), (1 / 3, 4 / 3), (1.0, 2.0)])
    @pytest.mark.parametrize("law", ["laplace", "normal", "logistic"])
    def test_next_to_zero_the_lowest_bits_tell(self, law, one, other):
        rng = seeded(law)
        found = audited(
            lambda answer, runs: answer + getattr(rng, law)(0.0, 4.0, runs),
            one,
            other,
            delta=1e-5,
            runs=20_000,
        )
        assert found.bound.epsilon > 3
        assert "lowest bits" in found.event

    @pytest.mark.slow
    @pytest.mark.parametrize("law", ["laplace", "logistic"])
    def test_elsewhere_the_gaps_of_the_sampler_tell(self, law):
        rng = seeded(law)
        found = audited(
            lambda answer, runs: getattr(rng, law)(answer, 1.0, runs), 100, 101, runs=200_000
        )
        assert found.bound.epsilon > 2
        assert f"{law} noise from 53 random bits" in found.event

    def test_noise_on_a_grid_does_not_help_an_answer_off_it(self):
        found = audited(
            lambda answer, runs: answer + laplace(1.0)(0.0, runs), 1 / 3, 4 / 3 + 1e-7, runs=20_000
        )
        assert found.bound.epsilon > 3


def test_the_bound_is_wrong_as_seldom_as_it_says():
    """A function that ignores its input, with 60 outputs to be lucky with."""
    rng = seeded("null")
    audits, beta = 200, 0.2
    labels = [f"label {place}" for place in range(60)]
    wrong = 0
    for seed in range(audits):
        found = audited(
            lambda _, runs: [labels[place] for place in rng.integers(60, size=runs)],
            beta=beta,
            runs=300,
            seed=seed,
        )
        wrong += found.bound.epsilon > 0
    assert wrong <= stats.binom.isf(RARE, audits, beta)


def test_what_is_learnt_from_is_not_counted():
    """A function that tells all until half of the runs are done, and nothing afterwards."""

    def fading(answer, runs):
        return np.where(np.arange(runs) < runs // 2, answer, 2)

    assert audited(fading, 0, 1, runs=1_000).bound.epsilon == 0


def test_what_is_counted_is_the_second_half():
    rng = seeded("counted")
    found = audited(lambda answer, runs: rng.integers(3, size=runs), 0, 1, runs=1_001)
    evidence = found.bound.evidence
    assert (evidence.runs_without, evidence.runs_with) == (501, 501)
    assert found.bound.confidence == 1 - RARE


def test_equal_outputs_and_seeds_give_equal_audits():
    first, second = (audited(laplace(0.5, seed=3), seed=5, runs=4_000) for _ in range(2))
    assert first == second


def test_one_line_and_plain_values():
    found = audited(laplace(0.5), runs=4_000)
    assert str(found).startswith("ε ≤ 1, δ ≤ 0 refuted: ε ≥ 1.")
    assert "\n" not in str(found)
    assert found.to_dict()["verdict"] == "refuted"
    assert found.to_dict()["bound"]["epsilon"] == found.bound.epsilon


@pytest.mark.parametrize("vectorised", [True, False])
def test_progress_is_told_to_the_end(vectorised):
    told = []
    draw = laplace(1.0)
    audit_function(
        None if vectorised else lambda answer: float(draw(answer, 1)[0]),
        0.0,
        1.0,
        epsilon=1.0,
        delta=0.0,
        runs=250,
        many=draw if vectorised else None,
        progress=lambda done, of: told.append((done, of)),
    )
    assert told == sorted(told)
    assert told[-1] == (500, 500)
    assert len(told) == (2 if vectorised else 125)


def one_number(data):
    return 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mechanism": None}, "mechanism must be a function unless many is given"),
        ({"mechanism": 3}, "mechanism must be a function, got int 3"),
        ({"many": "all"}, "many must be a function, got str 'all'"),
        ({"epsilon": math.nan}, "epsilon must be >= 0"),
        ({"epsilon": -1}, "epsilon must be >= 0"),
        ({"delta": 1.0}, "delta must be in"),
        ({"delta": math.nan}, "delta must be in"),
        ({"beta": 0.0}, "beta must be in"),
        ({"beta": math.nan}, "beta must be in"),
        ({"runs": 10}, "runs must be >= 100, got 10"),
        ({"seed": -1}, "seed must be >= 0"),
        ({"other": 0}, "two inputs, got the same object twice"),
        ({"many": lambda data, runs: [1] * 3}, "many must return the 100 outputs asked for, got 3"),
        ({"many": lambda data, runs: 3.0}, "many must return a sequence of outputs, got float"),
        ({"mechanism": lambda data: {}}, "hashable, got dict"),
        ({"mechanism": lambda data: math.nan}, "outputs must not be NaN, got one; return None or"),
        (
            {"mechanism": lambda data: None},
            "outputs must not all be None, got nothing else; the function",
        ),
        ({"mechanism": lambda data: object()}, "repeat themselves, to be told apart; got 50"),
        (
            {"mechanism": lambda data: np.zeros(10**6), "runs": 1000},
            "runs must be at most 100 for outputs of 1,000,000 numbers, got 1,000",
        ),
    ],
)
def test_one_line_for_bad_input(options, message):
    given = {
        "mechanism": one_number,
        "one": 0,
        "other": 1,
        "epsilon": 1.0,
        "delta": 0.0,
        "runs": 100,
    } | options
    with pytest.raises(InputError, match=message) as caught:
        audit_function(**given)
    assert "\n" not in str(caught.value)


def test_a_function_that_says_nothing_is_not_refuted():
    found = audit_function(one_number, 0, 1, epsilon=0.0, delta=0.0, runs=100)
    assert found.bound.epsilon == 0
    assert not found.refuted
    assert found.event.endswith("in 100 % of the runs on one and 100 % of those on the other")
