"""From scores to ε: who chooses the threshold, what a grid costs, and refusals."""

import numpy as np
import pytest
from scipy import stats

from reticent.audit.error_counts import GDP, JEFFREYS, clopper_pearson_epsilon
from reticent.audit.many_runs import SeparateRuns, ThresholdGrid, _Arms, _at_rank, _ranks, many_runs
from reticent.validation import InputError

COMMON = {"delta": 1e-5, "beta": 0.05}
RULES = [SeparateRuns(), ThresholdGrid(size=8), 0.5]


def gaussian_scores(runs, shift, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=runs), rng.normal(size=runs) + shift


class TestFixedThreshold:
    def test_it_counts_strictly_above(self):
        bound = many_runs([0, 1, 1, 2], [1, 2, 2, 3, 3], threshold=1, **COMMON)
        counts = bound.evidence
        assert (counts.false_positives, counts.runs_without) == (1, 4)
        assert (counts.false_negatives, counts.runs_with) == (1, 5)
        assert bound.epsilon == clopper_pearson_epsilon(1, 4, 1, 5, **COMMON).epsilon

    def test_it_looks_in_one_direction_alone(self):
        without, present = gaussian_scores(500, -3.0)
        assert many_runs(without, present, threshold=-1.5, **COMMON).epsilon == 0.0


class TestSeparateRuns:
    def test_other_runs_are_counted(self):
        without, present = gaussian_scores(100, 3.0)
        bound = many_runs(without, present[:40], threshold=SeparateRuns(share=0.25), **COMMON)
        assert (bound.evidence.runs_without, bound.evidence.runs_with) == (75, 30)
        assert bound.notes == (
            "scores above a threshold that 25 + 10 separate runs chose (seed 0)",
        )

    def test_the_seed_decides_the_split(self):
        scores = gaussian_scores(60, 1.5)
        rules = [SeparateRuns(seed=seed) for seed in (0, 0, 1)]
        first, again, other = (many_runs(*scores, threshold=rule, **COMMON) for rule in rules)
        assert first == again
        assert first != other

    def test_both_kinds_of_two_runs_are_enough(self):
        assert many_runs([0.0, 0.1], [5.0, 5.1], **COMMON).evidence.runs_with == 1

    def test_the_threshold_suits_the_reading(self):
        """Gaussian μ is measured best in the middle, ε for all mechanisms at the ends."""
        scores = gaussian_scores(20_000, 1.0)
        free, bound = many_runs(*scores, **COMMON), many_runs(*scores, reading=GDP, **COMMON)
        assert free.evidence.false_positives < 200
        assert bound.evidence.false_positives > 1000
        assert 0.9 < bound.mu < 1.0

    def test_a_credible_bound_is_labelled(self):
        assert many_runs(*gaussian_scores(50, 2.0), reading=JEFFREYS, **COMMON).credible


class TestGrid:
    @pytest.mark.parametrize("runs", [1, 2, 10, 1000])
    @pytest.mark.parametrize("size", [1, 2, 7, 100])
    def test_ranks_follow_from_numbers_alone(self, runs, size):
        ranks = _ranks(runs, size)
        assert 1 <= len(ranks) <= min(runs, size)
        assert ranks[0] >= 1
        assert ranks[-1] <= runs
        assert (np.abs(ranks + ranks[::-1] - runs - 1) <= 1).all()

    def test_the_rank_counts_where_scores_tie(self):
        """Three ties at the top: the third from the top has none above it, and counts as two."""
        arms = _Arms.of([1.0, 5.0, 5.0, 5.0], [5.0, 6.0])
        assert _at_rank(arms, 3) == (2, 4, 1, 2)
        assert _at_rank(arms, 4) == (3, 4, 0, 2)

    def test_each_threshold_and_direction_takes_its_part_of_the_risk(self):
        scores = gaussian_scores(400, 2.0)
        bound = many_runs(*scores, threshold=ThresholdGrid(size=5), **COMMON)
        counts = bound.evidence
        alone = clopper_pearson_epsilon(
            counts.false_positives,
            counts.runs_without,
            counts.false_negatives,
            counts.runs_with,
            delta=1e-5,
            beta=0.05 / 10,
        )
        assert bound.epsilon == alone.epsilon
        assert bound.confidence == 0.95
        assert bound.notes == (
            "scores above the best of 5 thresholds in 2 directions, each at β/10",
        )

    def test_a_credible_bound_cannot_be_corrected(self):
        with pytest.raises(InputError, match="reading must be a confidence bound"):
            many_runs([0.0], [1.0], threshold=ThresholdGrid(size=1), reading=JEFFREYS, **COMMON)

    def test_the_share_above_a_rank_is_beta(self):
        """The theorem behind ``_at_rank``: Beta(k, n − k + 1), by Kolmogorov and Smirnov."""
        draws = np.sort(np.random.default_rng(0).random((4000, 30)), axis=1)
        above = 1 - draws[:, -7]
        assert stats.kstest(above, stats.beta(7, 24).cdf).pvalue > 1e-6


@pytest.mark.parametrize("rule", RULES[:2], ids=str)
class TestBothChoices:
    def test_the_direction_is_found(self, rule):
        without, present = gaussian_scores(500, 3.0)
        straight = many_runs(without, present, threshold=rule, **COMMON)
        turned = many_runs(-without, -present, threshold=rule, **COMMON)
        assert turned.epsilon == pytest.approx(straight.epsilon)
        assert turned.notes[0].startswith("scores below")

    def test_more_runs_say_more(self, rule):
        found = [
            many_runs(*gaussian_scores(runs, 2.0), threshold=rule, **COMMON).epsilon
            for runs in (20, 200, 2000)
        ]
        assert found == sorted(found)
        assert found[0] < found[-1]


@pytest.mark.parametrize("rule", RULES, ids=str)
class TestAll:
    def test_constant_scores_say_nothing(self, rule):
        assert many_runs(np.ones(50), np.ones(50), threshold=rule, **COMMON).epsilon == 0.0

    def test_neighbours_are_printed_where_they_are_said(self, rule):
        bound = many_runs([0, 0], [1, 1], threshold=rule, relation="replace-one", **COMMON)
        assert str(bound).endswith("; neighbours: replace-one)")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"scores_without": [np.nan, 1.0]}, "scores_without must be finite, got NaN"),
            ({"scores_with": [np.inf, 1.0]}, "scores_with must be finite"),
            ({"scores_with": [[0.0, 1.0]]}, "scores_with must be one number for each run"),
            ({"scores_with": []}, "scores_with must not be empty"),
            ({"scores_without": [True, False]}, "scores_without must hold real numbers"),
            ({"beta": 0.0}, "beta must be in"),
            ({"beta": 1.0}, "beta must be in"),
            ({"delta": -1e-5}, "delta must be in"),
            ({"relation": "twins"}, "relation must be one of"),
        ],
    )
    def test_refusals(self, rule, arguments, message):
        given = {"scores_without": [0.0, 1.0], "scores_with": [1.0, 2.0], **COMMON}
        with pytest.raises(InputError, match=message) as caught:
            many_runs(**(given | arguments), threshold=rule)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda: SeparateRuns(share=1.0), "share must be in"),
        (lambda: SeparateRuns(share=np.nan), "share must be in"),
        (lambda: SeparateRuns(seed=-1), "seed must be >= 0"),
        (lambda: ThresholdGrid(size=0), "size must be >= 1"),
        (lambda: np.nan, "threshold must be finite"),
        (lambda: "best", "threshold must be a real number"),
    ],
)
def test_rules_that_are_none(rule, message):
    with pytest.raises(InputError, match=message):
        many_runs([0.0, 1.0], [1.0, 2.0], threshold=rule(), **COMMON)


def test_a_single_run_cannot_choose_and_be_counted():
    with pytest.raises(InputError, match="runs with the record must be at least 2"):
        many_runs([0.0, 1.0], [1.0], **COMMON)
