"""Real tables with other labels by the command line: schema, plan, run, predict on raw rows."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits

from reticent.audit.output_release import SigmoidAudit, worst_worlds
from reticent.audit.transcripts import audit_release_queries
from reticent.cli.main import main
from reticent.protect import load
from reticent.studies.task_tables import DIABETES, digits_schema

BUDGET = ["--epsilon", "2", "--delta", "1e-5", "--relation", "add-remove"]
ENDS = ("value", "low", "high")
SMALL = ["--draws", "2", "--shadows", "12", "--jobs", "1", "--epsilons", "2"]


def told(arguments, capsys, *, code=0):
    with pytest.raises(SystemExit) as end:
        main([str(one) for one in arguments])
    printed = capsys.readouterr()
    assert end.value.code == code, printed.err
    return printed.out if code == 0 else printed.err


def written(folder, name, header, rows):
    path = folder / name
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(header)
        table.writerows(rows)
    return path


def records_of(path):
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def split(folder, header, rows, queries):
    order = np.random.default_rng(0).permutation(len(rows)).tolist()
    private, test = order[: 2 * len(rows) // 3], order[2 * len(rows) // 3 :]
    width = queries
    return (
        written(folder, "private.csv", header, [rows[i] for i in private]),
        written(folder, "test.csv", header, [rows[i] for i in test]),
        written(folder, "raw.csv", header[:width], [rows[i][:width] for i in test]),
    )


def diabetes(folder):
    found = load_diabetes(scaled=False)
    rows = [[*map(float, row), float(y)] for row, y in zip(found.data, found.target, strict=True)]
    schema = folder / "schema.json"
    public = {**DIABETES, "source": "a codebook"}
    schema.write_text(json.dumps(public), encoding="utf-8")
    return schema, *split(folder, [*found.feature_names, "progression"], rows, 10)


def digits(folder, labels, name):
    """400 digits: enough to go through everything."""
    pixels, numbers = (part[:400] for part in load_digits(return_X_y=True))
    schema = folder / "schema.json"
    facts = digits_schema(labels, records=260).to_dict()
    schema.write_text(json.dumps(facts), encoding="utf-8")
    rows = [[*row, *name(digit)] for row, digit in zip(pixels.tolist(), numbers, strict=True)]
    return schema, *split(folder, [*(f"p{i}" for i in range(64)), *labels], rows, 64)


def several(folder):
    label = {"role": "label", "type": "true-false"}
    return digits(folder, {"even": label, "loop": label}, lambda d: (d % 2 == 0, d in (0, 6, 8, 9)))


def public_texts(out, capsys):
    told(["report", out / "results.json", "--public"], capsys)
    card = told(["card", out / "results.json", "--public"], capsys)
    tables = [path.read_text("utf-8-sig") for path in (out / "tables-public").glob("*.csv")]
    return (out / "report-public.html").read_text(), card, "".join(tables)


PLANTED, SHOWN = 1.2345678e-13, "1.235e-13"
"""A figure that no number of a run is by chance, and how pages show it."""


def plant_private_figures(*models):
    """Every measure and attack on private records gets the figure ``PLANTED``."""
    for model in models:
        for figure in (one["figure"] for one in model["measures"]):
            figure.update(dict.fromkeys(ENDS, PLANTED))
        for auc in (one["auc"] for one in model["attacks"]):
            auc.update(dict.fromkeys(ENDS, PLANTED))


def assert_public_texts_hold_no_private_figure(out, capsys):
    """Measures of the handed-over model on public test records, and nothing else."""
    document = json.loads((out / "results.json").read_text())
    release, free = document["releases"][0], document["unprotected"]
    for text in public_texts(out, capsys):
        assert "RMSE" not in text
        assert "F1" not in text
    document["facts"]["test_is_public"] = True
    (out / "results.json").write_text(json.dumps(document))
    page, card, _ = public_texts(out, capsys)
    for one in release["kept_measures"]:
        shown = f"{one['figure']['value']:.4g} ["
        assert shown in card
        assert shown in page
    plant_private_figures(free, release)
    (out / "results.json").write_text(json.dumps(document))
    told(["report", out / "results.json"], capsys)
    assert SHOWN in (out / "report.html").read_text()
    for text in public_texts(out, capsys):
        assert SHOWN not in text
        assert repr(PLANTED) not in text
    renamed = {**release["kept_measures"][0], "name": "a private word"}
    release["kept_measures"] = [renamed, *release["kept_measures"][1:]]
    (out / "results.json").write_text(json.dumps(document))
    assert "a private word" not in "".join(public_texts(out, capsys))


@pytest.mark.slow
def test_a_number_goes_all_the_way(tmp_path, capsys):
    schema, private, test, raw = diabetes(tmp_path)
    assert "use: adassp-regression" in told(["plan", "--schema", schema, *BUDGET], capsys)
    out = tmp_path / "run"
    job = ["run", "--private", private, "--test", test, "--schema", schema, "--out", out]
    printed = told([*job, *BUDGET, *SMALL], capsys)
    assert "RMSE (points)" in printed
    assert "accuracy" not in printed
    assert printed.splitlines()[-1].strip()
    answers = tmp_path / "answers.csv"
    told(["predict", out / "released", "--queries", raw, "--out", answers], capsys)
    rows = records_of(answers)
    assert len(rows) == 148
    assert all(0 <= float(row["predicted"]) <= 350 for row in rows)
    measured = told(["predict", out / "released", "--queries", test, "--json"], capsys)
    assert {"RMSE (points)", "MAE (points)", "R²"} == set(json.loads(measured)["measures"])
    assert "holds" in told(["verify", out / "released"], capsys)
    card = told(["card", out / "results.json"], capsys)
    assert "RMSE (points)" in card
    public = told(["card", out / "results.json", "--public"], capsys)
    assert "RMSE" not in public
    assert "internal: measures" in told(["report", out / "results.json"], capsys)
    assert_public_texts_hold_no_private_figure(out, capsys)


@pytest.mark.slow
def test_several_labels_go_all_the_way(tmp_path, capsys):
    schema, private, test, raw = several(tmp_path)
    assert "√2 times" in told(["plan", "--schema", schema, *BUDGET], capsys)
    out = tmp_path / "run"
    job = ["run", "--private", private, "--test", test, "--schema", schema, "--out", out]
    printed = " ".join(told([*job, *BUDGET, *SMALL], capsys).split())
    assert "F1 of loop" in printed
    assert_public_texts_hold_no_private_figure(out, capsys)
    answers = tmp_path / "answers.csv"
    told(["predict", out / "released", "--queries", raw, "--out", answers], capsys)
    rows = records_of(answers)
    assert set(rows[0]) == {
        "row", "even", "loop", "probability of even", "probability of loop",
    }  # fmt: skip
    assert all((row["loop"] == "1") == (float(row["probability of loop"]) > 0.5) for row in rows)


@pytest.mark.slow
def test_three_classes_at_80_15_5_go_all_the_way(tmp_path, capsys):
    label = {"group": {"role": "label", "classes": ["low", "middle", "nine"]}}

    def name(digit):
        return ("low" if digit <= 7 else "middle" if digit == 8 else "nine",)

    schema, private, _, raw = digits(tmp_path, label, name)
    assert "use: noisy-gradient" in told(["plan", "--schema", schema, *BUDGET], capsys)
    out = tmp_path / "model"
    told(["protect", "--private", private, "--schema", schema, "--out", out, *BUDGET], capsys)
    answers = tmp_path / "answers.csv"
    told(["predict", out, "--queries", raw, "--out", answers], capsys)
    assert {row["predicted"] for row in records_of(answers)} <= {"low", "middle", "nine"}


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    rows = [[*x, int(x[0] > 0.5), int(x[1] > 0.5), 3 * x[0]] for x in rng.random((40, 2)).tolist()]
    return written(tmp_path, "table.csv", ["a", "b", "p", "q", "y"], rows)


PUBLIC = ["--records", "40", "--bound", "2", *BUDGET]


def test_options_instead_of_a_schema(table, tmp_path, capsys):
    number = ["protect", "--private", table, "--label", "y", "--target-range", "0,3", *PUBLIC]
    assert "proven" in told([*number, "--out", tmp_path / "n"], capsys)
    found = json.loads(
        told(["predict", tmp_path / "n", "--queries", table, "--label", "y", "--json"], capsys)
    )
    assert len(found["predictions"]) == 40
    assert "RMSE" in found["measures"]
    labels = ["protect", "--private", table, "--label", "p,q", *PUBLIC]
    assert "proven" in told([*labels, "--out", tmp_path / "l"], capsys)
    found = told(["predict", tmp_path / "l", "--queries", table, "--label", "p,q"], capsys)
    assert "F1 of q" in found


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (["--label", "y", "--target-range", "3,0"], "the smaller first"),
        (["--label", "y", "--target-range", "3"], "LOW,HIGH"),
        (["--label", "y", "--target-range", "nan,1"], "range must be"),
        (["--label", "p,q", "--target-range", "0,1"], "with one --label"),
        (["--label", "p,y"], "must hold 0 or 1 in each column of labels"),
        (["--label", "p,none"], "'none'"),
        (["--label", "y", "--target-range", "0,3", "--learner", "lda"], "for regression"),
        (["--label", "p,q", "--learner", "noisy-gradient"], "weights for multilabel"),
        (["--label", "y", "--target-range", "0,3", "--classes", "a,b"], "--classes must not"),
        (["--label", "y", "--target-range", "0,3", "--penalty", "1"], "--penalty must not"),
        (["--label", "y", "--target-range", "0,3", "--prototypes"], "--prototypes must not"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(table, tmp_path, capsys, said, why):
    out = tmp_path / "model"
    line = told(["protect", "--private", table, *said, *PUBLIC, "--out", out], capsys, code=2)
    assert why in line
    assert line.count("\n") == 1
    assert not out.with_suffix(".json").exists()


def test_other_commands_say_that_they_need_classes(table, tmp_path, capsys):
    line = told(
        ["fit", "--private", table, "--label", "p,q", "--bound", "1", "--records", "40", "--out",
         tmp_path / "fit"], capsys, code=2,
    )  # fmt: skip
    assert "one column of classes" in line


def released(table, folder, capsys, labels):
    out = folder / "model"
    told(["protect", "--private", table, *labels, *PUBLIC, "--out", out], capsys)
    return out


NUMBER, LABELS = ["--label", "y", "--target-range", "0,3"], ["--label", "p,q"]


@pytest.mark.parametrize("labels", [NUMBER, LABELS], ids=["number", "labels"])
def test_such_releases_are_attacked_and_audited_by_name(table, tmp_path, capsys, labels):
    rows = table.read_text().splitlines()
    sides = [tmp_path / "in.csv", tmp_path / "out.csv"]
    sides[0].write_text("\n".join(rows[:21]) + "\n")
    sides[1].write_text("\n".join([rows[0], *rows[21:]]) + "\n")
    model = released(table, tmp_path, capsys, labels)
    files = ["--members", sides[0], "--nonmembers", sides[1], *labels[:2], "--jobs", "1"]
    asked = ["attack", "--target", model, *files, "--shadows", "12"]
    found = json.loads(told([*asked, "--json"], capsys))
    assert [one["name"] for one in found["attacks"]] == ["loss", "lira-online"]
    assert found["claim"]["epsilon"] == 2
    assert "loss" in told([*asked, "--attacks", "loss"], capsys)
    other = told([*asked, "--attacks", "rmia-online"], capsys, code=2)
    assert "among loss, lira-online" in other
    for option in (["--labels-only"], ["--shadow", sides[0]], ["--slices"]):
        line = told([*asked, *option], capsys, code=2)
        assert option[0] in line
        assert "loss and lira-online are made" in line
    audit = ["audit", model, "--private", table, *labels[:2], "--runs", "20", "--json"]
    found = json.loads(told(audit, capsys))
    assert found["audit"]["verdict"] == "not refuted"


def test_a_number_is_audited_by_a_record_that_moves_every_sum_as_far_as_one_can(
    table, tmp_path, capsys
):
    model = load(released(table, tmp_path, capsys, NUMBER))
    data = np.genfromtxt(table, delimiter=",", skip_header=1)
    worlds = worst_worlds(model, (data[:, :4], data[:, 4]))
    found = audit_release_queries(model, *worlds, runs=20)
    assert found.tightness == pytest.approx(1.0, abs=0.02)
    half = replace(model, scales={name: one / 8 for name, one in model.scales.items()})
    assert audit_release_queries(half, *worlds, runs=400).refuted


def test_several_labels_are_audited_exactly(table, tmp_path, capsys):
    model = load(released(table, tmp_path, capsys, LABELS))
    data = np.genfromtxt(table, delimiter=",", skip_header=1)
    rows = [np.array([place]) for place in range(len(data))]
    audit = SigmoidAudit(
        released=model, world=(data[:, [0, 1, 4]], data[:, 2:4].astype(int)), groups=rows, runs=500
    )
    found = audit(1e-6)
    assert 0.3 < found.tightness <= 1
    assert not found.refuted
    half = replace(model, scales={"coordinates": model.scales["coordinates"] / 8})
    assert replace(audit, released=half)(0.05).refuted
