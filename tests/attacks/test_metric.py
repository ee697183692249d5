"""Metric attacks: values against a loop, laws, thresholds from shadows, success and null.

Success and null use intervals of confidence 1 − 1e-6 on fixed seeds.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import special
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier

from reticent.attacks import MetricAttack, Records
from reticent.attacks.metric import METRICS, ClassThresholds, best_threshold, confidence
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import Access, AnsweredTarget, LabelTarget, target_of
from reticent.audit import auc
from reticent.training import MLPHead
from reticent.validation import InputError

SURE = 1 - 1e-6


def naive(metric, probabilities, label):
    """The definitions, in a loop over classes."""
    log = lambda p: math.log(max(p, 1e-30))  # noqa: E731
    p = probabilities
    if metric == "correctness":
        return float(max(range(len(p)), key=lambda j: p[j]) == label)
    if metric == "loss":
        return log(p[label])
    if metric == "confidence":
        return log(max(p)) - log(1 - max(p))
    if metric == "entropy":
        return sum(q * log(q) for q in p)
    return (1 - p[label]) * log(p[label]) + sum(
        p[j] * log(1 - p[j]) for j in range(len(p)) if j != label
    )


@given(arrays(float, (4, 3), elements=st.floats(-8, 8)), st.lists(st.integers(0, 2), min_size=4))
def test_values_are_those_of_a_loop(logits, labels):
    labels = np.array(labels[:4])
    for metric, function in METRICS.items():
        found = function(logits, labels)
        for row in range(4):
            shown = special.softmax(logits[row]).tolist()
            expected = naive(metric, shown, labels[row])
            if metric != "correctness" or len(set(shown)) == 3:
                assert found[row] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("metric", METRICS)
def test_only_differences_of_logits_matter(metric):
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(50, 5)), rng.integers(5, size=50)
    moved = logits + rng.normal(size=(50, 1))
    assert METRICS[metric](moved, labels) == pytest.approx(METRICS[metric](logits, labels))


@pytest.mark.parametrize("metric", ["loss", "confidence", "modified-entropy"])
def test_sure_answers_are_still_told_apart(metric):
    """1 − 1e-16 and 1 − 1e-20 are both 1 as floats."""
    logits = np.array([[20.0, 0.0], [37.0, 0.0], [40.0, 0.0], [60.0, 0.0]])
    found = METRICS[metric](logits, np.zeros(4, dtype=int))
    assert (np.diff(found) > 0).all()
    assert METRICS["loss"](logits, np.zeros(4, dtype=int)) == pytest.approx(
        -np.exp([-20.0, -37.0, -40.0, -60.0]), rel=1e-6, abs=0
    )


def test_smaller_probabilities_count_as_the_clamp():
    logits = np.array([[0.0, 800.0]])
    assert METRICS["loss"](logits, np.array([0]))[0] == pytest.approx(math.log(1e-30))
    found = METRICS["modified-entropy"](logits, np.array([0]))
    assert found[0] == pytest.approx(2 * math.log(1e-30))
    for function in METRICS.values():
        assert np.isfinite(function(np.array([[1e307, -1e307, 0.0]]), np.array([1]))).all()


@pytest.mark.parametrize("metric", METRICS)
def test_a_sure_and_right_answer_looks_most_like_a_member(metric):
    logits = np.log([[0.97, 0.02, 0.01], [0.5, 0.3, 0.2], [0.1, 0.6, 0.3]])
    sure, unsure, wrong = METRICS[metric](logits, np.zeros(3, dtype=int))
    assert sure >= unsure
    assert sure > wrong
    if metric in ("loss", "modified-entropy"):
        assert sure > unsure > wrong


def test_a_wrong_and_sure_answer_lowers_the_modified_entropy_alone():
    """What sets it apart from the entropy: more confidence in a wrong label is less a member."""
    logits = np.log([[0.4, 0.6], [0.1, 0.9]])
    labels = np.zeros(2, dtype=int)
    assert np.diff(METRICS["entropy"](logits, labels))[0] > 0
    assert np.diff(METRICS["modified-entropy"](logits, labels))[0] < 0


def test_confidence_has_the_order_of_the_largest_probability():
    logits = np.random.default_rng(1).normal(size=(100, 4)) * 3
    order = np.argsort(special.softmax(logits, axis=1).max(axis=1))
    found = confidence(logits, np.zeros(100, dtype=int))
    assert np.array_equal(np.argsort(found), order)


class TestThresholds:
    ANSWERS = AnsweredTarget(
        [[p, 1 - p] for p in (0.9, 0.8, 0.6, 0.5, 0.3, 0.7, 0.95)], classes=["a", "b"]
    )

    def shadow(self):
        """Class a: members .9 and .8, others .6 and .5; class b: member .7, other .3."""
        members = Records([0, 1, 4], ["a", "a", "b"])
        return self.ANSWERS, members, Records([2, 3, 5], ["a", "a", "b"])

    def test_scores_are_metric_minus_the_threshold_of_the_class(self):
        attack = MetricAttack("loss", shadow=self.shadow())
        found = attack.scores(self.ANSWERS, Records([6, 6, 5], ["a", "b", "b"]))
        logs = np.log([0.95, 0.05, 0.3])
        of_a = (math.log(0.8) + math.log(0.6)) / 2
        of_b = (math.log(0.7) + math.log(0.3)) / 2
        assert found.values == pytest.approx(logs - [of_a, of_b, of_b])
        assert found.decides_at == 0.0
        assert found.notes == ()
        assert found.attack == "loss, thresholds per class"
        assert found.threat.knows == ("labels", "shadow models with their records")

    def test_a_class_without_shadows_has_the_threshold_of_all(self):
        model, members, others = self.shadow()
        attack = MetricAttack("loss", shadow=(model, members.take([0, 1]), others))
        asked = Records([6, 6], ["a", "b"])
        found = attack.scores(self.ANSWERS, asked)
        common = best_threshold(np.log([0.9, 0.8]), np.log([0.6, 0.5, 0.3]))
        assert found.values[1] == pytest.approx(math.log(0.05) - common)
        assert found.notes[0].endswith("have the threshold of all classes: b")
        assert len(found.notes) == 1

    def test_shadow_models_with_a_pool(self):
        rng = np.random.default_rng(0)
        pool = Records(np.arange(40), np.repeat(["a", "b"], 20))
        models = [AnsweredTarget(rng.dirichlet([1, 1], 40), classes=["b", "a"]) for _ in range(3)]
        inside = rng.random((3, 40)) < 0.5
        attack = MetricAttack("loss", shadow=Shadows(pool=pool, inside=inside, models=models))
        values = np.concatenate(
            [np.log(m.probabilities(range(40))[np.arange(40), pool.among(m.classes)])
             for m in models]
        )  # fmt: skip
        own = np.tile(pool.labels, 3)
        expected = {
            name: best_threshold(
                values[(own == name) & inside.ravel()], values[(own == name) & ~inside.ravel()]
            )
            for name in ("a", "b")
        }
        plain = MetricAttack("loss").scores(models[0], pool).values
        found = attack.scores(models[0], pool).values
        assert plain - found == pytest.approx([expected[label] for label in pool.labels])

    def test_thresholds_do_not_depend_on_what_is_scored(self):
        attack = MetricAttack("entropy", shadow=self.shadow())
        one = attack.scores(self.ANSWERS, Records([6], ["a"])).values[0]
        many = attack.scores(self.ANSWERS, Records([0, 6, 2, 3], ["b", "a", "a", "b"])).values[1]
        assert one == many

    def test_labels_of_any_type(self):
        found = ClassThresholds.fitted(
            np.array([3.0, 1.0]), np.array([7, 7]), np.array([True, False])
        )
        assert found.of(np.array(["7", "8"])).tolist() == [2.0, 2.0]
        assert found.missing(np.array([7, 8])) == ["8"]


def fitted(records, seed):
    head = MLPHead(layers=2, width=128, penalty=0.0, steps=300, seed=seed, classes=range(10))
    return head.fit(records.inputs, records.labels)


@pytest.fixture(scope="module")
def digits():
    """Of which a fifth have random labels; members are learnt by heart."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(len(y)) < 0.2, rng.integers(10, size=len(y)), y)
    order = rng.permutation(len(y))
    return Records(X[order] / 16, y[order])


@pytest.fixture(scope="module")
def target(digits):
    return fitted(digits.take(np.arange(300)), seed=0)


@pytest.fixture(scope="module")
def shadow(digits):
    members = digits.take(np.arange(1000, 1300))
    return fitted(members, seed=1), members, digits.take(np.arange(1300, 1797))


@pytest.mark.slow
@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize("metric", METRICS)
def test_members_are_told_and_shuffled_ones_are_not(digits, target, shadow, metric, calibrated):
    attack = MetricAttack(metric, shadow=shadow if calibrated else None)
    found = attack.scores(target, digits.take(np.arange(1000))).values
    members = np.arange(1000) < 300
    told = auc(found[members], found[~members], confidence=SURE)
    assert told.low > 0.5
    assert auc(-found[members], -found[~members], confidence=SURE).high < 0.5
    shuffled = np.random.default_rng(2).permutation(members)
    null = auc(found[shuffled], found[~shuffled], confidence=SURE)
    assert null.contains(0.5)
    assert not null.contains(told.value)


def test_a_full_tree_gives_away_its_errors():
    """Always right and sure on its members: AUC = ½ + (share of errors on others)/2."""
    X, y = load_digits(return_X_y=True)
    tree = DecisionTreeClassifier(random_state=0).fit(X[:900], y[:900])
    records = Records(X, y)
    errors = np.mean(tree.predict(X[900:]) != y[900:])
    for metric in ("correctness", "loss", "modified-entropy"):
        found = MetricAttack(metric).scores(tree, records).values
        measured = auc(found[:900], found[900:], confidence=SURE)
        assert measured.value == pytest.approx(0.5 + errors / 2)
        assert measured.low > 0.5


def test_names_and_threats():
    table = AnsweredTarget([[0.5, 0.5]], classes=["a", "b"])
    for metric in METRICS:
        found = MetricAttack(metric).scores(table, Records([0], ["a"]))
        assert (found.attack, found.decides_at) == (metric, None)
        needs_labels = metric not in ("confidence", "entropy")
        assert found.threat.knows == (("labels",) if needs_labels else ())
    assert (
        MetricAttack("loss").scores(LabelTarget(table), Records([0], ["a"])).threat.access
        is Access.LABELS
    )


POOL = Records([0, 0], ["a", "b"])
TABLE = AnsweredTarget([[0.5, 0.5]], classes=["a", "b"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MetricAttack("los"), "metric must be one of correctness, loss, .* got str 'los'"),
        (lambda: MetricAttack("loss", shadow=3), r"shadow must be Shadows or \(model, members"),
        (lambda: MetricAttack("loss", shadow=(TABLE, POOL)), "shadow must be Shadows or"),
        (lambda: MetricAttack("loss", shadow=(TABLE, POOL, [0])), "shadow must be Shadows or"),
        (lambda: MetricAttack("loss", shadow=(TABLE, POOL, POOL.take([False, False]))), "empty"),
        (lambda: MetricAttack("loss", shadow=(3, POOL, POOL)), "target must be a fitted model"),
        (
            lambda: MetricAttack(
                "loss", shadow=Shadows(pool=POOL, inside=np.ones((1, 2), bool), models=[TABLE])
            ),
            "shadows must have members and non-members",
        ),
        (lambda: MetricAttack("loss").scores(3, POOL), "target must be a fitted model"),
        (
            lambda: MetricAttack("loss").scores(TABLE, Records([0, 0], ["a", "c"])),
            "label of row 1 must be one of the classes",
        ),
        (
            lambda: MetricAttack(
                "loss", shadow=(TABLE, Records([0], ["c"]), POOL)
            ).scores(TABLE, POOL),
            "label of row 0 must be one of the classes",
        ),
    ],
)  # fmt: skip
def test_refusals(make, message):
    with pytest.raises(InputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_every_adapter_is_attacked_alike():
    X, y = load_digits(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    records = Records(X, y)
    rows = AnsweredTarget(tree.predict_proba(X), classes=[str(label) for label in range(10)])
    found = MetricAttack("loss").scores(target_of(tree), records).values
    same = MetricAttack("loss").scores(rows, Records(np.arange(len(y)), y)).values
    assert np.array_equal(found, same)


@pytest.mark.parametrize("metric", ["loss", "confidence", "entropy"])
@pytest.mark.parametrize("classes", [2, 3, 7, 10, 30, 100])
def test_equal_probabilities_are_ties_whatever_the_label(metric, classes):
    """A rounding that depends on the label's column would rank records by their class."""
    labels = np.arange(classes)
    values = METRICS[metric](np.log(np.full((classes, classes), 1 / classes)), labels)
    assert len(np.unique(values)) == 1
