"""Canaries: inside the public domain, put in by fair coins, and known to the auditor alone."""

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_digits

from reticent.audit.canaries import CanaryKind, insert_canaries
from reticent.audit.one_run import one_run
from reticent.training import SoftmaxHead
from reticent.validation import InputError

X, Y = load_digits(return_X_y=True)
X = X[:400] / 16 - 0.3
Y = Y[:400]
BOUND = 2.5


def inserted(kind="orthogonal", count=40, seed=0, **changed):
    given = {"X": X, "y": Y, "classes": range(10), "bound": BOUND, "kind": kind, "count": count}
    return insert_canaries(**(given | {"rng": np.random.default_rng(seed)} | changed))


def as_set(rows, labels):
    return sorted((row.tobytes(), int(label)) for row, label in zip(rows, labels, strict=True))


@pytest.mark.parametrize("kind", list(CanaryKind))
class TestEach:
    def test_they_are_inside_the_domain(self, kind):
        canaries = inserted(kind)
        assert canaries.rows.shape == (40, 64)
        assert np.linalg.norm(canaries.rows, axis=1).max() <= BOUND
        assert set(canaries.labels.tolist()) <= set(range(10))
        assert canaries.kind is CanaryKind(kind)
        assert len(canaries) == 40

    def test_the_data_hold_the_base_and_those_whose_coin_came_up(self, kind):
        canaries = inserted(kind)
        rows, labels = canaries.data
        chosen = as_set(canaries.rows[canaries.inside], canaries.labels[canaries.inside])
        left = as_set(rows, labels)
        for record in chosen:
            left.remove(record)
        base = as_set(X, Y)
        assert len(left) == (400 if kind == "orthogonal" else 360)
        assert set(left) <= set(base)
        out = as_set(canaries.rows[~canaries.inside], canaries.labels[~canaries.inside])
        assert not set(out) & set(left)

    def test_they_follow_from_the_generator(self, kind):
        one, again, other = inserted(kind), inserted(kind), inserted(kind, seed=1)
        assert (one.inside == again.inside).all()
        assert (one.data[0] == again.data[0]).all()
        assert (one.inside != other.inside).any()

    def test_coins_are_fair_and_not_shown(self, kind):
        canaries = inserted(kind, count=300)
        assert stats.binomtest(int(canaries.inside.sum()), 300).pvalue > 1e-6
        assert "inside" not in repr(canaries)

    def test_the_place_of_a_row_tells_nothing(self, kind):
        """Canaries of a head lie anywhere among the rows: their mean place is that of all."""
        canaries = inserted(kind, count=300)
        known = set(as_set(canaries.rows, canaries.labels))
        rows, labels = canaries.data
        places = [
            place
            for place, (row, label) in enumerate(zip(rows, labels, strict=True))
            if (row.tobytes(), int(label)) in known
        ]
        others = np.setdiff1d(np.arange(len(rows)), places)
        assert stats.mannwhitneyu(places, others).pvalue > 1e-6


def test_mislabelled_rows_are_rows_of_the_data_with_another_label():
    canaries = inserted("mislabelled", bound=3.3)
    known = {row.tobytes(): int(label) for row, label in zip(X, Y, strict=True)}
    clipped = [known.get(row.tobytes()) for row in canaries.rows]
    assert 0 < sum(label is None for label in clipped) < 20
    pairs = zip(clipped, canaries.labels, strict=True)
    assert all(label is None or label != wrong for label, wrong in pairs)


def test_wrong_labels_are_all_other_labels():
    canaries = inserted("mislabelled", y=np.zeros(400, dtype=int), count=300)
    assert set(canaries.labels.tolist()) == set(range(1, 10))


@pytest.mark.parametrize("kind", ["max-norm", "orthogonal"])
def test_others_are_as_long_as_the_bound_allows(kind):
    assert np.linalg.norm(inserted(kind).rows, axis=1) == pytest.approx(BOUND)


class TestOrthogonal:
    def test_to_each_other_and_where_the_data_are_shortest(self):
        rows = inserted(count=20).rows / BOUND
        assert rows @ rows.T == pytest.approx(np.eye(20), abs=1e-9)
        along = np.linalg.norm(X @ rows.T, axis=0)
        random = np.random.default_rng(0).normal(size=(64, 200))
        typical = np.linalg.norm(X @ (random / np.linalg.norm(random, axis=0)), axis=0)
        assert along.max() < typical.min()

    def test_nearly_where_directions_run_out(self):
        rows = inserted(count=200).rows / BOUND
        cosines = np.abs(rows @ rows.T - np.eye(200))
        assert cosines[:64, :64].max() < 1e-9
        assert cosines[64:128, 64:128].max() < 1e-9
        assert cosines.max() < 0.9


@pytest.mark.slow
def test_a_head_without_noise_gives_them_away():
    """End to end: canaries in, a head fitted, their losses scored, ε bounded from below."""
    canaries = inserted("orthogonal", count=64)
    head = SoftmaxHead(penalty=1e-3, bound=BOUND, classes=range(10), records=400)
    head.fit(*canaries.data)
    chances = head.predict_proba(canaries.rows)[np.arange(64), canaries.labels]
    bound = one_run(chances, canaries.inside, guesses=(16, 16), delta=1e-5, beta=0.05)
    assert bound.evidence.correct >= 28
    assert bound.epsilon > 0.5


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kind": "yellow"}, "kind must be one of mislabelled, max-norm, orthogonal"),
        ({"count": 0}, "count must be >= 1"),
        ({"count": 401, "kind": "mislabelled"}, "count must be at most the 400 rows"),
        ({"bound": 0.0}, "bound must be > 0"),
        ({"bound": np.nan}, "bound must be > 0"),
        ({"classes": [1]}, "classes must be two or more different labels"),
        ({"classes": [1, 1]}, "classes must be two or more different labels"),
        ({"classes": range(9)}, "must be one of the classes"),
        ({"y": Y[:10]}, "y must be one label for each of 400 rows"),
        ({"X": X[0]}, "X must have rows and columns"),
        ({"X": np.where(X == X[0, 0], np.nan, X)}, "X must be finite"),
        ({"rng": 7}, "rng must be a numpy Generator"),
    ],
)
def test_refusals(changed, message):
    with pytest.raises(InputError, match=message) as caught:
        inserted(**changed)
    assert "\n" not in str(caught.value)


def test_rows_of_zeros_cannot_be_stretched():
    with pytest.raises(InputError, match="at most the 0 rows of X other than 0"):
        inserted("max-norm", X=np.zeros_like(X), count=1)
