"""``reticent audit`` on releases and their own data, on functions and on trainings."""

import json
import shutil
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reticent.cli.main import BAD_INPUT, run
from reticent.protect import load

NAMES = tuple(f"d{i}" for i in range(10))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audited")
    X, y = load_digits(return_X_y=True)
    rows, labels = (X[:300] / 16 - 0.3).astype(np.float32), np.array(NAMES)[y[:300]]
    np.savez(folder / "train.npz", features=rows, digit=labels)
    np.savez(folder / "owned.npz", features=rows, digit=labels, who=np.arange(300) % 100)
    return folder


@pytest.fixture
def command(capsys):
    def call(line):
        code = run(line.split())
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def released(command, folder, tmp_path):
    out = tmp_path / "head"
    code, _, errors = command(
        f"protect --private {folder}/train.npz --label digit --classes {','.join(NAMES)} --bound 1 "
        f"--records 300 --epsilon 4 --delta 1e-5 --relation add-remove --penalty 0.01 --out {out}"
    )
    assert code == 0, errors
    return out


def test_a_true_claim_is_not_refuted(command, folder, released):
    code, text, _ = command(
        f"audit {released} --private {folder}/train.npz --label digit --beta 1e-6 --runs 2000"
    )
    assert code == 0
    assert text.startswith("claim: ε ≤ 4")
    assert "verdict: not refuted" in text


def test_a_refuted_claim_exits_with_1(command, folder, released, monkeypatch):
    from reticent.audit import pairs

    def half_the_noise(worlds, start, runs, draw):
        rng, scale = np.random.default_rng(0), worlds.noise.scale / 20
        return worlds.ratios(start + scale * rng.normal(size=(runs, start.size)))

    monkeypatch.setattr(pairs, "drawn_ratios", half_the_noise)
    code, text, _ = command(
        f"audit {released} --private {folder}/train.npz --label digit --runs 2000 --json"
    )
    assert code == 1
    found = json.loads(text)["audit"]
    assert found["verdict"] == "refuted"
    assert found["measured"]["epsilon"] > 4 > found["analytic"]
    assert load(released).guarantee.epsilon == 4


def test_bad_input_gets_one_line(command, folder, released, tmp_path):
    line = f"audit {released} --private {folder}/train.npz --label digit"
    for wrong, message in (
        (f"{line} --beta 2", "beta must be"),
        (f"{line} --runs 1", "runs must be"),
        (f"audit {tmp_path}/none --private {folder}/train.npz --label digit", "none"),
        (line.replace("digit", "nothing"), "nothing"),
        (f"audit {released} {released} --private {folder}/train.npz --label digit", "one twice"),
        (f"audit {released} --label digit", "--private must be said with RELEASED"),
        (f"{line} --one 1", "--one must not be said with RELEASED"),
        (f"{line} --function math:sin", "got RELEASED and --function"),
        (
            "audit --beta 0.1",
            "one of RELEASED, --function, --train, --endpoint and --end-to-end must be said, got",
        ),
    ):
        code, _, errors = command(wrong)
        assert code == BAD_INPUT
        assert message in errors
        assert errors.strip().count("\n") == 0


def test_several_releases_share_one_risk(command, folder, released, tmp_path):
    other = tmp_path / "other"
    for ending in (".json", ".safetensors"):
        shutil.copy(f"{released}{ending}", f"{other}{ending}")
    line = f"audit {released} {other} --private {folder}/train.npz --label digit --runs 200"
    code, text, _ = command(f"{line} --beta 1e-6 --candidates 2")
    assert code == 0
    assert "0 of 2 claims refuted (none), each at β = 1e-6/2" in " ".join(text.split())
    code, text, _ = command(f"{line} --beta 0.04 --candidates 2 --json")
    found = json.loads(text)
    assert [step["release"] for step in found["audits"]] == [str(released), str(other)]
    assert {step["audit"]["measured"]["confidence"] for step in found["audits"]} == {0.98}
    assert (found["beta"], found["beta_each"], found["refuted"]) == (0.04, 0.02, [])


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_learners_release_is_audited_by_its_sums(command, folder, tmp_path, relation):
    command(
        f"protect --private {folder}/train.npz --label digit --classes {','.join(NAMES)}"
        f" --records 300 --epsilon 4 --delta 1e-5 --relation {relation} --learner class-means"
        f" --out {tmp_path}/means"
    )
    line = f"audit {tmp_path}/means --private {folder}/train.npz --label digit --beta 1e-6"
    code, text, _ = command(f"{line} --runs 20 --json")
    assert code == 0
    found = json.loads(text)
    assert (found["audit"]["runs"], found["audit"]["verdict"]) == (20, "not refuted")
    assert found["figures"]["sealed"] is True
    assert found["claim"]["grade"] == "declared"
    assert found["claim"]["relation"] == relation
    assert 0.5 < found["audit"]["tightness"] <= 1


@pytest.mark.parametrize("learner", ["weights", "class-means"])
def test_a_release_for_persons_is_audited_with_whose_rows_they_are(
    command, folder, tmp_path, learner
):
    """Each of 100 owns three rows, of which two count."""
    more = "--bound 1 --penalty 0.01" if learner == "weights" else ""
    data = f"--private {folder}/owned.npz --label digit"
    code, _, errors = command(
        f"protect {data} --person who --max-records-per-person 2 --classes {','.join(NAMES)}"
        f" --records 200 --epsilon 4 --delta 1e-5 --relation add-remove --learner {learner} {more}"
        f" --out {tmp_path}/persons"
    )
    assert code == 0, errors
    line = f"audit {tmp_path}/persons {data}"
    code, text, _ = command(f"{line} --person who --beta 1e-6 --runs 20 --candidates 4 --json")
    assert code == 0
    found = json.loads(text)
    assert found["claim"]["unit"] == "one person with at most 2 records"
    assert found["audit"]["verdict"] == "not refuted"
    assert 0.2 < found["audit"]["tightness"] <= 1
    code, out, errors = command(f"{line.replace('owned', 'train')} --beta 1e-6")
    assert (code, out) == (BAD_INPUT, "")
    assert "--person must be said" in errors
    assert "protects one person with at most 2 records" in errors
    assert errors.strip().count("\n") == 0


@pytest.mark.parametrize("learner", ["weights", "class-means"])
def test_one_row_of_each_person_is_audited_as_it_was_released(command, folder, tmp_path, learner):
    more = "--bound 1 --penalty 0.01" if learner == "weights" else ""
    data = f"--private {folder}/owned.npz --label digit"
    terms = (
        f"--classes {','.join(NAMES)} --records 100 --epsilon 4 --delta 1e-5 --relation add-remove"
    )
    line = f"protect {data} --person who {terms} --learner {learner} {more} --out {tmp_path}/one"
    assert command(line)[0] == 0
    code, text, _ = command(
        f"audit {tmp_path}/one {data} --person who --beta 1e-6 --runs 20 --candidates 4 --json"
    )
    found = json.loads(text)
    assert (code, found["audit"]["verdict"]) == (0, "not refuted")
    assert found["claim"]["unit"] == "one person with at most 1 record"


def test_a_release_for_records_is_not_audited_by_person(command, released, folder):
    line = f"audit {released} --private {folder}/owned.npz --label digit --person who --beta 1e-6"
    code, out, errors = command(line)
    assert (code, out) == (BAD_INPUT, "")
    assert f"--person must not be said: {released} protects one record" in " ".join(errors.split())


CODE = """
import numpy as np
from reticent.mechanisms import Laplace
from reticent import Sensitivity
from sklearn.linear_model import LogisticRegression
sound = Laplace.calibrate(Sensitivity(l1=1.0), epsilon=1.0, delta=0.0)
rng = np.random.default_rng(0)
def release(count):
    print("a line of the function's own")
    return float(sound.release(count))
def careless(count):
    return round(count + rng.laplace(scale=0.2))
def fails(count):
    raise KeyError(f"the private count is {count}")
def undefined(count):
    return float("nan")
def train(rows, labels):
    return LogisticRegression(C=1e4, max_iter=50, tol=1e-2).fit(rows, labels)
"""


@pytest.fixture
def code(tmp_path, monkeypatch):
    """Somebody's own module in the current folder."""
    (tmp_path / "own_code.py").write_text(CODE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("own_code", None)


def test_a_function_that_keeps_its_claim_is_not_refuted(command, code):
    status, text, _ = command(
        "audit --function own_code:release --one 20 --other 21 --epsilon 1 --pure --runs 500"
        " --beta 1e-6"
    )
    assert status == 0
    assert text.startswith("claim: ε ≤ 1, δ ≤ 0\nmeasured: ε ≥ ")  # and no line of its own
    assert "event: by " in text
    assert "runs: 500 on each input" in text
    assert "verdict: not refuted" in text


@pytest.mark.parametrize("name", ["own_code:careless", "own_code.py:careless"])
def test_a_function_that_breaks_its_claim_exits_with_1(command, code, name):
    status, text, _ = command(
        f"audit --function {name} --one 20 --other 21 --epsilon 1 --delta 1e-5 --runs 2000 --json"
    )
    assert status == 1
    found = json.loads(text)
    assert found["verdict"] == "refuted"
    assert found["bound"]["epsilon"] > 1


def test_a_function_that_cannot_be_audited_gets_one_line(command, code):
    inputs = "--one 20 --other 21 --epsilon 1 --pure --runs 200"
    for wrong, message in (
        (f"own_code:fails {inputs}", "got KeyError from its code"),
        (f"own_code:rng {inputs}", "must be a function"),
        (f"own_code:undefined {inputs}", "outputs must not be NaN"),
        (f"no_code:f {inputs}", "No module named 'no_code'"),
        ("own_code:release --one 20 --other 20 --epsilon 1 --pure", "must be two inputs"),
        ("own_code:release --one 20 --other 21 --epsilon 1", "delta must be said"),
        ("own_code:release --one 20 --other 21 --pure", "--epsilon must be said"),
        (f"own_code:release {inputs} --label digit", "--label must not be said"),
    ):
        status, out, errors = command(f"audit --function {wrong}")
        assert (status, out) == (BAD_INPUT, "")
        assert message in errors
        assert "private" not in errors
        assert errors.strip().count("\n") == 0


def test_a_training_is_audited_by_its_canaries(command, code, folder):
    data = f"--private {folder}/train.npz --label digit --classes {','.join(NAMES)} --delta 1e-5"
    status, text, _ = command(f"audit --train own_code:train {data} --bound 2.5 --epsilon 0.2")
    assert status == 1
    assert "canaries: 200 orthogonal ones" in text
    assert "verdict: refuted" in text
    status, text, _ = command(
        f"audit --train class-means {data} --records 300 --epsilon 1 --beta 1e-6 --canaries 50"
        " --kind mislabelled --json"
    )
    assert status == 0
    found = json.loads(text)
    assert found["claim"]["grade"] == "proven"
    assert (found["canaries"], found["kind"]) == (50, "mislabelled")
    for wrong, message in (
        (f"own_code:train {data} --epsilon 1", "bound must be said"),
        (f"class-means {data} --epsilon 1", "epsilon and records must be said"),
        (f"own_code:train {data} --bound 1 --runs 10", "--runs must not be said"),
    ):
        status, _, errors = command(f"audit --train {wrong}")
        assert status == BAD_INPUT
        assert message in errors
