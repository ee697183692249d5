"""Releases of a head: what is proven, what is refused, and that the noise is the noise claimed."""

import copy
import dataclasses
import math

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from reticent.guarantee import Grade, Guarantee, composed
from reticent.mechanisms.profiles import gaussian
from reticent.protect import load, release_weights, save, verify
from reticent.training import PublicStep, SigmoidHead, SoftmaxHead
from reticent.validation import InputError


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16 - 0.3, y


@pytest.fixture
def head(digits):
    X, y = digits
    return SoftmaxHead(penalty=0.03, classes=range(10), records=1400).fit(X[:1400], y[:1400])


def scale_of(released):
    return released.scales["coordinates"]


@pytest.mark.parametrize("mechanism", ["gaussian", "logistic", "laplace", "l2-laplace"])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_release_is_proven_and_predicts(head, digits, mechanism, relation):
    X, y = digits
    released = release_weights(
        head, epsilon=100.0, delta=1e-5, relation=relation, mechanism=mechanism
    )
    claim = released.guarantee
    assert (claim.grade, claim.epsilon, claim.delta) == (Grade.PROVEN, 100.0, 1e-5)
    assert str(claim.relation) == relation
    assert any("bit by bit" in line for line in claim.checked)
    assert any("no step before the head was fitted" in line for line in claim.stated)
    assert np.mean(released.predict(X[1400:]) == y[1400:]) > 0.5
    assert released.predict_proba(X[:5]).sum(axis=1) == pytest.approx(np.ones(5))
    assert Guarantee.from_json(claim.to_json()).grade is Grade.DECLARED


def test_the_noise_is_that_of_the_claim(head):
    """KS of 900 × 585 differences; false alarm 1e-7; 1.06× the variance is rejected."""
    releases = [
        release_weights(head, epsilon=1.0, delta=1e-5, relation="add-remove") for _ in range(900)
    ]
    scale = releases[0].scales["coordinates"]
    noise = np.concatenate(
        [(r.tensors["coordinates"] - head.coordinates_).ravel() for r in releases]
    )
    assert stats.kstest(noise / scale, "norm").pvalue > 1e-7
    assert stats.kstest(noise / scale * math.sqrt(1.06), "norm").pvalue < 1e-7
    # μ = Δ₂/σ at (1, 1e-5) is 0.268, and Δ₂ = √2·R/(λN) with R = √2.
    sensitivity = math.sqrt(2) * math.sqrt(2) / (0.03 * 1400)
    assert scale == pytest.approx(sensitivity * 1.002 / 0.26806, rel=1e-3)


def test_one_fit_serves_every_epsilon_and_releases_compose(head):
    before = head.coordinates_.copy()
    claims = [
        release_weights(head, epsilon=e, delta=1e-6, relation="add-remove").guarantee
        for e in (0.5, 1.0)
    ]
    assert np.array_equal(head.coordinates_, before)
    total = composed(claims)
    assert (total.grade, total.epsilon) == (Grade.PROVEN, 1.5)


def test_persons(head):
    released = release_weights(
        head, epsilon=1.0, delta=1e-5, relation="add-remove", max_records_per_person=3
    )
    alone = release_weights(head, epsilon=1.0, delta=1e-5, relation="add-remove")
    assert released.guarantee.unit == "one person with at most 3 records"
    assert released.scales["coordinates"] == pytest.approx(
        3 * alone.scales["coordinates"], rel=2e-3
    )
    one = release_weights(
        head, epsilon=1.0, delta=1e-5, relation="add-remove", max_records_per_person=1
    )
    assert (one.guarantee.unit, alone.guarantee.unit) == (
        "one person with at most 1 record",
        "one record",
    )
    assert one.scales["coordinates"] == alone.scales["coordinates"]
    assert set(one.guarantee.stated) - set(alone.guarantee.stated) == {
        "no person owns more than 1 of the rows fitted on; which rows of a person are kept depends"
        " on that person's rows alone, and the kept rows are the records counted here"
    }


def test_the_empty_data_set_is_released_too():
    head = SoftmaxHead(classes=range(3), records=100).fit(np.zeros((0, 4)), np.array([], int))
    released = release_weights(head, epsilon=1.0, delta=1e-5, relation="add-remove")
    assert released.guarantee.grade is Grade.PROVEN
    assert released.tensors["coordinates"].shape == (2, 5)


def test_laplace_noise_grows_with_the_root_of_the_dimension(head):
    """Pure Laplace and logistic noise rest on L1 ≤ √p·L2 over the p released coordinates."""
    sensitivity = math.sqrt(2) * math.sqrt(2) / (0.03 * 1400) * 1.002
    for mechanism in ("laplace", "logistic"):
        released = release_weights(
            head, epsilon=2.0, delta=0.0, relation="add-remove", mechanism=mechanism
        )
        assert released.scales["coordinates"] == pytest.approx(
            math.sqrt(585) * sensitivity / 2, rel=1e-3
        )
    pure = release_weights(
        head, epsilon=2.0, delta=0.0, relation="add-remove", mechanism="l2-laplace"
    )
    assert pure.scales["coordinates"] == pytest.approx(sensitivity / 2, rel=1e-3)


def test_a_released_head_cannot_be_edited_and_stay_proven(head):
    released = release_weights(head, epsilon=1.0, delta=1e-5, relation="add-remove")
    raw = dataclasses.replace(released, tensors={"coordinates": head.coordinates_.copy()})
    assert raw.guarantee.grade is Grade.DECLARED
    with pytest.raises(ValueError, match="read-only"):
        released.tensors["coordinates"][:] = 0.0
    with pytest.raises(InputError, match=r"got: coordinates does not have the shape \(9, 65\)"):
        dataclasses.replace(released, tensors={"coordinates": np.ones((1, 400))})


def test_only_free_coordinates_are_released(head):
    released = release_weights(head, epsilon=1.0, delta=1e-5, relation="add-remove")
    assert released.tensors["coordinates"].shape == (9, 65)
    assert np.abs(released.recipe.layer(released.tensors).weights.sum(axis=0)).max() < 1e-12


class TestRefusals:
    def refused(self, head, message, **changes):
        arguments = {"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove"} | changes
        with pytest.raises(InputError, match=message) as caught:
            release_weights(head, **arguments)
        assert "\n" not in str(caught.value)

    def test_changed_weights(self, head):
        head.coordinates_[0, 0] = np.nextafter(head.coordinates_[0, 0], 1.0)
        self.refused(head, "head must be as fit left it")

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("penalty", 1.0),
            ("bound", 0.1),
            ("intercept", 0.5),
            ("centre", [0.0]),
            ("records", 10**9),
            ("tolerance", 1.0),
            ("class_weight", {1: 0.5}),
            ("classes", list(range(10))[::-1]),
        ],
    )
    def test_changed_parameters(self, head, name, value):
        head.set_params(**{name: value})
        self.refused(head, "head must be as fit left it")

    @pytest.mark.parametrize("name", ["classes", "class_weight", "records"])
    def test_what_was_private_at_the_fit_stays_private(self, digits, name):
        """Parameters that are mended after the fit do not mend the fit."""
        X, y = digits
        public = {"classes": range(10), "class_weight": None, "records": 1797}
        private = {"classes": None, "class_weight": "balanced", "records": None}
        head = SoftmaxHead(**(public | {name: private[name]})).fit(X, y)
        head.set_params(**{name: public[name]})
        self.refused(head, "head must be as fit left it")

    def test_attributes_that_are_changed_are_not_read(self, head, digits):
        head.classes_ = head.classes_[::-1]
        released = release_weights(head, epsilon=9.0, delta=1e-5, relation="add-remove")
        assert released.classes_.tolist() == list(range(10))

    def test_a_subclass(self, digits):
        class Unclipped(SoftmaxHead):
            def _map(self, rows):
                return np.hstack([rows, np.ones((len(rows), 1))])

        X, y = digits
        self.refused(Unclipped(classes=range(10), records=1797).fit(X, y), "SigmoidHead itself")

    def test_a_copy_that_was_not_fitted_here(self, head):
        self.refused(copy.deepcopy(head), "head must be fitted in this process")

    def test_a_fitted_scaler_before_the_head(self, digits):
        X, y = digits
        pipeline = make_pipeline(StandardScaler(), SoftmaxHead(classes=range(10), records=1797))
        self.refused(
            pipeline.fit(X, y), "step 'standardscaler' before the head must be a PublicStep"
        )

    def test_classes_read_off_the_labels(self, digits):
        X, y = digits
        self.refused(SoftmaxHead(records=1797).fit(X, y), "classes must be given")

    def test_balanced_weights(self, digits):
        X, y = digits
        head = SoftmaxHead(classes=range(10), records=1797, class_weight="balanced").fit(X, y)
        self.refused(head, "class_weight must be public")

    def test_no_public_normaliser_under_add_remove(self, digits):
        X, y = digits
        head = SoftmaxHead(classes=range(10)).fit(X, y)
        self.refused(head, "records must be given")
        release_weights(head, epsilon=1.0, delta=1e-5, relation="replace-one")

    def test_the_rest(self, head):
        self.refused(head, "relation must be", relation="as declared with the sensitivity")
        self.refused(head, "mechanism must be one of", mechanism="uniform")
        self.refused(head, "epsilon must be > 0", epsilon=float("nan"))
        self.refused(head, "delta must be > 0", delta=0.0)
        self.refused(SoftmaxHead(), "head must be fitted")
        self.refused("head", "head must be a SoftmaxHead")


class TestPublicSteps:
    """theory F7: a step that was fitted before the head must have been fitted on public data."""

    def test_a_step_fitted_on_public_data_is_stated(self, digits):
        X, y = digits
        scaler = StandardScaler().fit(X[1400:])
        pipeline = make_pipeline(
            PublicStep(scaler), "passthrough", SoftmaxHead(classes=range(10), records=1400, bound=8)
        )
        pipeline.fit(X[:1400], y[:1400])
        assert scaler.n_samples_seen_ == 397  # the private rows have not been seen
        released = release_weights(pipeline, epsilon=1.0, delta=1e-5, relation="add-remove")
        assert released.guarantee.grade is Grade.PROVEN
        assert any("step 'publicstep' before the head" in s for s in released.guarantee.stated)
        direct = SoftmaxHead(classes=range(10), records=1400, bound=8)
        direct.fit(scaler.transform(X[:1400]), y[:1400])
        assert np.array_equal(direct.coordinates_, pipeline[-1].coordinates_)

    def test_an_unfitted_step_is_not_fitted_on_private_rows(self, digits):
        X, y = digits
        pipeline = make_pipeline(PublicStep(StandardScaler()), SoftmaxHead(classes=range(10)))
        with pytest.raises(NotFittedError):
            pipeline.fit(X, y)

    def test_clones_share_it(self, digits):
        step = PublicStep(StandardScaler().fit(digits[0]))
        assert clone(make_pipeline(step, SoftmaxHead()))[0] is step


def test_a_penalty_searched_on_private_records_is_refused(digits):
    X, y = digits
    search = GridSearchCV(
        SoftmaxHead(classes=range(10), records=300), {"penalty": [0.1, 1.0]}, cv=2
    ).fit(X[:300], y[:300])
    with pytest.raises(InputError, match="must not come from a search over private records"):
        release_weights(search, epsilon=1.0, delta=1e-5, relation="add-remove")


def test_several_labels_are_released_in_all_coordinates(digits, tmp_path):
    X, y = digits
    labels = np.stack([y % 2, y > 4, y == 0], axis=1).astype(int)
    head = SigmoidHead(penalty=0.05, classes=["odd", "large", "zero"], records=1400, bound=2.5)
    released = release_weights(
        head.fit(X[:1400], labels[:1400]), epsilon=50.0, delta=1e-5, relation="replace-one"
    )
    assert released.tensors["coordinates"].shape == (3, 65)
    assert released.guarantee.grade is Grade.PROVEN
    assert not any("zero-sum" in line for line in released.guarantee.checked)
    sensitivity = 2 * math.sqrt(3) * head.radius / (0.05 * 1400)
    assert released.scales["coordinates"] * gaussian.shift(50.0, 1e-5) == pytest.approx(
        sensitivity, rel=2e-3
    )
    assert np.mean(released.predict(X[1400:]) == labels[1400:]) > 0.7
    save(released, tmp_path / "head")
    assert verify(tmp_path / "head").holds
    again = load(tmp_path / "head")
    assert np.array_equal(again.predict(X), released.predict(X))
    assert np.array_equal(again.predict_proba(X) > 0.5, released.decision_function(X) > 0)


def test_rows_scaled_to_the_bound(digits):
    X, y = digits
    scaled = SoftmaxHead(penalty=0.03, classes=range(10), norms="scale", bound=2.0).fit(X, y)
    longer = SoftmaxHead(penalty=0.03, classes=range(10), norms="scale", bound=2.0).fit(9 * X, y)
    assert longer.coordinates_ == pytest.approx(scaled.coordinates_, abs=1e-6)
    released = release_weights(scaled, epsilon=1e3, delta=1e-5, relation="replace-one")
    assert released.logits(X) == pytest.approx(released.logits(5 * X), abs=1e-9)


def test_numbers_can_be_planned_before_any_record_is_seen(digits):
    X, y = digits
    for head in (
        SoftmaxHead(classes=range(10), records=1700, centre=np.zeros(64)),
        SoftmaxHead(classes=range(10), records=1700, class_weight={3: 2.0}, intercept=0.0),
    ):
        planned = head.planned(64)
        assert not hasattr(head, "classes_")
        assert head.fit(X, y).certified().numbers == planned
    with pytest.raises(InputError, match="classes and records must be given to plan"):
        SoftmaxHead().planned(5)
