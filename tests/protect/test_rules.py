"""The rules that keep a proven claim about a head true, one test or more for each.

Two of them show the wrong way beside ours: clipping in float32, and a projection in floats.
"""

import ast
import csv
import inspect
import json
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import reticent
from reticent import bounds, mechanisms
from reticent.cli.main import REFUSED, run
from reticent.cli.protect import protect
from reticent.data import read_table
from reticent.guarantee import Grade, Guarantee
from reticent.mechanisms.profiles import gaussian
from reticent.mechanisms.registry import MECHANISMS, for_any_vector
from reticent.protect import load, release_mean, release_weights, save
from reticent.protect.table import ReleaseRequest, release_table
from reticent.training import SigmoidHead, SoftmaxHead
from reticent.training.features import clip_rows
from reticent.training.softmax import zero_sum_basis
from reticent.validation import InputError

BUDGET = {"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove"}
REQUEST = ReleaseRequest.of(**BUDGET, records=50, bound=1.0)
CLASSES = ("a", "b", "c")


def records(n=37, d=4):
    rng = np.random.default_rng(5)
    return rng.normal(size=(n, d)), np.array(CLASSES)[rng.integers(3, size=n)]


def fitted(rows=None, labels=None, **changes):
    if rows is None:
        rows, labels = records()
    parameters = {"classes": CLASSES, "records": 50, "penalty": 0.1} | changes
    return SoftmaxHead(**parameters).fit(rows, labels)


def written(path, rows, labels):
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["p", "q", "r", "s", "label"])
        table.writerows([*row, label] for row, label in zip(rows, labels, strict=True))
    return path


def protecting(path, out, *more):
    return [
        "protect", "--private", str(path), "--label", "label", "--classes", "a,b,c", "--bound", "1",
        "--records", "50", "--epsilon", "1", "--delta", "1e-5", "--relation", "add-remove",
        "--learner", "weights", "--out", str(out), *more,
    ]  # fmt: skip


class TestTotalFunction:
    """Every data set of valid records has a release: a refusal would tell it from its neighbour."""

    @pytest.mark.parametrize("kept", [0, 1, 37])
    @pytest.mark.parametrize("mean_bound", [None, 1.0])
    def test_from_a_file(self, tmp_path, kept, mean_bound):
        """A header alone, one record (so two classes are missing), and all of them."""
        rows, labels = records()
        path = written(tmp_path / "t.csv", rows[:kept], labels[:kept])
        data = read_table(path, label="label", classes=CLASSES)
        released = release_table(data, REQUEST.with_options(mean_bound=mean_bound))
        assert released.guarantee.grade is Grade.PROVEN
        assert released.tensors["coordinates"].shape == (2, 5)

    def test_a_class_without_records_and_rows_of_zeros(self):
        rows, _ = records()
        for norms in ("clip", "scale"):
            head = fitted(np.vstack([rows, 0 * rows]), ["a"] * 74, norms=norms)
            released = release_weights(head, **BUDGET)
            assert released.classes_.tolist() == list(CLASSES)

    @pytest.mark.parametrize("n", [0, 1, 37])
    def test_several_labels(self, n):
        head = SigmoidHead(classes=CLASSES, records=50).fit(records()[0][:n], np.zeros((n, 3)))
        assert release_weights(head, **BUDGET).guarantee.grade is Grade.PROVEN


class TestMinting:
    """Only a release mints *proven*; a constructor, a file or a sensitivity alone does not."""

    def test_a_proven_sensitivity_and_its_noise_are_declared(self):
        proven = bounds.softmax_head(
            penalty=0.1, records=50, radius=1.0, tolerance=1e-6, relation="add-remove"
        )
        noise = mechanisms.Gaussian.calibrate(proven, epsilon=1.0, delta=1e-5)
        assert proven.grade is Grade.PROVEN
        assert noise.guarantee(delta=1e-5).grade is Grade.DECLARED

    def test_words_and_files_are_declared(self, tmp_path):
        released = release_weights(fitted(), **BUDGET)
        assert released.guarantee.grade is Grade.PROVEN
        assert Guarantee.from_json(released.guarantee.to_json()).grade is Grade.DECLARED
        with pytest.raises(InputError, match="must be at most declared"):
            Guarantee(**BUDGET, grade="proven")
        save(released, tmp_path / "head")
        assert load(tmp_path / "head").guarantee.grade is Grade.DECLARED

    def test_who_can_mint(self):
        """Theorems, releases, and sums of guarantees."""
        source = Path(reticent.__file__).parent
        minting = {
            path.relative_to(source).parts[0]
            for path in source.rglob("*.py")
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom)
            for imported in (node.module, *(f"{node.module}.{name.name}" for name in node.names))
            if imported == "reticent.guarantee.minting"
        }
        assert minting == {"bounds", "protect", "guarantee"}


class TestRandomness:
    """Protecting noise never comes from a user's seed, and none is used twice."""

    def test_no_seed_can_be_given(self):
        on_the_way = [
            release_weights,
            release_mean,
            release_table,
            ReleaseRequest,
            protect,
            SoftmaxHead,
        ]
        on_the_way += [SoftmaxHead.fit, save, *(kind.release for kind in MECHANISMS.values())]
        words = ("seed", "random", "rng", "generator", "key", "noise")
        for function in on_the_way:
            names = inspect.signature(function).parameters
            assert not [name for name in names if any(word in name for word in words)], function

    @pytest.mark.parametrize("mechanism", for_any_vector())
    def test_two_releases_differ_under_equal_global_seeds(self, mechanism):
        """Two entries are equal with probability below 1e-4, all ten with less than 1e-40."""
        head, found = fitted(), []
        for _ in range(2):
            random.seed(0)
            np.random.seed(0)  # noqa: NPY002 - the global seed must not matter
            found.append(
                release_weights(head, **BUDGET, mechanism=mechanism).tensors["coordinates"]
            )
        assert not np.array_equal(*found)


def test_the_claim_is_about_rows_of_features():
    """Encoding in batches breaks "one image, one row": adjacency is said at the features."""
    released = release_weights(fitted(), **BUDGET)
    mean = release_mean(records()[0], bound=1.0, records=50, **BUDGET)
    for claim in (released.guarantee, mean.guarantee):
        assert any(line.startswith("one record is one row of features") for line in claim.stated)


class TestClipping:
    """Rows are clipped in float64 so that their exact norms are within the bound."""

    @staticmethod
    def too_long(rows, bound):
        """The share of rows that are longer than the bound, in exact arithmetic."""
        squares = [sum(Fraction(x) ** 2 for x in row) for row in rows.tolist()]
        return np.mean([square > Fraction(bound) ** 2 for square in squares])

    def test_exact_norms(self):
        rows = 9 * np.random.default_rng(0).normal(size=(300, 60))
        assert self.too_long(clip_rows(rows, 0.7), 0.7) == 0
        head = fitted(rows, ["a"] * 300, bound=0.7, centre=np.full(60, 0.1))
        assert self.too_long(head._map(rows), head.radius) == 0

    def test_float32_is_rejected(self):
        rows = np.random.default_rng(0).normal(size=(300, 60)).astype(np.float32)
        small = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        assert self.too_long(small.astype(np.float64), 1.0) > 0.1

    def test_queries_are_clipped_like_rows(self):
        released = release_weights(fitted(), **BUDGET)
        rows = 100 * records()[0]
        assert released.logits(rows) == pytest.approx(released.logits(7 * rows))


class TestSideOutputs:
    """Two neighbours: whatever leaves the house is equal, but for the noisy numbers."""

    @pytest.fixture(params=["none", "mean"])
    def outputs(self, request, tmp_path, capsys):
        rows, labels = records()
        rows[-1] *= 1e6
        found = []
        for n in (37, 36):
            path = written(tmp_path / "t.csv", rows[:n], labels[:n])
            assert (
                run(protecting(path, tmp_path / "head", "--centre", request.param, "--replace"))
                == 0
            )
            printed = capsys.readouterr()
            tensors = load_file(tmp_path / "head.safetensors")
            certificate = json.loads((tmp_path / "head.json").read_text(encoding="utf-8"))
            found.append((printed, tensors, certificate))
        return found

    def test_everything_but_the_noisy_numbers_is_equal(self, outputs):
        (printed, tensors, certificate), (printed_2, tensors_2, certificate_2) = outputs
        assert printed == printed_2
        del certificate["weights_sha256"], certificate_2["weights_sha256"]
        assert certificate == certificate_2
        shapes = {name: tensor.shape for name, tensor in tensors.items()}
        assert shapes == {name: tensor.shape for name, tensor in tensors_2.items()}
        for name, tensor in tensors.items():
            assert not np.array_equal(tensor, tensors_2[name])

    def test_relation_and_unit_stand_beside_epsilon_and_n_nowhere(self, outputs):
        """37 records; N = 50 is public."""
        printed, _, certificate = outputs[0]
        assert "neighbours: add-remove; unit: one record" in " ".join(printed.out.split())
        assert certificate["numbers"]["records"] == 50
        assert 37 not in numbers_in(certificate | {"weights_sha256": ""})


def numbers_in(document):
    if isinstance(document, dict):
        document = list(document.values())
    if isinstance(document, list):
        return [number for part in document for number in numbers_in(part)]
    return [document]


class TestChoicesOnPrivateData:
    """What was fitted or chosen on the private records is refused."""

    @pytest.mark.parametrize(
        ("model", "message"),
        [
            (make_pipeline(StandardScaler(), SoftmaxHead(classes=CLASSES, records=50)),
             "must be a PublicStep"),
            (SoftmaxHead(classes=CLASSES, records=50, class_weight="balanced"), "got 'balanced'"),
            (SoftmaxHead(records=50), "classes must be given"),
            (SoftmaxHead(classes=CLASSES), "records must be given"),
            (GridSearchCV(SoftmaxHead(classes=CLASSES, records=50), {"penalty": [0.1]}, cv=2),
             "search over private records"),
        ],
    )  # fmt: skip
    def test_refused(self, model, message):
        with pytest.raises(InputError, match=message):
            release_weights(model.fit(*records()), **BUDGET)


def test_each_copy_of_a_head_is_charged(tmp_path, capsys):
    """Two copies add up, the third is above the budget: nothing of it is drawn or written."""
    book, path = str(tmp_path / "book"), written(tmp_path / "t.csv", *records())
    budget = ["--epsilon", "2.5", "--delta", "1e-4", "--relation", "add-remove"]
    assert run(["ledger", "budget", book, "people", *budget]) == 0
    charged = ["--ledger", book, "--data-set", "people"]
    codes = [run(protecting(path, tmp_path / name, *charged)) for name in "xyz"]
    assert codes == [0, 0, REFUSED]
    assert not list(tmp_path.glob("z*"))
    assert run(["predict", str(tmp_path / "x"), "--queries", str(path), "--label", "label"]) == 0
    capsys.readouterr()
    assert run(["ledger", "show", book, "people", "--json"]) == 0
    account = json.loads(capsys.readouterr().out)["accounts"][0]
    assert account["charges"] == 2  # using a stored copy again is free
    totals = account["totals"]
    assert (totals["epsilon"], totals["delta"]) == (pytest.approx(2.0), pytest.approx(2e-5))


@pytest.mark.parametrize("epsilon", [0.123451, 1.0000001, 7.77772])
def test_printed_bounds_are_rounded_up(epsilon, tmp_path, capsys):
    """ε as printed is never below ε as claimed, and ε computed anew is not below the exact one."""
    released = release_weights(fitted(), **(BUDGET | {"epsilon": epsilon}))
    save(released, tmp_path / "head")
    assert run(["verify", str(tmp_path / "head")]) == 0
    printed = [line for line in capsys.readouterr().out.splitlines() if "ε" in line][:2]
    claimed, anew = (float(line.split("ε ")[1].split()[1].rstrip(",")) for line in printed)
    assert epsilon < claimed < epsilon * 1.0002
    assert released.noises["coordinates"].gdp() <= gaussian.shift(anew, 1e-5)


class TestCentring:
    """A mean of private rows is a release: it has noise of its own and a share of the budget."""

    def test_both_together_spend_the_budget(self):
        rows, labels = records()
        mean = release_mean(rows, bound=1.0, records=50, share=0.3, **BUDGET)
        head = fitted(rows, labels, centre=mean.tensors["mean"])
        released = release_weights(head, mean=mean, **BUDGET)
        moved = released.noises["coordinates"].sensitivity.l2
        shares = [(1.0 / mean.scales["mean"]) ** 2, (moved / released.scales["coordinates"]) ** 2]
        whole = gaussian.shift(1.0, 1e-5) ** 2
        assert shares == pytest.approx([0.3 * whole, 0.7 * whole])
        assert any("all of these queries together" in line for line in released.guarantee.checked)

    def test_a_private_mean_is_no_released_mean(self):
        rows, labels = records()
        with pytest.raises(InputError, match="mean must be as release_mean returned it"):
            release_weights(fitted(rows, labels, centre=rows.mean(0)), mean=rows.mean(0), **BUDGET)


class TestZeroSumSpace:
    """Noise is added to the free coordinates, never projected in floats."""

    @staticmethod
    def exact_sums(weights):
        return [sum(map(Fraction, column)) for column in weights.T.tolist()]

    def test_a_float_projection_leaves_sums_without_noise(self):
        """Exact column sums differ from 0, so they tell about the weights they came from."""
        basis = zero_sum_basis(10)
        noise = np.random.default_rng(0).normal(size=(9, 400))
        projected = basis @ (basis.T @ (basis @ np.ones((9, 400)) + basis @ noise))
        assert np.mean([total != 0 for total in self.exact_sums(projected)]) > 0.5

    def test_only_free_coordinates_leave_the_house(self, tmp_path):
        """(C − 1)·d numbers, each with noise of its own, and none but these are in the file."""
        head = fitted()
        released = release_weights(head, **BUDGET)
        assert released.tensors["coordinates"].shape == (len(CLASSES) - 1, 4 + 1)
        assert np.all(released.tensors["coordinates"] != head.coordinates_)
        save(released, tmp_path / "head")
        tensors = load_file(tmp_path / "head.safetensors")
        assert {name: tensor.size for name, tensor in tensors.items()} == {"coordinates": 10}
