"""``python suite.py FILE``: pytest on the paths that FILE names, likely killers first.

FILE is JSON: ``paths``, ``words`` that stand in the names of likely tests, and ``killers``, tests
that have failed before with how often. What failed is written into it, as ``failed``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest


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


def main(path: Path) -> int:
    """The exit code of pytest."""
    asked = json.loads(path.read_text(encoding="utf-8"))
    order = LikelyFirst(asked["words"], asked["killers"])
    own = ["-x", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "--import-mode=importlib"]
    code = int(pytest.main([*own, *asked["paths"]], plugins=[order]))
    path.write_text(json.dumps(asked | {"failed": order.failed}), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
