"""Data for shadows: the search of Algorithm 1, marginals, and noisy real records."""

import numpy as np
import pytest
from scipy import stats

from reticent.attacks.records import Records
from reticent.attacks.synthesis import (
    FeatureSpace,
    Search,
    SynthesisFailed,
    from_marginals,
    noisy_real,
    synthesized,
)
from reticent.attacks.targets import FunctionTarget
from reticent.validation import InputError
from tests.attacks.remembering import remembering

BITS = FeatureSpace.bits(12)
PIXELS = FeatureSpace(np.zeros(64), np.ones(64))


def rng(seed=0):
    return np.random.default_rng(seed)


def counting_ones(x):
    """The more ones, the surer of class 1; never surer than .9."""
    share = 0.05 + 0.85 * np.asarray(x).mean(axis=1)
    return np.column_stack([1 - share, share])


COUNTING = FunctionTarget(counting_ones, classes=["few", "many"])


def test_every_record_is_put_into_its_class_surely():
    target = remembering().target
    search = Search(confidence=0.7)
    found = synthesized(target, space=PIXELS, per_class=6, rng=rng(), search=search)
    answers = target.probabilities(found.inputs)
    places = found.among(target.classes)
    assert (answers.argmax(axis=1) == places).all()
    assert (answers.max(axis=1) > 0.7).all()
    assert np.bincount(places).tolist() == [6] * 10
    assert ((found.inputs >= 0) & (found.inputs <= 1)).all()
    start = target.labels(PIXELS.random(600, rng()))
    assert np.bincount(start, minlength=10).min() == 0  # found, not met by chance


def naive(target, place, space, rule, source):
    """Algorithm 1, one query after the other; None where it fails."""
    x = space.random(1, source)
    best, rejected, features = 0.0, 0, min(rule.most, space.width)
    changed = []
    for _ in range(rule.iterations):
        answer = target.probabilities(x)[0]
        luck = source.random(1)[0]
        if answer[place] >= best:
            if (
                answer[place] > rule.confidence
                and answer.argmax() == place
                and luck < answer[place]
            ):
                return x[0], changed
            kept, best, rejected = x, answer[place], 0
        else:
            rejected += 1
            if rejected > rule.rejections:
                features, rejected = max(rule.fewest, int(np.ceil(features / 2))), 0
        order = np.argsort(source.random((1, space.width))[0])
        drawn = space.random(1, source)[0]
        x = kept.copy()
        x[0, order[:features]] = drawn[order[:features]]
        changed.append(features)
    return None, changed


@pytest.mark.parametrize("seed", range(6))
def test_one_search_is_algorithm_1_step_by_step(seed):
    rule = Search(confidence=0.85, most=9, fewest=2, rejections=3, iterations=400, starts=1)
    source = rng(seed)
    expected = [naive(COUNTING, place, BITS, rule, source) for place in (0, 1)]
    found = synthesized(COUNTING, space=BITS, per_class=1, rng=rng(seed), search=rule)
    assert found.inputs.tolist() == [row.tolist() for row, _ in expected]
    assert found.labels.tolist() == ["few", "many"]
    halved = expected[1][1]
    assert set(halved) <= {9, 5, 3, 2}  # ⌈k/2⌉, not below k_min
    assert halved == sorted(halved, reverse=True)


def test_several_searches_go_their_own_ways():
    found = synthesized(
        COUNTING, space=BITS, per_class=40, rng=rng(), search=Search(confidence=0.6)
    )
    rows = {tuple(row) for row in found.inputs[found.labels == "many"]}
    assert len(rows) > 20


def test_a_search_that_fails_says_so():
    search = Search(confidence=0.95, iterations=50, starts=2)  # nothing is surer than .9
    with pytest.raises(SynthesisFailed, match=r"0 of 3 were found and 0\.\d+ was"):
        synthesized(COUNTING, space=BITS, per_class=3, rng=rng(), search=search)
    with pytest.raises(InputError, match="class few must have records"):
        synthesized(COUNTING, space=BITS, per_class=3, rng=rng(), search=search)


def test_a_failed_search_is_begun_again():
    """One query each: luck alone decides, so more starts find more."""
    once = Search(confidence=0.5, iterations=1, starts=1)
    with pytest.raises(SynthesisFailed):
        synthesized(COUNTING, space=BITS, per_class=20, rng=rng(), search=once)
    often = Search(confidence=0.5, iterations=1, starts=60)
    found = synthesized(COUNTING, space=BITS, per_class=20, rng=rng(), search=often)
    assert (COUNTING.probabilities(found.inputs).argmax(axis=1) == np.repeat([0, 1], 20)).all()


def test_sure_records_are_taken_with_their_own_probability():
    """Every first query is sure enough, with probability .6: so many searches end there."""
    target = FunctionTarget(lambda x: np.tile([0.6, 0.4], (len(x), 1)), classes=[0, 1])
    rule = Search(confidence=0.5, iterations=1, starts=1)
    with pytest.raises(SynthesisFailed) as failure:
        synthesized(target, space=BITS, per_class=20_000, rng=rng(), search=rule)
    taken = int(str(failure.value).split(", ")[1].split(" of ")[0])
    assert stats.binomtest(taken, 20_000, 0.6).pvalue > 1e-6


def test_a_record_of_which_the_target_is_surer_elsewhere_is_none_of_the_class():
    target = FunctionTarget(lambda x: np.tile([0.45, 0.4, 0.15], (len(x), 1)), classes=list("abc"))
    rule = Search(confidence=0.3, iterations=60)
    with pytest.raises(SynthesisFailed, match=r"class b must .* 0 of 5 were found and 0\.4 was"):
        synthesized(target, space=BITS, per_class=5, rng=rng(), search=rule)


def test_marginals_match_within_each_class_and_nothing_else_does():
    """Two features that always agree: each keeps its marginal, the agreement is gone."""
    ones = np.arange(1000) < 300
    first = Records(np.column_stack([ones, ones]).astype(float), ["a"] * 1000)
    second = Records(np.full((500, 2), 7.0), ["b"] * 500)
    found = from_marginals(first.joined(second), number=30_000, rng=rng())
    assert (found.labels == "a").sum() == 20_000
    inside = found.inputs[found.labels == "a"]
    for column in inside.T:
        assert stats.binomtest(int(column.sum()), 20_000, 0.3).pvalue > 1e-6
    assert (found.inputs[found.labels == "b"] == 7.0).all()
    both = int((inside[:, 0] * inside[:, 1]).sum())
    assert stats.binomtest(both, 20_000, 0.09).pvalue > 1e-6


def test_marginals_of_digits_are_those_of_their_class():
    records = remembering().records
    found = from_marginals(records, number=len(records), rng=rng())
    assert sorted(found.labels.tolist()) == sorted(records.labels.tolist())
    for label in range(10):
        for feature in (0, 20, 43):
            known = set(records.inputs[records.labels == label, feature])
            assert set(found.inputs[found.labels == label, feature]) <= known


@pytest.mark.parametrize(("share", "changed"), [(0.1, 6), (0.2, 13), (1.0, 64)])
def test_exactly_so_many_features_are_reset(share, changed):
    records = remembering().records
    found = noisy_real(records, share=share, space=PIXELS, rng=rng())
    assert ((found.inputs != records.inputs).sum(axis=1) == changed).all()
    assert found.labels.tolist() == records.labels.tolist()


def test_a_bit_that_is_reset_is_flipped():
    bits = BITS.random(300, rng(1))
    found = noisy_real(Records(bits, np.zeros(300)), share=0.25, space=BITS, rng=rng())
    assert (np.abs(found.inputs - bits).sum(axis=1) == 3).all()
    where = np.abs(found.inputs - bits).sum(axis=0)
    assert stats.chisquare(where).pvalue > 1e-6  # every feature alike


def test_a_whole_feature_is_reset_to_any_other_value():
    space = FeatureSpace([2.0], [5.0], whole=True)
    found = space.reset(np.full((9000, 1), 3.0), rng())
    values, numbers = np.unique(found, return_counts=True)
    assert values.tolist() == [2.0, 4.0, 5.0]
    assert stats.chisquare(numbers).pvalue > 1e-6
    lonely = FeatureSpace([1.0], [1.0], whole=True)
    assert lonely.reset(np.ones((3, 1)), rng()).tolist() == [[1.0]] * 3


def test_random_inputs_fill_the_space_evenly():
    whole = FeatureSpace([0.0, -1.0], [1.0, 3.0], whole=True).random(9000, rng())
    for column, values in zip(whole.T, ([0, 1], [-1, 0, 1, 2, 3]), strict=True):
        found, numbers = np.unique(column, return_counts=True)
        assert found.tolist() == values
        assert stats.chisquare(numbers).pvalue > 1e-6
    between = FeatureSpace([2.0], [4.0]).random(5000, rng())
    assert stats.kstest(between[:, 0], stats.uniform(2, 2).cdf).pvalue > 1e-6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FeatureSpace([1.0], [0.0]), "low must be at most high for each feature"),
        (lambda: FeatureSpace([0.5], [1.0], whole=True), "must be whole where the features are"),
        (lambda: FeatureSpace([np.nan], [1.0]), "low and high must be finite, got NaN"),
        (lambda: FeatureSpace([0.0, 0.0], [1.0]), "low and high must have one length, got 2 and 1"),
        (lambda: FeatureSpace.bits(0), "features must be >= 1, got 0"),
        (lambda: Search(confidence=1.0), r"confidence must be in \(0, 1\), got 1"),
        (lambda: Search(most=2), "most must be at least fewest, 4, got 2"),
        (lambda: Search(iterations=0), "iterations must be >= 1, got 0"),
        (lambda: Search(starts=0), "starts must be >= 1, got 0"),
        (lambda: Search(rejections=-1), "rejections must be >= 0, got -1"),
        (
            lambda: synthesized(COUNTING, space=BITS, per_class=0, rng=rng()),
            "per_class must be >= 1, got 0",
        ),
        (
            lambda: from_marginals(remembering().records, number=0, rng=rng()),
            "number must be >= 1, got 0",
        ),
        (
            lambda: noisy_real(remembering().records, share=0.0, space=PIXELS, rng=rng()),
            r"share must be in \(0, 1\], got 0",
        ),
        (
            lambda: noisy_real(remembering().records, share=0.1, space=BITS, rng=rng()),
            "inputs must be rows of 12 features within the space, got 64 features",
        ),
        (
            lambda: noisy_real(Records([[2.0] * 12], [0]), share=0.1, space=BITS, rng=rng()),
            "inputs must be rows of 12 features within the space",
        ),
        (
            lambda: from_marginals(Records(np.zeros((2, 3, 3)), [0, 1]), number=2, rng=rng()),
            "inputs must have rows and columns",
        ),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
