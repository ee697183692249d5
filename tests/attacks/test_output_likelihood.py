"""Attacks on models of numbers and of several labels: what they find, and what they must not."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from reticent.attacks.output_likelihood import LIRA, LOSS, OutputRecords, OutputShadows
from reticent.audit import auc
from reticent.run.tasks.models import RidgeShadow, SigmoidShadow
from reticent.training import SigmoidHead
from reticent.validation import InputError

MEMBERS, OTHERS, WIDTH = 150, 150, 90


@pytest.fixture(scope="module")
def numbers():
    """Many features for few records: ridge regression remembers its records."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(MEMBERS + OTHERS, WIDTH))
    labels = rows[:, 0] + rng.normal(size=len(rows))
    return OutputRecords(rows=rows, labels=labels, scale=2.0)


@pytest.fixture(scope="module")
def shadows(numbers):
    train = RidgeShadow(alpha=1e-3, low=-9.0, high=9.0)
    return OutputShadows.trained(train, numbers, count=16)


def found(scores):
    return {
        name: auc(one.values[:MEMBERS], one.values[MEMBERS:], confidence=1 - 1e-6)
        for name, one in scores.items()
    }


def fitted(records, places):
    return Ridge(alpha=1e-3).fit(records.rows[places], records.labels[places])


def test_both_attacks_find_the_members_of_an_overfit_regression(numbers, shadows):
    areas = found(shadows.scores(fitted(numbers, slice(MEMBERS)), numbers))
    assert areas[LOSS].low > 0.6
    assert areas[LIRA].low > 0.6


def test_a_model_of_other_records_tells_nothing(numbers, shadows):
    """Intervals of 1 − 1e-6: a false alarm in half a million runs."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(MEMBERS, WIDTH))
    stranger = Ridge(alpha=1e-3).fit(rows, rows[:, 0] + rng.normal(size=MEMBERS))
    for area in found(shadows.scores(stranger, numbers)).values():
        assert area.low < 0.5 < area.high


def test_the_loss_is_the_log_likelihood_of_the_residual(numbers, shadows):
    model = fitted(numbers, slice(MEMBERS))
    squared = ((numbers.labels - model.predict(numbers.rows)) / 2.0) ** 2
    assert np.allclose(shadows.scores(model, numbers)[LOSS].values, -squared / 2)


def test_residuals_keep_their_sign(numbers):
    """Mirrored at the labels a model has the same losses and other outcomes."""
    model = fitted(numbers, slice(MEMBERS))

    class Mirrored:
        def predict(self, rows):
            return 2 * numbers.labels - model.predict(rows)

    one, other = numbers.outcomes(model), numbers.outcomes(Mirrored())
    assert np.allclose(numbers.log_likelihoods(one), numbers.log_likelihoods(other))
    assert np.allclose(one, -other)


def test_a_shadow_is_judged_without_itself_and_its_pair(numbers, shadows):
    for pair, (values, inside) in enumerate(shadows.before_shadows(numbers)):
        assert auc(values[LIRA][inside], values[LIRA][~inside]).value > 0.6
        rest = [place for place in range(16) if place // 2 != pair]
        others = OutputShadows(outcomes=shadows.outcomes[rest], inside=shadows.inside[rest])
        assert np.allclose(values[LIRA], others.ratios(shadows.outcomes[2 * pair]))


def test_several_labels_add_up():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(120, 40))
    labels = (rng.random((120, 3)) < 0.5).astype(np.int64)
    records = OutputRecords(rows=rows, labels=labels)
    head = SigmoidHead(penalty=1e-3, bound=10.0, classes=range(3), records=60)
    train = SigmoidShadow(head=head)
    shadows = OutputShadows.trained(train, records, count=12)
    target = train(rows[:60], labels[:60], 1)
    scores = shadows.scores(target, records)
    for name in (LOSS, LIRA):
        values = scores[name].values
        assert auc(values[:60], values[60:], confidence=1 - 1e-6).low > 0.6
    own = records.outcomes(target)
    each = [
        OutputShadows(outcomes=shadows.outcomes[:, :, [k]], inside=shadows.inside).ratios(
            own[:, [k]]
        )
        for k in range(3)
    ]
    assert np.allclose(scores[LIRA].values, np.sum(each, axis=0))


def test_too_few_shadows_are_refused(numbers):
    with pytest.raises(InputError, match="at least 12"):
        OutputShadows.trained(RidgeShadow(alpha=1.0, low=0, high=1), numbers, count=11)
