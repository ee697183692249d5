"""A release for other programs: scikit-learn's estimators, and ONNX. Post-processing, and free.

What is exported computes the release's formula (``Recipe.formula``) in float64. Sums may be added
up in another order there, so scores agree to rounding, and answers but for ties.
"""

from typing import Any, Final

import numpy as np

from reticent.arrays import Floats
from reticent.protect.recipes.linear import LinearRecipe
from reticent.protect.recipes.regression import NumberRecipe
from reticent.protect.recipes.weights import WeightsRecipe
from reticent.protect.release import Release
from reticent.training.features import clip_rows
from reticent.validation import InputError

_OPSET: Final = 18
_IR: Final = 9
"""Of ONNX's file format, as old as operators of opset 18 allow: old runtimes read it."""


def to_sklearn(release: Release) -> Any:
    """A fitted scikit-learn pipeline with the release's predictions; nothing is pickled.

    Its steps are scikit-learn's own (``StandardScaler`` that centres, ``Normalizer``,
    ``LogisticRegression``), and for rows that are clipped ``FunctionTransformer`` with
    ``reticent.training.features.clip_rows``. Several labels are a ``OneVsRestClassifier`` with a
    column for each; a number is a ``TransformedTargetRegressor`` around ``LinearRegression`` that
    cuts answers to the label's range. The last step's ``coef_`` and ``intercept_`` are the model; a
    frame's columns are its caller's to arrange, as ``release.columns`` names them. ``Normalizer``
    squares what is in a row: rows beyond 1e±150 it does not scale as the release.

    Args:
        release: A classifier, a regression or several labels, with one linear layer.
    """
    from sklearn.pipeline import make_pipeline

    recipe = release.recipe
    if recipe.layer(release.tensors) is None:
        raise InputError(
            f"release must be a linear model for scikit-learn, got {recipe.name}, a {recipe.task}"
        )
    if isinstance(recipe, NumberRecipe):
        return make_pipeline(*_scaling(release), _number_model(release, recipe))
    weights, offsets = _affine(release)
    if isinstance(recipe, WeightsRecipe) and recipe.norms == "scale":
        weights = weights * recipe.bound  # Normalizer's rows have norm 1
    if isinstance(recipe, WeightsRecipe) and recipe.outputs == "sigmoid":
        return make_pipeline(*_scaling(release), _labels_model(weights, offsets))
    if len(weights) == 2:
        weights, offsets = weights[1:] - weights[:1], offsets[1:] - offsets[:1]
    head = _logistic(weights, offsets, np.array(release.classes_))
    return make_pipeline(*_scaling(release), head)


def _logistic(weights: Floats, offsets: Floats, classes: Any) -> Any:
    from sklearn.linear_model import LogisticRegression

    head = LogisticRegression()
    head.classes_, head.n_features_in_ = classes, weights.shape[1]
    head.coef_, head.intercept_, head.n_iter_ = weights, offsets, np.zeros(1, dtype=np.int32)
    return head


def _labels_model(weights: Floats, offsets: Floats) -> Any:
    """A binary model for each label; answers and probabilities have a column for each."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import LabelBinarizer

    several = OneVsRestClassifier(LogisticRegression())
    several.estimators_ = [
        _logistic(weights[[k]], offsets[[k]], np.array([0, 1])) for k in range(len(weights))
    ]
    every = np.eye(len(weights), dtype=np.int64)
    several.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(every)
    several.n_features_in_ = weights.shape[1]
    return several


def _number_model(release: Release, recipe: NumberRecipe) -> Any:
    """M + B·(w·u + b) of clipped rows x = R·u, cut to the range."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.linear_model import LinearRegression
    from sklearn.preprocessing import FunctionTransformer

    (weights,), (offset,) = _affine(release)
    linear = LinearRegression()
    linear.coef_ = weights * (recipe.target_bound / recipe.bound)
    linear.intercept_ = recipe.target_centre + recipe.target_bound * float(offset)
    linear.n_features_in_ = release.features
    ends = (recipe.target_centre + side * recipe.target_bound for side in (-1.0, 1.0))
    within = dict(zip(("a_min", "a_max"), ends, strict=True))
    cut = FunctionTransformer(inverse_func=np.clip, inv_kw_args=within, check_inverse=False)
    model = TransformedTargetRegressor(regressor=LinearRegression(), transformer=cut)
    model.regressor_, model.transformer_ = linear, cut.fit(np.zeros((1, 1)))
    model._training_dim = 1  # answers have one dimension, as targets had
    return model


def to_onnx(release: Release) -> bytes:
    """An ONNX model: input ``x`` (rows × features, float64), outputs ``label`` and ``scores``.

    A classifier has ``probabilities`` besides; a regression has ``value`` alone. The release must
    have one linear layer. Needs the extra ``onnx``.
    """
    try:
        import onnx
    except ImportError:
        raise InputError(
            'the package onnx must be installed to export: pip install "reticent[onnx]"'
        ) from None
    if release.recipe.layer(release.tensors) is None:
        raise InputError(f"release must be a linear model to export, got {release.recipe.name}")
    graph = _Graph(onnx.helper, onnx.numpy_helper)
    outputs = _regression(graph, release) if _is_regression(release) else _scores(graph, release)
    rows = onnx.helper.make_tensor_value_info(
        "x", onnx.TensorProto.DOUBLE, ["rows", release.features]
    )
    whole = onnx.helper.make_graph(
        graph.nodes, "reticent release", [rows], outputs, initializer=graph.tensors
    )
    model = onnx.helper.make_model(
        whole,
        opset_imports=[onnx.helper.make_opsetid("", _OPSET)],
        ir_version=_IR,
        producer_name="reticent",
    )
    model.doc_string = f"{release.guarantee}; columns: {', '.join(release.columns) or 'unnamed'}"
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content


def _is_regression(release: Release) -> bool:
    return isinstance(release.recipe, NumberRecipe)


def _affine(release: Release) -> tuple[Floats, Floats]:
    """W and b on rows without the constant entry, whose weight is a part of b."""
    recipe, layer = release.recipe, release.recipe.layer(release.tensors)
    assert layer is not None
    weights, offsets = layer
    if isinstance(recipe, WeightsRecipe) and recipe.intercept:
        return weights[:, :-1], offsets + weights[:, -1] * (recipe.intercept * recipe.bound)
    return np.array(weights), np.array(offsets)


def _scaling(release: Release) -> list[Any]:
    """Steps from rows to u; a ``weights`` release has a bound, others have unit rows."""
    from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

    recipe = release.recipe
    if isinstance(recipe, NumberRecipe):
        return [FunctionTransformer(clip_rows, kw_args={"bound": recipe.bound})]
    if not isinstance(recipe, WeightsRecipe):
        return [Normalizer()]
    steps: list[Any] = []
    if recipe.centred:
        centring = StandardScaler(with_std=False)
        centring.mean_, centring.scale_ = np.array(release.tensors["centre"]), None
        centring.n_features_in_ = release.features
        steps.append(centring)
    if recipe.norms == "clip":
        return [*steps, FunctionTransformer(clip_rows, kw_args={"bound": recipe.bound})]
    return [*steps, Normalizer()]


class _Graph:
    """Nodes and constants of an ONNX graph, in the order of their computation."""

    def __init__(self, helper: Any, numbers: Any) -> None:
        self._helper, self._numbers = helper, numbers
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []

    def constant(self, value: Any) -> str:
        """The name of a tensor that holds this value."""
        name = f"constant {len(self.tensors)}"
        array = np.asarray(value)
        if array.dtype.kind == "U":  # texts are objects there
            array = array.astype(object)
        self.tensors.append(self._numbers.from_array(array, name))
        return name

    def node(self, kind: str, *inputs: str, output: str | None = None, **options: Any) -> str:
        """The name of what this operator computes of its inputs."""
        name = output or f"value {len(self.nodes)}"
        self.nodes.append(self._helper.make_node(kind, list(inputs), [name], **options))
        return name

    def output(self, name: str, kind: Any, *shape: Any) -> Any:
        """A typed output of the graph."""
        return self._helper.make_tensor_value_info(name, kind, ["rows", *shape])


def _unit(graph: _Graph, rows: str) -> tuple[str, str]:
    """x/‖x‖ and ‖x‖ of each row, divided by its largest entry first: no square overflows."""
    last, one = graph.constant(np.array([1])), graph.constant(np.float64(1.0))
    largest = graph.node("ReduceMax", graph.node("Abs", rows), last, keepdims=1)
    zero = graph.node("Equal", largest, graph.constant(np.float64(0.0)))
    size = graph.node("Where", zero, one, largest)
    near = graph.node("Div", rows, size)
    square = graph.node("ReduceSum", graph.node("Mul", near, near), last, keepdims=1)
    norm = graph.node("Where", zero, one, graph.node("Sqrt", square))
    return graph.node("Div", near, norm), graph.node("Mul", norm, size)


def _clipped(graph: _Graph, rows: str, bound: float) -> str:
    """Rows, those longer than the bound scaled down to it."""
    unit, norm = _unit(graph, rows)
    limit = graph.constant(np.float64(bound))
    short = graph.node("LessOrEqual", norm, limit)
    return graph.node("Where", short, rows, graph.node("Mul", unit, limit))


def _mapped(graph: _Graph, release: Release) -> str:
    recipe, rows = release.recipe, "x"
    if isinstance(recipe, NumberRecipe):
        clipped = _clipped(graph, rows, recipe.bound)
        return graph.node("Div", clipped, graph.constant(np.float64(recipe.bound)))
    if not isinstance(recipe, WeightsRecipe):
        assert isinstance(recipe, LinearRecipe)
        return _unit(graph, rows)[0]
    if recipe.centred:
        rows = graph.node("Sub", rows, graph.constant(release.tensors["centre"]))
    if recipe.norms == "clip":
        return _clipped(graph, rows, recipe.bound)
    scaled = _unit(graph, rows)[0]
    return graph.node("Mul", scaled, graph.constant(np.float64(recipe.bound)))


def _linear(graph: _Graph, release: Release, name: str) -> str:
    weights, offsets = _affine(release)
    products = graph.node("MatMul", _mapped(graph, release), graph.constant(weights.T.copy()))
    return graph.node("Add", products, graph.constant(offsets), output=name)


def _scores(graph: _Graph, release: Release) -> list[Any]:
    from onnx import TensorProto

    scores, many = _linear(graph, release, "scores"), len(release.classes_)
    recipe = release.recipe
    several = isinstance(recipe, WeightsRecipe) and recipe.outputs == "sigmoid"
    if several:
        graph.node("Sigmoid", scores, output="probabilities")
        above = graph.node("Greater", scores, graph.constant(np.float64(0.0)))
        graph.node("Cast", above, output="label", to=TensorProto.INT64)
        label = graph.output("label", TensorProto.INT64, many)
    else:
        graph.node("Softmax", scores, output="probabilities", axis=1)
        place = graph.node("ArgMax", scores, axis=1, keepdims=0)
        names = _plain(release.classes_)
        graph.node("Gather", graph.constant(names), place, output="label")
        kinds = {"U": TensorProto.STRING, "f": TensorProto.DOUBLE, "b": TensorProto.BOOL}
        label = graph.output("label", kinds.get(names.dtype.kind, TensorProto.INT64))
    chances = graph.output("probabilities", TensorProto.DOUBLE, many)
    return [label, chances, graph.output("scores", TensorProto.DOUBLE, many)]


def _plain(classes: Any) -> Any:
    """Classes of one of ONNX's types: whole numbers are int64."""
    found = np.asarray(classes)
    return found.astype(np.int64) if found.dtype.kind in "iu" else found


def _regression(graph: _Graph, release: Release) -> list[Any]:
    from onnx import TensorProto

    assert isinstance(release.recipe, NumberRecipe)
    value = graph.node("Squeeze", _linear(graph, release, "sum"), graph.constant(np.array([1])))
    ends = (graph.constant(np.float64(end)) for end in (-1.0, 1.0))
    cut = graph.node("Clip", value, *ends)
    spread = graph.node("Mul", cut, graph.constant(np.float64(release.recipe.target_bound)))
    centre = graph.constant(np.float64(release.recipe.target_centre))
    graph.node("Add", spread, centre, output="value")
    return [graph.output("value", TensorProto.DOUBLE)]
