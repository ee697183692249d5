"""What stands in the document of a ROC curve and of an accuracy."""

import numpy as np
import pytest
from scipy import stats

from reticent.attacks import Scores
from reticent.attacks.targets import Access, Threat
from reticent.audit import measured_attack, roc
from reticent.results.conversions import CONFIDENCE, _curve, accuracy_of, attack_of


def step(fpr, tpr, rates):
    """The height of a step curve: the last point at or below each rate."""
    return np.asarray(tpr)[np.searchsorted(fpr, rates, side="right") - 1]


def scored(members, others, *, shift=0.7, levels=None, seed=0):
    rng = np.random.default_rng(seed)
    values = np.append(rng.normal(shift, 1.0, members), rng.normal(0.0, 1.0, others))
    values = values if levels is None else np.round(values * levels)
    return values, np.arange(members + others) < members


CASES = {
    "many records": scored(3000, 5000),
    "few records": scored(7, 5),
    "equal scores": scored(500, 500, levels=2),
    "members lower": scored(400, 300, shift=-2.0),
    "all told apart": scored(300, 300, shift=50.0),
    "one score": (np.zeros(40), np.arange(40) < 20),
}


@pytest.mark.parametrize("case", CASES)
class TestCurve:
    def test_it_begins_at_no_false_alarm_and_ends_at_all(self, case):
        values, inside = CASES[case]
        curve = _curve(values, inside)
        clear = float((values[inside] > values[~inside].max()).mean())
        assert curve.fpr[0] == 0.0
        assert max(tpr for fpr, tpr in zip(curve.fpr, curve.tpr, strict=True) if fpr == 0) == (
            pytest.approx(clear, abs=1e-6)
        )
        assert (curve.fpr[-1], curve.tpr[-1]) == (1.0, 1.0)
        assert (np.diff(curve.fpr) >= 0).all()
        assert (np.diff(curve.tpr) >= 0).all()

    def test_a_line_through_its_points_is_nowhere_above_the_curve(self, case):
        values, inside = CASES[case]
        curve, true = _curve(values, inside), roc(values[inside], values[~inside])
        ends = np.unique(true.fpr)
        rates = np.unique(np.concatenate([ends, (ends[1:] + ends[:-1]) / 2]))
        drawn = np.asarray(  # both sides of a vertical line
            [np.interp(rates - 2e-6, curve.fpr, curve.tpr), np.interp(rates, curve.fpr, curve.tpr)]
        ).min(axis=0)
        assert (drawn <= step(true.fpr, true.tpr, rates) + 2e-6).all()

    def test_at_its_own_rates_it_is_the_curve(self, case):
        values, inside = CASES[case]
        curve, true = _curve(values, inside), roc(values[inside], values[~inside])
        rates = np.unique(curve.fpr)
        own = step(curve.fpr, curve.tpr, rates)
        assert own == pytest.approx(step(true.fpr, true.tpr, rates + 1e-6), abs=1e-6)


def test_a_thinned_curve_is_short_and_dense_where_alarms_are_few():
    values, inside = scored(20_000, 20_000)
    curve = _curve(values, inside)
    assert len(curve.fpr) < 250
    assert sum(0 < fpr <= 0.01 for fpr in set(curve.fpr)) > 30


def test_the_accuracy_is_that_of_all_draws():
    hits = [np.array([True, True, False, True]), np.array([True, False, False, True])]
    found = accuracy_of(hits)
    assert found.value == 0.625
    assert 0 <= found.low < found.value < found.high <= 1
    assert found.confidence == CONFIDENCE


def test_one_draw_has_wilsons_limits():
    for right in (0, 1, 57, 119, 120):
        found = accuracy_of([np.arange(120) < right])
        exact = stats.binomtest(right, 120).proportion_ci(CONFIDENCE, method="wilson")
        assert found.low == pytest.approx(exact.low, abs=1e-9)
        assert found.high == pytest.approx(exact.high, abs=1e-9)


@pytest.mark.parametrize(
    ("accuracy", "draws", "spread"),
    [(0.98, 1, 0.0), (0.9, 2, 0.0), (0.5, 2, 0.1), (0.7, 5, 0.05)],
)
def test_the_interval_holds_the_accuracy(accuracy, draws, spread):
    """Every draw has an accuracy of its own, and gets records right by chance.

    Where the coverage is 95 % the limit alarms falsely with probability 1e-7. Normal limits would
    have missed 30 % in the third case, Wald's 9 % in the first.
    """
    rng, missed, trials, records = np.random.default_rng(7), 0, 1000, 120
    for _ in range(trials):
        each = rng.normal(accuracy, spread, size=(draws, 1))
        found = accuracy_of(list(rng.random((draws, records)) < each))
        missed += not found.low <= accuracy <= found.high
    assert missed <= stats.binom.isf(1e-7, trials, 1 - CONFIDENCE)


def measured(members, others, shift):
    """A few hundred scores, and the report on them."""
    values, inside = scored(members, others, shift=shift, seed=3)
    threat = Threat(access=Access.SCORES)
    scores = Scores(values=values, attack="loss", threat=threat, decides_at=0.0)
    return measured_attack(scores, inside, confidence=0.9875), scores, inside


def test_an_auc_above_guessing_is_a_leak_even_where_the_corrected_verdict_finds_none():
    shifts = np.linspace(0.0, 0.4, 41)
    seen = {(False, False): 0, (False, True): 0, (True, True): 0}
    for shift in shifts:
        report, scores, inside = measured(400, 300, shift)
        attack = attack_of(report, scores, inside, "loss")
        above = report.auc.low > 0.5
        assert attack.leaks == (report.leaks or above)
        assert attack.verdict.startswith("leak found" if attack.leaks else "no leak found")
        seen[(report.leaks, attack.leaks)] += 1
    assert min(seen.values()) > 0
