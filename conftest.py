"""Pages whose examples are tests, and the rule that nothing is skipped in CI."""

import os
from collections.abc import Generator

import pytest
from sybil import Sybil
from sybil.integration.pytest import SybilItem
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

from tools import console

ALLOWED_SKIPS: frozenset[str] = frozenset()  # reasons, word for word

pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=console.doctest.ELLIPSIS),
        CodeBlockParser(language="console", evaluator=console.evaluate),
    ],
    patterns=["README.md", "CONTRIBUTING.md", "docs/*.md"],
    teardown=console.clean_up,
).pytest()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The examples of one page build on each other, so one process runs them all."""
    for item in items:
        if isinstance(item, SybilItem):
            item.add_marker(pytest.mark.xdist_group(item.path.name))


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
