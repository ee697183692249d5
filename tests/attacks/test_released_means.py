"""Homer's attack on exact and on noisy means: naive sums, success, null, refusals."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reticent.attacks.records import Records
from reticent.attacks.released_means import (
    Means,
    ReleasedMeansAttack,
    distance_statistic,
    inner_product_statistic,
)
from reticent.attacks.targets import Access
from reticent.audit.metrics import auc
from reticent.data import load
from reticent.protect import ClassMeansHead, LDAHead, release_mean
from reticent.training.features import clip_rows
from reticent.validation import InputError

MEMBERS, OTHERS = 100, 200
SURE = 1 - 1e-6
STATISTICS = ("distance", "inner product")


def shuffled(records):
    return records.take(np.random.default_rng(0).permutation(len(records)))


def parted(records):
    """Members, others, and the adversary's population."""
    rows = np.arange(len(records))
    return np.split(rows, [MEMBERS, MEMBERS + OTHERS])


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    records = shuffled(Records(X / 16, y))
    return [records.take(rows) for rows in parted(records)]


def measured(attack, target, members, others):
    inside, outside = attack.scores(target, members), attack.scores(target, others)
    return auc(inside.values, outside.values, confidence=SURE)


def class_means(members, epsilon):
    return ClassMeansHead(
        classes=range(10), records=MEMBERS, epsilon=epsilon, delta=1e-5, relation="add-remove"
    ).fit(members.inputs, members.labels)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_members_of_exact_class_means_are_found(digits, statistic):
    members, others, population = digits
    attack = ReleasedMeansAttack(population=population, statistic=statistic)
    means = Means.of(members, classes=range(10))
    assert measured(attack, means, members, others).low > 0.5
    flipped = [-attack.scores(means, part).values for part in (members, others)]
    assert auc(*flipped, confidence=SURE).high < 0.5
    assert attack.threat.access is Access.STATISTICS


@pytest.mark.parametrize("statistic", STATISTICS)
def test_members_of_a_mean_image_are_found(statistic):
    """Ten images of a digit, or a hundred of all digits, leave their traces in a mean."""
    records = shuffled(Records.of(load("mnist5k")))
    members, others, population = (records.take(rows) for rows in parted(records))
    attack = ReleasedMeansAttack(population=population, statistic=statistic)
    by_class = Means.of(members, classes=np.unique(records.labels))
    assert measured(attack, by_class, members, others).low > 0.5
    assert measured(attack, Means.of(members), members, others).low > 0.5


def test_means_of_other_records_tell_nothing(digits):
    """Neither side is behind the means, and membership that is drawn has no trace."""
    members, others, population = digits
    attack = ReleasedMeansAttack(population=population.take(np.arange(200, len(population))))
    strangers = Means.of(population.take(np.arange(200)), classes=range(10))
    assert measured(attack, strangers, members, others).contains(0.5)
    scores = attack.scores(Means.of(members, classes=range(10)), members.joined(others)).values
    drawn = np.random.default_rng(1).permutation(scores)
    assert auc(drawn[:MEMBERS], drawn[MEMBERS:], confidence=SURE).contains(0.5)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_scores_are_the_sums_of_the_definition(digits, statistic):
    members, others, population = digits
    means = Means.of(members, classes=range(10))
    found = ReleasedMeansAttack(population=population, statistic=statistic).scores(means, others)
    for row in (0, 7, 150):
        y, label = others.inputs[row], others.labels[row]
        total = 0.0
        for j in range(64):
            p = population.inputs[population.labels == label, j].mean()
            m = members.inputs[members.labels == label, j].mean()
            if statistic == "distance":
                total += abs(y[j] - p) - abs(y[j] - m)
            else:
                total += (y[j] - p) * (m - p)
        assert found.values[row] == pytest.approx(total, abs=1e-9)


def test_the_published_mean_itself_looks_most_like_a_member():
    mean, population = np.array([0.7, 0.2]), np.array([0.5, 0.5])
    for statistic in (distance_statistic, inner_product_statistic):
        near, middle, far = statistic([mean, (mean + population) / 2, population], mean, population)
        assert near > middle > far
        assert near > 0


def test_a_noisy_mean_is_met_with_the_clipped_rows_behind_it(digits):
    """At an ε without meaning the noisy mean is nearly the exact one of clipped rows."""
    members, others, population = digits
    noisy = release_mean(
        members.inputs, bound=2.0, records=MEMBERS, epsilon=1e9, delta=1e-5, relation="add-remove"
    )
    found = ReleasedMeansAttack(population=population).scores(noisy, others)
    clipped = [Records(clip_rows(part.inputs, 2.0), part.labels) for part in digits]
    attack = ReleasedMeansAttack(population=clipped[2])
    expected = attack.scores(Means.of(clipped[0]), clipped[1])
    assert found.values == pytest.approx(expected.values, abs=1e-3)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_noise_hides_members_of_class_means(digits, statistic):
    """At ε = 1e5 the head gives its members away; at ε = 1 the average of six fits lies below.

    One fit at ε = 1 has an AUC of 0.53 with a standard deviation of 0.04 at most: 0.65 is 7
    deviations of a fit away, and 18 of the average.
    """
    members, others, population = digits
    attack = ReleasedMeansAttack(population=population, statistic=statistic)
    exact = measured(attack, class_means(members, 1e5), members, others)
    assert exact.low > 0.5
    noisy = [
        measured(attack, class_means(members, 1.0).released_, members, others).value
        for _ in range(6)
    ]
    assert np.mean(noisy) < 0.65 < exact.value


def with_weights(released, factor):
    """The same with all weights multiplied."""
    tensors = dict(released.tensors)
    return replace(released, tensors=tensors | {"weights": factor * tensors["weights"]})


def test_the_scale_of_a_released_layer_does_not_matter(digits):
    """Its weights are means times an unknown factor, which least squares finds."""
    members, others, population = digits
    released = class_means(members, 1e5).released_
    attack = ReleasedMeansAttack(population=population)
    larger = with_weights(released, 7.0)
    found = attack.scores(larger, others)
    assert found.values == pytest.approx(attack.scores(released, others).values)
    assert found.notes == ()
    away = attack.scores(with_weights(released, -1.0), others)
    assert "only their direction is used" in away.notes[0]


def test_what_is_refused(digits):
    members, others, population = digits
    attack = ReleasedMeansAttack(population=population)
    with pytest.raises(InputError, match="population must be records, at least one"):
        ReleasedMeansAttack(population=population.take(np.arange(0)))
    with pytest.raises(InputError, match="statistic must be distance or inner product, got"):
        ReleasedMeansAttack(population=population, statistic="loss")
    with pytest.raises(InputError, match="target must be Means, a released mean or released"):
        attack.scores(np.zeros(64), others)
    lda = LDAHead(classes=range(10), records=100, epsilon=9.0, delta=1e-5, relation="add-remove")
    with pytest.raises(InputError, match="target must be Means, a released mean or released"):
        attack.scores(lda.fit(members.inputs, members.labels), others)
    with pytest.raises(InputError, match="population must have the 3 features of the means"):
        attack.scores(Means(values=np.zeros(3)), others)
    with pytest.raises(InputError, match="records must have the 64 features of the means"):
        attack.scores(Means.of(members), Records(others.inputs[:, :3], others.labels))
    with pytest.raises(InputError, match="means must be 2 rows, one for each class"):
        Means(values=np.zeros((3, 4)), classes=[0, 1])
    with pytest.raises(InputError, match="must be there for every class"):
        Means.of(members, classes=range(11))
    with pytest.raises(InputError, match="means must be finite, got NaN"):
        Means(values=[np.nan])
