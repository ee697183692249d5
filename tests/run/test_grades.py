"""The grade follows from the terms: every path to a release, with each public number read off."""

import dataclasses

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reticent.data import Dataset, Schema, read_by_schema
from reticent.guarantee import Grade
from reticent.protect import (
    RECIPES,
    ReleasedEncoder,
    ReleaseRequest,
    Terms,
    calibrated_answers,
    composed_guarantee,
    load,
    numbers_of,
    private_answers,
    release_encoder,
    release_mean,
    release_records,
    release_table,
    release_weights,
    save,
    use_encoder,
)
from reticent.protect.estimators import ESTIMATORS, AdaSSPRegressor
from reticent.protect.terms import inferred_sources
from reticent.run.heads import sensitivities
from reticent.run.job import capped_run
from reticent.run.releases import kinds, recommended_kind
from reticent.run.spec import RunData, RunSpec
from reticent.training import SoftmaxHead
from reticent.training.encoders.cache import cached_features
from reticent.training.gradients import batch_sum, shared_sum

X, Y = load_digits(n_class=3, return_X_y=True)
X, Y = X[:240] / 16 - 0.3, Y[:240]
BUDGET = {"epsilon": 4.0, "delta": 1e-5, "relation": "add-remove"}
RECORDS = 240
SHORT = {"epochs": 0.5}
"""Of what trains in steps: no grade depends on what was learnt."""
OPTIONS = {"bound": 2.0, "target_bound": 3.0, **SHORT}


def of_recipe(name, said):
    """Those of the options that the recipe has."""
    return {one: said[one] for one in said if one in RECIPES[name].options}


def terms(inferred):
    return Terms(**BUDGET, sources=inferred_sources(inferred))


def table(public_classes=True):
    return Dataset(
        name="digits",
        source="scikit-learn",
        inputs=X,
        labels=Y,
        classes=("a", "b", "c"),
        public_classes=public_classes,
    )


def by_estimator(kind):
    own = {"bound": 2.0, "target_bound": 3.0} if kind is AdaSSPRegressor else {"classes": range(3)}
    own |= of_recipe(kind.recipe.name, SHORT)
    return lambda inferred: kind(
        records=RECORDS, inferred=inferred, **own, **BUDGET
    ).fit(X, Y).guarantee_  # fmt: skip


def by_table(name):
    options = of_recipe(name, {"bound": 2.0, **SHORT})

    def path(inferred):
        request = ReleaseRequest(
            terms=terms(inferred), records=RECORDS, recipe=name, options=options
        )
        return release_table(table("classes" not in inferred), request).guarantee

    return path


def by_records(name):
    kind, options = RECIPES[name], of_recipe(name, OPTIONS)
    classes = {"classification": 3, "regression": 1, "statistic": 0, "encoding": 0}[kind.task]

    def path(inferred):
        recipe = kind.planned(
            terms(inferred), records=RECORDS, features=X.shape[1], classes=classes, **options
        )
        named = range(3) if kind.task == "classification" else ()
        return release_records(recipe, terms(inferred), X, Y, classes=named).guarantee

    return path


HEAD = SoftmaxHead(penalty=1e-2, bound=2.0, classes=range(3), records=RECORDS).fit(X, Y)


def by_weights(inferred):
    return release_weights(HEAD, inferred=inferred, **BUDGET).guarantee


def by_mean(inferred):
    return release_mean(X, bound=2.0, records=RECORDS, inferred=inferred, **BUDGET).guarantee


def by_centred_weights(inferred):
    """What was read off for the mean was read off for the head that it centres."""
    mean = release_mean(X, bound=2.0, records=RECORDS, share=0.1, inferred=inferred, **BUDGET)
    head = SoftmaxHead(
        penalty=1e-2, bound=2.0, classes=range(3), records=RECORDS, centre=mean.tensors["mean"]
    ).fit(X, Y)
    return release_weights(head, mean=mean, **BUDGET).guarantee


def by_answers(inferred):
    plan = calibrated_answers(numbers_of(HEAD), queries=2, mechanism="gaussian", **BUDGET)
    answers = private_answers(HEAD, plan, inferred=inferred)
    claims = {answers.guarantee.grade, answers.each.grade, answers.ask(X[:1]).guarantee.grade}
    assert len(claims) == 1
    return answers.guarantee


FACTS = {
    "records": RECORDS,
    "source": "a codebook",
    "columns": {
        **{f"p{i}": {"type": "number", "range": [-0.3, 0.7]} for i in range(3)},
        "digit": {"role": "label", "classes": ["0", "1", "2"]},
    },
}


def by_schema(fact, folder, *, recipe=None):
    """A release by a schema, one fact of which is from the private table; or all of a run."""
    columns = {
        name: column | ({"source": "private table"} if name == fact else {})
        for name, column in FACTS["columns"].items()
    }
    sources = {"records": "private table" if fact == "records" else "a law"}
    schema = Schema.from_dict(FACTS | {"columns": columns, "sources": sources})
    np.savez(folder / "t.npz", digit=Y, **{f"p{i}": X[:, 20 + i] for i in range(3)})
    data = read_by_schema(folder / "t.npz", schema)
    if recipe is not None:
        own = of_recipe(recipe, {"bound": schema.bound, **SHORT})
        request = ReleaseRequest(terms=terms(()), records=RECORDS, recipe=recipe, options=own)
        return [release_table(data, request).guarantee]
    spec = RunSpec(records=RECORDS, bound=schema.bound, pairs=2, **BUDGET)
    roles, spec = capped_run(RunData.of(data, data), spec)
    asked = [recommended_kind(roles, spec), *kinds(roles, spec, sensitivities(roles, spec))]
    asked = [kind for kind in asked if "published" not in kind.name]
    claims = [kind.draw().guarantee for kind in asked]
    assert all(f"({one.grade})" in kind.name for kind, one in zip(asked, claims, strict=True))
    return claims


BY_SCHEMA = [
    *(name for name in RECIPES if RECIPES[name].task == "classification"),
    pytest.param(None, id="run"),
]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", BY_SCHEMA)
def test_with_every_fact_of_a_schema_said_it_is_proven(tmp_path, recipe):
    assert {claim.grade for claim in by_schema(None, tmp_path, recipe=recipe)} == {Grade.PROVEN}


@pytest.mark.slow
@pytest.mark.parametrize("fact", ["p1", "digit", "records"])
@pytest.mark.parametrize("recipe", BY_SCHEMA)
def test_with_a_fact_of_the_private_table_it_is_declared(tmp_path, recipe, fact):
    for claim in by_schema(fact, tmp_path, recipe=recipe):
        assert claim.grade is Grade.DECLARED
        assert "schema: read from the private data, not declared" in claim.stated


def by_run(inferred):
    """All that a run releases by a theorem, the one that it hands over among them."""
    data = RunData.of(table("classes" not in inferred), table())
    spec = RunSpec(
        records=RECORDS, bound=2.0, inferred_from_data=tuple(inferred), pairs=2, **BUDGET
    )
    asked = [recommended_kind(data, spec), *kinds(data, spec, sensitivities(data, spec))]
    claims = [kind.draw().guarantee for kind in asked if "published" not in kind.name]
    assert len({claim.grade for claim in claims}) == 1
    return claims[0]


PATHS = {
    **{f"{kind.__name__}.fit": (by_estimator(kind), kind.recipe.name) for kind in ESTIMATORS},
    **{
        f"release_table, {name}": (by_table(name), name)
        for name in RECIPES
        if RECIPES[name].task == "classification"
    },
    **{f"release_records, {name}": (by_records(name), name) for name in RECIPES},
    "release_weights": (by_weights, "weights"),
    "release_mean": (by_mean, "mean"),
    "release_weights, centred": (by_centred_weights, "mean"),
    "private_answers": (by_answers, "weights"),
    "run": (by_run, None),
}
RUN_NUMBERS = ("classes", "bound", "records")


def numbers(recipe):
    """The public numbers that a user of this path says."""
    if recipe is None:
        return RUN_NUMBERS
    kind = RECIPES[recipe]
    return ("records", *(("classes",) if kind.task == "classification" else ()), *kind.options)


CASES = [(path, number) for path, (_, recipe) in PATHS.items() for number in numbers(recipe)]


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_with_every_number_said_it_is_proven(path):
    assert PATHS[path][0](()).grade is Grade.PROVEN


@pytest.fixture
def unchecked(monkeypatch):
    """No network is compared slot by slot, which takes most of its training: grades follow."""
    monkeypatch.setattr(batch_sum, "check_slots", lambda *_: None)
    monkeypatch.setattr(shared_sum, "check_outputs", lambda *_: None)


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("recipe", ["network", "spectral", "barlow", "simclr"])
def test_what_is_not_compared_slot_by_slot_is_graded_the_same(recipe):
    """So that the next test says what it seems to say."""
    assert PATHS[f"release_records, {recipe}"][0](()).grade is Grade.PROVEN


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("path", "number"), CASES)
def test_with_a_number_read_off_it_is_declared(path, number):
    claim = PATHS[path][0]((number,))
    assert claim.grade is Grade.DECLARED
    assert f"{number}: read from the private data, not declared" in claim.stated


def test_the_walk_covers_every_recipe():
    assert {recipe for _, recipe in PATHS.values() if recipe} == set(RECIPES)


def test_a_file_keeps_what_was_read_off(tmp_path):
    """Nothing raises the grade again, and the certificate names the number."""
    released = release_weights(HEAD, inferred=("records",), **BUDGET)
    save(released, tmp_path / "released")
    found = load(tmp_path / "released")
    assert found.terms.inferred == ("records",)
    assert str(found.terms.sources["bound"]) == "said"
    raised = dataclasses.replace(found, terms=dataclasses.replace(found.terms, sources={}))
    assert raised.guarantee.grade is Grade.DECLARED


def test_classes_of_the_labels_are_refused_where_nothing_says_so():
    request = ReleaseRequest(terms=terms(()), records=RECORDS, recipe="class-means")
    with pytest.raises(ValueError, match="classes must be declared for a proven release"):
        release_table(table(public_classes=False), request)
    assert np.all(Y < 3)


def composed(inferred_of_encoder, inferred_of_head):
    """An encoder of private records and a head on its features, of the same people."""
    encoder = release_encoder(
        table(), ReleaseRequest(terms=terms(inferred_of_encoder), records=RECORDS, **ENCODER)
    )
    features = cached_features(table(), ReleasedEncoder(encoder), folder=False)
    own = dataclasses.replace(terms(inferred_of_head), encoder=use_encoder(encoder, "same"))
    head = release_table(features, ReleaseRequest(terms=own, records=RECORDS, recipe="class-means"))
    return head.guarantee, composed_guarantee(head)


ENCODER = {"recipe": "prototypes", "options": {"components": 3, "clusters": 4}}


@pytest.mark.slow
@pytest.mark.parametrize("of_encoder", [(), ("records",), ("components",), ("clusters",)])
@pytest.mark.parametrize("of_head", [(), ("records",)])
def test_a_head_on_an_encoder_is_together_as_good_as_the_worse(of_encoder, of_head):
    """What was read off for either is read off for both."""
    own, both = composed(of_encoder, of_head)
    assert own.grade is (Grade.DECLARED if of_head else Grade.PROVEN)
    assert both.grade is (Grade.DECLARED if of_head or of_encoder else Grade.PROVEN)
    assert both.epsilon > own.epsilon
