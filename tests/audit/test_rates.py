"""Rates: definitions, agreement with scikit-learn, coverage, refusals.

False alarms: exact sums have none; simulations compare counts with binomial quantiles at 1e-6.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import balanced_accuracy_score, precision_score, roc_curve

from reticent.audit import balanced_accuracy, leakage, precision, share_above, tpr_at_fpr
from reticent.audit.intervals import Share, difference_interval, share_interval
from reticent.audit.metrics import _threshold_limits, balanced
from reticent.validation import InputError

scores = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=30)
many = st.lists(st.integers(-3, 3).map(float), min_size=20, max_size=60)


@settings(max_examples=30)
@given(scores, scores, st.integers(-4, 4))
def test_they_are_scikit_learns(members, others, threshold):
    labels = np.repeat([1, 0], [len(members), len(others)])
    called = np.r_[members, others] > threshold
    arguments = {"threshold": float(threshold)}
    found = balanced_accuracy(members, others, **arguments)
    assert found.value == pytest.approx(balanced_accuracy_score(labels, called))
    advantage = leakage(members, others, **arguments)
    tpr, fpr = (share_above(side, **arguments) for side in (members, others))
    assert advantage.value == pytest.approx(tpr.value - fpr.value)
    assert found == balanced(advantage)
    if called.any():
        sure = precision(members, others, **arguments)
        assert sure.value == pytest.approx(precision_score(labels, called))
        assert 0 <= sure.low <= sure.value <= sure.high <= 1
    for measured in (found, advantage, tpr, fpr):
        assert measured.low <= measured.value <= measured.high


def test_intervals_are_those_of_the_counts():
    members, others = [1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 2.5]
    found = leakage(members, others, threshold=2.0, confidence=0.8)
    low, high = difference_interval(Share(hits=2, of=4), Share(hits=1, of=3), confidence=0.8)
    assert (found.low, found.high, found.confidence) == (low, high, 0.8)
    accuracy = balanced_accuracy(members, others, threshold=2.0, confidence=0.8)
    assert (accuracy.low, accuracy.high) == ((1 + low) / 2, (1 + high) / 2)
    found = precision(members, others, threshold=2.0, confidence=0.8)
    assert (found.low, found.high) == share_interval(Share(hits=2, of=3), confidence=0.8)
    found = share_above(members, threshold=2.0, confidence=0.8)
    assert (found.low, found.high) == share_interval(Share(hits=2, of=4), confidence=0.8)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_precision_covers_where_both_numbers_are_fixed(confidence):
    """Exactly, over all counts of 15 members and 20 others; where nobody is called it is silent."""
    inside, outside = np.arange(16), np.arange(21)
    ends = np.array(
        [[share_interval(Share(hits=a, of=a + b), confidence=confidence) if a + b else (0, 1)
          for b in outside] for a in inside]
    )  # fmt: skip
    for tpr in (0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.8, 0.95):
        for fpr in (0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.8, 0.95):
            truth = 15 * tpr / (15 * tpr + 20 * fpr)
            missed = (truth < ends[..., 0]) | (ends[..., 1] < truth)
            chance = stats.binom.pmf(inside, 15, tpr) @ missed @ stats.binom.pmf(outside, 20, fpr)
            assert chance <= 1 - confidence


class TestTprAtFpr:
    @given(many, many, st.sampled_from([0.5, 0.55, 0.6, 0.75, 0.9]))
    def test_the_value_is_that_of_the_roc_curve(self, members, others, fpr):
        labels = np.repeat([1, 0], [len(members), len(others)])
        fprs, tprs, _ = roc_curve(labels, np.r_[members, others], drop_intermediate=False)
        found = tpr_at_fpr(members, others, fpr=fpr)
        assert found.value == pytest.approx(tprs[fprs <= fpr + 1e-12].max())
        assert 0 <= found.low <= found.value <= found.high <= 1

    @staticmethod
    def problems(draw, records, fpr, truth, interval):
        rng = np.random.default_rng(5)
        missed = 0
        for _ in range(1000):
            low, high = interval(draw(rng, records[0], True), draw(rng, records[1], False), fpr)
            missed += not low <= truth <= high
        return missed

    @staticmethod
    def ours(members, others, fpr):
        found = tpr_at_fpr(members, others, fpr=fpr)
        return found.low, found.high

    @staticmethod
    def blind_to_the_threshold(members, others, fpr):
        """Clopper–Pearson at the empirical threshold, as if it were the true one."""
        above = members > np.sort(others)[::-1][int(len(others) * fpr)]
        return share_interval(Share(hits=int(above.sum()), of=len(members)), confidence=0.95)

    @staticmethod
    def normal(rng, records, member):
        return rng.normal(size=records) + member

    @staticmethod
    def five_levels(rng, records, member):
        chances = [0.3, 0.3, 0.2, 0.12, 0.08] if member else [0.5, 0.3, 0.15, 0.04, 0.01]
        return rng.choice(5, size=records, p=chances).astype(float)

    CASES = (
        ("normal", (300, 300), 0.05, stats.norm.sf(stats.norm.isf(0.05) - 1)),
        ("normal", (3000, 200), 0.05, stats.norm.sf(stats.norm.isf(0.05) - 1)),
        ("five_levels", (300, 1200), 0.01, 0.08),  # the atom fits exactly
        ("five_levels", (300, 600), 0.03, 0.08),  # one atom fits, two do not
        ("five_levels", (300, 600), 0.06, 0.20),
    )

    @pytest.mark.parametrize(("name", "records", "fpr", "truth"), CASES)
    def test_it_covers(self, name, records, fpr, truth):
        most = stats.binom.ppf(1 - 1e-6, 1000, 0.05)
        assert self.problems(getattr(self, name), records, fpr, truth, self.ours) <= most

    def test_an_interval_blind_to_the_threshold_does_not(self):
        name, *rest = self.CASES[1]
        missed = self.problems(getattr(self, name), *rest, self.blind_to_the_threshold)
        assert missed > 2 * stats.binom.ppf(1 - 1e-6, 1000, 0.05)

    def test_limits_of_the_threshold_hold_exactly(self):
        """Uniform others: the true FPR of a threshold t is 1 − t; both limits, 1,500 times."""
        rng = np.random.default_rng(0)
        falling = np.sort(rng.random((1500, 100)), axis=1)[:, ::-1]
        limits = np.array([_threshold_limits(row, 0.2, 0.05) for row in falling])
        most = stats.binom.ppf(1 - 1e-6, 1500, 0.05)
        for wrong in (1 - limits[:, 0] > 0.2, 1 - limits[:, 1] < 0.2):
            assert 0.3 * 0.05 * 1500 < wrong.sum() <= most

    @pytest.mark.parametrize("confidence", [0.8, 0.99])
    def test_a_quarter_of_the_risk_goes_to_each_event(self, confidence):
        """The ranks by a search through beta distributions, then Clopper–Pearson."""
        rng = np.random.default_rng(1)
        members, others = rng.normal(size=80) + 1, rng.normal(size=120)
        quarter, ranks = (1 - confidence) / 4, np.arange(1, 121)
        shares = stats.beta(ranks, 121 - ranks)
        few = ranks[shares.sf(0.1) <= quarter][-1]
        many = ranks[shares.cdf(0.1) <= quarter][0]
        falling = np.sort(others)[::-1]
        low, high = (int((members >= falling[rank - 1]).sum()) for rank in (few, many))
        found = tpr_at_fpr(members, others, fpr=0.1, confidence=confidence)
        assert found.low == pytest.approx(stats.beta.ppf(quarter, low, 81 - low))
        assert found.high == pytest.approx(stats.beta.isf(quarter, high + 1, 80 - high))

    def test_a_limit_that_no_score_reaches_is_open(self):
        others = np.arange(20.0)
        found = tpr_at_fpr(np.full(5, 100.0), others, fpr=0.5, confidence=1 - 1e-9)
        assert found.low == 0.0
        assert tpr_at_fpr([0.0], others, fpr=0.97, confidence=0.95).high == 1.0

    def test_more_members_and_others_narrow_it(self):
        rng = np.random.default_rng(0)
        small, large = (
            tpr_at_fpr(rng.normal(size=n) + 1, rng.normal(size=n), fpr=0.1) for n in (100, 10_000)
        )
        assert large.high - large.low < 0.2 * (small.high - small.low)

    @pytest.mark.parametrize(("fpr", "needed"), [(0.01, 1000), (0.001, 10_000), (0.003, 3334)])
    def test_too_few_non_members_are_refused(self, fpr, needed):
        members = np.arange(50.0)
        assert tpr_at_fpr(members, np.arange(float(needed)), fpr=fpr).confidence == 0.95
        with pytest.raises(InputError, match=r"non-members must be at least 10/FPR = ") as caught:
            tpr_at_fpr(members, np.arange(float(needed - 1)), fpr=fpr)
        assert f"got {needed - 1:,}" in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("measure", [leakage, balanced_accuracy, precision])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"members": []}, "members must not be empty"),
        ({"others": [np.nan]}, "others must be finite"),
        ({"members": [[1.0]]}, "scores must be two lists of at least 1 numbers"),
        ({"threshold": np.nan}, "threshold must be finite"),
        ({"confidence": 1.0}, "confidence must be in"),
        ({"confidence": np.nan}, "confidence must be in"),
    ],
)
def test_refusals(measure, change, message):
    arguments = {"members": [1.0], "others": [0.0], "threshold": 0.5, **change}
    with pytest.raises(InputError, match=message):
        measure(arguments.pop("members"), arguments.pop("others"), **arguments)


def test_precision_of_nobody_is_undefined():
    with pytest.raises(InputError, match="got none: precision is undefined"):
        precision([1.0], [0.0], threshold=2.0)


@pytest.mark.parametrize("fpr", [0.0, 1.0, np.nan, -0.1])
def test_rates_that_are_none(fpr):
    with pytest.raises(InputError, match="fpr must be in"):
        tpr_at_fpr([1.0], [0.0] * 100, fpr=fpr)
