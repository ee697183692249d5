"""The evaluator of console blocks: it must accept the truth and reject everything else."""

import textwrap

import pytest

from tools import console


def block(text):
    return textwrap.dedent(text).lstrip("\n")


def test_a_block_is_split_into_commands_and_what_they_print():
    found = console.steps(
        block("""
            $ reticent calibrate \\
                --epsilon 1
            first line

            third line
            $ make test
        """)
    )
    assert found == [
        console.Step(
            command="reticent calibrate --epsilon 1", expected="first line\n\nthird line\n"
        ),
        console.Step(command="make test", expected=""),
    ]


def test_text_before_the_first_command_is_refused():
    with pytest.raises(ValueError, match="must begin with"):
        console.steps("reticent calibrate\n")


@pytest.fixture
def prints(monkeypatch):
    """Lets `reticent` print a given text and end with a given code."""

    def set_outcome(output, exit_code=0):
        outcome = console.Outcome(output=output, exit_code=exit_code)
        monkeypatch.setattr(console, "run", lambda command, *, directory: outcome)

    return set_outcome


@pytest.mark.parametrize(
    "page",
    [
        "ε = 1.25\nδ = 1e-05\n",
        "ε = ...\nδ = 1e-05\n",
        "ε = 1.25\n...",
        "ε = 1.25   \nδ = 1e-05\n\n",
    ],
)
def test_a_true_page_is_accepted(page, prints, tmp_path):
    prints("ε = 1.25\nδ = 1e-05\n")
    assert console.mismatch(f"$ reticent account\n{page}", directory=tmp_path) is None


@pytest.mark.parametrize(
    "page", ["ε = 1.26\nδ = 1e-05\n", "ε = 1.25\n", "", "ε = 1.25\nδ = 1e-05\nmore\n", "δ...\n"]
)
def test_a_wrong_page_is_rejected(page, prints, tmp_path):
    prints("ε = 1.25\nδ = 1e-05\n")
    assert "$ reticent account" in console.mismatch(
        f"$ reticent account\n{page}", directory=tmp_path
    )


def test_a_failing_command_must_state_its_exit_code(prints, tmp_path):
    prints("epsilon must be > 0, got nan\n", exit_code=2)
    page = "$ reticent account\nepsilon must be > 0, got nan\n"
    assert "exit code 2" in console.mismatch(page, directory=tmp_path)
    assert "exit code 2" in console.mismatch(f"{page}$ make test\n", directory=tmp_path)
    assert console.mismatch(f"{page}$ echo $?\n2\n", directory=tmp_path) is None
    assert "- 3" in console.mismatch(f"{page}$ echo $?\n3\n", directory=tmp_path)


def test_make_is_not_run_and_an_unknown_command_is_refused(tmp_path):
    assert (
        console.mismatch("$ PYTHON=python3.12 make test\nall green\n", directory=tmp_path) is None
    )
    with pytest.raises(ValueError, match="must be reticent or one of"):
        console.mismatch("$ rm -r everything\n", directory=tmp_path)


def test_shell_syntax_is_refused(tmp_path):
    with pytest.raises(ValueError, match="must do without"):
        console.run("reticent account | head", directory=tmp_path)


def test_what_is_printed_goes_to_the_file_that_is_named(tmp_path):
    outcome = console.run("reticent --version > here.txt", directory=tmp_path)
    assert outcome == console.Outcome(output="", exit_code=0)
    assert (tmp_path / "here.txt").read_text().startswith("reticent ")
    refused = console.run("reticent verify nothing > there.txt", directory=tmp_path)
    assert (refused.exit_code, (tmp_path / "there.txt").read_text()) == (2, "")
    assert refused.output.startswith("reticent: ")


def test_the_real_command_is_run_without_colour(tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    outcome = console.run("reticent --help", directory=tmp_path)
    assert outcome.exit_code == 0
    assert "Usage: reticent [OPTIONS] COMMAND [ARGS]..." in outcome.output
    assert "\x1b" not in outcome.output
    assert 40 < max(map(len, outcome.output.splitlines())) <= console.WIDTH


SERVER = (
    "import sys, time; print('begun'); print('listening on', sys.argv[2], flush=True);"
    " time.sleep(600)"
)


def test_a_command_beside_others_is_waited_for_and_ended(monkeypatch, tmp_path):
    monkeypatch.setattr(console, "ENTRY_POINT", SERVER)
    page = "$ reticent serve 8600 &\nbegun\nlistening on 8600\n"
    assert console.mismatch(page, directory=tmp_path) is None
    assert console.mismatch(page.replace("begun", "ended"), directory=tmp_path) is not None


def test_a_port_of_a_block_without_a_service_stays(prints, tmp_path):
    prints("8600\n")
    assert console.mismatch("$ reticent account\n8600\n", directory=tmp_path) is None
