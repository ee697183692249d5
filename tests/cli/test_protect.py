"""protect, verify and predict on a user's own CSV file."""

import csv
import inspect
import json
import time

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reticent.cli.main import BAD_INPUT, run
from reticent.cli.protect import protect
from reticent.protect.registry import RECIPES, classifiers, regressors


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    X, y = load_digits(return_X_y=True)
    X = np.round(X / 16 - 0.3, 4)
    for name, rows in {"train": range(1400), "test": range(1400, 1797)}.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow([*(f"p{i}" for i in range(64)), "digit", "who"])
            table.writerows([*X[i], f"d{y[i]}", f"u{i // 2}"] for i in rows)
    return folder


@pytest.fixture
def command(capsys):
    def call(line):
        code = run(line.split())
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


CLASSES = ",".join(f"d{i}" for i in range(10))


ONE_PERSON = "one person with at most 1 record"


def protecting(folder, out, more="--delta 1e-5"):
    return (
        f"protect --private {folder}/train.csv --label digit --person who "
        f"--max-records-per-person 2 --classes {CLASSES} --bound 2.5 --records 1400 "
        f"--epsilon 8 {more} --relation add-remove --out {out}"
    )


def test_the_whole_way(command, folder, tmp_path):
    out = tmp_path / "released"
    code, text, _ = command(protecting(folder, out))
    assert code == 0
    assert text.startswith("ε ≤ 8, δ ≤ 1e-5 (proven; neighbours: add-remove; unit: one person with")
    assert "checked by the code:" in text
    assert "stated by you:" in text
    code, text, _ = command(f"verify {out}")
    assert code == 0
    assert text.startswith("holds: ε ≤ 8")
    code, text, _ = command(
        f"predict {out} --queries {folder}/test.csv --label digit --person who --json"
    )
    assert code == 0
    assert json.loads(text)["accuracy"] > 0.5  # 0.80 ± 0.03 over releases
    assert set(json.loads(text)["predictions"]) <= set(CLASSES.split(","))


def test_a_release_that_takes_long_is_told_of(command, folder, tmp_path, monkeypatch):
    """Where there is no terminal, by a line now and then."""
    import reticent.protect
    from reticent.cli import progress

    released = reticent.protect.release_table

    def slowly(*given, **more):
        time.sleep(1)  # the lines come from a thread, which a busy machine may keep waiting
        return released(*given, **more)

    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.05)
    monkeypatch.setattr(reticent.protect, "release_table", slowly)
    code, _, err = command(
        f"protect --private {folder}/train.csv --label digit --person who --classes {CLASSES}"
        " --learner class-means --records 700 --epsilon 3 --delta 1e-5 --relation add-remove"
        f" --out {tmp_path}/head"
    )
    assert code == 0
    assert "reticent: release: 0 of 1, after" in err


def test_a_changed_certificate_exits_with_one(command, folder, tmp_path):
    out = tmp_path / "released"
    code, text, _ = command(protecting(folder, out) + " --json")
    assert code == 0
    assert json.loads(text)["guarantee"]["grade"] == "proven"
    path = tmp_path / "released.json"
    path.write_text(path.read_text().replace('"epsilon": 8.0', '"epsilon": 1.0'))
    code, text, _ = command(f"verify {out}")
    assert code == 1
    assert "does not hold: the noise gives epsilon = 8, not 1" in text
    code, text, _ = command(f"verify {out} --json")
    assert (code, json.loads(text)["holds"]) == (1, False)
    code, _, error = command(f"predict {out} --queries {folder}/test.csv --label digit")
    assert code == BAD_INPUT
    assert "must match its certificate" in error


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("", "delta must be said"),
        ("--delta 1e-5 --bound -1", "bound must be > 0"),
        ("--delta 1e-5 --records 0", "records must be >= 1"),
        ("--delta 1e-5 --label nothing", "nothing"),
        ("--delta 1e-5 --classes d0,d1", "got another in row 2"),
        ("--delta 1e-5 --mechanism uniform", "mechanism must be one of"),
        ("--delta 1e-5 --relation swap", "--relation must be"),
        ("--delta 1e-5 --penalty nan", "penalty must be > 0"),
        ("--pure --mechanism gaussian", "delta must be > 0 for gaussian"),
        ("--delta 1e-5 --max-records-per-person 0", "--max-records-per-person must be >= 1"),
        ("--delta 1e-5 --classes d0,d0", "--classes must be at least two different names"),
        ("--delta 1e-5 --out .", "path must name a file"),
        (
            "--delta 1e-5 --out no/where",
            "must be in a folder that exists, got 'no', which does not: make it first",
        ),
    ],
)
def test_bad_input_writes_nothing(command, folder, tmp_path, more, message):
    line = protecting(folder, tmp_path / "released", "") + f" {more}"
    code, out, error = command(line)
    assert (code, out, error.count("\n")) == (BAD_INPUT, "", 1)
    assert message in error
    assert list(tmp_path.iterdir()) == []


def test_a_fit_is_released_at_several_epsilons(command, folder, tmp_path):
    fitted = tmp_path / "head"
    code, text, _ = command(
        f"fit --private {folder}/train.csv --label digit --person who --max-records-per-person 2 "
        f"--classes {CLASSES} --bound 2.5 --records 1400 --epsilon 8 --delta 1e-5 "
        f"--relation add-remove --out {fitted}"
    )
    assert code == 0
    assert "UNPROTECTED" in text
    path = tmp_path / "head.fit.safetensors"
    assert path.stat().st_mode & 0o077 == 0  # for its owner alone
    for epsilon in (1, 8):
        code, text, _ = command(
            f"protect --fit {fitted} --private {folder}/train.csv --label digit --person who "
            f"--max-records-per-person 2 --epsilon {epsilon} --delta 1e-5 --relation add-remove "
            f"--out {tmp_path}/e{epsilon} --json"
        )
        assert code == 0
        assert json.loads(text)["guarantee"]["grade"] == "proven"
        assert command(f"verify {tmp_path}/e{epsilon}")[0] == 0
    again = json.loads((tmp_path / "e1.json").read_text())["numbers"]
    assert again == json.loads((tmp_path / "e8.json").read_text())["numbers"]
    line = f"protect --fit {fitted} --private {folder}/train.csv --label digit --epsilon 1"
    terms = f"--delta 1e-5 --relation add-remove --out {tmp_path}/x"
    for more, message in {
        "--bound 3": "--bound must not be given beside --fit",
        "--centre mean": "--centre mean must be said without --fit",
    }.items():
        code, _, error = command(f"{line} {terms} {more}")
        assert (code, message in error) == (BAD_INPUT, True)
    path.write_bytes(path.read_bytes()[:-8] + bytes(8))
    code, _, error = command(f"{line} {terms}")
    assert (code, "must be as it was written" in error) == (BAD_INPUT, True)


def test_a_noisy_mean_shares_the_budget(command, folder, tmp_path):
    out = tmp_path / "released"
    code, text, _ = command(
        protecting(folder, out, "--delta 1e-5 --centre mean --mean-bound 5 --norms scale --json")
    )
    assert code == 0
    numbers, scales = (json.loads(text)[name] for name in ("numbers", "scales"))
    assert (numbers["mean_bound"], numbers["norms"]) == (5.0, "scale")
    assert set(scales) == {"mean", "coordinates"}
    assert command(f"verify {out}")[0] == 0


def test_the_ledger_is_charged_first_and_refuses(command, folder, tmp_path):
    book = f"{tmp_path}/ledger.sqlite"
    unit = "one person with at most 2 records"
    assert run(["ledger", "budget", book, "digits", "--epsilon", "20", "--delta", "1e-4",
                "--relation", "add-remove", "--unit", unit]) == 0  # fmt: skip
    more = f"--delta 1e-5 --ledger {book} --data-set digits --centre mean"
    for out in ("a", "b"):
        assert command(protecting(folder, tmp_path / out, more))[0] == 0
    code, out, error = command(protecting(folder, tmp_path / "c", more))
    assert (code, out) == (1, "")
    assert "digits" in error
    assert not list(tmp_path.glob("c*"))
    _, text, _ = command(f"ledger show {book} digits --json")
    spent = json.loads(text)["accounts"][0]
    assert spent["totals"]["epsilon"] == pytest.approx(16.0)
    assert spent["totals"]["delta"] == pytest.approx(2e-5)
    assert spent["charges"] == 2


def one_row_each(folder, out, more=""):
    return protecting(folder, out, f"--delta 1e-5 {more}").replace(
        "--max-records-per-person 2 ", ""
    )


def test_at_one_row_each_the_person_is_named_wherever_the_claim_stands(command, folder, tmp_path):
    """The next row of a person stands where the first is left out: one record is not protected."""
    out = tmp_path / "released"
    code, text, _ = command(one_row_each(folder, out))
    assert code == 0
    assert f"unit: {ONE_PERSON})" in " ".join(text.split())
    stated = "no person owns more than 1 of the rows fitted on; which rows of a person are kept"
    assert stated in " ".join(text.split())
    written = json.loads((tmp_path / "released.json").read_text())
    assert written["guarantee"]["unit"] == ONE_PERSON
    assert written["terms"]["max_records_per_person"] == 1
    code, text, _ = command(f"verify {out}")
    assert (code, f"unit: {ONE_PERSON})" in " ".join(text.split())) == (0, True)
    code, _, _ = command(f"card --released {out} --out {tmp_path}/card.md")
    assert code == 0
    assert f"**Who is protected:** {ONE_PERSON};" in (tmp_path / "card.md").read_text()


def test_a_certificate_for_persons_does_not_pass_for_one_about_records(command, folder, tmp_path):
    assert command(one_row_each(folder, tmp_path / "released"))[0] == 0
    path = tmp_path / "released.json"
    path.write_text(path.read_text().replace(ONE_PERSON, "one record"))
    code, text, _ = command(f"verify {tmp_path}/released")
    assert code == 1
    assert f"the unit is {ONE_PERSON}, not one record" in " ".join(text.split())


def test_stopped_before_something_is_written_it_is_charged_once(
    command, folder, tmp_path, monkeypatch
):
    """Nobody has seen anything of the release: the same command is paid for already."""
    book, out = f"{tmp_path}/ledger.sqlite", tmp_path / "out"
    unit = "one person with at most 2 records"
    assert run(["ledger", "budget", book, "digits", "--epsilon", "40", "--delta", "1e-3",
                "--relation", "add-remove", "--unit", unit]) == 0  # fmt: skip
    told = protecting(folder, out, f"--delta 1e-5 --ledger {book} --data-set digits")

    def charges():
        return json.loads(command(f"ledger show {book} digits --json")[1])["accounts"][0]["charges"]

    def stopped(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("reticent.protect.recipes.weights.WeightsRecipe.learn", stopped)
        assert command(f"{told} --learner weights")[0] != 0
    assert charges() == 1
    assert (tmp_path / ".out.charge").stat().st_mode & 0o077 == 0
    code, _, error = command(f"{told} --learner weights")
    assert (code, "charged before" in error, charges()) == (0, True, 1)
    assert not (tmp_path / ".out.charge").exists()
    assert command(f"{told} --learner weights --replace")[0] == 0  # another release
    assert charges() == 2


def test_a_ledger_of_records_refuses_a_release_for_persons(command, folder, tmp_path):
    """Units differ, so their costs do not add up: nothing is charged and nothing released."""
    book = f"{tmp_path}/ledger.sqlite"
    budget = f"ledger budget {book} digits --epsilon 20 --delta 1e-4 --relation add-remove"
    assert command(budget)[0] == 0
    more = f"--ledger {book} --data-set digits"
    code, out, error = command(one_row_each(folder, tmp_path / "a", more))
    assert (code, out) == (BAD_INPUT, "")
    assert f"unit of 'digits' must be 'one record', as it was opened with, got '{ONE_PERSON}'" in (
        " ".join(error.split())
    )
    assert not list(tmp_path.glob("a*"))
    assert run(["ledger", "budget", book, "persons", "--epsilon", "20", "--delta", "1e-4",
                "--relation", "add-remove", "--unit", ONE_PERSON]) == 0  # fmt: skip
    again = more.replace("digits", "persons")
    assert command(one_row_each(folder, tmp_path / "b", again))[0] == 0


def test_without_a_budget_an_account_must_be_opened_in_so_many_words(command, folder, tmp_path):
    more = f"--delta 1e-5 --ledger {tmp_path}/l.sqlite --data-set digits"
    code, _, error = command(protecting(folder, tmp_path / "a", more))
    assert (code, "ledger must exist" in error) == (BAD_INPUT, True)  # a typo makes no ledger
    other = f"ledger budget {tmp_path}/l.sqlite other --epsilon 1 --pure --relation add-remove"
    assert command(other)[0] == 0
    code, _, error = command(protecting(folder, tmp_path / "a", more))
    assert (code, "'digits' must have a budget to be charged" in error) == (BAD_INPUT, True)
    assert not (tmp_path / "a.json").exists()
    code, _, error = command(protecting(folder, tmp_path / "a", f"{more} --open-account"))
    assert (code, "no budget is set for 'digits'" in " ".join(error.split())) == (0, True)
    near = more.replace("--data-set digits", "--data-set Digits") + " --open-account"
    code, _, error = command(protecting(folder, tmp_path / "c", near))
    assert (code, "got 'Digits' beside 'digits'" in error) == (BAD_INPUT, True)
    alone = "--delta 1e-5 --open-account"
    code, _, error = command(protecting(folder, tmp_path / "c", alone))
    assert (code, "--open-account must be said with --ledger" in error) == (BAD_INPUT, True)
    code, _, error = command(protecting(folder, tmp_path / "b"))
    assert (code, "not charged to a ledger" in error) == (0, True)


def test_images_go_through_an_encoder(command, tmp_path, monkeypatch):
    """The cache makes a second run read features instead of computing them."""
    monkeypatch.setenv("RETICENT_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(60, 8, 8), dtype=np.uint8)
    np.savez(tmp_path / "images.npz", images=images, digit=np.arange(60) % 2)
    code, _, _ = command(
        f"pretrain --public {tmp_path}/images.npz --out {tmp_path}/encoder --epochs 1 --width 4 "
        "--augmentation digits --limit 20"
    )
    assert code == 0
    encoded = f"--embedding images --encoder {tmp_path}/encoder.safetensors --label digit"
    code, _, _ = command(
        f"protect --private {tmp_path}/images.npz {encoded} --classes 0,1 --bound 1 --records 60 "
        f"--epsilon 1 --delta 1e-5 --relation replace-one --out {tmp_path}/head"
    )
    assert code == 0
    assert any((tmp_path / "cache").rglob("*.safetensors"))
    code, text, _ = command(f"predict {tmp_path}/head --queries {tmp_path}/images.npz {encoded}")
    assert (code, "accuracy" in text) == (0, True)
    unlabelled = encoded.replace("--label digit", "--json")
    code, text, _ = command(f"predict {tmp_path}/head --queries {tmp_path}/images.npz {unlabelled}")
    assert (code, len(json.loads(text)["predictions"])) == (0, 60)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--records 5 --bound 1 --penalty 1", "--classes must be said"),
        ("--classes d0,d1 --bound 1 --penalty 1", "--records must be said"),
        ("--classes d0,d1 --records 5 --penalty 1", "--bound must be said"),
        ("--classes d0,d1 --records 5 --bound 1", "penalty must be said, or --epsilon"),
        (f"--classes {CLASSES} --records 5 --bound 1 --epsilon 1 --delta 1e-5", "--relation must"),
        (f"--classes {CLASSES} --records 5 --bound 1 --penalty 1 --norms l2", "norms must be"),
    ],
)
def test_fit_names_what_is_missing(command, folder, tmp_path, line, message):
    code, _, error = command(
        f"fit --private {folder}/train.csv --label digit --person who --out {tmp_path}/h {line}"
    )
    assert (code, error.count("\n"), list(tmp_path.iterdir())) == (BAD_INPUT, 1, [])
    assert message in error


@pytest.mark.parametrize("learner", ["noisy-gradient", "class-means", "adassp", "lda"])
def test_learners_with_the_noise_inside(command, folder, tmp_path, learner):
    out = tmp_path / "released"
    line = (
        f"protect --private {folder}/train.csv --label digit --person who --classes {CLASSES} "
        f"--records 1400 --epsilon 8 --delta 1e-5 --relation add-remove --learner {learner}"
    )
    code, text, _ = command(f"{line} --out {out}")
    assert code == 0
    claim = f"ε ≤ 8, δ ≤ 1e-5 (proven; neighbours: add-remove; unit: {ONE_PERSON})"
    assert " ".join(text.split()).startswith(claim)
    written = json.loads((tmp_path / "released.json").read_text())
    assert (written["recipe"], written["terms"]["max_records_per_person"]) == (learner, 1)
    assert command(f"verify {out}")[0] == 0
    code, text, _ = command(
        f"predict {out} --queries {folder}/test.csv --label digit --person who --json"
    )
    assert json.loads(text)["accuracy"] > 0.5  # 0.8 … 0.93
    steps = () if learner == "noisy-gradient" else ("--longest-step 3",)
    for idle in ("--bound 3", "--centre mean", *steps):
        code, _, error = command(f"{line} --out {out} {idle}")
        name = idle.removesuffix(" 3")
        assert (code, f"{name} must not be given to the learner" in error) == (BAD_INPUT, True)


SAID = {
    "bound": "--bound 3",
    "penalty": "--penalty 0.1",
    "norms": "--norms clip",
    "mean_bound": "--centre mean --mean-bound 3",
    "longest_step": "--longest-step 3",
    "public_map": "--public-map efficientnet-lite0",
    "seed": "--seed 1",
    "public": "--public public.csv",
    "prototypes": "--prototypes",
}
"""How each option that only some learners use is said; the last one is of plan alone."""
OF_NUMBERS = {name: text for name, text in SAID.items() if name != "public"}
"""A table whose label is a number has no public records for teachers."""


def refusal(command, learner, options, *, label):
    """What protect says of a table that is not there: options are looked at before the table."""
    needed = (
        " --bound 3" if "bound" in RECIPES[learner].options and "--bound" not in options else ""
    )
    code, text, error = command(
        f"protect --private missing.csv {label} --records 60 --epsilon 1 --delta 1e-5"
        f" --relation add-remove --out released --learner {learner} {options}{needed}"
    )
    assert (code, text, error.count("\n")) == (BAD_INPUT, "", 1)
    return error


def taken_by(learner, option):
    return option in RECIPES[learner].options


@pytest.fixture
def public_records(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "public.csv").write_text("a,b\n0.5,0.5\n0.25,0.5\n")
    yield
    assert [path.name for path in tmp_path.iterdir()] == ["public.csv"]


@pytest.mark.parametrize("option", SAID)
@pytest.mark.parametrize("learner", classifiers())
@pytest.mark.usefixtures("public_records")
def test_an_option_that_a_learner_does_not_use_is_refused(command, learner, option):
    """By the recipe's own list, for every recipe that tells classes; what it uses is not."""
    error = refusal(command, learner, SAID[option], label="--label digit --classes a,b")
    name = "--centre mean" if option == "mean_bound" else SAID[option].split()[0]
    idle = f"{name} must not be given to the learner {learner}, which has no use"
    assert (idle in error) is not taken_by(learner, option)
    assert ("missing.csv" in error) is taken_by(learner, option)


@pytest.mark.parametrize("option", OF_NUMBERS)
@pytest.mark.parametrize("learner", regressors())
@pytest.mark.usefixtures("public_records")
def test_an_option_that_a_learner_of_numbers_does_not_use_is_refused(command, learner, option):
    error = refusal(command, learner, SAID[option], label="--label digit --target-range 0,3")
    name = SAID[option].split()[-2] if option == "mean_bound" else SAID[option].split()[0]
    idle = f"{name} must not be given for regression, which has no use for it"
    assert (idle in error) is not taken_by(learner, option)
    assert ("missing.csv" in error) is taken_by(learner, option)


def test_every_option_of_a_learner_is_among_them():
    """A parameter of protect that becomes an option of recipes gets a row of the table above."""
    shared = {"records", "classes"}
    own = {name for one in classifiers() for name in RECIPES[one].options}
    parameters = {"map_number": "seed"}
    said = {parameters.get(name, name) for name in inspect.signature(protect).parameters} - shared
    assert said & own == set(SAID) & own
