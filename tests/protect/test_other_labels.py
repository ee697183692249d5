"""Releases of tables whose label is a number, or which have several labels."""

import json
import math

import numpy as np
import pytest

from reticent import bounds
from reticent.audit.transcripts import audit_release_queries
from reticent.data import Dataset, Schema
from reticent.guarantee import Grade
from reticent.protect import RECIPES, ReleaseRequest, Terms, load, release_table, save, verify
from reticent.protect.export import to_onnx
from reticent.protect.penalty import public_penalty
from reticent.protect.registry import regressors
from reticent.run.tasks.auditing import hardest_pair
from reticent.training import SigmoidHead
from reticent.validation import InputError

LOW, HIGH = -400.0, 100.0


def schema_of(**labels):
    columns = {name: {"type": "number", "range": [0, 1]} for name in ("a", "b")}
    return Schema.from_dict({"source": "codebook", "records": 5000, "columns": columns | labels})


NUMBER = schema_of(y={"role": "label", "type": "number", "range": [LOW, HIGH], "unit": "mm"})
SEVERAL = schema_of(**{n: {"role": "label", "type": "true-false"} for n in ("p", "q")})


def data_of(schema, records=5000, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.random((records, 2))
    if schema is NUMBER:
        labels = LOW + 300 * rows[:, 0] + 150 * rows[:, 1]
    else:
        labels = np.column_stack([rows[:, 0] > 0.5, rows.sum(axis=1) > 1]).astype(np.int64)
    return Dataset(
        name="t", source="s", inputs=rows, labels=labels, classes=schema.classes,
        columns=schema.names, schema=schema,
    )  # fmt: skip


def asked(recipe="adassp-regression", schema=NUMBER, **more):
    options = {"epsilon": 4.0, "delta": 1e-5, "relation": "add-remove", "bound": schema.bound}
    return ReleaseRequest.of(records=5000, recipe=recipe, **options | more)


class TestNumbers:
    @pytest.mark.parametrize("name", regressors())
    def test_predictions_are_in_the_labels_units_and_range(self, name):
        data = data_of(NUMBER)
        released = release_table(data, asked(name))
        assert released.guarantee.grade is Grade.PROVEN
        told = released.predict(data.features)
        # the label has a standard deviation of 97, and what is left of it without noise is 0
        assert np.sqrt(np.mean((told - data.labels) ** 2)) < 40
        assert LOW <= told.min() <= told.max() <= HIGH
        far = released.predict(np.array([[1e9, 1e9], [-1e9, -1e9]]))
        assert ((far >= LOW) & (far <= HIGH)).all()

    def test_the_range_follows_from_the_schema_and_is_in_the_certificate(self, tmp_path):
        released = release_table(data_of(NUMBER), asked())
        save(released, tmp_path / "r")
        document = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
        assert document["numbers"]["target_centre"] == -150.0
        assert document["numbers"]["target_bound"] == 250.0
        assert document["terms"]["sources"]["target_centre"] == "schema"
        assert verify(tmp_path / "r").holds
        again = load(tmp_path / "r")
        rows = np.random.default_rng(1).random((5, 2))
        assert np.array_equal(again.predict(rows), released.predict(rows))

    @pytest.mark.parametrize(
        "change", [{"target_centre": -149.0}, {"target_bound": 251.0}, {"target_centre": None}]
    )
    def test_another_range_than_the_schemas_does_not_verify(self, tmp_path, change):
        save(release_table(data_of(NUMBER), asked()), tmp_path / "r")
        path = tmp_path / "r.json"
        document = json.loads(path.read_text(encoding="utf-8"))
        for name, value in change.items():
            if value is None:
                del document["numbers"][name]
            else:
                document["numbers"][name] = value
        path.write_text(json.dumps(document), encoding="utf-8")
        try:
            found = verify(tmp_path / "r")
        except InputError:
            return
        assert not found.holds

    def test_a_middle_of_zero_is_not_written(self):
        terms = Terms(epsilon=1.0, delta=1e-5, relation="add-remove")
        kind = RECIPES["adassp-regression"]
        plain = kind.planned(terms, records=9, features=2, bound=1.0, target_bound=3.0)
        assert "target_centre" not in plain.to_dict()
        assert "target_centre" not in plain.public_numbers
        assert kind.from_dict(plain.to_dict()) == plain

    def test_labels_beyond_the_range_count_as_its_ends(self):
        recipe = asked().for_labels_of(data_of(NUMBER)).planned(2, 0)
        inside = recipe.targets(np.array([LOW, HIGH, (LOW + HIGH) / 2]))
        assert inside.tolist() == [-1.0, 1.0, 0.0]
        assert recipe.targets(np.array([-1e300, 1e300])).tolist() == [-1.0, 1.0]

    def test_onnx_has_the_same_units(self):
        pytest.importorskip("onnx")
        runtime = pytest.importorskip("onnxruntime")
        released = release_table(data_of(NUMBER), asked())
        rows = np.random.default_rng(2).random((4, 2))
        session = runtime.InferenceSession(to_onnx(released))
        (value,) = session.run(["value"], {"x": rows})
        assert np.allclose(value, released.predict(rows))

    def test_a_classifier_is_refused(self):
        with pytest.raises(InputError, match="adassp-regression, functional-regression for"):
            release_table(data_of(NUMBER), asked("lda"))


class TestSeveralLabels:
    def test_a_sigmoid_head_is_released_and_verifies(self, tmp_path):
        data = data_of(SEVERAL)
        released = release_table(data, asked("weights", SEVERAL))
        assert released.guarantee.grade is Grade.PROVEN
        assert (released.predict(data.features) == data.labels).mean(axis=0).min() > 0.7
        save(released, tmp_path / "r")
        assert verify(tmp_path / "r").holds

    def test_the_schema_must_be_that_of_the_labels(self):
        wrong = data_of(SEVERAL)
        with pytest.raises(InputError, match="weights for multilabel"):
            release_table(wrong, asked())
        one_class = Dataset(
            name="t", source="s", inputs=wrong.inputs, labels=wrong.labels[:, 0],
            classes=("p", "q"), columns=SEVERAL.names, schema=SEVERAL,
        )  # fmt: skip
        with pytest.raises(InputError, match="the schema is for multilabel"):
            release_table(one_class, asked("weights", SEVERAL))

    def test_the_penalty_grows_with_the_labels(self):
        public = {"records": 100, "radius": 1.0, "coordinates": 4, "epsilon": 1.0, "delta": 1e-5}
        one, nine = (
            public_penalty(**public, relation="add-remove", residual=math.sqrt(many))
            for many in (1, 9)
        )
        assert math.isclose(nine, 3 * one)


@pytest.mark.parametrize("labels", [1, 4, 16])
def test_one_record_moves_all_labels_at_once(labels):
    """A record of norm R with every label true, against nobody: 0.4 of √C·R/(λN), for any C.

    At λ = 1 each weight is the w = σ(−w) of one label alone. The bound for classes that exclude
    each other, √2·R/(λN), would be too little for 16 labels.
    """
    public = {"penalty": 1.0, "records": 1, "tolerance": 1e-9}
    head = SigmoidHead(classes=range(labels), bound=1.0, intercept=0.0, **public)
    head.fit([[1.0]], np.ones((1, labels), dtype=int))
    moved = float(np.linalg.norm(head.coordinates_))
    said = {"radius": 1.0, "relation": "add-remove", **public}
    bound = bounds.sigmoid_head(labels=labels, **said).l2
    assert 0.4 * bound < moved <= bound
    assert math.isclose(bound, math.sqrt(labels), rel_tol=1e-6)
    if labels == 16:
        assert moved > bounds.softmax_head(**said).l2


CASES = [(NUMBER, "adassp-regression", 0.9), (SEVERAL, "weights", 0.25)]


@pytest.mark.parametrize(("schema", "recipe", "least"), CASES)
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_the_hardest_pair_stays_within_the_claim(schema, recipe, least, relation):
    released = release_table(data_of(schema, 50), asked(recipe, schema, relation=relation))
    with_it, without = hardest_pair(released, 2)
    assert len(without[0]) == (relation == "replace-one")
    found = audit_release_queries(released, without, with_it, runs=10)
    assert found.verdict == "not refuted"
    assert least < found.tightness <= 1


@pytest.mark.slow
@pytest.mark.parametrize(("schema", "recipe", "least"), CASES)
def test_hardly_any_noise_is_refuted(schema, recipe, least):
    """With false alarms in one of a million audits: β = 1e-6."""
    del least
    released = release_table(data_of(schema, 50), asked(recipe, schema, epsilon=0.2))
    with_it, without = hardest_pair(released, 2)
    rng = np.random.default_rng(0)

    def draw(noise, value):
        return np.asarray(value + rng.normal(0, noise.scale / 1000, value.shape))

    found = audit_release_queries(released, without, with_it, runs=150, draw=draw, beta=1e-6)
    assert found.verdict == "refuted"
