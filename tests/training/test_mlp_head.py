"""Dense heads: the objective they descend, their determinism, their weights, scikit-learn."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from scipy.optimize import approx_fprime
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from reticent.training import MLPHead
from reticent.training.features import clip_rows
from reticent.validation import InputError

NOT_ASKED = {"check_array_api_input": "arrays of other libraries are not promised"}

SHAPES = [
    {"layers": 1},
    {"layers": 2, "activation": "relu"},
    {"layers": 2, "activation": "tanh"},
    {"layers": 3, "activation": "tanh"},
    {"layers": 3, "activation": "relu"},
]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 4)), rng.integers(3, size=30)


@pytest.fixture(scope="module")
def head(small):
    X, y = small
    return MLPHead(layers=3, width=5, steps=20).fit(X, y)


def flat(head):
    return head.flat_weights().tobytes()


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=check.func.__name__)
        for _, check in estimator_checks_generator(MLPHead())
        if check.func.__name__ not in NOT_ASKED
    ],
)
def test_scikit_learn(check):
    check(MLPHead(layers=2, steps=200))


def objective(head, vector, X, y):
    """The documented loss, from predictions of a head that carries the vector."""
    chosen = head.with_flat_weights(vector).predict_proba(X)[np.arange(len(y)), y]
    return -np.log(chosen).mean() + head.penalty / 2 * vector @ vector


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "-".join(map(str, shape.values())))
def test_a_step_goes_down_the_gradient_of_the_documented_loss(small, shape):
    """The second step of length 1 is 0.9 of the first minus the gradient, taken numerically.

    The first starts from biases of 0, where relu has kinks.
    """
    X, y = small
    fixed = {"width": 5, "penalty": 0.3, "optimiser": "sgd", "learning_rate": 1.0, **shape}
    heads = [MLPHead(steps=steps, **fixed).fit(X, y) for steps in range(3)]
    first, second = np.diff([head.flat_weights() for head in heads], axis=0)
    point = heads[1].flat_weights()
    gradient = approx_fprime(point, lambda v: objective(heads[1], v, X, y), 1e-7)
    assert 0.9 * first - second == pytest.approx(gradient, abs=3e-6)
    assert np.abs(gradient).max() > 0.05


@pytest.mark.slow
def test_one_layer_is_logistic_regression(digits):
    X, y = digits
    head = MLPHead(penalty=0.01, steps=2000, optimiser="sgd", learning_rate=0.3).fit(X, y)
    rows = np.hstack([X, np.ones((len(y), 1))])  # the bias is penalised too
    peer = LogisticRegression(C=1 / (0.01 * len(y)), fit_intercept=False, tol=1e-8, max_iter=5000)
    expected = peer.fit(rows, y).coef_
    weight, bias = head.weights_[0]
    assert np.column_stack([weight, bias]) == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
def test_hidden_layers_learn_what_no_line_separates(optimiser):
    X = np.random.default_rng(1).uniform(-1, 1, size=(400, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    recipe = {"penalty": 0.0, "optimiser": optimiser, "learning_rate": 0.1, "batch": 100}
    recipe |= {"steps": 1000} if optimiser == "sgd" else {"learning_rate": 0.01}
    assert MLPHead(layers=1, **recipe).fit(X, y).score(X, y) < 0.8  # three of four corners at best
    for layers in (2, 3):
        assert MLPHead(layers=layers, **recipe).fit(X, y).score(X, y) > 0.95


class TestDeterminism:
    @pytest.mark.parametrize("batch", [None, 7])
    def test_equal_bits_and_another_seed(self, small, batch):
        X, y = small
        recipe = {"layers": 3, "batch": batch, "steps": 30}
        first, again, other = (MLPHead(seed=s, **recipe).fit(X, y) for s in (5, 5, 6))
        assert flat(first) == flat(again)
        assert flat(first) != flat(other)

    def test_the_surroundings_are_neither_read_nor_changed(self, small):
        X, y = small
        expected = flat(MLPHead(layers=2, batch=7, steps=20).fit(X, y))
        torch.manual_seed(123)
        state, threads = torch.get_rng_state(), torch.get_num_threads()
        numpy_state = np.random.get_state()[1].tobytes()  # noqa: NPY002 - it must not change
        torch.set_default_dtype(torch.float64)
        try:
            with torch.inference_mode(), torch.device("meta"):
                found = flat(MLPHead(layers=2, batch=7, steps=20).fit(X, y))
                assert torch.is_inference_mode_enabled()
            assert torch.get_default_dtype() == torch.float64
        finally:
            torch.set_default_dtype(torch.float32)
        assert found == expected
        assert torch.equal(torch.get_rng_state(), state)
        assert torch.get_num_threads() == threads
        assert np.random.get_state()[1].tobytes() == numpy_state  # noqa: NPY002

    def test_each_pass_sees_every_record_once_in_an_order_of_its_own(self):
        from reticent.training import dense

        recipe = dense.Recipe(
            sizes=(1, 2), activation="relu", penalty=0.0, optimiser="sgd", learning_rate=1.0,
            steps=1, batch=4, seed=0,
        )  # fmt: skip
        stream = dense._batches(10, recipe, torch.Generator().manual_seed(0))
        passes = [torch.cat([next(stream) for _ in range(3)]).tolist() for _ in range(2)]
        assert [sorted(seen) for seen in passes] == [list(range(10))] * 2
        assert passes[0] != passes[1]


class TestWeights:
    def test_shapes_and_types(self, head):
        assert [(w.shape, b.shape) for w, b in head.weights_] == [
            ((5, 4), (5,)),
            ((5, 5), (5,)),
            ((3, 5), (3,)),
        ]
        assert all(part.dtype == np.float64 for layer in head.weights_ for part in layer)

    def test_the_order_of_the_vector(self, head):
        (_, _), (w2, b2), (w3, b3) = head.weights_
        expected = [*w2.ravel(), *b2, *w3.ravel(), *b3]
        assert head.flat_weights(last=2).tolist() == expected
        assert head.flat_weights(last=1).tolist() == expected[30:]
        assert np.array_equal(head.flat_weights(), head.flat_weights(last=3))

    @pytest.mark.parametrize("last", [None, 1, 2, 3])
    def test_the_inverse(self, head, small, last):
        before = flat(head)
        vector = head.flat_weights(last)
        assert flat(head.with_flat_weights(vector, last)) == before
        changed = head.with_flat_weights(vector + 1.0, last)
        assert np.array_equal(changed.flat_weights(last), vector + 1.0)
        untouched = 3 - (3 if last is None else last)
        for (w, b), (old_w, old_b) in zip(
            changed.weights_[:untouched], head.weights_[:untouched], strict=True
        ):
            assert np.array_equal(w, old_w)
            assert np.array_equal(b, old_b)
        assert flat(head) == before

    def test_a_changed_head_predicts_with_its_weights_and_shares_no_memory(self, head, small):
        X, _ = small
        weights = [(w.copy(), b.copy()) for w, b in head.weights_]
        weights[-1] = (np.zeros((3, 5)), np.log([0.5, 0.3, 0.2]))
        expected = head.predict_proba(X)
        changed = head.with_weights(weights)
        assert changed.predict_proba(X[:1]) == pytest.approx(np.array([[0.5, 0.3, 0.2]]))
        weights[-1][1][:] = 7.0
        changed.weights_[0][0][:] = 0.0
        assert changed.predict_proba(X[:1])[0, 0] == pytest.approx(0.5)
        assert np.array_equal(head.predict_proba(X), expected)

    def test_bad_weights(self, head):
        with pytest.raises(InputError, match="weights must be 3 pairs, got 1"):
            head.with_weights(head.weights_[:1])
        with pytest.raises(InputError, match=r"W of layer 1 must have shape \(5, 4\)"):
            head.with_weights(head.weights_[::-1])
        with pytest.raises(InputError, match=r"vector must have shape \(18,\), got shape \(73,\)"):
            head.with_flat_weights(head.flat_weights(), last=1)
        with pytest.raises(InputError, match="vector must be finite"):
            head.with_flat_weights(head.flat_weights() * np.nan)
        with pytest.raises(InputError, match="last must be at most the number of layers, 3, got 4"):
            head.flat_weights(last=4)
        with pytest.raises(InputError, match="last must be >= 1"):
            head.flat_weights(last=0)


def test_probabilities_are_float64_rows_that_sum_to_one(digits):
    X, y = digits
    head = MLPHead(layers=2, steps=20).fit(X, y)
    rows = head.predict_proba(1e30 * X)
    assert rows.dtype == np.float64
    assert rows.sum(axis=1) == pytest.approx(np.ones(len(y)))
    assert np.array_equal(head.predict_proba(X).argmax(axis=1), head.predict(X))


def test_two_classes_have_one_decision_value(small):
    X, y = small
    head = MLPHead(layers=2, steps=20).fit(X, y > 0)
    logits = head.logits(X)
    assert np.array_equal(head.decision_function(X), logits[:, 1] - logits[:, 0])


def test_in_a_pipeline(digits):
    X, y = digits
    model = make_pipeline(StandardScaler(), MLPHead(layers=2, width=32, steps=200))
    model.set_params(mlphead__steps=100)
    assert model.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.75


def test_rows_are_clipped_in_training_and_queries(small):
    X, y = small
    clipped = clip_rows(X, 0.5)
    bounded = MLPHead(layers=2, steps=20, bound=0.5).fit(X, y)
    plain = MLPHead(layers=2, steps=20).fit(clipped, y)
    assert flat(bounded) == flat(plain)
    assert np.array_equal(bounded.logits(X), plain.logits(clipped))
    far = MLPHead(steps=20, bound=1.0).fit(1e300 * X, y)
    assert np.isfinite(far.predict_proba(1e300 * X)).all()


class TestPublicClasses:
    def test_their_order_and_one_without_records(self, small):
        X, _ = small
        names = np.where(X[:, 0] > 0, "b", "a")
        head = MLPHead(classes=["c", "b", "a"]).fit(X, names)
        assert head.classes_.tolist() == ["c", "b", "a"]
        assert head.score(X, names) > 0.9
        assert head.predict_proba(X)[:, 0].max() < 0.2

    def test_the_empty_data_set(self):
        head = MLPHead(layers=2, classes=[0, 1], batch=3).fit(np.zeros((0, 4)), np.zeros(0, int))
        assert head.predict_proba(np.ones((2, 4))).shape == (2, 2)

    def test_a_label_that_is_no_class(self):
        with pytest.raises(InputError, match="label of row 2 must be one of the classes") as caught:
            MLPHead(classes=["a", "b"]).fit(np.eye(3), ["a", "b", "secret"])
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"layers": 0}, "layers must be >= 1"),
        ({"layers": 4}, "layers must be 1, 2 or 3, got 4"),
        ({"width": 0}, "width must be >= 1"),
        ({"activation": "gelu"}, "activation must be relu or tanh, got str 'gelu'"),
        ({"activation": None}, "activation must be relu or tanh"),
        ({"optimiser": "lbfgs"}, "optimiser must be adam or sgd"),
        ({"penalty": -1.0}, "penalty must be >= 0"),
        ({"penalty": float("nan")}, "penalty must be >= 0"),
        ({"learning_rate": 0.0}, "learning_rate must be > 0"),
        ({"steps": -1}, "steps must be >= 0"),
        ({"steps": 1.5}, "steps must be a whole number"),
        ({"batch": 0}, "batch must be >= 1"),
        ({"seed": -1}, "seed must be >= 0"),
        ({"seed": 2**63}, "seed must be < 2"),
        ({"bound": 0.0}, "bound must be > 0"),
        ({"classes": [0, 0, 1]}, "classes must be distinct"),
        ({"classes": [0]}, "classes must be at least 2"),
        ({"learning_rate": 1e30, "layers": 3}, "weights must stay finite"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(InputError, match=message):
        MLPHead(**parameters).fit(np.eye(3), [0, 1, 2])


@pytest.mark.parametrize(
    "X",
    [
        ["secret-123"] * 3,
        [["secret-123"]] * 3,
        np.eye(3) * 1j,
        [1.2345, 2.0, 3.0],
        np.eye(3) * np.nan,
        np.eye(3) * 1.2345e300,
    ],
)
def test_no_private_value_is_in_a_message(X):
    with pytest.raises((ValueError, TypeError)) as caught:
        MLPHead().fit(X, [0, 1, 2])
    message = str(caught.value)
    assert "\n" not in message
    assert "secret" not in message
    assert "1.2345" not in message


WITHOUT_TORCH = """
import sys
from reticent.training import MLPHead, SoftmaxHead
assert "torch" not in sys.modules
sys.modules["torch"] = None
SoftmaxHead(classes=[0, 1]).fit([[0.0], [1.0]], [0, 1])
MLPHead().fit([[0.0], [1.0]], [0, 1])
"""


@pytest.mark.slow
def test_torch_is_asked_for_in_one_line_and_only_by_fit():
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, check=False
    )
    assert run.stderr.splitlines()[-1].endswith(
        "InputError: torch must be installed to fit MLPHead: pip install 'reticent[torch]'"
    )
    assert "During handling" not in run.stderr
