"""In CI a skipped test fails the run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = {
    "mark": "@pytest.mark.skip(reason='later')\ndef test(): pass",
    "call": "def test(): pytest.skip('later')",
    "fixture": "@pytest.fixture\ndef f(): pytest.skip('later')\ndef test(f): pass",
    "module": "pytest.importorskip('no_such_module_at_all')\ndef test(): pass",
    "passes": "def test(): pass",
    "xfail_mark": "@pytest.mark.xfail\ndef test(): assert False",
    "xfail_call": "def test(): pytest.xfail('later')",
}


def outcomes(directory, *, ci, processes):
    """How many tests had each outcome, under the conftest.py of this project."""
    shutil.copy(ROOT / "conftest.py", directory)
    for name, source in FILES.items():
        file = directory / f"test_{name}.py"
        file.write_text(f"import pytest\n{source}\n", encoding="utf-8")
    options = ["-p", "no:cacheprovider", "--continue-on-collection-errors", f"-n{processes}"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "."],
        cwd=directory,
        env=os.environ | {"CI": ci, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    summary = done.stdout.splitlines()[-1]
    counts = {word: int(number) for number, word in re.findall(r"(\d+) ([a-z]+)", summary)}
    return done.returncode, counts


@pytest.mark.parametrize("processes", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_a_skip_fails_in_ci(processes, tmp_path):
    exit_code, counts = outcomes(tmp_path, ci="true", processes=processes)
    assert exit_code == 1
    assert counts == {"failed": 1, "errors": 3, "passed": 1, "xfailed": 2}


def test_a_skip_is_only_a_skip_elsewhere(tmp_path):
    exit_code, counts = outcomes(tmp_path, ci="", processes=0)
    assert exit_code == 0
    assert counts == {"skipped": 4, "passed": 1, "xfailed": 2}
