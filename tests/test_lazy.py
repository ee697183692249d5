"""Packages whose names load with their first use: every name is there, and nothing else is."""

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import reticent
from reticent.lazy import _homes, lazy_exports

ROOT = Path(reticent.__file__).parent
PACKAGES = sorted(
    ".".join(("reticent", *path.parent.relative_to(ROOT).parts))
    for path in ROOT.rglob("__init__.py")
    if "lazy_exports(__name__)" in path.read_text(encoding="utf-8")
)
HEAVY = {"torch", "sklearn", "numba", "scipy", "pydantic", "sqlalchemy"}


def test_there_are_some():
    assert {"reticent.attacks", "reticent.protect", "reticent.results"} <= set(PACKAGES)


@pytest.mark.parametrize("name", PACKAGES)
def test_every_name_that_is_promised_is_found(name):
    package = importlib.import_module(name)
    assert len(set(package.__all__)) == len(package.__all__) > 0
    for promised in package.__all__:
        assert getattr(package, promised) is not None
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'telepathy'"):
        package.telepathy  # noqa: B018 - asking is the test


@pytest.mark.parametrize("name", PACKAGES)
def test_no_name_that_loads_later_is_that_of_a_module_beside_it(name):
    """Whoever imported the module first would get it in the place of the function."""
    package = importlib.import_module(name)
    modules = {one.name for one in pkgutil.iter_modules(package.__path__)}
    assert modules.isdisjoint(_homes(Path(package.__file__)))


@pytest.mark.parametrize("name", ["reticent.attacks", "reticent.protect", "reticent.results"])
def test_a_package_alone_loads_nothing_heavy(name):
    code = f"import {name}, sys; print(sorted({HEAVY} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_certificate_is_checked_without_scikit_learn():
    """``reticent verify`` of most releases: it would take twice as long to start."""
    slow = {"torch", "sklearn", "pandas", "scipy.stats", "joblib"}
    code = (
        "import sys, reticent.protect.certificate; from reticent.protect import RECIPES;"
        " RECIPES['class-means'], RECIPES['adassp'], RECIPES['lda'], RECIPES['mean'];"
        f" print(sorted({slow} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_accounting_does_without_the_slow_half_of_scipy():
    """``scipy.stats`` and ``scipy.signal`` take as long to load as all the rest together."""
    slow = {"scipy.stats", "scipy.signal"}
    code = f"import reticent.accounting, sys; print(sorted({slow} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_names_come_from_the_block_for_type_checkers_alone(tmp_path, monkeypatch):
    (tmp_path / "made_lazy.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "from math import e as euler\n"
        "if TYPE_CHECKING:\n"
        "    from math import (\n        pi,\n        tau,\n    )\n"
        "if euler:\n"
        "    from math import inf\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("made_lazy")
    found = lazy_exports("made_lazy")
    assert found("tau") == 2 * found("pi")
    for name in ("inf", "e", "euler"):
        with pytest.raises(AttributeError):
            found(name)
    sys.modules.pop("made_lazy")
