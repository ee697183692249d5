"""Every target against what its model says directly; views that show less; refusals."""

import sys
import types

import numpy as np
import pyarrow as pa
import pytest
import torch
from pyarrow import parquet
from scipy import special
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from reticent.attacks.targets import (
    Access,
    AnsweredTarget,
    FunctionTarget,
    LabelTarget,
    ModelTarget,
    RoundedTarget,
    Target,
    TopTarget,
    TorchTarget,
    imported_target,
    target_of,
)
from reticent.protect import release_weights
from reticent.training import MLPHead, SigmoidHead, SoftmaxHead
from reticent.validation import InputError

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["c", "a", "b"])[Y]
CLASSES = ["b", "c", "a"]
HEAD = SoftmaxHead(penalty=0.01, bound=9.0, classes=CLASSES, records=150).fit(X, NAMES)
SKLEARN = LogisticRegression(max_iter=1000).fit(X, NAMES)
ANSWERS = np.array([[0.5, 0.3, 0.16, 0.04], [0.0, 1.0, 0.0, 0.0], [0.24, 0.26, 0.25, 0.25]])
TABLE = AnsweredTarget(ANSWERS, classes=["w", "x", "y", "z"])
ROWS = np.arange(3)


class TestModels:
    @pytest.mark.parametrize(
        "model",
        [
            HEAD,
            MLPHead(layers=2, steps=20).fit(X, NAMES),
            release_weights(HEAD, epsilon=50.0, delta=1e-5, relation="add-remove"),
        ],
        ids=lambda model: type(model).__name__,
    )
    def test_ours_show_their_own_logits(self, model):
        target = target_of(model)
        assert np.array_equal(target.logits(X), model.logits(X))
        assert target.probabilities(X) == pytest.approx(model.predict_proba(X))
        assert np.array_equal(target.classes[target.labels(X)], model.predict(X))
        assert target.access is Access.SCORES

    def test_scikit_learns_answer_with_logarithms(self):
        target = target_of(SKLEARN)
        assert target.logits(X) == pytest.approx(np.log(SKLEARN.predict_proba(X)))
        assert target.probabilities(X) == pytest.approx(SKLEARN.predict_proba(X))
        assert target.classes.tolist() == ["a", "b", "c"]

    def test_a_target_is_itself(self):
        assert target_of(TABLE) is TABLE

    @pytest.mark.parametrize(
        ("model", "message"),
        [
            (SVC().fit(X, Y), "target must be a fitted model with predict_proba .* got SVC"),
            (3, "target must be a fitted model with predict_proba .* got int"),
            (LogisticRegression(), "target must be fitted .* got LogisticRegression"),
            (
                SigmoidHead(bound=9.0).fit(X, np.eye(3)[Y][:, :2]),
                "target must give each record one label",
            ),
        ],
    )
    def test_refusals(self, model, message):
        with pytest.raises(InputError, match=message):
            target_of(model)

    @pytest.mark.parametrize(
        ("answers", "message"),
        [
            (np.full((150, 2), 0.5), r"must answer 150 records with 3 numbers each"),
            (np.full((149, 3), 1 / 3), r"must answer 150 records with 3 numbers each"),
            (np.full((150, 3), np.nan), "probabilities of the target must be finite"),
            (np.full((150, 3), 0.5), "add up to 1, row 0 does not"),
            (np.tile([1.5, -0.5, 0.0], (150, 1)), "must be >= 0 and add up to 1, row 0"),
            (np.full(150, 1.0), "must answer 150 records"),
        ],
    )
    def test_wrong_answers(self, answers, message):
        model = types.SimpleNamespace(classes_=[0, 1, 2], predict_proba=lambda rows: answers)
        with pytest.raises(InputError, match=message):
            ModelTarget(model).logits(X)

    def test_wrong_logits(self):
        for logits in (np.zeros((150, 4)), np.full((150, 3), np.inf)):
            model = types.SimpleNamespace(classes_=[0, 1, 2], logits=lambda rows, out=logits: out)
            with pytest.raises(InputError, match="target"):
                target_of(model).logits(X)


class TestFunction:
    def test_it_is_called_with_the_inputs(self):
        target = FunctionTarget(SKLEARN.predict_proba, classes=["a", "b", "c"])
        assert target.probabilities(X) == pytest.approx(SKLEARN.predict_proba(X))
        assert np.array_equal(target.labels(X), SKLEARN.predict_proba(X).argmax(axis=1))

    def test_a_probability_of_zero_has_a_finite_logit(self):
        target = FunctionTarget(lambda rows: [[1.0, 0.0]] * len(rows), classes=[0, 1])
        assert target.logits([[1.0]])[0] == pytest.approx([0.0, np.log(1e-300)])

    def test_rounding_is_forgiven_and_more_is_not(self):
        def answers(missing):
            function = lambda rows: [[0.5, 0.5 - missing]] * len(rows)  # noqa: E731
            return FunctionTarget(function, classes=[0, 1]).logits([[0.0]])

        assert answers(0.0009).shape == (1, 2)
        with pytest.raises(InputError, match="add up to 1"):
            answers(0.0011)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((3, [0, 1]), "function must be callable, got int"),
            ((len, [0]), "classes must be at least 2 different ones"),
            ((len, [0, 0]), "classes must be at least 2 different ones"),
            ((len, [[0, 1], [2, 3]]), "classes must be at least 2 different ones"),
        ],
    )
    def test_refusals(self, arguments, message):
        function, classes = arguments
        with pytest.raises(InputError, match=message):
            FunctionTarget(function, classes=classes)


class TestTorch:
    @pytest.fixture
    def module(self):
        torch.manual_seed(0)
        return torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(8),
            torch.nn.Linear(8, 3),
        )  # fmt: skip

    @pytest.mark.parametrize("batch", [1, 7, 512])
    def test_it_answers_as_in_evaluation_whatever_the_batch(self, module, batch):
        found = TorchTarget(module.train(), classes=CLASSES, batch=batch).logits(X)
        with torch.no_grad():
            expected = module.eval()(torch.tensor(X).float()).numpy()
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-6)
        assert found.dtype == np.float64

    def test_the_mode_of_every_part_is_put_back_and_nothing_is_learnt(self, module):
        module.train()
        module[2].eval()  # a frozen normalisation inside a module in training
        before = {name: value.clone() for name, value in module.state_dict().items()}
        TorchTarget(module, classes=CLASSES).logits(X)
        assert [part.training for part in module.modules()] == [True, True, True, False, True]
        assert all(torch.equal(before[name], now) for name, now in module.state_dict().items())

    def test_the_mode_is_put_back_after_an_error_too(self, module):
        with pytest.raises(RuntimeError):
            TorchTarget(module.train(), classes=CLASSES).logits(X[:, :2])
        assert module.training

    def test_whole_numbers_are_inputs(self):
        target = TorchTarget(torch.nn.Identity(), classes=[0, 1])
        assert target.logits(np.array([[3, 4]], dtype=np.uint8)).tolist() == [[3.0, 4.0]]

    @pytest.mark.parametrize(
        ("module", "inputs", "message"),
        [
            (torch.nn.Identity(), X, r"must answer 150 records with 3 numbers each"),
            (torch.nn.Identity(), [["a", "b", "c"]], "inputs of a torch module must be numbers"),
            (torch.nn.GRU(4, 3, batch_first=True), X, "module must answer with one tensor"),
            (torch.nn.LogSoftmax(dim=0), np.full((2, 3), np.inf), "logits of the target"),
        ],
    )
    def test_wrong_answers(self, module, inputs, message):
        with pytest.raises(InputError, match=message):
            TorchTarget(module, classes=CLASSES).logits(inputs)

    def test_refusals(self):
        with pytest.raises(InputError, match="module must be a torch module, got int"):
            TorchTarget(3, classes=CLASSES)
        with pytest.raises(InputError, match="batch must be >= 1"):
            TorchTarget(torch.nn.Identity(), classes=CLASSES, batch=0)


class TestAnswers:
    def test_queries_are_rows(self):
        assert TABLE.probabilities([2, 0]) == pytest.approx(ANSWERS[[2, 0]])
        assert len(TABLE) == 3

    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_files(self, tmp_path, ending):
        path = tmp_path / f"answers.{ending}"
        if ending == "csv":
            path.write_text("10,2\n0.25,0.75\n1,0\n")
        else:
            parquet.write_table(pa.table({"10": [0.25, 1.0], "2": [0.75, 0.0]}), path)
        found = AnsweredTarget.read(path)
        assert found.classes.tolist() == ["10", "2"]
        assert found.probabilities([0, 1]) == pytest.approx(np.array([[0.25, 0.75], [1.0, 0.0]]))

    def test_probabilities_next_to_one_and_zero_keep_their_digits(self, tmp_path):
        path = tmp_path / "answers.parquet"
        answers = np.array([[1 - 1e-12, 1e-12], [1e-100, 1.0]])
        parquet.write_table(pa.table({"a": answers[:, 0], "b": answers[:, 1]}), path)
        found = AnsweredTarget.read(path).logits([0, 1])
        assert found == pytest.approx(np.log(answers), rel=1e-15, abs=0)

    @pytest.mark.parametrize("column", [[[0.25, 0.75], [1.0, 0.0]], ["0.5", "1"]])
    def test_a_file_of_lists_or_texts_is_refused(self, tmp_path, column):
        path = tmp_path / "answers.parquet"
        parquet.write_table(pa.table({"p": column, "q": [0.0, 0.0]}), path)
        with pytest.raises(InputError, match="one column of numbers for each class"):
            AnsweredTarget.read(path)

    def test_columns_of_unequal_length_are_refused(self, tmp_path):
        np.savez(tmp_path / "answers.npz", a=[0.5, 0.5], b=[0.5])
        with pytest.raises(InputError, match="one column of numbers for each class"):
            AnsweredTarget.read(tmp_path / "answers.npz")

    def test_other_bad_files(self, tmp_path):
        with pytest.raises(InputError, match="must be a file"):
            AnsweredTarget.read(tmp_path / "none.csv")
        path = tmp_path / "answers.csv"
        path.write_text("a,b\n0.25,0.25\n")
        with pytest.raises(InputError, match="add up to 1, row 0 does not"):
            AnsweredTarget.read(path)

    @pytest.mark.parametrize(
        ("query", "message"),
        [
            ([3], "queries must be rows 0 to 2, got others"),
            ([-1], "queries must be rows 0 to 2, got others"),
            ([0.0], "queries must be numbers of rows"),
            ([[0]], "queries must be numbers of rows"),
            ([True, False, True], "queries must be numbers of rows"),
        ],
    )
    def test_wrong_queries(self, query, message):
        with pytest.raises(InputError, match=message):
            TABLE.logits(query)

    @pytest.mark.parametrize("answers", [0.5, [0.5, 0.5], [], [[0.5, 0.6]], [[np.nan, 1.0]]])
    def test_wrong_answers(self, answers):
        with pytest.raises(InputError):
            AnsweredTarget(answers, classes=["a", "b"])


class TestViews:
    def test_the_rest_shares_evenly(self):
        found = TopTarget(TABLE, shown=2).probabilities(ROWS)
        assert found[0] == pytest.approx([0.5, 0.3, 0.1, 0.1])
        assert found[1] == pytest.approx([0.0, 1.0, 0.0, 0.0], rel=1e-9, abs=1e-200)
        assert np.sort(found[2]) == pytest.approx([0.245, 0.245, 0.25, 0.26])

    def test_one_shown(self):
        found = TopTarget(TABLE, shown=1).probabilities(ROWS)
        assert found[0] == pytest.approx([0.5, 1 / 6, 1 / 6, 1 / 6])

    @pytest.mark.parametrize("shown", [4, 9])
    def test_all_shown(self, shown):
        found = TopTarget(TABLE, shown=shown).probabilities(ROWS)
        assert found == pytest.approx(ANSWERS, rel=1e-9, abs=1e-200)

    def test_rounded(self):
        found = RoundedTarget(TABLE, decimals=1).logits(ROWS)
        for row, answers in zip(found, ANSWERS, strict=True):
            shown = [round(p, 1) if round(p, 1) > 0 else 0.025 for p in answers]
            assert np.exp(row) == pytest.approx(shown)

    @pytest.mark.parametrize("decimals", [0, 1, 3])
    def test_what_was_rounded_to_zero_stays_below_what_was_not(self, decimals):
        found = RoundedTarget(TABLE, decimals=decimals).logits(ROWS)
        rounded = np.round(ANSWERS, decimals)
        assert found[rounded == 0].max() < found[rounded > 0].min(initial=np.inf)

    def test_labels(self):
        view = LabelTarget(TABLE)
        assert view.labels(ROWS).tolist() == [0, 1, 1]
        assert view.probabilities(ROWS) == pytest.approx(np.eye(4)[[0, 1, 1]], rel=1e-9, abs=1e-200)

    def test_views_of_models_have_their_classes_and_their_own_access(self):
        for view, access in (
            (TopTarget(HEAD, shown=1), Access.TOP_SCORES),
            (RoundedTarget(HEAD, decimals=2), Access.ROUNDED_SCORES),
            (LabelTarget(HEAD), Access.LABELS),
        ):
            assert view.classes.tolist() == CLASSES
            assert view.access is access
            assert np.isfinite(view.logits(X)).all()
            assert np.array_equal(LabelTarget(TopTarget(HEAD, shown=1)).labels(X),
                                  target_of(HEAD).labels(X))  # fmt: skip

    def test_refusals(self):
        with pytest.raises(InputError, match="shown must be >= 1"):
            TopTarget(TABLE, shown=0)
        with pytest.raises(InputError, match="decimals must be >= 0"):
            RoundedTarget(TABLE, decimals=-1)
        with pytest.raises(InputError, match="target must be a fitted model"):
            LabelTarget(3)


class TestImported:
    @pytest.fixture(autouse=True)
    def module(self, monkeypatch):
        module = types.ModuleType("somebodys_models")
        module.head, module.table, module.number = HEAD, TABLE, 3
        module.function = lambda rows: np.asarray(special.softmax(rows, axis=1))
        module.network = torch.nn.Identity()
        module.unfitted = LogisticRegression()
        monkeypatch.setitem(sys.modules, "somebodys_models", module)

    def test_fitted_models_and_targets(self):
        assert imported_target("somebodys_models:table") is TABLE
        assert np.array_equal(imported_target("somebodys_models:head").logits(X), HEAD.logits(X))

    @pytest.mark.parametrize("name", ["function", "network"])
    def test_functions_and_modules_with_classes(self, name):
        found = imported_target(f"somebodys_models:{name}", classes=range(4))
        assert isinstance(found, Target)
        assert found.probabilities(X) == pytest.approx(special.softmax(X, axis=1), rel=1e-5)

    @pytest.mark.parametrize(
        ("name", "classes", "message"),
        [
            ("somebodys_models", None, "target must be written module:attribute"),
            (":head", None, "target must be written module:attribute"),
            ("somebodys_models:", None, "target must be written module:attribute"),
            ("somebodys_models:nothing", None, "must be importable, got: .*nothing"),
            ("no_such_module:head", None, "must be importable, got: No module named"),
            (".relative:head", None, "must be importable"),
            ("somebodys_models:function", None, "classes must be given"),
            ("somebodys_models:unfitted", None, "classes must be given"),
            ("somebodys_models:number", [0, 1], "function must be callable, got int"),
        ],
    )
    def test_refusals(self, name, classes, message):
        with pytest.raises(InputError, match=message) as caught:
            imported_target(name, classes=classes)
        assert "\n" not in str(caught.value)
