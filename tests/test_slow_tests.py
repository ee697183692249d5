"""What ``make check`` leaves to ``make test``: its list names tests that there are."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tools import slow_tests

ROOT = slow_tests.FILE.parent.parent


def items(*names):
    return [SimpleNamespace(nodeid=name) for name in names]


def left_out(*names):
    return [item.nodeid for item in slow_tests.among(items(*names))]


def test_every_line_is_a_test_that_there_is():
    """A test that is renamed would be fast again, and nobody would know."""
    gone = []
    for line in slow_tests.measured():
        file, *_, name = line.split("::")
        text = (ROOT / file).read_text(encoding="utf-8") if (ROOT / file).exists() else ""
        name = name.rpartition(".")[2]
        if f"def {name}(" not in text and f"class {name}" not in text:
            gone.append(line)
    assert not gone


def test_a_measured_test_is_left_out_with_all_its_cases(monkeypatch):
    monkeypatch.setattr(slow_tests, "measured", lambda: {"tests/a.py::test_long"})
    assert left_out("tests/a.py::test_long[1]", "tests/a.py::test_long[2]", "tests/a.py::test") == [
        "tests/a.py::test_long[1]",
        "tests/a.py::test_long[2]",
    ]


@pytest.mark.parametrize("cases", [1, 2, 5, 6, 7, 11, 500])
def test_a_few_cases_stand_for_the_others(monkeypatch, cases):
    monkeypatch.setattr(slow_tests, "measured", set)
    names = [f"tests/a.py::test[{case}]" for case in range(cases)]
    kept = set(names) - set(left_out(*names))
    assert len(kept) == min(cases, slow_tests.CASES)
    assert {names[0], names[-1]} <= kept


def measurement(**seconds):
    found = slow_tests.Measurement()
    found.seconds.update(seconds)
    return found


def test_a_case_that_compiles_first_does_not_decide():
    assert measurement(once=[3.0, 0.01, 0.02], always=[0.2, 0.2, 0.2]).slow() == {"always"}


@pytest.mark.parametrize(("shared", "slow"), [(0.15, {"long"}), (0.25, {"long", "one", "two"})])
def test_those_that_are_left_pay_for_what_is_shared(shared, slow):
    """0.25 s by three is little, but the third is left out for itself: by two it is too much."""
    found = measurement(one=[0.01], two=[0.01], long=[0.5], alone=[0.01])
    found.shared["tests/a.py", "made"] = shared
    found.users["tests/a.py", "made"] = ["one", "two", "long"]
    assert found.slow() == slow


SHARED = """
import time
import pytest

def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass

@pytest.fixture(scope="module")
def made():
    burn(0.4)

@pytest.fixture(scope="module")
def made_of_it(made):
    burn(0.1)

def test_first(made_of_it): pass
def test_second(made): pass
def test_alone(): pass
def test_long(): burn(0.2)
@pytest.mark.slow
def test_by_hand(): burn(0.2)
"""


@pytest.mark.slow
def test_a_folder_is_measured(tmp_path):
    """Whoever comes first does not pay for the others: both tests of what is made are slow."""
    (tmp_path / "test_shared.py").write_text(SHARED, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n", encoding="utf-8")
    (tmp_path / "list.txt").write_text("test_else.py::test\ntest_shared.py::test_alone\n")
    code = (
        "import sys; from pathlib import Path; from tools import slow_tests;"
        " slow_tests.FILE = Path('list.txt'); sys.exit(slow_tests.main(['.']))"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=True,
    )
    assert (tmp_path / "list.txt").read_text().split() == [
        "test_else.py::test",
        "test_shared.py::test_first",
        "test_shared.py::test_long",
        "test_shared.py::test_second",
    ]
