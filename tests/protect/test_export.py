"""A release elsewhere: by its formula, in scikit-learn, in ONNX; and names find their places."""

import json
import re

import numpy as np
import onnxruntime
import pytest
from safetensors.numpy import load_file

from reticent.data import Dataset
from reticent.protect import ReleaseRequest, load, release_table, save, verify
from reticent.protect.export import to_onnx, to_sklearn
from reticent.protect.feature_names import feature_names, in_order
from reticent.protect.public_facts import target_options
from reticent.validation import InputError

NAMES = ("age", "height", "weight", "pulse", "sugar", "salt")
TERMS = {"epsilon": 5.0, "delta": 1e-5, "relation": "add-remove", "records": 300}
WAYS = {
    "class-means": {},
    "noisy-gradient": {},
    "lda": {},
    "adassp": {},
    "weights": {"bound": 2.0},
    "weights scaled": {"bound": 2.0, "norms": "scale", "mean_bound": 3.0},
    "weights centred": {"bound": 1.5, "mean_bound": 3.0},
    "weights without constant": {"bound": 1.5, "intercept": 0.0},
}


def table(classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, len(NAMES)))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 1) * (len(classes) > 2)
    return Dataset(name="t", source="made here", inputs=X, labels=y, classes=classes, columns=NAMES)


def queries():
    """Short and long rows, and one of zeros."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(400, len(NAMES))) * np.exp(3 * rng.normal(size=(400, 1)))
    return np.concatenate([rows, np.zeros((1, len(NAMES)))])


@pytest.fixture(scope="module", params=[(way, n) for way in WAYS for n in (2, 3)], ids=str)
def released(request):
    way, many = request.param
    data = table(("no", "yes", "perhaps")[:many])
    asked = ReleaseRequest.of(**TERMS, recipe=way.split()[0], **WAYS[way])
    return release_table(data, asked)


def by_the_formula(certificate, tensors, X):
    """Scores as the lines of a certificate say, in plain numpy: nothing of the package is used."""
    lines = certificate["formula"]
    if lines[0].startswith("u = x/‖x‖₂"):
        norms = np.linalg.norm(X, axis=1, keepdims=True)
        u = np.divide(X, norms, where=norms > 0, out=np.zeros_like(X))
        return u @ tensors["weights"].T + tensors["offsets"]
    z = X - tensors["centre"] if lines[0] == "z = x − centre" else X
    norms = np.linalg.norm(z, axis=1, keepdims=True)
    bound = float(re.search(r"([\d.]+)/‖z‖₂", lines[1])[1])
    factor = np.divide(bound, norms, where=norms > 0, out=np.zeros_like(norms))
    u = z * (np.where(norms > 0, np.minimum(factor, 1), 1) if "min(" in lines[1] else factor)
    if found := re.match(r"h = u with ([\d.]+) as one entry more", lines[2]):
        u = np.column_stack([u, np.full(len(u), float(found[1]))])
    many = len(certificate["classes"])
    basis = np.zeros((many, many - 1))
    for k in range(1, many):
        basis[:k, k - 1], basis[k, k - 1] = 1 / np.sqrt(k * (k + 1)), -k / np.sqrt(k * (k + 1))
    return u @ (basis @ tensors["coordinates"]).T


def test_the_certificate_says_how_to_use_it(released, tmp_path):
    save(released, tmp_path / "r")
    certificate = json.loads((tmp_path / "r.json").read_text())
    assert certificate["columns"] == list(NAMES)
    scores = by_the_formula(certificate, load_file(tmp_path / "r.safetensors"), queries())
    assert np.abs(scores - released.logits(queries())).max() < 1e-9
    again = load(tmp_path / "r")
    assert again.columns == NAMES
    assert verify(tmp_path / "r").holds


def test_scikit_learn_answers_as_the_release(released):
    model = to_sklearn(released)
    assert type(model).__module__.startswith("sklearn")
    assert np.array_equal(model.predict(queries()), released.predict(queries()))
    chances = model.predict_proba(queries()) - released.predict_proba(queries())
    assert np.abs(chances).max() < 1e-9


def test_onnx_answers_as_the_release(released):
    far = np.array([[1e300] * 6, [1e-300] * 6, [1e300, 1e-300, 0, -1e300, 0, 0]])
    rows = np.concatenate([queries(), far])
    session = onnxruntime.InferenceSession(to_onnx(released))
    labels, chances, scores = session.run(["label", "probabilities", "scores"], {"x": rows})
    assert np.array_equal(labels, released.predict(rows))
    assert np.abs(chances - released.predict_proba(rows)).max() < 1e-12
    assert np.abs(scores - released.logits(rows)).max() < 1e-9


def numbers(learner):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(500, 4))
    data = Dataset(name="n", source="made here", inputs=X, labels=100 + 40 * X[:, 0])
    asked = ReleaseRequest.of(**TERMS, recipe=learner, bound=2.0, **target_options(50.0, 150.0))
    return release_table(data, asked)


def several(**options):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, len(NAMES)))
    data = Dataset(
        name="l", source="made here", inputs=X, labels=(X[:, :3] > 0.3).astype(int),
        classes=("a", "b", "c"),
    )  # fmt: skip
    request = ReleaseRequest.of(**TERMS, recipe="weights", **options)
    return release_table(data, request.for_labels_of(data))


@pytest.mark.parametrize("learner", ["adassp-regression", "functional-regression"])
def test_a_regression_elsewhere(learner):
    model, rows = numbers(learner), 5 * np.random.default_rng(4).normal(size=(200, 4))
    (values,) = onnxruntime.InferenceSession(to_onnx(model)).run(None, {"x": rows})
    assert np.abs(values - model.predict(rows)).max() < 1e-9
    told = to_sklearn(model).predict(rows)
    assert told.shape == (200,)
    assert np.abs(told - model.predict(rows)).max() < 1e-9
    assert told.min() >= 50
    assert told.max() <= 150


@pytest.mark.parametrize("options", [{"bound": 2.0}, {"bound": 2.0, "norms": "scale"}], ids=str)
def test_several_labels_elsewhere(options):
    model = several(**options)
    told = to_sklearn(model)
    assert np.array_equal(told.predict(queries()), model.predict(queries()))
    chances = told.predict_proba(queries()) - model.predict_proba(queries())
    assert np.abs(chances).max() < 1e-9
    session = onnxruntime.InferenceSession(to_onnx(model))
    labels, chances = session.run(["label", "probabilities"], {"x": queries()})
    assert np.array_equal(labels, model.predict(queries()))
    assert np.abs(chances - model.predict_proba(queries())).max() < 1e-12


class Frame:
    """What data frames have in common: columns with names, and an array."""

    ndim = 2

    def __init__(self, values, columns):
        self.values, self.columns = values, columns
        self.dtype, self.shape = values.dtype, values.shape

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __len__(self):
        return len(self.values)


def test_columns_of_a_frame_find_their_places(released):
    order = [3, 0, 5, 1, 4, 2]
    turned = Frame(queries()[:, order], [NAMES[place] for place in order])
    assert np.array_equal(released.predict(turned), released.predict(queries()))
    with pytest.raises(InputError, match=r"lack 'salt' and have 1 other column"):
        released.predict(Frame(queries(), [*NAMES[:5], "pepper"]))


def test_names_that_only_count_are_no_names():
    rows = np.arange(6.0).reshape(2, 3)
    assert feature_names(("x[0]", "x[1]", "x[2]")) == ()
    assert feature_names(("x[1]", "x[0]")) == ("x[1]", "x[0]")
    assert feature_names(("a", "a")) == ()
    assert in_order(rows, ("x[0]", "x[1]", "x[2]"), ("a", "b", "c")) is rows
    assert in_order(rows, ("c", "a", "b"), ("a", "b", "c")).tolist() == [[1, 2, 0], [4, 5, 3]]


def test_another_formula_or_columns_are_found(released, tmp_path):
    for field, value, words in (
        ("formula", ["scores = x"], "formula is not that of the recipe"),
        ("columns", ["age"], "columns must name each of 6 features once"),
        ("columns", "age", "columns must be a list"),
    ):
        save(released, tmp_path / "r")
        path = tmp_path / "r.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
        with pytest.raises(InputError, match=words):
            load(tmp_path / "r")
