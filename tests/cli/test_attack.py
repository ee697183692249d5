"""``reticent attack`` on real files: every kind of target, the gate, and what is refused."""

import csv
import json
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from reticent.cli.gate import GATE
from reticent.cli.main import BAD_INPUT, run

CLASSES = ",".join(f"d{i}" for i in range(10))
FEATURES = [f"p{i}" for i in range(64)]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    parts = zip(("members", "others", "shadow"), np.split(order[:800], [200, 400]), strict=True)
    return {name: (np.round(X[rows] / 16 - 0.3, 4), y[rows]) for name, rows in parts}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, digits):
    """Three tables; a fit and a release of the members; answers of the fit."""
    folder = tmp_path_factory.mktemp("digits")
    for name, (X, y) in digits.items():
        names = [f"d{digit}" for digit in y]
        write(folder / f"{name}.csv", [*FEATURES, "digit"], zip_rows(X, names))
        write(folder / f"{name}-labels.csv", ["digit"], [[name] for name in names])
        np.savez(folder / f"{name}.npz", x=X, digit=np.array(names))
    fitted = (
        f"--private {folder}/members.csv --label digit --classes {CLASSES} --bound 2.5"
        f" --records 200"
    )
    assert run(f"fit {fitted} --penalty 1e-5 --out {folder}/head".split()) == 0
    terms = "--epsilon 4 --delta 1e-5 --relation add-remove"
    (folder / "released").mkdir()
    (folder / "folder.csv").mkdir()
    assert (
        run(f"protect {fitted} {terms} --learner weights --out {folder}/released/head".split()) == 0
    )
    return folder


def auc_of(out):
    """Of the only attack that was printed as JSON."""
    (found,) = json.loads(out)["attacks"]
    return found["auc"]


def zip_rows(X, names):
    return [[*row, name] for row, name in zip(X, names, strict=True)]


def write(path, head, rows):
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(head)
        table.writerows(rows)


@pytest.fixture
def command(capsys):
    def call(line):
        capsys.readouterr()
        code = run(line.split())
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def attack(command, folder):
    def call(more, target="head", ending="csv"):
        return command(
            f"attack --target {folder}/{target} --members {folder}/members.{ending}"
            f" --nonmembers {folder}/others.{ending} --label digit {more}"
        )

    return call


@pytest.mark.slow
def test_a_fit_by_all_attacks(attack, folder, tmp_path):
    scores = tmp_path / "scores.csv"
    code, out, _ = attack(f"--shadow {folder}/shadow.csv --shadows 6 --scores-out {scores}")
    assert code == 0
    assert out.startswith("SoftmaxHead: 200 members, 200 others\n")
    lines = " ".join(out.split())
    assert "intervals: 95 % for all 19 attacks together; 0.5 and 0 are guessing" in lines
    assert "not measured: non-members must be at least 10/FPR = 1,000 for TPR at 1 % FPR" in lines
    assert "lira-online: black box: probabilities of all classes; knows: shadow models" in lines
    assert "left out: released-weights: it needs released weights of a softmax head" in lines
    assert "verdict: leak found by " in lines
    with scores.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 19 * 400
    assert {row["member"] for row in rows} == {"True", "False"}
    assert scores.stat().st_mode & 0o077 == 0  # for its owner alone


def test_the_figures_as_json_and_the_gate(attack):
    chosen = "--attacks loss,lira-online --shadows 8 --seed 3 --json"
    code, out, _ = attack(chosen)
    assert code == 0
    document = json.loads(out)
    assert [one["name"] for one in document["attacks"]] == ["loss", "lira-online"]
    found = document["attacks"][1]
    assert found["auc"]["confidence"] == pytest.approx(0.975)
    assert (found["members"], found["others"], document["leaks"]) == (200, 200, True)
    low = found["auc"]["low"]
    assert low > 0.5
    code, out, error = attack(f"{chosen} --fail-above auc={low - 0.01}")
    assert code == GATE
    assert [excess["of"] for excess in json.loads(out)["above"]] == ["lira-online"]
    assert error.startswith(f"reticent: above auc={low - 0.01:.10g}: lira-online 0.")
    assert error.count("\n") == 1
    code, out, error = attack(f"{chosen} --fail-above {low + 0.01} --fail-above leakage=1")
    assert (code, json.loads(out)["above"], error) == (0, [], "")
    code, out, error = attack(f"{chosen.removesuffix('--json')} --fail-above {low - 0.01}")
    assert (code, "lira-online 0." in error, error.count("\n")) == (GATE, True, 1)


def test_a_gate_on_what_was_not_measured_fails(attack):
    code, out, error = attack("--attacks loss --fail-above tpr@0.001=0.9")
    assert (code, "verdict: " in out) == (GATE, True)
    assert error == "reticent: tpr@0.001=0.9 not met: loss not measured\n"


def test_npz_files_give_the_same_figures(attack):
    chosen = "--attacks loss,gradient-norm --json"
    assert attack(f"{chosen} --embedding x", ending="npz") == attack(chosen)


def test_a_release_and_the_exact_attack(attack):
    code, out, _ = attack("--attacks gap,released-weights", target="released")
    assert code == 0
    lines = " ".join(out.split())
    assert lines.startswith("released gaussian weights, ε ≤ 4, δ ≤ 1e-5 (declared; neighbours:")
    assert "released-weights: white box: the released weights and the mechanism; knows:" in lines
    assert attack("--attacks gap", target="released/head.json")[0] == 0


def test_slices(attack):
    code, out, _ = attack("--attacks loss --slices")
    assert code == 0
    lines = " ".join(out.split())
    assert "loss by slice; p-values by Holm's rule" in lines
    assert "class d0" in lines
    assert "a slice leaks where p ≤ 0.05: the strongest of 1 attacks was chosen" in lines
    assert "too few records: confidence 01 of 10" in lines  # members are surer
    document = json.loads(attack("--attacks loss --slices --json")[1])
    names = {part["name"] for part in document["slices"] if part["by"] == "class"}
    assert names <= set(CLASSES.split(","))
    assert len(names) == 10
    assert all(part["corrected"] >= part["p_value"] for part in document["slices"])


@pytest.mark.parametrize(
    ("option", "access"),
    [
        ("--top 3", "the largest probabilities only"),
        ("--decimals 1", "rounded probabilities"),
        ("--labels-only", "labels only"),
    ],
)
def test_what_is_shown(attack, option, access):
    chosen = "gap" if option == "--labels-only" else "loss"
    code, out, _ = attack(f"--attacks {chosen} {option}")
    assert (code, access in " ".join(out.split())) == (0, True)
    code, _, error = attack(f"--attacks gradient-norm {option}")
    assert (code, "gradient-norm is not possible: it needs the weights" in error) == (
        BAD_INPUT, True,
    )  # fmt: skip


class TestOtherTargets:
    @pytest.fixture
    def answers(self, folder, digits):
        """A model of one's own that wrote its probabilities down, members first."""
        X, y = digits["members"]
        model = LogisticRegression(C=100, max_iter=5000).fit(X, [f"d{digit}" for digit in y])
        rows = np.vstack([model.predict_proba(digits[name][0]) for name in ("members", "others")])
        write(folder / "answers.csv", model.classes_, rows)
        return model

    def test_answers_in_a_file(self, attack, folder, answers):
        code, out, _ = attack("--attacks loss --json", target="answers.csv")
        assert code == 0
        whole = auc_of(out)
        code, out, _ = attack(
            f"--members {folder}/members-labels.csv --nonmembers {folder}/others-labels.csv"
            " --attacks loss --json",
            target="answers.csv",
        )
        assert (code, auc_of(out)) == (0, whole)
        chosen = f"--attacks lira-offline --shadow {folder}/shadow.csv --shadow-model softmax"
        assert attack(f"{chosen} --shadows 4", target="answers.csv")[0] == 0

    def test_an_object_in_a_module_of_this_folder(self, command, folder, tmp_path, monkeypatch):
        (tmp_path / "modules_here.py").write_text(
            "import numpy as np\n"
            "print('loud')\n"
            "def model(rows):\n"
            "    return np.full((len(rows), 10), 0.1)\n"
        )
        monkeypatch.chdir(tmp_path)
        code, out, _ = command(
            f"attack --target modules_here:model --classes {CLASSES} --attacks loss --json"
            f" --members {folder}/members.csv --nonmembers {folder}/others.csv --label digit"
        )
        assert code == 0
        assert auc_of(out)["value"] == pytest.approx(0.5)
        assert str(tmp_path) not in sys.path

    def test_answers_for_other_records(self, attack, folder, answers):
        code, _, error = attack(
            f"--attacks loss --nonmembers {folder}/shadow.csv", target="answers.csv"
        )
        assert (code, "one row for each of 600 records, members first" in error) == (
            BAD_INPUT, True,
        )  # fmt: skip

    def test_an_object_in_python(self, command, folder, answers, tmp_path, monkeypatch):
        (tmp_path / "own_models.py").write_text("model = function = None\n")
        monkeypatch.syspath_prepend(tmp_path)
        import own_models

        own_models.model, own_models.function = answers, answers.predict_proba
        files = (
            f"--members {folder}/members.csv --nonmembers {folder}/others.csv --label digit"
            " --attacks loss --json"
        )
        _, out, _ = command(f"attack --target {folder}/answers.csv {files}")
        wanted = auc_of(out)["value"]
        for target in ("own_models:model", f"own_models:function --classes {CLASSES}"):
            code, out, _ = command(f"attack --target {target} {files}")
            assert code == 0
            assert auc_of(out)["value"] == pytest.approx(wanted, abs=2e-4)  # float32; ties at 1
        code, _, error = command(f"attack --target own_models:function {files}")
        assert (code, "classes must be given for 'own_models:function'" in error) == (
            BAD_INPUT, True,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--attacks losses", "attack must be one of gap, loss"),
        ("--attacks lira-offline", "lira-offline is not possible: it needs records of the adv"),
        ("--attacks shokri --shadow FOLDER/nowhere.csv", "nowhere.csv must be a file"),
        ("--attacks loss --top 2 --decimals 3", "one of top, decimals and labels only must be"),
        ("--attacks loss --top 0", "shown must be >= 1"),
        ("--attacks loss --shadows 0", "shadow_count must be >= 1"),
        ("--attacks loss --seed -1", "seed must be >= 0"),
        ("--attacks loss --confidence nan", "confidence must be in (0, 1)"),
        ("--attacks loss --fail-above nan", "--fail-above must be finite"),
        ("--attacks loss --fail-above 55", "--fail-above auc must be in [0, 1]"),
        ("--attacks loss --fail-above epsilon=2", "--fail-above must be a figure of an attack"),
        ("--attacks loss --fail-above tpr@0.02=.1", "measured, tpr@0.01 or tpr@0.001, got tpr@"),
        ("--attacks loss --fail-above .6 --fail-above auc=.7", "name each figure once, got auc"),
        ("--attacks loss --scores-out OUT/scores.txt", "--scores-out must end in .csv or .parquet"),
        ("--attacks loss --scores-out OUT/no/s.csv", "--scores-out must be a file in a folder"),
        ("--attacks loss --members FOLDER/nowhere.csv", "nowhere.csv must be a file"),
        ("--attacks loss --label nothing", "label must be a column of members.csv"),
        ("--attacks loss --target FOLDER/nowhere", "target must be a fit or release of ours"),
        ("--attacks loss --target FOLDER", "target must be a folder with one release, got 0"),
        ("--attacks loss --target nowhere:model", "'nowhere:model' must be importable"),
        ("--attacks loss --target FOLDER/members.csv", "must hold one column of numbers for each"),
        ("--attacks loss --members FOLDER/members-labels.csv", "must have a column of features"),
        ("--attacks loss --decimals 400", "decimals must be at most 15"),
        ("--attacks loss --scores-out FOLDER/folder.csv", "--scores-out must be a file in a fold"),
        ("--attacks loss --nonmembers FOLDER/members.csv", "must differ from the rest"),
        ("--attacks lira-online --shadow-model tree", "shadow model must be one of softmax, mlp"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(attack, folder, tmp_path, more, message):
    line = more.replace("FOLDER", str(folder)).replace("OUT", str(tmp_path))
    code, out, error = attack(f"--scores-out {tmp_path}/scores.csv {line}")
    assert (code, out, error.count("\n")) == (BAD_INPUT, "", 1)
    assert message in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("role", ["members", "nonmembers", "shadow", "population"])
def test_columns_in_another_order_are_refused(attack, digits, tmp_path, role):
    X, y = digits["others"]
    turned = tmp_path / "turned.csv"
    write(turned, [*FEATURES[::-1], "digit"], zip_rows(X[:, ::-1], [f"d{digit}" for digit in y]))
    code, out, error = attack(f"--attacks loss --{role} {turned}")
    assert (code, out, error.count("\n")) == (BAD_INPUT, "", 1)
    assert "must have its columns in the order of" in error
    moved = tmp_path / "moved.csv"  # the label may stand anywhere
    write(moved, ["digit", *FEATURES], [[f"d{d}", *row] for row, d in zip(X, y, strict=True)])
    assert attack(f"--attacks loss --nonmembers {moved}")[0] == 0


def test_a_fit_and_a_release_of_one_name(attack, folder):
    for path in (folder / "released").iterdir():
        (folder / path.name.replace("head", "twice")).write_bytes(path.read_bytes())
    twin = folder / "twice.fit.safetensors"
    twin.write_bytes((folder / "head.fit.safetensors").read_bytes())
    code, _, error = attack("--attacks loss", target="twice")
    assert (code, "got a release and a fit of the name" in error) == (BAD_INPUT, True)
    for ending, kind in {".fit.safetensors": "SoftmaxHead", ".json": "released gaussian"}.items():
        code, out, _ = attack("--attacks loss", target=f"twice{ending}")
        assert (code, out.startswith(kind)) == (0, True)
