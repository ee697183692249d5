"""The GitHub Action: its script ends as the command ends, and takes what is typed as words."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}


def gate(command, folder):
    """The step as a runner runs it: bash with -e and pipefail, inputs as variables."""
    script = folder / "step.sh"
    script.write_text(STEPS["Gate"]["run"], encoding="utf-8")
    values = {"${{ inputs.python }}": sys.executable, "${{ inputs.command }}": command}
    given = {name: values[text] for name, text in STEPS["Gate"]["env"].items()}
    output = folder / "output"
    output.touch()
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
        cwd=folder,
        env={**os.environ, **given, "GITHUB_OUTPUT": str(output)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return done, output.read_text()


def test_it_is_a_composite_action_without_anything_pasted_into_a_script():
    assert ACTION["runs"]["using"] == "composite"
    for step in STEPS.values():
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]
    assert "github.action_path" in STEPS["Install"]["env"]["RETICENT_SOURCE"]
    extras = ACTION["inputs"]["extras"]["default"].split(",")
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert all(f"\n{extra} = [" in text for extra in extras)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("calibrate --epsilon 1 --delta 1e-5 --l1 1 --l2 1", 0, "gaussian"),
        ("verify 'not there; touch broken' --json", 2, "not there; touch broken"),
        ("verify $(touch broken)", 2, "broken)"),
    ],
)
def test_the_step_ends_as_the_command_does(command, code, said, tmp_path):
    done, output = gate(command, tmp_path)
    assert (done.returncode, output) == (code, f"exit-code={code}\n")
    assert said in done.stdout + done.stderr
    assert not (tmp_path / "broken").exists()
