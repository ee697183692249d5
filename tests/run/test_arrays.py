"""``reticent.run.run``: arrays as people have them, and every kind of classifier."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from reticent.protect import load
from reticent.run import arrays, run
from reticent.run.releases import recommended_kind
from reticent.validation import InputError

X, Y = load_digits(return_X_y=True)
ORDER = np.random.default_rng(5).permutation(len(X))
X, Y = X[ORDER] / 16, Y[ORDER]
PRIVATE, UNSEEN = (X[:150], Y[:150]), (X[150:270], Y[150:270])
PUBLIC_NUMBERS = {"classes": range(10), "bound": 4.0, "records": 150}
ASKED = {"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove"}
COUNTED = {"records_from_data": True}
PARTS = ("data", "spec")
QUICK = {
    "epsilons": (1.0,), "mechanisms": (), "penalties": (1e-4,), "pairs": 10, "draws": 2,
    "shadows": 10, "beta": 1e-7,
}  # fmt: skip


@pytest.fixture
def asked(monkeypatch):
    """What would be done: the data, the specification and the model."""

    def call(model=None, data=PRIVATE, test=UNSEEN, **more):
        found = {}
        monkeypatch.setattr(
            arrays,
            "run_job",
            lambda roles, spec, model, stage: found.update(data=roles, spec=spec, model=model),
        )
        monkeypatch.setattr(arrays, "_typed", lambda finished, classes: finished)
        counted = {} if "records" in more else COUNTED
        run(model, *data, test=test, **ASKED | counted | more)
        return found

    return call


def refusal(asked, *arguments, **more):
    with pytest.raises(InputError) as refused:
        asked(*arguments, **more)
    (line,) = str(refused.value).splitlines()
    return line


LABELS = {
    "int64": lambda y: y,
    "uint8": lambda y: y.astype(np.uint8),
    "list of int": lambda y: y.tolist(),
    "text": lambda y: y.astype(str),
    "list of str": lambda y: [str(one) for one in y],
    "list of np.str_": lambda y: [np.str_(one) for one in y],
    "objects": lambda y: np.array([str(one) for one in y], dtype=object),
}


@pytest.mark.parametrize("form", LABELS)
def test_labels_of_every_form_are_the_same_records(asked, form):
    spell = LABELS[form]
    given = {"data": (X[:150], spell(Y[:150])), "test": (X[150:270], spell(Y[150:270]))}
    for classes in (None, range(10), [str(one) for one in range(10)], np.arange(10)):
        found = asked(**given, classes=classes, bound=4.0, records=150)
        roles, spec = found["data"], found["spec"]
        assert roles.private.classes == tuple("0123456789")
        assert np.array_equal(roles.private.labels, Y[:150])
        assert np.array_equal(roles.test.labels, Y[150:270])
        assert spec.inferred_from_data == (("classes",) if classes is None else ())


def test_more_than_ten_numbers_keep_their_names(asked):
    found = asked(data=(X[:150], Y[:150] + 5), test=(X[150:270], Y[150:270] + 5))
    roles = found["data"]
    assert roles.private.classes == tuple(map(str, range(5, 15)))
    assert roles.rows("private")[1].tolist() == (Y[:150] + 5).astype(str).tolist()


def test_under_add_remove_the_number_of_records_is_said(asked):
    line = refusal(asked, records_from_data=False, bound=4.0, classes=range(10))
    assert line.startswith("records must be said (or records_from_data=True): read off the data N")
    spec = asked(relation="replace-one", records_from_data=False)["spec"]
    assert "records" in spec.inferred_from_data


def test_what_is_not_said_is_read_off(asked):
    spec = asked()["spec"]
    assert spec.inferred_from_data == ("classes", "bound", "records")
    assert spec.records == 150
    rows = X[:150].astype(np.float32).astype(float)
    assert spec.bound == pytest.approx(np.linalg.norm(rows, axis=1).max())
    assert asked(bound=4.0)["spec"].inferred_from_data == ("classes", "records")
    assert asked(**PUBLIC_NUMBERS)["spec"].inferred_from_data == ()


def test_records_of_people_are_counted_as_they_are_kept(asked):
    for persons in (np.arange(150) // 3, [f"p{one // 3}" for one in range(150)]):
        spec = asked(persons=persons, max_records_per_person=2)["spec"]
        assert spec.records == 100
        assert spec.unit == "one person with at most 2 records"
        spec = asked(persons=persons)["spec"]
        assert (spec.records, spec.unit) == (50, "one person with at most 1 record")
    assert asked()["spec"].unit == "one record"


def test_the_learner_that_is_said_is_handed_over(asked):
    found = {
        said: recommended_kind(*(asked(**PUBLIC_NUMBERS, **said_as)[part] for part in PARTS))
        for said, said_as in {
            "nothing": {},
            "a learner": {"learner": "class-means"},
            "weights": {"learner": "weights"},
            "a network": {"learner": "network"},
            "clusters": {"prototypes": True, "epsilon": 40.0},
        }.items()
    }
    learners = {said: kind.learner for said, kind in found.items()}
    assert learners == {
        "nothing": "noisy-gradient",
        "a learner": "class-means",
        "weights": "weights",
        "a network": "network",
        "clusters": "class-means",
    }
    assert found["a learner"].request.mechanism == "gaussian"
    assert "learner must be one of" in refusal(asked, **PUBLIC_NUMBERS, learner="none")


def test_public_rows_whiten_all_others(asked):
    found = asked(public=X[600:900], **PUBLIC_NUMBERS)
    roles = found["data"]
    assert roles.kind == "features whitened by public records"
    assert roles.public == 300
    assert not np.allclose(roles.private.features, X[:150])
    assert len(roles.others) + len(roles.own) == len(roles.test) == 120


def test_classes_that_no_record_has(asked):
    found = asked(LogisticRegression(max_iter=500), **PUBLIC_NUMBERS | {"classes": range(12)})
    assert len(found["data"].private.classes) == 12
    model = found["model"]
    answers = model.predict_proba(X[:5])
    assert answers.shape == (5, 12)
    assert model.classes_.tolist() == list(found["data"].private.classes)
    assert (answers[:, 10:] == 0).all()
    assert answers.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"data": (X[:150], Y[:149])}, "labels must have shape (150,)"),
        ({"data": (X[:150], np.where(Y[:150] == 3, np.nan, Y[:150]))}, "y must be finite, got NaN"),
        ({"data": (X[:150], [None] * 150)}, "y must be a list of numbers or texts, got object"),
        ({"data": (X[:150], Y[:150, None])}, "of shape (150, 1)"),
        ({"data": (np.full((150, 3), np.nan), Y[:150])}, "must be finite, got NaN"),
        ({"data": (np.full((150, 64), 1e300), Y[:150]), "bound": None}, "bound must be"),
        ({"data": (X[:150, 0], Y[:150])}, "must have rows and columns"),
        ({"test": UNSEEN[0]}, "test must be features and labels"),
        ({"test": (UNSEEN[0][:, :63], UNSEEN[1])}, "test must have the 64 features"),
        ({"test": (UNSEEN[0][:11], UNSEEN[1][:11])}, "at least 12 records"),
        ({"test": (UNSEEN[0], UNSEEN[1] + 5)}, "labels of test must be of the classes, got 5 "),
        ({"classes": range(9)}, "must be of the classes, got 1 others"),
        ({"classes": ["0"] * 10}, "others"),
        ({"bound": 0.0}, "bound must be > 0"),
        ({"bound": float("nan")}, "bound must be > 0"),
        ({"records": 1.5}, "records must be a whole number"),
        ({"public": X[600:900, :60]}, "public must have the 64 features"),
        ({"epsilon": float("nan")}, "epsilon must be > 0"),
        ({"delta": 1.0}, "delta must be in [0, 1)"),
        (
            {"delta": 0.0, "mechanisms": ("gaussian",)},
            "mechanisms must be of laplace, logistic, l2-laplace at delta 0, got gaussian",
        ),
        ({"delta": 0.0, "learner": "objective"}, "got objective, whose noise is gaussian"),
        ({"relation": "neighbours"}, "relation"),
        ({"draws": 1}, "draws must be >= 2"),
        ({"shadows": 9}, "shadows must be >= 10"),
        ({"seed": -1}, "seed must be >= 0"),
        ({"beta": 0.0}, "beta must be in (0, 1)"),
        ({"penalties": ()}, "penalties must be at least one"),
        ({"epsilons": (1.0000001,)}, "epsilons must differ in their first six digits"),
        ({"persons": np.arange(149)}, "persons must have shape (150,)"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(asked, given, words):
    assert words in refusal(asked, **given)


class OnlyProbabilities:
    """What somebody's serving code may have: no fit, no predict, no parameters."""

    def __init__(self, model):
        self._model = model
        self.classes_ = model.classes_

    def predict_proba(self, rows):
        return self._model.predict_proba(rows)


class NoProbabilities:
    classes_ = np.arange(10)


@pytest.fixture(scope="module")
def fitted():
    return LogisticRegression(max_iter=1000).fit(*PRIVATE)


def test_a_fitted_model_is_taken_as_it_is(asked, fitted):
    before = fitted.coef_.copy()
    model = asked(fitted, **PUBLIC_NUMBERS)["model"]
    assert model.estimator_ is fitted
    assert model.predict(X[150:270]).tolist() == fitted.predict(X[150:270]).astype(str).tolist()
    assert np.array_equal(model.predict_proba(X[:9]), fitted.predict_proba(X[:9]))
    assert np.array_equal(before, fitted.coef_)


def test_an_unfitted_model_is_fitted_on_the_private_rows_and_stays_unfitted(asked):
    given = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    model = asked(given, **PUBLIC_NUMBERS)["model"]
    assert not hasattr(given, "classes_")
    own = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(*PRIVATE)
    assert model.estimator_.classes_.tolist() == list(range(10))  # as they were written
    assert np.mean(model.predict(X[150:270]) == own.predict(X[150:270]).astype(str)) > 0.97
    assert model.called == "Pipeline"


def test_probabilities_alone_are_enough(asked, fitted):
    model = asked(OnlyProbabilities(fitted), **PUBLIC_NUMBERS)["model"]
    assert not hasattr(model, "get_params")  # nobody makes shadows of its kind
    expected = fitted.predict_proba(X[:50]).argmax(axis=1)
    assert model.predict(X[:50]).tolist() == expected.astype(str).tolist()


def test_columns_follow_the_run_and_not_the_model(asked):
    """11 and more numbers are ordered otherwise as texts."""
    labels = Y * 3
    model = LogisticRegression(max_iter=500).fit(X[:150], labels[:150])
    classes = np.unique(labels)[::-1]
    found = asked(
        model, data=(X[:150], labels[:150]), test=(X[150:270], labels[150:270]), classes=classes
    )
    answers = found["model"].predict_proba(X[:20])
    assert found["model"].classes_.tolist() == classes.astype(str).tolist()
    assert np.array_equal(answers, model.predict_proba(X[:20])[:, ::-1])


@pytest.mark.parametrize(
    "model",
    [NoProbabilities(), RidgeClassifier(), SVC().fit(*PRIVATE), object(), LogisticRegression],
    ids=["no predict_proba", "unfitted without", "fitted without", "an object", "a class"],
)
def test_what_is_no_classifier_with_probabilities_is_refused(asked, model):
    assert "model must be a classifier with predict_proba" in refusal(asked, model)


def test_a_fitted_model_saw_no_whitened_rows(asked, fitted):
    assert "public must not be given with a fitted model" in refusal(
        asked, fitted, public=X[600:900]
    )


def test_a_model_of_other_classes_is_refused(asked):
    other = LogisticRegression(max_iter=500).fit(X[:150], Y[:150] + 100)
    model = asked(other, **PUBLIC_NUMBERS)["model"]
    with pytest.raises(InputError, match="all of them among the 10 of the run"):
        model.predict_proba(X[:3])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fitted", "pipeline", "probabilities"])
@pytest.mark.usefixtures("few_transcripts")
def test_the_whole_job_on_each_kind_of_model(fitted, kind, tmp_path):
    """Two classes more than there are, of which a half of the records may lack another."""
    model = {
        "fitted": fitted,
        "pipeline": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "probabilities": OnlyProbabilities(fitted),
    }[kind]
    rare = np.flatnonzero(Y[:150] == 9)[1:]
    rows = np.delete(np.arange(150), rare) if kind == "pipeline" else np.arange(150)
    finished = run(
        model, X[rows], Y[rows], test=UNSEEN, **ASKED, **QUICK,
        **PUBLIC_NUMBERS | {"classes": range(12)},
    )  # fmt: skip
    found = finished.results
    name = {"fitted": "LogisticRegression", "pipeline": "Pipeline"}.get(kind, "OnlyProbabilities")
    assert found.unprotected.name == f"{name} on features"
    assert len(found.facts.classes) == 12
    assert found.unprotected.accuracy.value > 0.75
    assert found.recommended.claim.grade == "proven"
    assert len(found.unprotected.attacks) == 4
    assert finished.released.guarantee.grade == "proven"
    finished.save(tmp_path)
    for release in (finished.released, load(tmp_path / "released")):  # labels keep their type
        hits = release.predict(UNSEEN[0]) == UNSEEN[1]
        assert release.classes_.dtype.kind == "i"
        assert hits.mean() == found.recommended.kept_accuracy.value > 0
