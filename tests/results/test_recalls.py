"""Recalls by class: their figures, which class counts as lost, what a gate and a page say of it."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, recall_score

from reticent.report.card import card
from reticent.report.evidence import of_results
from reticent.report.verdict import verdict
from reticent.report.writing import page
from reticent.results import ByClass, Interval, Recall
from reticent.results.by_class import lost_classes
from reticent.results.gate import exceeded, in_one_line, limits_of
from reticent.results.recalls import by_class_of, relative_loss
from tests.report.documents import with_release
from tests.report.sample import certified, facts, interval, sample_results

CLASSES = ("a", "b", "c")
TRUTH = np.repeat(CLASSES, (800, 150, 50))
COIN = np.random.default_rng(0).random(len(TRUTH))


def answers(recalls):
    """Each class found at its recall; what is missed is called the largest class."""
    wanted = np.array([recalls[label] for label in TRUTH])
    missed = np.where(TRUTH == "a", "b", "a")
    return np.where(wanted > COIN, TRUTH, missed)


def found(recalls, before=None, draws=1):
    return by_class_of([answers(recalls) == TRUTH] * draws, TRUTH, CLASSES, before=before)


BEFORE = found({"a": 0.95, "b": 0.8, "c": 0.5})
VANISHED = found({"a": 0.98, "b": 0.78, "c": 0.04}, BEFORE, draws=3)


def with_classes(before, after, **more):
    """The sample, of these recalls."""
    results = sample_results(facts=facts(classes=CLASSES, **more))
    free = results.unprotected.model_copy(update={"by_class": before})
    return with_release(results.model_copy(update={"unprotected": free}), by_class=after)


def test_recalls_are_those_of_scikit_learn():
    given = answers({"a": 0.9, "b": 0.5, "c": 0.3})
    own = by_class_of([given == TRUTH], TRUTH, CLASSES)
    assert [one.recall.value for one in own.recalls] == pytest.approx(
        recall_score(TRUTH, given, average=None)
    )
    assert own.balanced_accuracy.value == pytest.approx(balanced_accuracy_score(TRUTH, given))
    assert [one.test for one in own.recalls] == [800, 150, 50]


def test_a_class_without_test_records_is_left_out():
    own = by_class_of([COIN < 2], TRUTH, (*CLASSES, "d"))
    assert [one.label for one in own.recalls] == list(CLASSES)
    assert own.of("d") is None


def test_what_is_lost_is_relative():
    assert VANISHED.of("c").loss.value == pytest.approx(
        1 - VANISHED.of("c").recall.value / BEFORE.of("c").recall.value
    )
    assert VANISHED.balanced_loss.value > 0.15
    assert relative_loss(Interval(value=0.0, low=0.0, high=0.1, confidence=0.95),
                         BEFORE.balanced_accuracy) is None  # fmt: skip


def test_limits_of_a_ratio_to_a_known_number_are_those_of_its_upper_part():
    known = Interval(value=0.8, low=0.8, high=0.8, confidence=0.95)
    ratio = relative_loss(known, Interval(value=0.4, low=0.2, high=0.5, confidence=0.95))
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((0.5, 0.375, 0.75))


def test_intervals_hold_together_as_often_as_they_say():
    """500 trials at a seed: 95 % are promised of all classes at once, of losses and their mean."""
    rng, true = np.random.default_rng(1), {"a": (0.9, 0.85), "b": (0.7, 0.3), "c": (0.6, 0.1)}
    truth = np.repeat(CLASSES, (200, 60, 30))
    rates = np.array([true[label] for label in truth]).T
    held = {"recalls": 0, "losses": 0, "balanced": 0}
    for _ in range(500):
        coins = rng.random((2, len(truth)))
        before = by_class_of([coins[0] < rates[0]], truth, CLASSES)
        after = by_class_of([coins[1] < rates[1]], truth, CLASSES, before=before)
        held["recalls"] += all(
            one.recall.low <= true[one.label][1] <= one.recall.high for one in after.recalls
        )
        held["losses"] += all(
            one.loss.low <= 1 - true[one.label][1] / true[one.label][0] <= one.loss.high
            for one in after.recalls
        )
        mean = np.mean([one[1] for one in true.values()])
        held["balanced"] += after.balanced_accuracy.low <= mean <= after.balanced_accuracy.high
    assert min(held.values()) >= 0.93 * 500


def _one(after, low, *, recall=0.1):
    return Recall(label="c", test=20, recall=interval(recall, 0.05),
                  loss=Interval(value=after, low=low, high=1.0, confidence=0.98))  # fmt: skip


@pytest.mark.parametrize(
    ("one", "lost"),
    [
        (_one(0.9, 0.2), True),
        (_one(0.5, 0.3), False),  # half is not more than half
        (_one(0.9, -0.1), False),  # too few records to show it
        (_one(1.0, -0.1, recall=0.0), True),  # not one is found
        (Recall(label="c", test=20, recall=interval(0.0, 0.05)), False),  # never was
    ],
)
def test_a_class_is_lost_where_half_of_its_recall_is_shown_to_be_gone(one, lost):
    assert one.lost is lost


def test_lost_classes_are_named_the_worst_first():
    mild = found({"a": 0.95, "b": 0.3, "c": 0.04}, BEFORE)
    assert lost_classes(BEFORE, mild).startswith("Protection costs more than half of the recall of"
                                                 " class c (0.4")  # fmt: skip
    assert "class b" in lost_classes(BEFORE, mild)
    assert lost_classes(BEFORE, found({"a": 0.9, "b": 0.7, "c": 0.4}, BEFORE)) is None
    many = tuple(_one(0.9, 0.2).model_copy(update={"label": str(n)}) for n in range(7))
    row = ByClass(balanced_accuracy=interval(0.1, 0.1), recalls=many)
    assert lost_classes(row, row).endswith("and 4 more.")
    assert lost_classes(None, VANISHED) is None


def judged(results, *texts):
    return in_one_line(exceeded(results, limits_of(texts)))


def test_a_gate_on_recalls_names_the_class():
    results = with_classes(BEFORE, VANISHED)
    line = judged(results, "recall-loss=0.3")
    assert line.startswith("above recall-loss=0.3: class c 0.9")
    assert "class b" not in line
    assert judged(results, "loss=0.5") == judged(results, "recall-loss=0.99") == ""
    assert judged(results, "balanced-loss=0.05").startswith("above balanced-loss=0.05")
    assert judged(results, f"balanced-loss={VANISHED.balanced_loss.low + 1e-6}") == ""


def test_a_gate_does_not_pass_what_was_not_measured():
    results = with_classes(BEFORE, VANISHED)
    missing = results.model_copy(update={"facts": facts(classes=(*CLASSES, "d"))})
    assert "class d not measured" in judged(missing, "recall-loss=1")
    older = with_classes(None, None)
    for figure in ("recall-loss=1", "balanced-loss=1"):
        assert "not measured" in judged(older, figure)


def test_a_class_that_was_never_found_has_nothing_to_lose():
    before = found({"a": 0.95, "b": 0.8, "c": 0.0})
    results = with_classes(before, found({"a": 0.95, "b": 0.8, "c": 0.0}, before))
    assert judged(results, "recall-loss=0.5") == ""


def test_page_and_card_say_which_class_is_lost_and_show_every_recall():
    results = with_classes(BEFORE, VANISHED)
    warned = verdict(results).warnings
    assert any("class c (0.4" in line for line in warned)
    assert "balanced accuracy goes from" in verdict(results).cost
    shown, text = page(results), card(of_results(results))
    assert 'id="table-recalls"' in shown
    assert "**Warning:** Protection costs more than half of the recall of class c" in text
    for one in VANISHED.recalls:
        assert f"| {one.recall} | {one.loss} |" in text
    plain = with_classes(BEFORE, found({"a": 0.95, "b": 0.79, "c": 0.48}, BEFORE))
    assert not any("recall" in line for line in verdict(plain).warnings)


@pytest.mark.parametrize(("public", "draws"), [(True, 3), (False, 3), (True, 1)])
def test_recalls_are_published_as_the_accuracy_is(public, draws):
    """Of the draw that is handed over, on public records, without the unprotected model's."""
    truth, names = np.repeat(("no", "yes"), (80, 20)), ("no", "yes")
    before = by_class_of([np.arange(100) % 9 > 0], truth, names)
    mean = by_class_of([np.arange(100) % 5 > 0] * 3, truth, names, before=before)
    kept = by_class_of([np.arange(100) % 3 > 0], truth, names, before=before)
    results = with_classes(before, mean, test_is_public=public)
    results = with_release(results, draws=draws, kept_by_class=kept, kept_accuracy=None)
    results, release = certified(results)
    results = with_release(results, kept_accuracy=interval(0.66, 0.1))
    for text in (card(of_results(results, release), public=True),
                 page(results, public=True, released=release)):  # fmt: skip
        hidden = [before.recalls[0].recall, mean.recalls[0].loss, kept.recalls[1].loss]
        assert not any(str(one) in text or f"{100 * one.value:.1f} %" in text for one in hidden)
    text = card(of_results(results, release), public=True)
    assert (str(kept.recalls[1].recall) in text) is (public and draws > 1)
    assert (str(mean.recalls[1].recall) in text) is (public and draws == 1)
    covered = results.covered_by_class
    if public:
        assert covered.balanced_loss is None
        assert {one.loss for one in covered.recalls} == {None}
    else:
        assert covered is None
    other = [one.model_copy(update={"label": "zebra"}) for one in kept.recalls]
    odd = kept.model_copy(update={"recalls": tuple(other)})
    renamed = with_release(results, kept_by_class=odd, by_class=odd)
    assert "zebra" not in card(of_results(renamed, release), public=True)
