"""Pages whose examples are tests, what is slow, and the rule that nothing is skipped in CI."""

import os

# As many processes as cores run tests: more threads in each would stand in each other's way. Set
# before numpy and torch are imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Nor does "every core" mean more processes, each of which would import the libraries; tests about
# processes say how many.
os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")

import atexit
import contextlib
import doctest
import gc
import shutil
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from sybil import Sybil
from sybil.example import SybilFailure
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

from tools import console, slow_tests

if "RETICENT_WITNESS" not in os.environ:  # nor into the home of whoever runs the tests
    os.environ["RETICENT_WITNESS"] = tempfile.mkdtemp(prefix="reticent-witness-")
    atexit.register(shutil.rmtree, os.environ["RETICENT_WITNESS"], ignore_errors=True)

ALLOWED_SKIPS: frozenset[str] = frozenset()  # reasons, word for word

FOLDERS = ("docs", "docs/guide", "docs/tutorials")
PAGES = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=doctest.ELLIPSIS),
        CodeBlockParser(language="console", evaluator=console.evaluate),
    ],
    patterns=["README.md", "CONTRIBUTING.md", *(f"{folder}/*.md" for folder in FOLDERS)],
)


class PageExamples(pytest.Item):
    """All examples of one page share names and a directory, so one process runs them in order."""

    def runtest(self) -> None:
        document = PAGES.parse(self.path)
        wrong = []
        with tempfile.TemporaryDirectory() as directory, contextlib.chdir(directory):
            for example in document.examples():
                try:
                    example.evaluate()
                except SybilFailure as failure:
                    wrong.append(str(failure))
        if wrong:
            pytest.fail("\n\n".join(wrong), pytrace=False)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"examples of {self.path.name}"


class Page(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        if any(True for _ in PAGES.parse(self.path).examples()):
            examples = PageExamples.from_parent(self, name="examples")
            examples.add_marker("slow")  # the commands of a page start a Python each
            yield examples


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Takes pages in, and looks for doctests only where there are examples: looking takes time."""
    found = yield
    if PAGES.should_parse(file_path):
        return [*found, Page.from_parent(parent, path=file_path)]
    if file_path.suffix != ".py" or ">>> " in file_path.read_text(encoding="utf-8"):
        return found
    return [one for one in found if not isinstance(one, DoctestModule)]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks as slow what was measured to be, and most cases of a long parametrisation."""
    for item in slow_tests.among(items):
        item.add_marker(pytest.mark.slow(reason=slow_tests.FOUND))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Whatever is collected stays to the end: Python need not look through it for garbage."""
    gc.disable()
    found = yield
    gc.freeze()
    gc.enable()
    return found


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    refuse_skip(report)
    return report


def refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """In CI a skip is a failure, unless its reason is allowed; an expected failure is none."""
    if os.environ.get("CI") != "true" or not report.skipped or hasattr(report, "wasxfail"):
        return
    _, _, reason = report.longrepr
    reason = reason.removeprefix("Skipped: ")
    if reason not in ALLOWED_SKIPS:
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {reason}"
