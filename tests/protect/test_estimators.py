"""Ways to a proven guarantee about something else than the learner that was proven."""

import numpy as np
import pandas
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from reticent.guarantee import Grade
from reticent.protect import RECIPES, release_weights
from reticent.protect.estimators import (
    ESTIMATORS,
    AdaSSPHead,
    AdaSSPRegressor,
    ClassMeansHead,
    LDAHead,
    MatrixLDAHead,
    NoisyGradientHead,
    PrivateNetwork,
    PureClassMeansHead,
)
from reticent.training import PublicStep, SoftmaxHead
from reticent.validation import InputError

HEADS = (
    NoisyGradientHead,
    ClassMeansHead,
    AdaSSPHead,
    LDAHead,
    PureClassMeansHead,
    MatrixLDAHead,
)
TERMS = {"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove"}
X = np.random.default_rng(0).normal(size=(60, 4))
Y = np.arange(60) % 2


WITHOUT = ("functional", "functional-regression", "objective", "pate", "input")
"""Other places for noise: released by name."""


def learner_of(kind):
    if issubclass(kind, AdaSSPRegressor):
        return kind(bound=1.0, target_bound=1.0, records=60, **TERMS)
    return kind(classes=range(2), records=60, **TERMS)


def test_every_recipe_that_learns_from_sums_has_its_estimator():
    assert set(ESTIMATORS) == {*HEADS, PrivateNetwork, AdaSSPRegressor}
    assert {kind.recipe for kind in ESTIMATORS} == {
        RECIPES[name]
        for name in RECIPES
        if name not in ("weights", "mean", *WITHOUT) and RECIPES[name].task != "encoding"
    }


@pytest.mark.parametrize("kind", [*HEADS, AdaSSPRegressor])
class TestEveryLearner:
    def test_is_proven_by_itself_and_behind_public_steps(self, kind):
        assert learner_of(kind).fit(X, Y).guarantee_.grade is Grade.PROVEN
        public = PublicStep(StandardScaler().fit(np.eye(4)))
        model = Pipeline([("scaled", public), ("last", learner_of(kind))]).fit(X, Y)
        claim = model[-1].guarantee_
        assert claim.grade is Grade.PROVEN
        assert any("step 'scaled' before the head" in line for line in claim.stated)

    def test_subclasses_do_not_mint(self, kind):
        class Quiet(kind):
            pass

        with pytest.raises(InputError, match="learner must be one of the package's own classes"):
            learner_of(Quiet).fit(X, Y)

    def test_a_class_that_says_it_is_another(self, kind):
        class Quiet(kind):
            pass

        Quiet.__name__, Quiet.__module__ = kind.__name__, kind.__module__
        with pytest.raises(InputError, match="learner must be one of the package's own classes"):
            learner_of(Quiet).fit(X, Y)

    @pytest.mark.parametrize(
        "name", ["prepared", "_prepared", "_terms", "recipe", "fit", "__dataclass_fields__"]
    )
    def test_replaced_methods_and_constants_do_not_mint(self, kind, name):
        learner = learner_of(kind)
        setattr(learner, name, getattr(learner, name))
        with pytest.raises(InputError, match="must be fitted with its own methods and constants"):
            kind.fit(learner, X, Y)

    @pytest.mark.parametrize("step", [StandardScaler(), PCA(2)])
    def test_steps_fitted_on_private_rows(self, kind, step):
        with pytest.raises(InputError, match=r"step '\w+' before the head must be a PublicStep"):
            make_pipeline(step, learner_of(kind)).fit(X, Y)
        nested = make_pipeline(step, make_pipeline(learner_of(kind)))
        with pytest.raises(InputError, match=r"step '\w+' before the head must be a PublicStep"):
            nested.fit(X, Y)

    def test_a_grid_search(self, kind):
        search = GridSearchCV(learner_of(kind), {"records": [60, 70]}, cv=2, error_score="raise")
        with pytest.raises(InputError, match="got a fit inside GridSearchCV"):
            search.fit(X, Y)

    def test_a_step_that_learns_nothing_is_wrapped_without_a_fit(self, kind):
        step = FunctionTransformer(np.tanh)
        with pytest.raises(InputError, match="FunctionTransformer, which may look at all rows"):
            make_pipeline(step, learner_of(kind)).fit(X, Y)
        fitted = make_pipeline(PublicStep(step), learner_of(kind)).fit(X, Y)
        assert fitted[-1].guarantee_.grade is Grade.PROVEN
        assert any("'publicstep'" in line for line in fitted[-1].guarantee_.stated)

    @pytest.mark.parametrize("function", [cross_val_score, cross_val_predict, cross_validate])
    def test_cross_validation(self, kind, function):
        raised = {} if function is cross_val_predict else {"error_score": "raise"}
        with pytest.raises(InputError, match=f"got a fit inside {function.__name__}, which looks"):
            function(learner_of(kind), X, Y, cv=2, **raised)

    def test_a_search_in_another_process_is_stated(self, kind):
        claim = learner_of(kind).fit(X, Y).guarantee_
        assert any("GridSearchCV" in line for line in claim.stated)


def test_estimators_around_learners():
    with pytest.raises(InputError, match="got a fit inside BaggingClassifier"):
        BaggingClassifier(learner_of(ClassMeansHead), n_estimators=2).fit(X, Y)
    scaled = TransformedTargetRegressor(learner_of(AdaSSPRegressor), transformer=StandardScaler())
    with pytest.raises(InputError, match="got a fit inside TransformedTargetRegressor"):
        scaled.fit(X, Y.astype(float))


class TestHeads:
    """A head that was taken out of what fitted it is refused like what fitted it."""

    def head(self):
        return SoftmaxHead(classes=range(2), records=60, penalty=0.1)

    def test_out_of_a_pipeline(self):
        model = make_pipeline(StandardScaler(), self.head()).fit(X, Y)
        with pytest.raises(InputError, match="must be a PublicStep"):
            release_weights(model[-1], **TERMS)

    def test_out_of_a_search(self):
        search = GridSearchCV(self.head(), {"penalty": [0.1, 1.0]}, cv=2).fit(X, Y)
        with pytest.raises(InputError, match="got a fit inside GridSearchCV"):
            release_weights(search.best_estimator_, **TERMS)

    def test_with_another_map(self):
        head = self.head()
        head._map = lambda rows: np.hstack([1e6 * rows, np.ones((len(rows), 1))])
        head.fit(X, Y)
        del head._map
        with pytest.raises(InputError, match="own methods and constants, got another '_map'"):
            release_weights(head, **TERMS)

    def test_behind_public_steps(self):
        public = PublicStep(StandardScaler().fit(np.eye(4)))
        model = make_pipeline(public, self.head()).fit(X, Y)
        for head in (model, model[-1]):
            stated = release_weights(head, **TERMS).guarantee.stated
            assert sum("step 'publicstep' before the head" in line for line in stated) == 1
            assert any("GridSearchCV" in line for line in stated)


@pytest.mark.parametrize("asked", ["predict", "predict_proba", "decision_function"])
def test_a_frame_with_other_columns_is_refused_not_taken_in_its_order(asked):
    rows = pandas.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["age", "paid"])
    head = ClassMeansHead(
        classes=("a", "b"), epsilon=1.0, delta=1e-5, relation="add-remove", records=40
    ).fit(rows, np.where(rows["age"] > 0, "a", "b"))
    assert len(getattr(head, asked)(rows)) == 40
    assert len(getattr(head, asked)(rows.to_numpy())) == 40
    for others in (rows[["paid", "age"]], rows.rename(columns={"age": "size"})):
        with pytest.raises(InputError, match=r"in their order, got others: take X\[\['age', 'paid"):
            getattr(head, asked)(others)
