"""What pyproject.toml and constraints.txt say about the package is true."""

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import lock

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
            for extra in (
                *("torch", "demo", "report", "tables", "encoders", "timm", "onnx", "ray"),
                "service",
            )
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


UNPINNED = {"mlflow"}
"""Not installed where we test: the adapter is tried with what has its functions."""


@pytest.mark.parametrize("requirement", [one for one in ALL if one.name not in UNPINNED], ids=str)
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


# ------------------------------------------------------------------------------- hash locks

LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")


def locked(name):
    """The packages of one lock, with their versions."""
    lines = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    heads = [line for line in lines if line and not line.startswith(("#", " "))]
    requirements = [Requirement(head.rstrip("\\ ")) for head in heads]
    return {canonicalize_name(one.name): one for one in requirements}


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_each_line_of_a_lock_is_a_version_or_a_hash(path):
    """No address, no option that would switch the hashes off; each version has a hash."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("#") or HASH.fullmatch(line):
            continue
        version = r"[A-Za-z0-9.]+(\+cpu)?"
        assert re.match(rf"[a-z0-9][a-z0-9._-]*=={version}( ;.*)? \\$", line), line
        assert HASH.fullmatch(following), line


@pytest.mark.parametrize("name", lock.EXTRAS)
def test_a_lock_has_the_pinned_versions_of_all_that_its_extras_need(name):
    apart = {**locked("torch"), **locked("cuda")}
    of_extras = (one for extra in lock.EXTRAS[name] for one in EXTRAS[extra])
    direct = [*PROJECT["dependencies"], *of_extras]
    found = locked(name)
    assert "setuptools" in found, "the project is built from what is locked"
    for requirement in map(Requirement, direct):
        one = canonicalize_name(requirement.name)
        assert one in found or one in apart
    for one, requirement in found.items():
        assert one not in pins() or str(requirement.specifier) == f"=={pins()[one]}"


def test_the_lock_of_the_tests_is_closed():
    """pip installs it without looking at what packages need: all of it must stand there."""
    found, apart = locked("test"), {**locked("torch"), **locked("cuda")}
    for name, requirement in found.items():
        if requirement.marker is None or requirement.marker.evaluate():
            for needed in map(Requirement, importlib.metadata.requires(name) or []):
                if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                    assert canonicalize_name(needed.name) in {**found, **apart}, (name, needed)


@pytest.mark.parametrize("requirement", ALL, ids=str)
def test_each_dependency_has_a_version_that_is_too_new(requirement):
    assert not requirement.specifier.contains("99999")


def test_make_installs_nothing_without_a_hash():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    installs = [line for line in text.splitlines() if "pip install" in line or "$(pip)" in line]
    assert len(installs) == 3
    assert "--no-deps --require-hashes" in installs[1]
    assert "--no-deps --no-build-isolation --editable ." in installs[2]
