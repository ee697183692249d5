"""The Open Inference Protocol with raw inputs: the same answers as the native routes, or a 422."""

import json

import numpy as np
import pytest

from reticent.data import Dataset
from reticent.protect import ReleaseRequest, release_table
from reticent.service.asgi import application
from reticent.service.client import Service
from reticent.service.door import Door, RateLimit
from reticent.service.models import ReleasedModel
from tests.service.conftest import running
from tests.service.raw_services import SIDE, STARTED, image_features, record, text_features
from tests.service.test_answers import refused

INFER = "/v2/models/model/infer"
TEXTS = ["a cab", "bcd"]
IMAGES = np.random.default_rng(1).integers(0, 256, size=(2, SIDE, SIDE, 1))
RECORDS = [record(7), record(32)]


@pytest.fixture(scope="module", params=["texts", "images", "records"])
def both(request, tmp_path_factory):
    """A released and a protected service of one kind of raw input."""
    made = [start(request.param, tmp_path_factory.mktemp(name)) for name, start in STARTED.items()]
    with running(made[0].app) as one, running(made[1].app) as other:
        yield made[0].begin(one), made[1].begin(other)


def tensor(name, datatype, shape, data):
    return {"name": name, "datatype": datatype, "shape": shape, "data": data}


def columns(records):
    """The tensors of raw records; of a column with a gap, cells as a file writes them."""
    n = len(records)
    texts = {"city": [one["city"] or "" for one in records], "born": [r["born"] for r in records]}
    return [
        tensor("age", "FP64", [n], [one["age"] for one in records]),
        tensor("smoker", "BOOL", [n], [one["smoker"] for one in records]),
        *(tensor(name, "BYTES", [n, 1], cells) for name, cells in texts.items()),
        tensor("dose", "FP64", [n, 2], [one["dose"] for one in records]),
    ]


def question(kind):
    """Two inputs as tensors, as a native request, and what the released head is asked by them."""
    if kind == "texts":
        return [tensor("texts", "BYTES", [2], TEXTS)], {"texts": TEXTS}
    if kind == "images":
        whole = tensor("images", "UINT8", [2, SIDE, SIDE, 1], IMAGES.ravel().tolist())
        return [whole], {"images": IMAGES.tolist()}
    return columns(RECORDS), {"records": RECORDS}


def infer(service, tensors, **more):
    body = json.dumps({"inputs": tensors, **more}).encode()
    return service.asker.call("POST", INFER, body)


def logits(told):
    return next(one["data"] for one in told["outputs"] if one["name"] == "logits")


def test_raw_tensors_have_the_answers_of_the_native_route(both):
    """Of protected answers for nothing: a row that was prepared is the same row."""
    for service in both:
        tensors, native = question(service.kind)
        told = infer(service, tensors, id="q")
        again = service.asker.call("POST", "/v1/answers", json.dumps(native).encode())
        assert np.ravel(again["logits"]).tolist() == logits(told)
        assert (told["id"], again["charged"]) == ("q", 0)
        assert told["parameters"]["charged"] == (0 if service.ledger is None else 2)


def test_the_model_says_which_inputs_it_takes(both):
    expected = {
        "texts": [("texts", "BYTES", [-1])],
        "images": [("images", "UINT8", [-1, SIDE, SIDE, 1])],
        "records": [
            ("age", "FP64", [-1]), ("city", "BYTES", [-1]), ("smoker", "BOOL", [-1]),
            ("born", "BYTES", [-1]), ("dose", "FP64", [-1, 2]),
        ],
    }  # fmt: skip
    for service in both:
        found = service.asker.call("GET", "/v2/models/model")["inputs"]
        assert found[0]["name"] == "input"
        raw = [(one["name"], one["datatype"], one["shape"]) for one in found[1:]]
        assert raw == expected[service.kind]
        forms = {one["parameters"]["form"] for one in found}
        assert forms == {"features", "record" if service.kind == "records" else service.kind}


def test_other_ways_to_write_the_same_tensors(both):
    """Flat or nested, in another order, and floats that are whole."""
    released = both[0]
    tensors, _ = question(released.kind)
    told = logits(infer(released, tensors))
    if released.kind == "texts":
        other = [tensor("texts", "BYTES", [2, 1], [[one] for one in TEXTS])]
    elif released.kind == "images":
        other = [tensor("images", "FP32", list(IMAGES.shape), (IMAGES * 1.0).tolist())]
    else:
        ages = tensor("age", "INT64", [2, 1], [[one["age"]] for one in RECORDS])
        doses = tensor("dose", "BYTES", [2], [json.dumps(one["dose"]) for one in RECORDS])
        other = [doses, *columns(RECORDS)[3:0:-1], ages]
    assert logits(infer(released, other)) == told


def test_rows_of_features_are_still_taken(both):
    for service in both:
        rows = np.zeros((1, service.model.features)).tolist()
        told = infer(service, [tensor("input", "FP64", [1, service.model.features], rows)])
        assert len(logits(told)) == 2


def changed(kind):
    """Tensors that are refused, with the type of the refusal."""
    good = question(kind)[0]
    first, rest = good[0], good[1:]
    problem = {"texts": "invalid-raw", "images": "invalid-raw", "records": "invalid-records"}[kind]
    wrong = {
        "texts": [[1, 2], [True, "a"], ["a", None], ["a"], ["a", ""], ["a", "x" * 2001],
                  ["a", "\0"], [["a"], "b"], [["a", "b"]], {"a": "b"}, "ab", []],
        "images": [[0] * 127, [256] * 128, [-1] * 128, [0.5] * 128, [True] * 128, ["0"] * 128,
                   [None] * 128, [[0] * 64] * 2, IMAGES[:, :, :4].tolist(), [1e300] * 128, []],
        "records": [["a", "b"], [True, False], [None, 1], [1], [1, 2, 3], [[1], 2], [{}, {}], 7],
    }[kind]  # fmt: skip
    yield from ((problem, [first | {"data": data}, *rest]) for data in wrong)
    shapes = [[0], [65], [2, 2], [True], ["2"], [2.0], [], None, {}, [2**70], [-2], [2, SIDE, SIDE]]
    yield from ((problem, [first | {"shape": shape}, *rest]) for shape in shapes)
    for datatype in ("FP16", "fp64", "UINT64", None, 1, [], {}):
        yield "invalid-fields", [first | {"datatype": datatype}, *rest]
    yield "invalid-fields", [first, *good]
    yield "invalid-fields", [*good, tensor("input", "FP64", [1, 1], [0])]
    yield "invalid-fields", [first | {"name": "zqxjkv"}, *rest]
    yield "invalid-fields", [first | {"name": ["a"]}, *rest]
    yield "invalid-fields", [first | {"parameters": 1}, *rest]
    yield "invalid-fields", []
    if kind == "images":  # of another JSON type than the datatype says, or no whole number
        yield problem, [first | {"data": [1.0] * 128}]
        yield problem, [first | {"datatype": "FP32", "data": [0.5] * 128}]
    if kind == "records":
        yield problem, [tensor("age", "FP64", [2], ["41", "42"]), *rest]
        yield problem, [tensor("age", "INT64", [2], [41.0, 42.0]), *rest]
        yield problem, [first, tensor("smoker", "BOOL", [2], ["true", "false"]), *rest[1:]]
        yield "invalid-fields", rest  # a column is missing
        yield problem, [tensor("age", "FP64", [3], [1, 2, 3]), *rest]  # of another length
        yield problem, [tensor("age", "BYTES", [2], ["41", "zqxjkv"]), *rest]
        yield problem, [tensor("age", "BOOL", [2], [True, False]), *rest]


def test_other_tensors_are_refused_in_fixed_words(both):
    for service in both:
        before = service.charges()
        for problem, tensors in changed(service.kind):
            body = json.dumps({"inputs": tensors}).encode()
            assert refused(service.asker.call, "POST", INFER, body) == (problem, 422), tensors
        assert service.charges() == before


def test_the_rows_are_what_the_encoder_makes(both):
    made = {"texts": (text_features, TEXTS), "images": (image_features, IMAGES)}
    released = both[0]
    if released.kind not in made:
        return
    features, inputs = made[released.kind]
    rows = np.asarray(features(inputs), np.float32).astype(float)
    told = logits(infer(released, question(released.kind)[0]))
    assert np.ravel(released.asker.ask(rows)["logits"]).tolist() == told


def test_several_labels_are_a_tensor_of_whole_numbers():
    """Zero or one for each label of each row."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, size=(60, 3))
    data = Dataset(
        name="d",
        source="s",
        inputs=rng.normal(size=(60, 5)),
        labels=labels,
        classes=("a", "b", "c"),
    )
    request = ReleaseRequest.of(
        epsilon=4, delta=1e-5, relation="add-remove", records=60, bound=3.0, penalty=0.1
    )
    model = ReleasedModel(release_table(data, request), "model")
    with running(application(model, Door(None, rate=RateLimit(1e9)))) as url:
        asker = Service(url)
        rows = rng.normal(size=(2, 5))
        native = asker.ask(rows)["labels"]
        body = {"inputs": [tensor("input", "FP64", [2, 5], rows.tolist())]}
        told = asker.call("POST", INFER, json.dumps(body).encode())["outputs"]
        (found,) = [one for one in told if one["name"] == "labels"]
        assert (found["datatype"], found["shape"]) == ("INT64", [2, 3])
        assert found["data"] == np.ravel(native).tolist()
        outputs = asker.call("GET", "/v2/models/model")["outputs"]
        assert {"name": "labels", "datatype": "INT64", "shape": [-1, 3]} in outputs
