"""Public steps: what comes out for a record depends on that record alone."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from reticent.training import PublicStep, SoftmaxHead
from reticent.training.public_step import PublicWhitening, row_by_itself
from reticent.validation import InputError
from tests.training.row_layouts import assert_rows_alone, same_bits

WIDTH = 24
PUBLIC = np.random.default_rng(0).normal(size=(80, WIDTH))
AT_ONCE = {
    "whitening": PublicWhitening(),
    "standard": StandardScaler(),
    "largest": MaxAbsScaler(),
    "range": MinMaxScaler(clip=True),
    "robust": RobustScaler(),
    "imputer": SimpleImputer(add_indicator=True),
    "pipeline": make_pipeline(StandardScaler(), "passthrough", MinMaxScaler()),
    "columns": ColumnTransformer(
        [("some", StandardScaler(), [0, 2]), ("few", "drop", [1])], remainder="passthrough"
    ),
    "wrapped twice": PublicStep(PCA(3).fit(PUBLIC)),
}
ONE_BY_ONE = {
    "PCA": PCA(9),
    "whitened PCA": make_pipeline(StandardScaler(), PCA(9, whiten=True)),
    "norms": Normalizer(),
    "norms in columns": ColumnTransformer([("norms", Normalizer(), list(range(WIDTH)))]),
    "a look at all rows": FunctionTransformer(lambda rows: rows - rows.mean(axis=0)),
}
LIKELY = st.integers(0, 2**32 - 1)


def random_rows(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rng.integers(1, 5), WIDTH)) * 10.0 ** rng.integers(-9, 9)


@pytest.mark.parametrize("name", AT_ONCE | ONE_BY_ONE)
@settings(max_examples=15)
@given(seed=LIKELY)
def test_a_row_is_a_function_of_itself_alone(name, seed):
    step = (AT_ONCE | ONE_BY_ONE)[name].fit(PUBLIC)
    assert_rows_alone(PublicStep(step).transform, random_rows(seed))


@pytest.mark.parametrize("name", AT_ONCE)
@settings(max_examples=15)
@given(seed=LIKELY)
def test_what_is_shown_at_once_gives_what_single_rows_give(name, seed):
    """So steps that are taken for row functions are."""
    step, rows = AT_ONCE[name].fit(PUBLIC), random_rows(seed)
    assert row_by_itself(step)
    alone = [np.asarray(step.transform(row[None])) for row in rows]
    assert same_bits(PublicStep(step).transform(rows), np.concatenate(alone))


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_what_is_not_known_to_treat_rows_alone_is_shown_one_by_one(name):
    assert not row_by_itself(ONE_BY_ONE[name].fit(PUBLIC))


def test_a_subclass_may_do_something_else():
    class Centred(StandardScaler):
        def transform(self, X):
            return X - X.mean(axis=0)

    assert (PublicStep(Centred().fit(PUBLIC)).transform(PUBLIC) == 0).all()


@pytest.mark.parametrize("name", AT_ONCE | ONE_BY_ONE)
def test_the_empty_data_set_has_a_result(name):
    step = PublicStep((AT_ONCE | ONE_BY_ONE)[name].fit(PUBLIC))
    width = step.transform(PUBLIC).shape[1]
    assert step.transform(PUBLIC[:0]).shape == (0, width)


def test_a_pipeline_fits_the_empty_data_set_as_it_fits_any_other():
    head = SoftmaxHead(classes=[0, 1], records=10, bound=5.0)
    pipeline = make_pipeline(PublicStep(PCA(3).fit(PUBLIC)), head)
    for count in (0, 1, 2):
        pipeline.fit(PUBLIC[:count], np.zeros(count, dtype=int))
        assert head.coordinates_.shape == (1, 4)


@pytest.mark.parametrize("step", [StandardScaler(), PCA(3)], ids=["standard", "PCA"])
def test_the_type_of_an_array_changes_no_record(step):
    step = PublicStep(step.fit(PUBLIC))
    whole = np.random.default_rng(1).integers(-9, 9, size=(4, WIDTH))
    expected = step.transform(whole.astype(np.float64))
    for kind in (np.int8, np.int64, np.float32, np.float16):
        assert same_bits(step.transform(whole.astype(kind)), expected)
    assert same_bits(step.transform(whole.tolist()), expected)


def test_a_step_that_writes_into_its_input_leaves_yours_alone():
    rows = PUBLIC.copy()
    PublicStep(StandardScaler(copy=False).fit(PUBLIC)).transform(rows)
    assert same_bits(rows, PUBLIC)


class TestOtherInputs:
    def test_tables_with_names(self):
        table = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": ["x", "y", "x"], "c": [3, 1, 2]})
        columns = [("a", StandardScaler(), ["a", "c"]), ("b", OneHotEncoder(), ["b"])]
        step = ColumnTransformer(columns).fit(table)
        assert row_by_itself(step)
        alone = [step.transform(table.iloc[i : i + 1]) for i in range(3)]
        assert same_bits(PublicStep(step).transform(table), np.concatenate(alone))
        assert PublicStep(step).transform(table.iloc[:0]).shape == (0, 4)
        single = make_pipeline(step, FunctionTransformer(lambda rows: rows - rows.mean(axis=0)))
        assert (PublicStep(single.fit(table)).transform(table) == 0).all()

    def test_texts_become_sparse_rows(self):
        texts = ["one two", "two three three", "four"]
        step = TfidfVectorizer().fit(texts)
        found = PublicStep(step).transform(texts)
        assert sparse.issparse(found)
        assert found.toarray() == pytest.approx(step.transform(texts).toarray())
        assert PublicStep(step).transform([]).shape == (0, 4)

    def test_sparse_rows(self):
        rows = sparse.csr_array(np.eye(3))
        step = PublicStep(MaxAbsScaler().fit(rows))
        assert same_bits(step.transform(rows).toarray(), np.eye(3))
        norms = PublicStep(Normalizer().fit(rows))
        assert same_bits(norms.transform(rows).toarray(), np.eye(3))

    def test_categories_as_whole_numbers(self):
        ordinal = PublicStep(OrdinalEncoder().fit([[3], [5]]))
        assert ordinal.transform([[5], [3]]).tolist() == [[1.0], [0.0]]


def test_one_row_must_come_of_one_row():
    twice = FunctionTransformer(lambda rows: np.concatenate([rows, rows])).fit(PUBLIC)
    with pytest.raises(InputError, match="step must give one row for each row"):
        PublicStep(twice).transform(PUBLIC)


def test_a_message_shows_no_cell():
    step = PublicStep(StandardScaler().fit([[0.0], [1.0]]))
    with pytest.raises(ValueError, match="could not convert") as caught:
        step.transform([["secret"]])
    assert "secret" not in str(caught.value)
