"""A release for other programs: scikit-learn's estimators, and ONNX. Post-processing, and free.

What is exported computes the release's formula (``Recipe.formula``) in float64. Sums may be added
up in another order there, so scores agree to rounding, and answers but for ties.
"""

from typing import Any, Final

import numpy as np

from reticent.arrays import Floats
from reticent.protect.recipe import RowMap, TargetRange
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
    if not _is_linear(release):
        raise InputError(
            f"release must be a linear model for scikit-learn, got {recipe.name}, a {recipe.task}"
        )
    if recipe.target is not None:
        return make_pipeline(*_scaling(release), _number_model(release, recipe.target))
    weights, offsets = _affine(release)
    row_map = _row_map(release)
    if row_map.norms == "scale":
        weights = weights * row_map.bound  # Normalizer's rows have norm 1
    if recipe.several_labels:
        return make_pipeline(*_scaling(release), _labels_model(weights, offsets))
    if len(weights) == 2:
        weights, offsets = weights[1:] - weights[:1], offsets[1:] - offsets[:1]
    head = _logistic(weights, offsets, np.array(release.classes_))
    return make_pipeline(*_scaling(release), head)


def _is_linear(release: Release) -> bool:
    """Whether answers come of one layer, on rows of which the recipe says how they are mapped."""
    recipe = release.recipe
    return recipe.layer(release.tensors) is not None and recipe.row_map is not None


def _row_map(release: Release) -> RowMap:
    row_map = release.recipe.row_map
    assert row_map is not None
    return row_map


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


def _number_model(release: Release, target: TargetRange) -> Any:
    """M + B·(w·u + b) of clipped rows x = R·u, cut to the range."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.linear_model import LinearRegression
    from sklearn.preprocessing import FunctionTransformer

    (weights,), (offset,) = _affine(release)
    linear = LinearRegression()
    linear.coef_ = weights * (target.half / _row_map(release).bound)
    linear.intercept_ = target.centre + target.half * float(offset)
    linear.n_features_in_ = release.features
    ends = (target.centre + side * target.half for side in (-1.0, 1.0))
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
    if not _is_linear(release):
        raise InputError(f"release must be a linear model to export, got {release.recipe.name}")
    graph, target = _Graph(onnx.helper, onnx.numpy_helper), release.recipe.target
    outputs = _scores(graph, release) if target is None else _number(graph, release, target)
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


def _affine(release: Release) -> tuple[Floats, Floats]:
    """W and b on rows without the constant entry, whose weight is a part of b."""
    row_map, layer = _row_map(release), release.recipe.layer(release.tensors)
    assert layer is not None
    weights, offsets = layer
    if row_map.intercept:
        return weights[:, :-1], offsets + weights[:, -1] * (row_map.intercept * row_map.bound)
    return np.array(weights), np.array(offsets)


def _scaling(release: Release) -> list[Any]:
    """Steps from rows to u: of norm 1 where they are scaled, within the bound otherwise."""
    from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

    row_map, steps = _row_map(release), list[Any]()
    if row_map.centred:
        centring = StandardScaler(with_std=False)
        centring.mean_, centring.scale_ = np.array(release.tensors["centre"]), None
        centring.n_features_in_ = release.features
        steps.append(centring)
    if row_map.norms == "clip":
        return [*steps, FunctionTransformer(clip_rows, kw_args={"bound": row_map.bound})]
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
    row_map, rows = _row_map(release), "x"
    if row_map.centred:
        rows = graph.node("Sub", rows, graph.constant(release.tensors["centre"]))
    clipped = row_map.norms == "clip"
    rows = _clipped(graph, rows, row_map.bound) if clipped else _unit(graph, rows)[0]
    if row_map.bound == 1 or (clipped and release.recipe.target is None):
        return rows
    # The layer of a number is on x/R; that of scaled rows is on R·x/‖x‖.
    return graph.node("Div" if clipped else "Mul", rows, graph.constant(np.float64(row_map.bound)))


def _linear(graph: _Graph, release: Release, name: str) -> str:
    weights, offsets = _affine(release)
    products = graph.node("MatMul", _mapped(graph, release), graph.constant(weights.T.copy()))
    return graph.node("Add", products, graph.constant(offsets), output=name)


def _scores(graph: _Graph, release: Release) -> list[Any]:
    from onnx import TensorProto

    scores, many = _linear(graph, release, "scores"), len(release.classes_)
    if release.recipe.several_labels:
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
    class_array = np.asarray(classes)
    return class_array.astype(np.int64) if class_array.dtype.kind in "iu" else class_array


def _number(graph: _Graph, release: Release, target: TargetRange) -> list[Any]:
    from onnx import TensorProto

    value = graph.node("Squeeze", _linear(graph, release, "sum"), graph.constant(np.array([1])))
    ends = (graph.constant(np.float64(end)) for end in (-1.0, 1.0))
    cut = graph.node("Clip", value, *ends)
    spread = graph.node("Mul", cut, graph.constant(np.float64(target.half)))
    centre = graph.constant(np.float64(target.centre))
    graph.node("Add", spread, centre, output="value")
    return [graph.output("value", TensorProto.DOUBLE)]
