"""Label-only attacks: exact on a half-plane, a loop, success and null, and labels alone are asked.

Success and null use intervals of confidence 1 − 1e-6 on fixed seeds.
"""

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_digits

from reticent.attacks import BoundaryAttack, GapAttack, MetricAttack, NoiseAttack, Records
from reticent.attacks.targets import Access, FunctionTarget, LabelTarget
from reticent.audit import auc
from reticent.randomness import seeded
from reticent.training import MLPHead
from reticent.validation import InputError

SURE = 1 - 1e-6


def beyond_zero(rows):
    """Class "up" where the first number is above 0."""
    up = np.asarray(rows).reshape(len(rows), -1)[:, 0] > 0
    return np.stack([up, ~up], axis=1).astype(float)


PLANE = FunctionTarget(beyond_zero, classes=["up", "down"])
POINTS = Records([[0.5, 0.0], [2.0, 1.0], [-1.0, 3.0], [-0.1, 0.0]], ["up", "up", "down", "up"])
ATTACKS = [
    GapAttack(),
    NoiseAttack(std=1.0, copies=20),
    NoiseAttack(augment=lambda rows, rng: rows * rng.choice([-1, 1], (len(rows), 1)), copies=20),
    BoundaryAttack(farthest=10.0, directions=20),
]
each_attack = pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)


@each_attack
def test_a_wrong_label_scores_nothing_and_a_right_one_not_less(attack):
    found = attack.scores(PLANE, POINTS).values
    assert found[3] == 0.0
    assert (found[:3] >= 0).all()
    assert found[:3].max() > 0


@each_attack
def test_labels_alone_are_asked(attack):
    """A target that hides all but labels is attacked with the same scores."""
    full, hidden = attack.scores(PLANE, POINTS), attack.scores(LabelTarget(PLANE), POINTS)
    assert np.array_equal(full.values, hidden.values)
    assert full.threat.access is Access.LABELS
    assert full.threat.knows == ("labels",)


@each_attack
def test_equal_seeds_give_equal_scores(attack):
    first, second = (attack.scores(PLANE, POINTS).values for _ in range(2))
    assert np.array_equal(first, second)


@each_attack
def test_all_wrong(attack):
    wrong = Records(POINTS.inputs[:2], ["down", "down"])
    assert attack.scores(PLANE, wrong).values.tolist() == [0.0, 0.0]


def test_the_gap_attack_is_correctness():
    found = GapAttack().scores(PLANE, POINTS)
    assert found.values.tolist() == [1.0, 1.0, 1.0, 0.0]
    assert np.array_equal(found.values, MetricAttack("correctness").scores(PLANE, POINTS).values)
    assert found.decides_at == 0.5


class TestNoise:
    def test_a_loop_over_copies_and_records(self):
        found = NoiseAttack(std=0.7, copies=15, seed=3).scores(PLANE, POINTS).values
        rng, right = seeded("label-only noise", 3), POINTS.inputs[:3]
        kept = [0, 0, 0]
        for _ in range(15):
            noise = rng.normal(size=(3, 2))
            for row in range(3):
                changed = right[row] + 0.7 * noise[row]
                kept[row] += (changed[0] > 0) == (POINTS.labels[row] == "up")
        assert found.tolist() == [kept[0] / 15, kept[1] / 15, kept[2] / 15, 0.0]

    def test_the_share_is_the_chance_to_stay(self):
        """P[x + noise > 0] = Φ(x/std), within a binomial interval of confidence 1 − 1e-7."""
        copies = 4000
        found = NoiseAttack(std=1.0, copies=copies).scores(PLANE, POINTS).values[:3]
        for value, distance in zip(found, (0.5, 2.0, 1.0), strict=True):
            low, high = stats.binom.interval(1 - 1e-7, copies, stats.norm.cdf(distance))
            assert low <= value * copies <= high
        assert found[0] < found[2] < found[1]

    def test_an_augmentation_of_ones_own(self):
        mirrored = NoiseAttack(augment=lambda rows, rng: -rows, copies=3)
        assert mirrored.scores(PLANE, POINTS).values.tolist() == [0.0] * 4
        same = NoiseAttack(augment=lambda rows, rng: rows, copies=3)
        assert same.scores(PLANE, POINTS).values.tolist() == [1.0, 1.0, 1.0, 0.0]

    def test_texts_need_an_augmentation(self):
        def shouts(texts):
            loud = np.char.isupper(texts)
            return np.stack([loud, ~loud], axis=1).astype(float)

        target = FunctionTarget(shouts, classes=[1, 0])
        texts = Records(["HELLO", "hello"], [1, 0])
        found = NoiseAttack(augment=lambda rows, rng: np.char.upper(rows)).scores(target, texts)
        assert found.values.tolist() == [1.0, 0.0]
        with pytest.raises(InputError, match=r"inputs must be rows of numbers .* give augment"):
            NoiseAttack(std=1.0).scores(target, texts)


class TestBoundary:
    def test_in_one_dimension_the_distance_is_exact(self):
        """Half of the directions lead to the boundary, at its distance."""
        line = Records([[0.3], [4.0], [-7.0], [60.0]], ["up", "up", "down", "up"])
        attack = BoundaryAttack(farthest=32.0, directions=40, halvings=30)
        found = attack.scores(PLANE, line).values
        assert found == pytest.approx([0.3, 4.0, 7.0, 32.0], abs=1e-6)

    def test_the_far_end_of_the_last_bracket_is_taken(self):
        """Doubling from 1/1024: 0.3 lies in (¼, ½], then in (¼, ⅜]; 0.7 in (½, 1], then (½, ¾]."""
        line = Records([[0.3], [0.7]], ["up", "up"])
        attack = BoundaryAttack(farthest=1.0, directions=40, halvings=1)
        assert attack.scores(PLANE, line).values.tolist() == [0.375, 0.75]

    def test_it_is_never_below_the_true_distance_and_falls_with_more_directions(self):
        rng = np.random.default_rng(0)
        rows = Records(rng.normal(size=(50, 3)), ["up"] * 50)
        truth = np.abs(rows.inputs[:, 0])
        right = rows.inputs[:, 0] > 0
        last = np.full(50, np.inf)
        for directions in (1, 10, 200):
            found = BoundaryAttack(farthest=64.0, directions=directions).scores(PLANE, rows).values
            assert (found[right] >= truth[right]).all()
            assert (found[right] <= last[right]).all()
            last = found
        assert np.median(last[right] / truth[right]) < 1.05

    def test_a_loop_along_one_direction(self):
        rng = seeded("label-only boundary", 5)
        way = rng.normal(size=(3, 2))
        found = BoundaryAttack(farthest=8.0, directions=1, halvings=12, seed=5)
        values = found.scores(PLANE, POINTS).values
        for row in range(3):
            speed = -POINTS.inputs[row, 0] / (way[row] / np.linalg.norm(way[row]))[0]
            expected = speed if 0 < speed < 8 else 8.0
            assert values[row] == pytest.approx(expected, abs=8 / 2**12)

    def test_images(self):
        images = Records(np.full((2, 3, 3, 1), 2.0), ["up", "up"])
        found = BoundaryAttack(farthest=100.0, directions=30).scores(PLANE, images).values
        assert (found >= 2.0).all()
        assert (found < 100.0).all()

    def test_rows_of_numbers_are_refused(self):
        with pytest.raises(InputError, match="inputs must be rows of numbers"):
            BoundaryAttack(farthest=1.0).scores(PLANE, Records([1, 2], ["up", "up"]))


@pytest.fixture(scope="module")
def digits():
    """Of which a fifth have random labels; the first 300 are learnt by heart."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(len(y)) < 0.2, rng.integers(10, size=len(y)), y)
    order = rng.permutation(len(y))[:1000]
    return Records(X[order] / 16, y[order])


@pytest.fixture(scope="module")
def target(digits):
    head = MLPHead(layers=2, width=128, penalty=0.0, steps=300, classes=range(10))
    return head.fit(digits.inputs[:300], digits.labels[:300])


@pytest.mark.slow
@pytest.mark.parametrize(
    "attack",
    [GapAttack(), NoiseAttack(std=0.1, copies=30), BoundaryAttack(farthest=8.0, directions=10)],
    ids=lambda attack: attack.name,
)
def test_members_are_told_and_shuffled_ones_are_not(digits, target, attack):
    found = attack.scores(target, digits).values
    members = np.arange(1000) < 300
    told = auc(found[members], found[~members], confidence=SURE)
    assert told.low > 0.5
    assert auc(-found[members], -found[~members], confidence=SURE).high < 0.5
    shuffled = np.random.default_rng(2).permutation(members)
    null = auc(found[shuffled], found[~shuffled], confidence=SURE)
    assert null.contains(0.5)
    assert not null.contains(told.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (NoiseAttack, "either std or augment must be given, got both or neither"),
        (lambda: NoiseAttack(std=1.0, augment=len), "either std or augment must be given"),
        (lambda: NoiseAttack(std=0.0), "std must be > 0"),
        (lambda: NoiseAttack(std=float("nan")), "std must be > 0"),
        (lambda: NoiseAttack(augment=3), "augment must be callable, got int"),
        (lambda: NoiseAttack(std=1.0, copies=0), "copies must be >= 1"),
        (lambda: NoiseAttack(std=1.0, seed=-1), "seed must be >= 0"),
        (
            lambda: NoiseAttack(augment=lambda rows, rng: rows[:1]).scores(PLANE, POINTS),
            r"augment must give one copy of each input, got \(1, 2\) of \(3, 2\)",
        ),
        (lambda: BoundaryAttack(farthest=0.0), "farthest must be > 0"),
        (lambda: BoundaryAttack(farthest=1.0, directions=0), "directions must be >= 1"),
        (lambda: BoundaryAttack(farthest=1.0, halvings=0), "halvings must be >= 1"),
        (lambda: BoundaryAttack(farthest=1.0, seed=1.5), "seed must be a whole number"),
        (lambda: GapAttack().scores(3, POINTS), "target must be a fitted model"),
        (
            lambda: GapAttack().scores(PLANE, Records([[1.0]], ["left"])),
            "label of row 0 must be one of the classes",
        ),
    ],
)
def test_refusals(make, message):
    with pytest.raises(InputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
