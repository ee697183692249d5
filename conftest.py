"""Pages whose examples are tests, and the rule that nothing is skipped in CI."""

import doctest
import os
from collections.abc import Generator

import pytest
from sybil import Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tools import console

ALLOWED_SKIPS: frozenset[str] = frozenset()  # reasons, word for word

pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=doctest.ELLIPSIS),
        CodeBlockParser(language="console", evaluator=console.evaluate),
    ],
    patterns=["README.md", "CONTRIBUTING.md", "docs/*.md"],
    teardown=console.clean_up,
).pytest()


class PagesWhole(LoadScopeScheduling):
    """Tests go to any process; the examples of one page, which share names, to one and in order."""

    def _split_scope(self, nodeid: str) -> str:
        path, _, _ = nodeid.partition("::")
        return path if path.endswith(".md") else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> PagesWhole:
    return PagesWhole(config, log)


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
