"""``python suite.py FILE``: pytest on the paths that FILE names, likely killers first.

FILE is JSON: ``paths``, ``words`` that stand in the names of likely tests, and ``killers``, tests
that have failed before with how often. What failed is written into it, as ``failed``. A test has
failed where it fails twice in a row: some draw noise from secure bits, and a mutant is not to be
found by bad luck. Those that passed the second time are named in ``.unsteady.txt``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

_PASSED, _NOTHING_THERE = int(pytest.ExitCode.OK), int(pytest.ExitCode.NO_TESTS_COLLECTED)
_FIGURES = "test_printed_figures.py"
"""Run before the rest is even collected: it finds most, and libraries to compare with are slow."""
_UNSTEADY = Path(".unsteady.txt")


class LikelyFirst:
    """Sorts the tests, and remembers the first that failed."""

    def __init__(self, words: Sequence[str], killers: Mapping[str, int]) -> None:
        self.failed: str | None = None
        self._words = words
        self._killers = killers

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Those that failed before, those of the same name, the fast ones, the rest."""
        places = {item.nodeid: place for place, item in enumerate(items)}
        items.sort(key=lambda item: (*self._likelihood(item), places[item.nodeid]))

    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run the test, and once more where it failed; only the last run counts."""
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if any(report.failed for report in reports):
            first, reports = reports, runtestprotocol(item, nextitem=nextitem, log=False)
            if not any(report.failed for report in reports):
                _noted(first)
        for report in reports:
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test, or what it needs, failed."""
        if report.failed and self.failed is None:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file could not even be imported."""
        if report.failed and self.failed is None:
            self.failed = f"collection of {report.nodeid}"

    def _likelihood(self, item: pytest.Item) -> tuple[int, int, int]:
        slow = item.get_closest_marker("slow") is not None
        named = any(word in item.nodeid.partition("::")[0] for word in self._words)
        return -self._killers.get(item.nodeid, 0), int(slow), int(not named)


def _noted(reports: Sequence[pytest.TestReport]) -> None:
    with _UNSTEADY.open("a", encoding="utf-8") as file:
        for report in reports:
            if report.failed:
                file.write(f"{report.nodeid}\n{report.longreprtext}\n")


def main(path: Path) -> int:
    """The exit code of pytest: where the printed figures pass, that of all other tests."""
    asked = json.loads(path.read_text(encoding="utf-8"))
    order = LikelyFirst(asked["words"], asked["killers"])
    own = ["-x", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "--import-mode=importlib"]
    figures = [str(found) for folder in asked["paths"] for found in Path(folder).glob(_FIGURES)]
    code = _run([*own, *figures], order) if figures else _PASSED
    if code == _PASSED:
        rest = [f"--ignore={name}" for name in figures]
        code = _run([*own, *rest, *asked["paths"]], order)
        if figures and code == _NOTHING_THERE:
            code = _PASSED
    path.write_text(json.dumps(asked | {"failed": order.failed}), encoding="utf-8")
    return code


def _run(arguments: list[str], order: LikelyFirst) -> int:
    return int(pytest.main(arguments, plugins=[order]))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
