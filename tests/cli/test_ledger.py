"""reticent ledger: what it prints, what it refuses, with which exit code."""

import json
import sqlite3

import pytest

from reticent.cli.main import BAD_INPUT, REFUSED, run


@pytest.fixture
def command(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    files = {
        "gaussian.json": {"type": "Gaussian", "noise_multiplier": 6.0},
        "laplace.json": {"type": "Laplace", "noise_multiplier": 4.0, "norm": "l1"},
        "nan.json": {"type": "Gaussian", "noise_multiplier": float("nan")},
    }
    for name, event in files.items():
        (tmp_path / name).write_text(json.dumps(event), encoding="utf-8")

    def call(*arguments):
        code = run(["ledger", *" ".join(arguments).split()])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


BUDGET = "budget l.db survey --relation add-remove"
CHARGE = "charge l.db survey --relation add-remove --purpose mean"


def test_a_budget_is_charged_until_it_is_exhausted(command):
    code, out, _ = command(BUDGET, "--epsilon 0.5 --pure --filter basic")
    assert code == 0
    assert "survey: ε ≤ 0.5 at δ ≤ 0 (basic); neighbours: add-remove; unit: one record" in out
    code, out, _ = command(CHARGE, "--events laplace.json")
    assert code == 0
    assert "left of ε ≤ 0.5 at δ ≤ 0 (basic): ε 0.25, δ 0" in out
    assert command(CHARGE, "--events laplace.json")[0] == 0
    code, out, err = command(CHARGE, "--events laplace.json")
    assert code == REFUSED == 1
    assert out == ""
    assert err.startswith("reticent: budget of 'survey' must not be exceeded, ε ≤ 0.5 at δ ≤ 0")
    assert "ε would be 0.75 of 0.5; nothing was charged" in err
    assert err.count("\n") == 1
    _, out, _ = command("show l.db survey --json")
    (account,) = json.loads(out)["accounts"]
    assert account["charges"] == len(account["entries"]) == 2
    assert account["spent"]["epsilon"] == 0.5
    assert account["budget_changes"][0]["budget"]["epsilon"] == 0.5


def test_show_lists_all_accounts_and_one_with_its_history(command):
    command(BUDGET, "--epsilon 1 --delta 1e-6 --filter rdp")
    command(CHARGE, "--events gaussian.json")
    code, out, _ = command("charge l.db other --relation replace-one --purpose mean",
                           "--events laplace.json")  # fmt: skip
    assert code == 0
    assert "no budget is set for 'other'; spent so far, in 1 charge: ε ≤ 0.25, δ ≤ 0" in out
    _, out, _ = command("show l.db")
    assert "survey" in out
    assert "other" in out
    assert "ε ≤ 1 at δ ≤ 1e-6 (rdp at order 22)" in out
    assert "Charges" not in out
    _, out, _ = command("show l.db survey --delta 1e-5")
    assert "Charges" in out
    assert "mean" in out
    assert "1e-5" in out
    found = json.loads(command("show l.db --json")[1])["accounts"]
    assert [account["name"] for account in found] == ["other", "survey"]
    assert found[0]["budget"] is None


def test_charge_json_carries_the_warning(command):
    code, out, _ = command(CHARGE, "--create --json --events laplace.json")
    assert code == 0
    document = json.loads(out)
    assert document["warning"].startswith("no budget is set for 'survey'")
    assert document["account"]["spent"]["epsilon"] == 0.25


def test_a_pure_rdp_budget_is_valid_json(command):
    code, out, _ = command(BUDGET, "--epsilon 1 --pure --filter rdp --json")
    assert code == 0
    assert json.loads(out)["budget"]["order"] == "inf"


def test_a_plan_chooses_the_order(command, tmp_path):
    plan = {"type": "Repeated", "count": 20, "event": {"type": "PoissonSampled", "rate": 0.1,
            "event": {"type": "Gaussian", "noise_multiplier": 1.5}}}  # fmt: skip
    (tmp_path / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    _, plain, _ = command(BUDGET, "--epsilon 2 --delta 1e-6 --filter rdp --json")
    _, planned, _ = command(BUDGET, "--epsilon 2 --delta 1e-6 --filter rdp --json --plan plan.json")
    assert json.loads(planned)["budget"]["order"] < json.loads(plain)["budget"]["order"]


def test_a_lowered_budget_says_that_nothing_is_left(command):
    command(CHARGE, "--create --events laplace.json")
    code, out, _ = command(BUDGET, "--epsilon 0.1 --pure --filter basic")
    assert code == 0
    assert "nothing can be charged" in out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("show no.db", "ledger must exist, got no.db"),
        (CHARGE + " --events laplace.json", "ledger must exist, got l.db"),
        ("budget no/l.db a --relation add-remove --epsilon 1 --pure", "directory that exists"),
        (BUDGET + " --epsilon nan --delta 1e-6", "epsilon must be > 0 and finite, got nan"),
        (BUDGET + " --epsilon 1 --delta nan", "delta must be in [0, 1), got nan"),
        (BUDGET + " --epsilon 1", "delta must be said"),
        (BUDGET + " --epsilon 1 --pure --filter pld", "filter must be one of"),
        (BUDGET + " --epsilon 1 --pure --filter gdp", "delta must be > 0 for the filter gdp"),
        ("budget l.db a --epsilon 1 --pure", "--relation must be add-remove or replace-one"),
        ("charge l.db a --purpose x --events laplace.json", "--relation must be add-remove"),
        (CHARGE + " --create --events nan.json", "nan.json must hold finite numbers, got NaN"),
        (CHARGE + " --create --events no.json", "--events no.json must be a readable file"),
    ],
)
def test_bad_input_is_one_line_and_makes_no_file(command, tmp_path, line, message):
    code, out, err = command(line)
    assert code == BAD_INPUT
    assert out == ""
    assert message in err
    assert err.count("\n") == 1
    assert not (tmp_path / "l.db").exists()


def test_verify_finds_an_edit_and_a_restored_copy(command, tmp_path):
    command(BUDGET, "--epsilon 1 --pure")
    command(CHARGE, "--events laplace.json")
    code, out, _ = command("verify l.db")
    assert (code, out) == (0, "holds: every entry, hash and sum is as it was written\n")
    copy = (tmp_path / "l.db").read_bytes()
    command(CHARGE, "--events laplace.json")
    (tmp_path / "l.db").write_bytes(copy)
    code, _, err = command(CHARGE, "--events laplace.json")
    assert code == BAD_INPUT
    assert "must hold what it held before, got another copy: account 'survey' has 2 links" in err
    assert err.count("\n") == 1
    code, out, _ = command("verify l.db --json")
    assert (code, json.loads(out)["holds"]) == (REFUSED, False)
    code, out, _ = command("verify l.db --accept-restored")
    assert (code, "lower budgets by what it has forgotten" in out) == (0, True)
    assert "a restored copy was accepted: 2 links of 3" in command("show l.db survey")[1]
    assert command(CHARGE, "--events laplace.json")[0] == 0
    connection = sqlite3.connect(tmp_path / "l.db")
    connection.execute("UPDATE entries SET purpose = 'other' WHERE seq = 2")
    connection.commit()
    connection.close()
    code, out, _ = command("verify l.db")
    assert code == REFUSED
    assert out == "does not hold: account 'survey': link 2 is not the one that was written\n"


def test_a_ledger_that_this_machine_never_saw_is_told(command, tmp_path, monkeypatch):
    command(CHARGE, "--create --events laplace.json")
    assert command("show l.db")[2] == ""
    monkeypatch.setenv("RETICENT_WITNESS", str(tmp_path / "another machine"))
    _, _, err = command("show l.db")
    assert "l.db was never seen on this machine: an older copy" in " ".join(err.split())
    assert command("show l.db")[2] == ""


def test_bad_input_on_a_ledger(command):
    command(BUDGET, "--epsilon 1 --delta 1e-6 --filter basic")
    for line, message in {
        CHARGE + " --events gaussian.json": "the filters that could take it: zcdp, rdp, gdp",
        CHARGE + " --events laplace.json --unit person": "unit of 'survey' must be 'one record'",
        "show l.db nobody": "account must be in the ledger, got 'nobody'",
        "charge l.db survey --relation replace-one --purpose x --events laplace.json":
            "relation of 'survey' must be 'add-remove'",
    }.items():  # fmt: skip
        code, _, err = command(line)
        assert code == BAD_INPUT
        assert message in err
