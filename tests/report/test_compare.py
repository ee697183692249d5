"""Two runs side by side: differences of figures, and when they mean nothing."""

import pytest

from reticent.guarantee import Grade
from reticent.report.compare import compared
from reticent.results import ByClass, Recall
from tests.report.documents import SAMPLE, recommending, ungraded, with_release
from tests.report.sample import facts, interval


def row(comparison, name):
    return next(one for one in comparison.rows if one.name == name)


def test_a_run_compares_with_itself():
    found = compared(SAMPLE(), SAMPLE())
    assert found.notes == ()
    assert found.to_dict()["comparable"] is True
    assert all(one.change in (None, 0) for one in found.rows)
    assert all(one.one == one.other for one in found.rows)


def test_figures_are_those_of_the_documents_and_their_differences():
    one, other = SAMPLE(), recommending("noisy-gradient gaussian proven ε=4")
    found = compared(one, other)
    pairs = {
        "accuracy of the release": [run.recommended.accuracy for run in (one, other)],
        "utility loss": [run.recommended.loss for run in (one, other)],
        "accuracy without protection": [run.unprotected.accuracy for run in (one, other)],
        "its AUC before": [run.conclusion.before for run in (one, other)],
        "its AUC after": [run.conclusion.after for run in (one, other)],
    }
    for name, (first, second) in pairs.items():
        shown = row(found, name)
        assert (shown.one, shown.other) == (str(first), str(second))
        assert shown.change == pytest.approx(second.value - first.value)
        assert shown.difference.startswith(f"{second.value - first.value:+.3f}")
    claim = row(found, "claim")
    assert (claim.one, claim.other) == (one.recommended.claim.text, other.recommended.claim.text)
    assert (claim.difference, claim.change) == ("+2", 2.0)
    assert found.notes == ()


def test_the_strongest_attack_is_the_one_with_the_largest_auc():
    found = compared(SAMPLE(), recommending("weights gaussian proven ε=4"))
    after = row(found, "strongest after")
    assert after.one.startswith("lira-offline 0.")
    assert after.other.startswith("released-weights 0.")
    silent = with_release(SAMPLE(), attacks=())
    assert row(compared(SAMPLE(), silent), "strongest after").other == "–"


def rare(before, after):
    def by_class(value):
        recalls = (
            Recall(label="9", test=80, recall=interval(0.9, 0.01), loss=interval(0.0, 0.01)),
            Recall(
                label="rare", test=20, recall=interval(value, 0.02),
                loss=interval(1 - value / before, 0.02),
            ),
        )  # fmt: skip
        return ByClass(balanced_accuracy=interval((0.9 + value) / 2, 0.01), recalls=recalls)

    run = with_release(SAMPLE(), by_class=by_class(after))
    free = run.unprotected.model_copy(update={"by_class": by_class(before)})
    return run.model_copy(update={"unprotected": free})


def test_recalls_stand_beside_accuracies_and_a_class_that_vanishes_is_named():
    found = compared(rare(0.426, 0.4), rare(0.426, 0.035))
    balanced = row(found, "balanced accuracy of the release")
    assert balanced.change == pytest.approx((0.035 - 0.4) / 2)
    assert row(found, "lowest recall of the release").other.startswith("class rare: 0.035 [")
    assert row(found, "lowest recall without protection").one.startswith("class rare: 0.426 [")
    assert found.warnings == (
        "second run: Protection costs more than half of the recall of class rare (0.426 → 0.035).",
    )
    assert found.to_dict()["warnings"] == list(found.warnings)


def test_a_run_without_recalls_has_a_gap():
    older = with_release(SAMPLE(), by_class=None)
    assert row(compared(older, rare(0.5, 0.4)), "balanced accuracy of the release").one == "–"


def test_intervals_that_meet_are_said():
    def at(value):
        return with_release(SAMPLE(), accuracy=interval(value, 0.01))

    meet, apart = compared(at(0.9), at(0.919)), compared(at(0.9), at(0.921))
    assert row(meet, "accuracy of the release").difference == "+0.019 (intervals meet)"
    assert row(apart, "accuracy of the release").difference == "+0.021"


def test_audits_are_counted_and_the_refuted_named():
    found = compared(SAMPLE(), recommending("weights gaussian published ε=1"))
    assert row(found, "audit of the release").one == "not audited"
    assert row(found, "audit of the release").other.startswith("refuted, ε ≥ 1.")
    audited = [one for one in SAMPLE().releases if one.audit]
    claimed = [one for one in audited if one.claim.grade in ("proven", "declared")]
    refuted = [one for one in claimed if one.audit.refuted_by]
    assert any(one.audit.refuted_by for one in audited if one not in claimed)  # papers' estimates
    shown = f"{len(refuted)} of {len(claimed)} refuted"
    assert row(found, "audits of all releases").one == shown == "0 of 6 refuted"


def changed(**made):
    return SAMPLE().model_copy(update={"made": SAMPLE().made.model_copy(update=made)})


def about(**changes):
    return SAMPLE().model_copy(update={"facts": facts(**changes)})


def with_claim(**changes):
    claim = SAMPLE().recommended.claim.model_copy(update=changes)
    return with_release(SAMPLE(), claim=claim)


@pytest.mark.parametrize(
    ("other", "note"),
    [
        (lambda: about(private=1400), "the data differ (private)"),
        (lambda: about(name="adult", test=9), "the data differ (name, test)"),
        (lambda: with_claim(relation="replace-one"), "relation differs (add-remove, replace-one)"),
        (lambda: with_claim(unit="one person with at most 3 records"), "the unit differs"),
        (lambda: with_claim(delta=1e-6), "δ differs"),
        (lambda: with_claim(grade=Grade.DECLARED), "the grade differs"),
        (lambda: changed(seed=8), "the seed differs"),
        (lambda: changed(versions={"reticent": "9"}), "reticent 0.1.0 and 9"),
        (lambda: changed(settings={"penalty": "1"}), "settings differ (penalty, shadow models)"),
    ],
)  # fmt: skip
def test_what_makes_figures_differ_is_noted(other, note):
    found = compared(SAMPLE(), other())
    assert any(note in line for line in found.notes)
    assert found.to_dict()["comparable"] is False


@pytest.mark.parametrize("change", [{"delta": 1e-6}, {"relation": "replace-one"},
                                    {"grade": Grade.DECLARED}, {"unit": "one person"}])  # fmt: skip
def test_epsilons_of_different_kinds_have_no_difference(change):
    claim = row(compared(SAMPLE(), with_claim(epsilon=1.0, **change)), "claim")
    assert (claim.difference, claim.change) == ("not comparable", None)


def test_every_epsilon_is_followed_by_its_grade():
    for release in SAMPLE().releases:
        found = compared(SAMPLE(), recommending(release.name))
        assert ungraded("\n".join(f"{one.one}\n{one.other}" for one in found.rows)) == []
