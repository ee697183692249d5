"""What docs/guide/integrations.md and action.yml tell a CI to do, done in a fresh folder.

A runner is the only thing that is missing: the YAML is parsed, and every ``run:`` and ``script:``
is given to a shell as a runner gives it, on a small table. pip installs the package alone, into a
folder of its own: what it needs is installed here already.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from reticent.cli.main import run

ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "guide" / "integrations.md").read_text(encoding="utf-8")
GITHUB, GITLAB = (yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.S))
SHELL = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]
TABLE = ["--label", "diagnosis", "--classes", "ill,well", "--records", "60"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A checkout: tables, a signed release, the key of its reviewer, and the package's source."""
    folder = tmp_path_factory.mktemp("checkout")
    rng = np.random.default_rng(0)
    for name in ("train", "test"):
        kinds = rng.integers(2, size=60)
        rows = np.round(rng.normal(2.0 * kinds[:, None] - 1, 1, size=(60, 2)), 3)
        lines = [
            f"{a},{b},{('ill', 'well')[kind]}" for (a, b), kind in zip(rows, kinds, strict=True)
        ]
        (folder / f"{name}.csv").write_text("\n".join(["age,height,diagnosis", *lines]) + "\n")
    assert run(["keygen", f"{folder}/reviewer"]) == 0
    budget = ["--epsilon", "2", "--delta", "1e-5", "--relation", "add-remove"]
    made = ["--out", f"{folder}/released", "--sign", f"{folder}/reviewer", "--quiet"]
    assert run(["protect", "--private", f"{folder}/train.csv", *TABLE, *budget, *made]) == 0
    source = folder / "reticent"
    for part in ("src", "pyproject.toml", "README.md", "constraints.txt", "LICENSE"):
        if (ROOT / part).is_dir():
            without = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(ROOT / part, source / part, ignore=without)
        elif (ROOT / part).exists():
            shutil.copy(ROOT / part, source / part)
    commands = folder / "bin"
    commands.mkdir()
    for name in ("reticent", "pip"):
        script = commands / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {name} "$@"\n')
        script.chmod(0o755)
    return folder


def environment(folder, **more):
    """Of a job: pip takes nothing from the network, and leaves this interpreter as it is."""
    own = {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0", "PIP_TARGET": str(folder / "installed"),
        "PIP_UPGRADE": "1", "LOKY_MAX_CPU_COUNT": "1", "GITHUB_OUTPUT": str(folder / "output"),
    }  # fmt: skip
    return {**os.environ, **own, **more}


def shell(script, folder, **more):
    return subprocess.run(
        [*SHELL, script], cwd=folder, env=environment(folder, **more), capture_output=True,
        encoding="utf-8", check=False,
    )  # fmt: skip


def step(name, folder, **inputs):
    """One step of the action as a runner does it: inputs are variables, and its last words code."""
    found = next(one for one in ACTION["runs"]["steps"] if one["name"] == name)
    known = {key: one.get("default") for key, one in ACTION["inputs"].items()} | inputs
    known |= {"python": sys.executable}
    values = {f"${{{{ inputs.{key} }}}}": value for key, value in known.items()}
    values["${{ github.action_path }}"] = str(folder / "reticent")
    return shell(found["run"], folder, **{key: values[text] for key, text in found["env"].items()})


def installed(folder):
    found = folder / "installed" / "reticent" / "cli" / "main.py"
    there = found.is_file()
    shutil.rmtree(folder / "installed", ignore_errors=True)
    return there


def test_the_action_installs_the_package(folder):
    done = step("Install", folder)
    assert done.returncode == 0, done.stderr
    assert installed(folder)


def test_the_page_shows_steps_that_end_well(folder):
    """The attack is that of the script for GitLab, word by word, which is run below."""
    commands = [one["with"]["command"] for one in GITHUB if "command" in one.get("with", {})]
    assert [f"reticent {one}" for one in commands] == next(iter(GITLAB.values()))["script"][1:]
    (folder / "output").write_text("")
    done = step("Gate", folder, command=commands[0])
    assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "output").read_text() == "exit-code=0\n"


def test_the_gate_fails_where_a_certificate_was_changed(folder, tmp_path):
    for name in (
        "released.json",
        "released.safetensors",
        "released.signature.json",
        "reviewer.pub",
    ):
        shutil.copy(folder / name, tmp_path / name)
    text = (tmp_path / "released.json").read_text()
    (tmp_path / "released.json").write_text(text.replace('"epsilon": 2', '"epsilon": 1', 1))
    shutil.copytree(folder / "bin", tmp_path / "bin")
    (tmp_path / "output").write_text("")
    done = step("Gate", tmp_path, command=GITHUB[1]["with"]["command"])
    assert done.returncode in (1, 2)
    assert (tmp_path / "output").read_text() == f"exit-code={done.returncode}\n"


def test_the_script_for_gitlab_ends_well(folder):
    (job,) = GITLAB.values()
    assert len(job["script"]) == 3
    done = shell("\n".join(job["script"]), folder)  # as its runner: one shell for all lines
    assert done.returncode == 0, done.stdout + done.stderr
    assert "verdict: " in done.stdout
    assert installed(folder)
    assert all((folder / path).is_file() for path in job["artifacts"]["paths"])
