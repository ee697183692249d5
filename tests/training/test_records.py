"""Records in Python: rows and labels are read cell by cell."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from reticent.training import SoftmaxHead
from reticent.training.records import classified_records, indices_of, real_targets
from reticent.validation import InputError

BIG = 2**53 + 1


def read(X, y, classes):
    """Bits of the rows and places of the labels; None where they are refused."""
    try:
        rows, labels = classified_records(BaseEstimator(), X, y, declared=True)
        return rows, indices_of(labels, np.asarray(classes)).tolist()
    except (ValueError, TypeError):
        return None


def of_objects(cells):
    return np.fromiter(cells, dtype=object, count=len(cells))


FORMS = {
    "list": list,
    "tuple": tuple,
    "objects": of_objects,
    "series": lambda cells: pd.Series(list(cells), dtype=object),
}
LABELS = [0, 1, BIG, BIG - 1, 0.5, 1.0, float(BIG), True, "0", "a", "a\0", None, float("nan"), (1,)]
LABELS += [2**63, 2**70, -1, np.int64(BIG), np.float32(0.5), np.str_("a"), b"a", [1], pd.NA]
CLASSES = [[0, 1, BIG, BIG - 1], [0.5, 1.0, 3.0], ["0", "a"], [0.5, BIG - 1, BIG], [False, True]]


class TestLabels:
    @pytest.mark.parametrize("form", FORMS)
    @given(st.lists(st.sampled_from(LABELS), max_size=4), st.sampled_from(CLASSES))
    @example([BIG, 0.5], [0, 1, BIG, BIG - 1])
    @example([BIG, 0.5], [0.5, 1.0, float(BIG)])
    @example([1, "a"], ["1", "a"])
    @example([True, "0"], ["0", "a", "True"])
    def test_the_class_of_a_label_depends_on_the_label(self, form, labels, classes):
        """numpy would make one type of all cells: [2**53 + 1, 0.5] are two floats."""

        def places(cells):
            found = read(np.zeros((len(cells), 1)), FORMS[form](cells), classes)
            return None if found is None else found[1]

        alone = [places([label]) for label in labels]
        assert places(labels) == (None if None in alone else [one for [one] in alone])

    def test_labels_are_compared_exactly(self):
        classes = np.array([BIG - 1, BIG])
        assert indices_of(of_objects([BIG, BIG - 1]), classes).tolist() == [1, 0]
        assert indices_of(np.array([BIG, BIG - 1]), classes).tolist() == [1, 0]
        with pytest.raises(InputError, match="label of row 1 must be one of the classes"):
            indices_of(of_objects([BIG, float(BIG) + 2]), classes)

    @pytest.mark.parametrize("wrong", [[1], {}, float("nan"), None, "x", np.array([1])])
    def test_what_is_no_label_is_named_by_its_row(self, wrong):
        with pytest.raises(InputError, match="label of row 1 must be one of the classes, got an"):
            indices_of(of_objects([0, wrong]), np.array([0, 1]))

    def test_no_label_is_taken_for_its_neighbour(self):
        """Beside 1.0 all labels were floats, and 2**53 + 1 was trained on as the class 2**53."""
        head = SoftmaxHead(classes=[0, 1, BIG - 1, BIG], records=4)
        for more in (1, 1.0):
            loss = head.loss_on([[0.0], [1.0], [1.0]], [0, BIG, more])
            assert loss.labels.tolist() == [0, 3, 1]

    def test_a_head_of_lists_is_the_head_of_arrays(self):
        rows, labels = np.eye(4), np.array(["a", "b", "b", "a"])
        heads = [
            SoftmaxHead(classes=["a", "b"], records=4, class_weight=weight).fit(rows, y)
            for weight in (None, {"a": 2.0}, "balanced")
            for y in (labels, labels.tolist(), labels.astype(object), pd.Series(labels))
        ]
        for first in range(0, len(heads), 4):
            for head in heads[first : first + 4]:
                assert head.weights_.tobytes() == heads[first].weights_.tobytes()


CELLS = [0, 1, BIG, 2**62 + 2**38 + 1, 2**64, 10**30, 10**400, 0.1, -0.0, True, "1.5", " 1", "x"]
CELLS += [None, float("nan"), float("inf"), 1j, Fraction(1, 3), Decimal("0.1"), "1e400", [1], b"2"]
CELLS += [np.float32(0.1), np.float16(0.1), np.longdouble("0.1"), np.uint64(2**63 + 1025), pd.NA]
COLUMNS = {
    "int8": np.array([1, -2, 3], np.int8),
    "int64": np.array([BIG, 2**62 + 2**38 + 1, 2**62 + 513]),
    "uint64": np.array([2**63 + 1025, 2**64 - 1, BIG], np.uint64),
    "float16": np.array([0.1, 65504, 1e-7], np.float16),
    "float32": np.array([0.1, 3e38, 1e-45], np.float32),
    "float64": np.array([0.1, 1e308, -0.0]),
    "longdouble": np.array(["0.1", "1e-4000", "0.3"], np.longdouble),
    "bool": np.array([True, False, True]),
    "objects": of_objects([2**70, "1.5", 0.1]),
    "Int64": pd.array([BIG, 2**62 + 513, 5], dtype="Int64"),
    "Float32": pd.array([0.1, 0.2, 0.3], dtype="Float32"),
    "boolean": pd.array([True, False, True], dtype="boolean"),
    "category": pd.Categorical([BIG, 2**62 + 513, 5]),
}


def rows_or_none(X):
    found = read(X, np.zeros(len(X), int), [0, 1])
    return None if found is None else [row.tobytes() for row in found[0]]


class TestRows:
    @pytest.mark.filterwarnings("ignore:overflow encountered")
    @given(st.lists(st.tuples(*[st.sampled_from(CELLS)] * 2), min_size=1, max_size=3))
    def test_a_row_of_a_list_is_what_it_is_alone(self, rows):
        for form in (lambda some: [list(row) for row in some], lambda some: np.array(some, object)):
            try:
                alone = [rows_or_none(form([row])) for row in rows]
                together = rows_or_none(form(rows))
            except OverflowError:
                pytest.fail("a whole number beyond float64 must be refused like any other cell")
            assert together == (None if None in alone else [one for [one] in alone])

    @pytest.mark.parametrize("one", COLUMNS)
    @pytest.mark.parametrize("other", COLUMNS)
    def test_a_row_of_a_frame_is_what_its_cells_are(self, one, other):
        frame = pd.DataFrame({"one": COLUMNS[one], "other": COLUMNS[other]})
        together = rows_or_none(frame)
        assert together == [rows_or_none(frame.iloc[[row]])[0] for row in range(3)]
        singles = [rows_or_none(frame[[name]]) for name in frame]
        assert together == [b"".join(cells) for cells in zip(*singles, strict=True)]

    @pytest.mark.parametrize(
        "kind", ["int8", "int64", "uint64", "float16", "float32", "longdouble"]
    )
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_an_array_of_any_type_is_read_cell_by_cell(self, kind, order):
        array = np.array([COLUMNS[kind]] * 2, order=order).T
        together = rows_or_none(array)
        assert together == [rows_or_none(array[[row]])[0] for row in range(3)]
        nearest = np.array([float(cell) for cell in COLUMNS[kind].tolist()])
        assert together == [np.array([cell, cell]).tobytes() for cell in nearest]


TARGETS = [0, 0.5, BIG, 2**64, True, "1.5", None, float("nan"), np.float32(0.1), 10**400, 1j]


class TestTargets:
    @given(st.lists(st.sampled_from(TARGETS), max_size=4))
    @example([True, "1.5"])
    @example([0, "1.5"])
    def test_a_target_is_what_it_is_alone(self, cells):
        def targets(some):
            try:
                return [target.hex() for target in real_targets(some).tolist()]
            except (ValueError, TypeError, OverflowError):
                return None

        alone = [targets([cell]) for cell in cells]
        assert targets(cells) == (None if None in alone else [one for [one] in alone])

    def test_arrays_keep_their_shape(self):
        assert real_targets(np.array([[1], [2]], np.int8)).tolist() == [[1], [2]]
        assert real_targets([[1], [0.5]]).tolist() == [[1.0], [0.5]]
