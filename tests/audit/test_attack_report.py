"""One attack measured: figures, thresholds from another half, verdicts that can be wrong.

Null: 150 audits of scores that know nothing; a rate of false alarms of 5 % or less gives more than
the count below with probability 1e-6 at most.
"""

import json
import math

import numpy as np
import pytest
from scipy import stats

from reticent.attacks import Scores
from reticent.attacks.metric import best_threshold
from reticent.attacks.targets import Access, Threat
from reticent.audit import auc, balanced_accuracy, leakage, measured_attack, precision, tpr_at_fpr
from reticent.audit.intervals import smallest_auc, smallest_leakage
from reticent.randomness import seeded
from reticent.validation import InputError

THREAT = Threat(access=Access.SCORES, knows=("labels",))


def scores(values, decides_at=None, notes=()):
    return Scores(attack="loss", threat=THREAT, values=values, decides_at=decides_at, notes=notes)


def shifted(shift, members=1000, others=1000, seed=0):
    inside = np.random.default_rng(seed + 100).permutation(members + others) < members
    return np.random.default_rng(seed).normal(size=members + others) + shift * inside, inside


class TestFigures:
    def test_with_a_threshold_of_the_attack_all_records_count(self):
        values, inside = shifted(1.0)
        found = measured_attack(scores(values, 0.5, ("a note",)), inside, confidence=0.9)
        sides = values[inside], values[~inside]
        assert found.auc == auc(*sides, confidence=0.9)
        assert found.threshold == 0.5
        assert found.leakage == leakage(*sides, threshold=0.5, confidence=0.9)
        assert found.balanced_accuracy == balanced_accuracy(*sides, threshold=0.5, confidence=0.9)
        assert found.precision == precision(*sides, threshold=0.5, confidence=0.9)
        assert found.tpr_at_fpr == {0.01: tpr_at_fpr(*sides, fpr=0.01, confidence=0.9)}
        assert found.refused == (
            "non-members must be at least 10/FPR = 10,000 for TPR at 0.1 % FPR, got 1,000",
        )
        assert (found.members, found.others, found.confidence) == (1000, 1000, 0.9)
        assert (found.attack, found.threat, found.notes) == ("loss", THREAT, ("a note",))

    def test_without_one_a_half_chooses_and_the_other_is_measured(self):
        values, inside = shifted(1.0, members=301, others=500)
        found = measured_attack(scores(values), inside)
        others = [measured_attack(scores(values), inside, seed=seed) for seed in range(1, 4)]
        assert found.threshold == measured_attack(scores(values), inside).threshold
        assert len({found.threshold, *(other.threshold for other in others)}) == 4
        assert found.auc == others[0].auc == auc(values[inside], values[~inside])
        assert "threshold from a random half of the records (seed 0)" in found.notes[0]

    def test_the_halves_share_no_record(self):
        values, inside = shifted(1.0, members=31, others=50)
        rng, chosen = seeded("threshold half", 7), np.zeros(81, dtype=bool)
        for side in (inside, ~inside):
            rows = rng.permutation(np.flatnonzero(side))
            chosen[rows[: len(rows) // 2]] = True
        found = measured_attack(scores(values), inside, seed=7)
        best = best_threshold(values[chosen & inside], values[chosen & ~inside])
        assert found.threshold == best
        rest = values[~chosen & inside], values[~chosen & ~inside]
        assert tuple(map(len, rest)) == (16, 25)
        assert found.leakage == leakage(*rest, threshold=best)
        assert found.precision == precision(*rest, threshold=best)

    def test_nobody_called_a_member(self):
        values, inside = shifted(0.0)
        found = measured_attack(scores(values, 99.0), inside)
        assert found.precision is None
        assert found.leakage.value == 0.0
        assert found.row()["precision"] == "–"


class TestVerdict:
    def test_a_leak(self):
        values, inside = shifted(1.0)
        found = measured_attack(scores(values), inside)
        assert found.leaks
        names = [text.partition(" ≥ ")[0] for text in found.found]
        assert names == ["AUC", "TPR − FPR", "TPR at 1 % FPR"]
        corrected = 1 - 0.05 / 3
        area = auc(values[inside], values[~inside], confidence=corrected)
        assert found.found[0] == f"AUC ≥ {area.low:.3f}"
        assert found.verdict.startswith(f"leak found by loss: AUC ≥ {area.low:.3f}, TPR − FPR ≥ ")

    def test_beside_no_leak_stands_what_would_have_been_found(self):
        values, inside = shifted(0.0)
        found = measured_attack(scores(values, 0.0), inside)
        corrected = 1 - 0.05 / 3
        assert found.smallest_auc == smallest_auc(1000, 1000, confidence=corrected)
        assert found.smallest_leakage == smallest_leakage(1000, 1000, confidence=corrected)
        assert found.verdict == (
            f"no leak found by loss: AUC {found.auc}; 1,000 members and 1,000 others would have"
            f" shown an AUC of {found.smallest_auc:.3f} or a TPR − FPR of"
            f" {found.smallest_leakage:.3f} with power 0.95"
        )

    def test_a_half_shows_less(self):
        values, inside = shifted(0.0)
        open_threshold = measured_attack(scores(values), inside)
        assert open_threshold.smallest_leakage == smallest_leakage(
            500, 500, confidence=1 - 0.05 / 3
        )

    def test_too_few_records_say_so(self):
        found = measured_attack(scores([1.0, 0.0, 0.5, 0.2]), [True, False, True, False])
        assert "would have shown nothing at all, being too few, with power" in found.verdict

    def test_scores_the_wrong_way_round_leak_too(self):
        values, inside = shifted(-1.0)
        found = measured_attack(scores(values, 0.0), inside)
        assert len(found.found) == 1
        assert found.found[0].endswith(": higher scores mark non-members")
        assert found.leaks

    def test_a_leak_at_few_false_positives_alone_is_found(self):
        """One member in ten is given away, the others are not."""
        values, inside = shifted(0.0, others=2000)
        values[np.flatnonzero(inside)[:100]] = 50.0
        found = measured_attack(scores(values, 40.0), inside, fprs=(0.01,))
        assert found.found[-1].startswith("TPR at 1 % FPR ≥ 0.0")
        assert found.precision.value == 1.0


AUDITS, MOST = 150, stats.binom.ppf(1 - 1e-6, 150, 0.05)


@pytest.mark.slow
class TestNull:
    def test_noise_is_rarely_called_a_leak(self):
        found = 0
        for seed in range(AUDITS):
            values, inside = shifted(0.0, members=150, others=200, seed=seed)
            found += measured_attack(scores(values), inside, fprs=(0.05,)).leaks
        assert found <= MOST

    def test_the_best_threshold_on_the_measured_records_would_be(self):
        """The same verdict with its threshold chosen on all records: the mistake is found."""
        found = 0
        for seed in range(AUDITS):
            values, inside = shifted(0.0, members=150, others=200, seed=seed)
            best = best_threshold(values[inside], values[~inside])
            found += leakage(values[inside], values[~inside], threshold=best).low > 0
        assert found > MOST


class TestForms:
    def test_one_row_and_one_line(self):
        values, inside = shifted(1.0)
        found = measured_attack(scores(values, 0.5), inside)
        row = found.row()
        assert list(row) == [
            "attack", "threat", "AUC", "balanced accuracy", "TPR − FPR", "precision",
            "TPR at 1 % FPR", "verdict",
        ]  # fmt: skip
        assert row["AUC"] == str(found.auc)
        assert "\n" not in str(found)
        assert str(found).startswith(f"loss ({THREAT}): AUC {found.auc}, balanced accuracy ")
        assert str(found).endswith("; leak found")

    def test_plain_values(self):
        found = measured_attack(scores([1.0, 0.0, 0.5, 0.2]), [True, False, True, False])
        plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert plain["auc"]["value"] == found.auc.value
        assert plain["smallest_auc"] is None
        assert found.smallest_auc == math.inf
        assert plain["threat"] == str(THREAT)
        assert plain["leaks"] is False
        assert plain["verdict"] == found.verdict
        values, inside = shifted(0.0)
        plain = measured_attack(scores(values), inside).to_dict()
        assert list(plain["tpr_at_fpr"]) == ["0.01"]


@pytest.mark.parametrize(
    ("members", "options", "message"),
    [
        ([1, 0, 1, 0], {}, "members must be true or false for each of 4 scored records"),
        ([True, False], {}, r"for each of 4 scored records, got bool of shape \(2,\)"),
        ([True, True, True, False], {}, "at least 2 each, got 3 and 1"),
        ([True, False, True, False], {"confidence": 1.0}, "confidence must be in"),
        ([True, False, True, False], {"fprs": (0.0,)}, "fpr must be in"),
        ([True, False, True, False], {"seed": -1}, "seed must be >= 0"),
    ],
)
def test_refusals(members, options, message):
    with pytest.raises(InputError, match=message):
        measured_attack(scores([1.0, 0.0, 0.5, 0.2]), members, **options)


@pytest.mark.parametrize("middle", [0.25, 0.75])
def test_few_members_side_by_side_are_no_leak(middle):
    """Five scores next to each other have hardly any variance, and happen by chance."""
    others = np.linspace(0, 1, 200)
    values = np.concatenate([middle + np.linspace(-0.01, 0.01, 5), others])
    inside = np.arange(205) < 5
    area = auc(values[inside], others, confidence=1 - 0.01 / 2)
    assert not area.contains(0.5)
    assert stats.mannwhitneyu(values[inside], others).pvalue > 0.05
    assert not measured_attack(scores(values, decides_at=2.0), inside, confidence=0.99).leaks
