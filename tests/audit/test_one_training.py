"""One training run with canaries: what tells its records is found, what does not is not."""

import json

import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from reticent.audit.canaries import CanaryKind
from reticent.audit.one_training import one_run_audit
from reticent.guarantee import Guarantee
from reticent.protect import NoisyGradientHead
from reticent.randomness import seeded
from reticent.training import SoftmaxHead
from reticent.validation import InputError
from tests.audit.auditing import BETA, DELTA, wrong_too_often

DOMAIN = {"classes": range(10), "bound": 2.5}
AUDITS = 300


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16 - 0.3, y


def claim_of(epsilon, **changed):
    terms = {"epsilon": epsilon, "delta": DELTA, "relation": "add-remove"}
    return Guarantee(**terms | changed)


def weak_penalty():
    return SoftmaxHead(penalty=1e-5, bound=2.5, classes=range(10))


@pytest.mark.parametrize("kind", CanaryKind)
def test_a_head_without_protection_tells_its_canaries(digits, kind):
    found = one_run_audit(
        weak_penalty(), *digits, **DOMAIN, rng=seeded(kind), kind=kind, delta=DELTA
    )
    assert 0.3 < found.measured.epsilon < found.reach
    assert found.conditional.conditional == "Gaussian DP"
    assert (found.claim, found.verdict, found.refuted) == (None, "no claim", False)


def test_a_false_claim_is_refuted(digits):
    """Penalty alone is no protection: the same training, with a claim of ε = 1."""
    found = one_run_audit(
        weak_penalty(), *digits, **DOMAIN, rng=seeded("a claim"), claim=claim_of(1.0)
    )
    assert found.measured.epsilon > 1.5
    assert (found.verdict, found.refuted) == ("refuted", True)
    assert "verdict: refuted" in str(found)


def test_a_learner_with_the_noise_inside_keeps_its_own_claim(digits):
    learner = NoisyGradientHead(
        classes=range(10), records=1_700, epsilon=1.0, delta=DELTA, relation="add-remove"
    )
    found = one_run_audit(
        learner, *digits, classes=range(10), bound=1.0, rng=seeded("a learner"), beta=1e-6
    )
    assert found.claim.epsilon == 1.0
    assert str(found.claim.grade) == "proven"
    assert found.verdict == "not refuted"
    assert not hasattr(learner, "released_")  # a copy was fitted


def test_any_function_that_trains_is_audited(digits):
    def train(rows, labels):
        return LogisticRegression(C=1e4, max_iter=50, tol=1e-2).fit(rows, labels)

    X, y = digits
    found = one_run_audit(
        train, X[:500], y[:500], **DOMAIN, rng=seeded("a function"), canaries=100, delta=0.0
    )
    assert found.measured.epsilon > 0.5
    assert found.conditional is None  # no trade-off curve at δ = 0


def test_a_training_that_ignores_its_records_shows_no_epsilon():
    """The scores are noise: a bound above 0 in at most a share β of the audits."""
    rng = seeded("null trainings")
    X, y = rng.normal(size=(30, 4)), rng.integers(2, size=30)
    domain = {"classes": range(2), "bound": 3.0, "canaries": 40, "delta": 0.0, "beta": BETA}

    def score(_model, rows, _labels):
        return rng.random(len(rows))

    above = sum(
        one_run_audit(lambda *_: None, X, y, rng=rng, score=score, **domain).measured.epsilon > 0
        for _ in range(AUDITS)
    )
    assert not wrong_too_often(above, AUDITS)


def test_a_training_sees_canaries_and_no_coin(digits):
    seen = []

    def train(*data):
        seen.append(data)
        return weak_penalty().fit(*data)

    found = one_run_audit(
        train, *digits, **DOMAIN, rng=seeded("what is seen"), canaries=60, delta=DELTA
    )
    [(rows, labels)] = seen
    assert found.canaries == 60
    assert len(digits[0]) < len(rows) == len(labels) < len(digits[0]) + 60


def test_the_reach_says_where_a_claim_is_out_of_it(digits):
    found = one_run_audit(
        weak_penalty(),
        *digits,
        **DOMAIN,
        rng=seeded("few canaries"),
        canaries=20,
        claim=claim_of(4.0),
    )
    assert found.reach < 4
    assert found.verdict == "not refuted"
    assert "which could not refute ε ≤ 4" in str(found)
    plain = json.loads(json.dumps(found.to_dict()))
    assert (plain["canaries"], plain["kind"], plain["verdict"]) == (20, "orthogonal", "not refuted")
    assert plain["reach"] == found.reach


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"claim": claim_of(1.0, relation="replace-one")}, "claim must be about add-remove"),
        ({"claim": claim_of(1.0, unit="one person")}, "claim must be about add-remove"),
        ({"claim": claim_of(1.0, grade="sampled", gamma=0.1)}, "claim must hold for every pair"),
        ({"canaries": 5}, "canaries must be >= 10"),
        ({"beta": 0.6}, "beta must be"),
        ({"delta": 1.0}, "delta must be"),
        ({"kind": "small"}, "kind must be one of"),
    ],
)
def test_bad_input_gets_one_line_before_anything_is_trained(digits, wrong, message):
    def train(*_data):
        raise AssertionError("trained")

    with pytest.raises(InputError, match=message):
        one_run_audit(train, *digits, **DOMAIN, rng=seeded("wrong"), **wrong)


def test_what_only_the_training_shows_is_refused_after_it(digits):
    X, y = digits[0][:200], digits[1][:200]
    with pytest.raises(InputError, match="delta must be given where there is no claim"):
        one_run_audit(weak_penalty(), X, y, **DOMAIN, rng=seeded("no claim"))
    with pytest.raises(InputError, match="train must be a function or an estimator"):
        one_run_audit("a head", X, y, **DOMAIN, rng=seeded("no claim"), delta=DELTA)
    replaced = NoisyGradientHead(
        classes=range(10), records=200, epsilon=1.0, delta=DELTA, relation="replace-one"
    )
    with pytest.raises(InputError, match="claim must be about add-remove"):
        one_run_audit(replaced, X, y, **DOMAIN, rng=seeded("replaced"))
