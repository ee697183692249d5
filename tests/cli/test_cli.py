"""The command line: what it prints, what it refuses, with which exit code."""

import dataclasses
import errno
import importlib.metadata
import json
import os
import subprocess
import sys

import pytest
import typer

from reticent.cli.app import app
from reticent.cli.main import BAD_INPUT, INTERNAL_ERROR, INTERRUPTED, run
from reticent.guarantee import Guarantee
from reticent.results import read_results
from reticent.run.demo import DemoSpec


@pytest.fixture
def command(capsys):
    def call(*arguments):
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def document(command, *arguments):
    code, out, _ = command(*arguments, "--json")
    assert code == 0
    return json.loads(out)


def test_the_package_is_a_program():
    asked = [sys.executable, "-m", "reticent", "--version"]
    found = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert found.stdout.split()[-1] == importlib.metadata.version("reticent")


TABLE_1 = ("--l1", 0.017492, "--l2", 0.013842)


class TestCalibrate:
    def test_json_has_one_row_per_mechanism(self, command):
        rows = document(command, "calibrate", "--epsilon", 1, "--delta", 1e-5, *TABLE_1)
        found = {row["mechanism"]: row for row in rows["mechanisms"]}
        assert list(found) == ["laplace", "logistic", "gaussian", "l2-laplace"]
        assert round(found["laplace"]["std"], 4) == 0.0247
        assert round(found["logistic"]["std"], 4) == 0.0317
        assert round(found["gaussian"]["std"], 4) == 0.0516
        assert found["logistic"]["guarantee"]["delta"] == 0.0
        for row in found.values():
            claim = Guarantee.from_dict(row["guarantee"])
            assert claim.epsilon == 1.0
            assert claim.grade == "declared"
            assert claim.relation == "as declared with the sensitivity"

    def test_every_row_shows_its_grade(self, command):
        _, out, _ = command("calibrate", "--epsilon", 1, "--delta", 1e-5, *TABLE_1)
        assert out.count("declared") >= 9
        assert out.count("published") == 1

    def test_many_sampled_steps(self, command):
        rows = document(
            command, "calibrate", "--epsilon", 2, "--delta", 1e-5, "--l1", 3, "--l2", 3,
            "--times", 500, "--sampling-rate", 0.02, "--relation", "add-remove",
        )["mechanisms"]  # fmt: skip
        gaussian = next(row for row in rows if row["mechanism"] == "gaussian")
        spent = document(
            command, "account", "--mechanism", "gaussian", "--times", 500, "--sampling-rate", 0.02,
            "--noise-multiplier", gaussian["scale"] / 3, "--relation", "add-remove",
            "--delta", 1e-5,
        )  # fmt: skip
        assert 1.9 < spent["epsilon"] <= 2.0
        assert gaussian["guarantee"]["relation"] == "add-remove"

    def test_steps_need_a_relation(self, command):
        code, _, err = command(
            "calibrate", "--epsilon", 1, "--delta", 1e-5, "--l2", 1, "--times", 9
        )
        assert code == BAD_INPUT
        assert "--relation must be add-remove or replace-one, got nothing" in err


class TestAccount:
    def test_a_file_of_events(self, command, tmp_path):
        path = tmp_path / "events.json"
        path.write_text(
            json.dumps(
                {
                    "type": "Composed",
                    "events": [
                        {"type": "Gaussian", "noise_multiplier": 5.0},
                        {"type": "Pure", "epsilon": 0.5},
                    ],
                }
            )
        )
        found = document(
            command, "account", "--events", path, "--relation", "replace-one", "--delta", 1e-6
        )
        assert found["epsilon"] == min(found["epsilons"].values())
        assert found["guarantee"]["relation"] == "replace-one"
        assert found["guarantee"]["grade"] == "declared"

    def test_all_methods_are_shown(self, command):
        code, out, _ = command(
            "account", "--mechanism", "pure", "--cost", 0.1, "--times", 50,
            "--relation", "add-remove", "--delta", 1e-6,
        )  # fmt: skip
        assert code == 0
        for method in ("basic", "advanced", "zcdp", "gdp", "rdp", "pld"):
            assert method in out

    @pytest.mark.parametrize("mechanism", ["laplace", "logistic", "laplace-l2", "logistic-l2"])
    def test_noise_by_name(self, command, mechanism):
        found = document(
            command, "account", "--mechanism", mechanism, "--noise-multiplier", 4,
            "--relation", "add-remove", "--delta", 1e-5,
        )  # fmt: skip
        assert 0 < found["epsilon"] < 3


TOO_LONG = "a" * 300 + ".csv"


@pytest.mark.parametrize(
    "arguments",
    [
        ("schema", "init", "--from", TOO_LONG, "--label", "y", "--out", "s.toml"),
        ("keygen", TOO_LONG),
        ("ledger", "show", TOO_LONG),
        ("attack", "--target", TOO_LONG, "--members", "a.csv", "--nonmembers", "b.csv"),
    ],
)
def test_a_path_that_the_system_refuses_is_bad_input(command, arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, errors = command(*arguments)
    assert (code, errors.count("\n")) == (2, 1)
    assert errors.endswith("got: File name too long\n")


def test_a_locale_without_greek_gets_escapes_and_json_that_parses(tmp_path):
    def said(*more):
        asked = [sys.executable, "-m", "reticent", "calibrate", "--epsilon", "1", "--pure",
                 "--l1", "1", *more]  # fmt: skip
        found = subprocess.run(
            asked, capture_output=True, check=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}
        )
        return found.stdout.decode("ascii")

    assert "Noise for \\u03b5 = 1" in said()
    assert json.loads(said("--json"))["mechanisms"]


@pytest.mark.parametrize(
    ("number", "code"), [(errno.ENOSPC, BAD_INPUT), (errno.EBADF, INTERNAL_ERROR)]
)
def test_a_full_disk_is_told_and_other_system_errors_stay_internal(number, code, monkeypatch):
    def stopped(_):
        raise OSError(number, "reason", "file")

    monkeypatch.setattr(sys.modules["reticent.cli.main"], "_call", stopped)
    assert run([]) == code


GAUSSIAN = "account --mechanism gaussian --noise-multiplier 1"
PURE = "account --relation add-remove --pure"
BAD = {
    "calibrate --epsilon nan --pure --l1 1": "epsilon must be > 0 and finite, got nan",
    "calibrate --epsilon 0 --pure --l1 1": "epsilon must be > 0",
    "calibrate --epsilon -1 --pure --l1 1": "epsilon must be > 0",
    "calibrate --epsilon inf --pure --l1 1": "epsilon must be > 0",
    "calibrate --epsilon 1 --delta 1 --l1 1": "delta must be in [0, 1), got 1.0",
    "calibrate --epsilon 1 --l1 1": "delta must be said",
    "calibrate --epsilon 1 --pure --delta .1 --l1 1": "delta must be said once",
    "calibrate --epsilon 1 --pure": "the sensitivity must be said, --l1 or --l2",
    "calibrate --epsilon 1 --pure --l1 0": "sensitivity l1 must be > 0",
    "calibrate --epsilon x --pure --l1 1": "--epsilon",
    "calibrate --pure --l1 1": "Missing option '--epsilon'",
    "calibrate --epsilon 1 --pure --l2 1 --times 3 --relation add-remove": "no mechanism",
    GAUSSIAN: "--relation must be add-remove or replace-one, got nothing",
    f"{GAUSSIAN} --relation swap --pure": "--relation must be add-remove or replace-one, got swap",
    f"{GAUSSIAN} --relation add-remove --pure": "no method covers the event",
    f"{GAUSSIAN} --relation replace-one --delta 1e-5 --sampling-rate .1": "must be add-remove",
    f"{GAUSSIAN} --relation add-remove --delta 1e-5 --sampling-rate 1.5": "rate must be in (0, 1]",
    f"{GAUSSIAN} --relation add-remove --delta 1e-5 --sample-size 3": "given together",
    f"{GAUSSIAN} --relation add-remove --delta 1e-5 --times 0": "count must be >= 1, got 0",
    f"{PURE} --mechanism gaussian": "--noise-multiplier must be given",
    f"{PURE} --mechanism pure": "--cost must be given for pure",
    PURE: "the event must be said once",
    f"{PURE} --events none.json": "No such file",
    "account --mechanism uniform": "'uniform' is not one of",
    "reproduce nobody": "paper must be one of alm, dpcl, lu, slides, refutations, beyond, got",
    "reproduce alm table9": "item of alm must be one of noise, sampler, fig1,",
    "publish": "No such command 'publish'",
}


@pytest.mark.parametrize("line", BAD)
def test_bad_input_is_one_line_and_exit_two(command, line):
    code, out, err = command(*line.split())
    assert code == BAD_INPUT
    assert out == ""
    assert err.startswith("reticent: ")
    assert err.count("\n") == 1
    assert BAD[line] in err


@pytest.mark.parametrize("option", ["--times 9", "--sampling-rate 1", "--cost 1", "--population 3"])
def test_an_events_file_stands_alone(command, tmp_path, option):
    path = tmp_path / "events.json"
    path.write_text('{"type": "Pure", "epsilon": 1.0}')
    code, _, err = command(*f"{PURE} --events {path} {option}".split())
    assert code == BAD_INPUT
    assert "--events must stand alone" in err


def test_a_field_twice_in_an_events_file(command, tmp_path):
    path = tmp_path / "events.json"
    path.write_text('{"type": "Pure", "epsilon": 1.0, "epsilon": 0.1}')
    code, _, err = command(*f"{PURE} --events {path}".split())
    assert code == BAD_INPUT
    assert "must name each field once" in err


def test_a_broken_events_file(command, tmp_path):
    path = tmp_path / "events.json"
    path.write_text('{"type": "Gaussian"')
    code, _, err = command("account", "--events", path, "--relation", "add-remove", "--pure")
    assert code == BAD_INPUT
    assert "events.json must be JSON, got another text from 19 on" in err


def test_exit_codes_are_those_of_the_documentation():
    assert (BAD_INPUT, INTERNAL_ERROR, INTERRUPTED) == (2, 70, 130)


def test_help_and_version(command):
    assert command()[0] == 0
    assert "calibrate" in command("--help")[1]
    assert command("--version")[1].startswith("reticent ")


def test_internal_errors_are_one_line_and_seventy(command, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("secret 12345")

    monkeypatch.setattr("reticent.mechanisms.calibrated", broken)
    arguments = ("calibrate", "--epsilon", 1, "--pure", "--l1", 1)
    code, _, err = command(*arguments)
    assert code == INTERNAL_ERROR
    assert "internal error: RuntimeError" in err
    assert "12345" not in err
    monkeypatch.setenv("RETICENT_DEBUG", "1")
    with pytest.raises(RuntimeError, match="secret"):
        command(*arguments)


def test_a_command_that_is_added_later_is_known(command, monkeypatch):
    """The parser is kept for the commands that there are, not for ever."""
    assert command("later")[0] == BAD_INPUT
    monkeypatch.setattr(app, "registered_commands", [*app.registered_commands])
    app.command("later")(lambda: typer.echo("here"))
    assert command("later") == (0, "here\n", "")


def test_interruption(command, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("reticent.mechanisms.calibrated", interrupted)
    code, _, err = command("calibrate", "--epsilon", 1, "--pure", "--l1", 1)
    assert (code, err) == (INTERRUPTED, "reticent: interrupted\n")


@pytest.mark.slow
@pytest.mark.usefixtures("few_transcripts")
def test_demo_writes_a_release_that_verifies(command, tmp_path, monkeypatch):
    """As it is, but in one process and with two epochs for its encoder, which nothing else uses."""
    quick = DemoSpec.quick()
    soon = dataclasses.replace(
        quick,
        encoder=dataclasses.replace(quick.encoder, epochs=2),
        run=dataclasses.replace(quick.run, jobs=1),
    )
    monkeypatch.setattr(DemoSpec, "quick", classmethod(lambda _: soon))
    monkeypatch.setenv("RETICENT_CACHE", str(tmp_path / "cache"))
    out = tmp_path / "out"
    code, text, _ = command("demo", "--quick", "--out", out)
    assert code == 0
    assert "proven" in text
    assert {path.name for path in out.iterdir()} == {
        "results.json", "released.safetensors", "released.json", "report.html", "figures", "tables",
    }  # fmt: skip
    results = read_results(out / "results.json")
    assert results.recommended.claim.grade == "declared"  # a file cannot say more
    assert command("verify", out / results.recommended.file)[0] == 0


def test_reproduce_lists_and_prints(command):
    assert "noise-scales" in command("reproduce")[1]
    assert {"noise", "sampler"} <= set(document(command, "reproduce")["alm"])
    assert "0.0317" in command("reproduce", "alm", "noise")[1]
    assert document(command, "reproduce", "slides")["items"][0]["rows"][1][1] == "10.0000"
