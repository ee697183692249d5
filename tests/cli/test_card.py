"""``reticent card``: from a run, and from what single commands printed."""

import json

import numpy as np
import pytest
import yaml
from sklearn.datasets import load_digits

from reticent.cli.main import BAD_INPUT, run
from reticent.guarantee import Grade
from reticent.protect import save
from reticent.protect.plan import CLASS_MEANS, NOISY_GRADIENT
from reticent.protect.registry import RECIPES, classifiers
from reticent.report.annex import annex
from reticent.report.card import card
from reticent.report.evidence import of_certificate, of_results
from reticent.report.markdown import escaped
from reticent.results import read_results, write_results
from tests.report.documents import SAMPLE, recommending, ungraded, with_release
from tests.report.sample import certified

NAMES = tuple(f"d{i}" for i in range(10))


@pytest.fixture
def command(capsys):
    def call(line):
        capsys.readouterr()
        code = run(line.split())
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run's document; fit, two releases, and what attacks and an audit of the first printed."""
    folder = tmp_path_factory.mktemp("card")
    write_results(SAMPLE(), folder / "results.json")
    X, y = load_digits(return_X_y=True)
    rows, labels = (X / 16 - 0.3).astype(np.float32), np.array(NAMES)[y]
    for name, part in (("members", slice(0, 300)), ("others", slice(300, 600))):
        np.savez(folder / f"{name}.npz", features=rows[part], digit=labels[part])
    fit = (
        f"--private {folder}/members.npz --label digit --classes {','.join(NAMES)} --bound 2.5"
        " --records 300"
    )
    terms = "--epsilon 4 --delta 1e-5 --relation add-remove"
    assert run(f"fit {fit} --penalty 1e-3 --out {folder}/fit".split()) == 0
    assert run(f"protect {fit} --penalty 0.01 {terms} --out {folder}/head".split()) == 0
    other = terms.replace("4", "2", 1)
    assert run(f"protect {fit} {other} --learner class-means --out {folder}/means".replace(
        "--bound 2.5 ", "").split()) == 0  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def steps(folder):
    """FOLDER/{before,after,means-attack,audit}.json, as a shell would write them."""
    import contextlib
    import io

    sides = f"--members {folder}/members.npz --nonmembers {folder}/others.npz --label digit"
    commands = {
        "before": f"attack --target {folder}/fit {sides} --attacks loss,gap --json",
        "after": f"attack --target {folder}/head {sides} --attacks loss,released-weights --json",
        "means-attack": f"attack --target {folder}/means {sides} --attacks loss --json",
        "audit": f"audit {folder}/head --private {folder}/members.npz --label digit --runs 2000"
        " --beta 1e-6 --json",
        "audits": f"audit {folder}/head {folder}/means --private {folder}/members.npz --label digit"
        " --runs 100 --beta 1e-6 --json",
    }
    for name, line in commands.items():
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            assert run(line.split()) == 0
        (folder / f"{name}.json").write_text(printed.getvalue())
    return folder


def test_a_card_of_a_run_is_printed(command, folder):
    code, out, error = command(f"card {folder}/results.json")
    assert (code, out, error) == (0, card(of_results(read_results(folder / "results.json"))), "")
    assert "(proven" not in out


def test_card_and_annex_are_written_for_their_owner_alone_unless_public(command, tmp_path):
    results, release = certified(SAMPLE())
    write_results(results, tmp_path / "results.json")
    save(release, tmp_path / results.recommended.file)
    line = f"card {tmp_path}/results.json --out {tmp_path}/card.md --annex {tmp_path}/annex.md"
    code, out, _ = command(line)
    out = " ".join(out.split())  # wherever the folder's name lets lines end
    assert (code, out.count("internal: not for publication")) == (0, 2)
    evidence = of_results(read_results(tmp_path / "results.json"))
    assert (tmp_path / "card.md").read_text() == card(evidence)
    assert (tmp_path / "annex.md").read_text() == annex(evidence)
    assert (tmp_path / "card.md").stat().st_mode & 0o077 == 0
    code, out, _ = command(f"{line} --public")
    assert (code, "internal" in out) == (0, False)
    evidence = of_certificate(tmp_path / results.recommended.file)
    assert (tmp_path / "card.md").read_text() == card(evidence, public=True)
    assert (tmp_path / "annex.md").read_text() == annex(evidence, public=True)


def test_json_holds_both_texts(command, folder, tmp_path):
    code, out, _ = command(f"card {folder}/results.json --annex {tmp_path}/annex.md --json")
    assert (code, set(json.loads(out))) == (0, {"card", "annex"})
    assert json.loads(out)["card"] == card(of_results(read_results(folder / "results.json")))


def test_a_release_and_nothing_else(command, folder):
    code, out, _ = command(f"card --released {folder}/head")
    assert code == 0
    assert "- **head:** ε ≤ 4, δ ≤ 1e-5 (declared; neighbours: add-remove; unit: one record)" in out
    assert "When this was written, it held: ε = " in out
    assert "penalty 0.01" in out
    assert "No attack was tried" in out
    assert "was not audited" in out
    assert str(folder) not in out


@pytest.mark.parametrize("name", ["head", "means"])
def test_every_kind_of_release_has_a_card(command, folder, name):
    code, out, _ = command(f"card --released {folder}/{name}.json --public")
    assert code == 0
    certificate = json.loads((folder / f"{name}.json").read_text())
    for assumption in (*certificate["guarantee"]["checked"], *certificate["guarantee"]["stated"]):
        assert assumption.split("*")[0].split("_")[0].split("[")[0] in out
    assert ungraded(out) == []


def test_the_steps_of_a_stranger(command, steps, tmp_path):
    code, out, error = command(
        f"card --released {steps}/head --attack {steps}/before.json --attack {steps}/after.json"
        f" --audit {steps}/audit.json --annex {tmp_path}/annex.md"
    )
    assert (code, error) == (0, "")
    for name, part in zip(("before", "after"), out.split("\nOn ")[1:], strict=True):
        for found in json.loads((steps / f"{name}.json").read_text())["attacks"]:
            start = f"| {found['name']} |"
            (row,) = [line for line in part.splitlines() if line.startswith(start)]
            for figure in ("auc", "balanced_accuracy", "leakage"):
                one = found[figure]
                assert f" {one['value']:.3f} [{one['low']:.3f}, {one['high']:.3f}] " in row
    audit = json.loads((steps / "audit.json").read_text())["audit"]
    assert f"**Verdict:** {audit['verdict']}." in out
    assert f"tightness {audit['tightness']:.3f}" in out
    assert "On SoftmaxHead (not protected):" in out
    assert "(released):" in out
    white = (tmp_path / "annex.md").read_text().split("## 2.")[1].split("## 3.")[0]
    assert "| released-weights |" in white
    assert ungraded(out + white) == []


def test_attacks_that_were_not_possible_are_listed_once_and_by_reason(command, steps, tmp_path):
    """Those tried on either model are not among them."""
    reasons = {"released-weights": "no release", "lira": "no shadow data", "alm": "no shadow data"}
    for name in ("before", "after"):
        document = json.loads((steps / f"{name}.json").read_text())
        tried = {one["name"] for one in document["attacks"]}
        left_out = {one: why for one, why in reasons.items() if one not in tried}
        (tmp_path / f"{name}.json").write_text(json.dumps(document | {"left_out": left_out}))
    assert "released-weights" in json.loads((tmp_path / "before.json").read_text())["left_out"]
    code, out, _ = command(
        f"card --released {steps}/head --attack {tmp_path}/before.json --attack"
        f" {tmp_path}/after.json --annex {tmp_path}/annex.md"
    )
    assert code == 0
    for text in (out, (tmp_path / "annex.md").read_text()):
        listed = [line for line in text.splitlines() if "ot possible" in line]
        assert listed == ["- Not possible here (no shadow data): lira, alm."]


@pytest.mark.parametrize("name", ["head", "means"])
def test_the_audit_of_a_release_is_found_among_several(command, steps, name):
    code, out, error = command(f"card --released {steps}/{name} --audit {steps}/audits.json")
    assert (code, error) == (0, "")
    audits = json.loads((steps / "audits.json").read_text())["audits"]
    (own,) = (step["audit"] for step in audits if step["release"] == f"{steps}/{name}")
    (other,) = (step["audit"] for step in audits if step["release"] != f"{steps}/{name}")
    assert f"tightness {own['tightness']:.3f}" in out
    assert f"tightness {other['tightness']:.3f}" not in out


def of_run(folder, **changes):
    """A document whose recommended release is FOLDER/head, but for some changes."""
    results, own = recommending("weights gaussian proven ε=4"), of_certificate(folder / "head")
    claim = own.claim.model_copy(
        update={"grade": Grade.PROVEN, "text": results.recommended.claim.text}
        | {name: changes.pop(name) for name in ("checked", "stated", "unit") if name in changes}
    )
    return with_release(results, **{"claim": claim, "scales": dict(own.scales)} | changes)


@pytest.mark.parametrize(
    ("changes", "differs"),
    [
        ({"learner": "noisy-gradient"}, "recipe"),
        ({"mechanism": "logistic"}, "mechanism"),
        ({"scales": {"weights": 0.125}}, "scale of noise"),
        ({"scales": {"gradients": 0.125}}, "scale of noise"),
        ({"unit": "one person"}, "claim"),
        ({"checked": ("λ = 0.7",)}, "list of public numbers"),
        ({"stated": ("one record is one visit",)}, "list of assumptions"),
    ],
)
def test_a_release_of_the_same_epsilon_is_not_the_runs_for_that(
    command, folder, tmp_path, changes, differs
):
    write_results(of_run(folder, **changes), tmp_path / "results.json")
    line = f"card {tmp_path}/results.json --released {folder}/head --out {tmp_path}/card.md"
    code, out, error = command(line)
    assert (code, out, error.count("\n")) == (BAD_INPUT, "", 1)
    assert error.endswith(
        "/head must be the release of this run: weights gaussian proven ε=4 (declared), got one"
        f" with another {differs}\n"
    )
    assert not (tmp_path / "card.md").exists()


@pytest.mark.parametrize("learner", [NOISY_GRADIENT, CLASS_MEANS])
def test_a_learner_that_runs_recommend_has_the_name_of_its_recipe(learner):
    assert learner in classifiers()
    assert RECIPES[learner].name == learner


def test_a_run_with_its_release(command, folder, tmp_path):
    write_results(of_run(folder), tmp_path / "results.json")
    code, out, _ = command(f"card {tmp_path}/results.json --released {folder}/head")
    assert code == 0
    assert "(declared; neighbours" in out
    assert "(proven" not in out
    assert "**Whose word:** unsigned: " in out
    assert "(declared) follows from the public numbers" in out
    assert "reticent verify head" in out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("card", "RESULTS or --released must be given"),
        ("card STEPS/none.json", "must be a readable file"),
        ("card STEPS/head.json", "must be a reticent-results/1 document"),
        ("card --released STEPS/none", "must be a readable file"),
        ("card STEPS/results.json --released STEPS/head", "must be the release of this run: "),
        ("card STEPS/results.json --audit STEPS/audit.json", "must not be given beside RESULTS"),
        ("card --released STEPS/head --attack STEPS/audit.json", "reticent attack --json prints"),
        ("card --released STEPS/head --audit STEPS/after.json", "reticent audit --json prints"),
        ("card --released STEPS/head --attack STEPS/nowhere", "must be a readable file"),
        ("card --released STEPS/head --attack STEPS/means-attack.json", "must be on the release"),
        ("card --released STEPS/means --audit STEPS/audit.json", "audit must be of the release"),
        ("card --released STEPS/copy --audit STEPS/audits.json", "must hold one audit of copy"),
        ("card STEPS/results.json --out STEPS/no/card.md", "must be writable"),
        ("card STEPS/results.json --out STEPS", "must be writable"),
        ("card --released STEPS/changed", "must match its certificate"),
        ("compare STEPS/results.json STEPS/none.json", "must be a readable file"),
        ("compare STEPS/results.json STEPS/audit.json", "must be a reticent-results/1 document"),
    ],
)
def test_bad_input_is_one_line(command, steps, line, message):
    for name in ("copy", "changed"):
        (steps / f"{name}.safetensors").write_bytes((steps / "head.safetensors").read_bytes())
    (steps / "copy.json").write_bytes((steps / "head.json").read_bytes())
    text = (steps / "head.json").read_text().replace('"epsilon": 4.0', '"epsilon": 3.0', 1)
    (steps / "changed.json").write_text(text)
    before = sorted(steps.iterdir())
    code, out, error = command(line.replace("STEPS", str(steps)))
    assert (code, out, error.count("\n")) == (BAD_INPUT, "", 1)
    assert message in error
    assert sorted(steps.iterdir()) == before


def test_a_refuted_claim_has_no_public_card(command, tmp_path):
    results, release = certified(recommending("weights gaussian proven ε=1"))
    fallen = results.recommended.audit.model_copy(update={"verdict": "refuted"})
    write_results(with_release(results, audit=fallen, file="head"), tmp_path / "results.json")
    save(release, tmp_path / "head")
    code, out, error = command(f"card {tmp_path}/results.json --public --out {tmp_path}/card.md")
    assert (code, out) == (BAD_INPUT, "")
    assert "got one that its audit refuted" in error
    assert not (tmp_path / "card.md").exists()


def test_two_runs_are_compared(command, folder, tmp_path):
    write_results(recommending("noisy-gradient gaussian proven ε=4"), tmp_path / "b.json")
    code, out, _ = command(f"compare {folder}/results.json {tmp_path}/b.json --json")
    assert code == 0
    document = json.loads(out)
    assert document["comparable"] is True
    claim = next(row for row in document["rows"] if row["name"] == "claim")
    assert claim["change"] == 2.0
    code, out, _ = command(f"compare {folder}/results.json {tmp_path}/b.json")
    assert code == 0
    assert out.startswith("Two runs\n")
    assert "+2" in out


def test_a_card_for_a_model_repository(command, folder):
    code, out, _ = command(f"card --released {folder}/head --public --hugging-face")
    assert code == 0
    _, header, text = out.split("---\n", 2)
    found = yaml.safe_load(header)
    assert found["library_name"] == "reticent"
    assert found["pipeline_tag"] == "tabular-classification"
    assert "differential-privacy" in found["tags"]
    evidence = of_certificate(folder / "head")
    assert text == f"\n# {escaped(evidence.title)}\n\n{card(evidence, public=True)}"
    code, _, error = command(f"card --released {folder}/head --hugging-face")
    assert (code, "--public" in error) == (2, True)
