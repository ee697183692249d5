"""What pyproject.toml and constraints.txt say about the package is true."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
ALL = [
    Requirement(line)
    for line in [*PROJECT["dependencies"], *(r for rs in EXTRAS.values() for r in rs)]
]
FOR_USERS = {
    canonicalize_name(Requirement(line).name)
    for line in [
        *PROJECT["dependencies"],
        *(
            line
            for extra in ("torch", "demo", "report", "tables", "encoders")
            for line in EXTRAS[extra]
        ),
    ]
}
DISTRIBUTIONS = packages_distributions()
PIN = re.compile(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.]+)")  # no address, no path, no local version


def imported(source):
    """The top-level names that a source text imports, wherever in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.partition(".")[0]


def undeclared(source):
    """What a source text imports from a distribution that no user-facing dependency names."""
    return sorted(
        name
        for name in set(imported(source)) - sys.stdlib_module_names - {"reticent"}
        if not FOR_USERS & set(map(canonicalize_name, DISTRIBUTIONS.get(name, [name])))
    )


def pins():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    matches = [PIN.fullmatch(line) for line in lines if line and not line.startswith("#")]
    assert all(matches), "each line of constraints.txt must be NAME==VERSION"
    return {canonicalize_name(match[1]): match[2] for match in matches}


def test_each_import_is_a_declared_dependency():
    wrong = {str(file.relative_to(ROOT)): undeclared(file.read_text("utf-8")) for file in SOURCES}
    assert {file: names for file, names in wrong.items() if names} == {}


def test_an_undeclared_import_is_found():
    source = (
        "import os, numpy.linalg\ndef f():\n    from pytest import raises\n    import nowhere.else_"
    )
    assert undeclared(source) == ["nowhere", "pytest"]


@pytest.mark.parametrize("requirement", ALL, ids=str)
def test_each_dependency_is_pinned_within_its_bounds(requirement):
    assert requirement.specifier.contains(pins()[canonicalize_name(requirement.name)])


@pytest.mark.parametrize("module", ["reticent", "reticent.cli.main"])
def test_it_starts_at_once(module):
    heavy = {"torch", "plotly", "sqlalchemy", "scipy", "sklearn", "numba", "joblib",
             "dp_accounting", "matplotlib", "jinja2", "pydantic"}  # fmt: skip
    code = f"import {module}, sys; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_types_are_shipped():
    assert (ROOT / "src" / "reticent" / "py.typed").is_file()


def test_what_a_page_is_made_of_is_shipped():
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = data["tool"]["setuptools"]["package-data"]["reticent.report"]
    folder = ROOT / "src" / "reticent" / "report"
    shipped = {file for pattern in patterns for file in folder.glob(pattern)}
    assert (
        {file for file in folder.rglob("*") if file.suffix in {".j2", ".css"}} == shipped != set()
    )
