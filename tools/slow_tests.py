"""Which tests ``make check`` leaves to ``make test``, beside those that are marked slow by hand.

``tests/slow_tests.txt`` names the tests that were measured to take long, and of a parametrised test
a few cases are run, evenly spaced, the first and the last among them. To measure again, all or a
part: ``python -m tools.slow_tests [PATH ...]``. It runs tests one after another and rewrites the
lines of what it ran. CPU seconds are counted, those of commands that a test starts included, so
other jobs beside it do little harm.
"""

import os
import sys
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import pytest

FILE: Final = Path(__file__).resolve().parent.parent / "tests" / "slow_tests.txt"
LONGEST: Final = 0.1
"""CPU seconds that a case of a test in ``make check`` takes on average."""
CASES: Final = 6
"""Of a parametrised test that ``make check`` runs."""
FOUND: Final = "found by tools/slow_tests.py"
"""The reason of marks that were not set by hand."""


def function_of(name: str) -> str:
    """The id of a test without its case."""
    return name.partition("[")[0]


def representatives(cases: int) -> set[int]:
    """Which of so many cases ``make check`` runs.

    >>> sorted(representatives(4)), sorted(representatives(100))
    ([0, 1, 2, 3], [0, 20, 40, 59, 79, 99])
    """
    if cases <= CASES:
        return set(range(cases))
    return {round(place * (cases - 1) / (CASES - 1)) for place in range(CASES)}


def measured() -> set[str]:
    """The tests in the list."""
    return set(FILE.read_text(encoding="utf-8").splitlines())


def among(items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
    """The tests that were measured to be slow, and the cases that others stand for."""
    slow = measured()
    for function, cases in _by_function(items).items():
        kept = () if function in slow else representatives(len(cases))
        yield from (item for place, item in enumerate(cases) if place not in kept)


def _by_function(items: Sequence[pytest.Item]) -> dict[str, list[pytest.Item]]:
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        cases[function_of(item.nodeid)].append(item)
    return cases


def _is_marked_by_hand(item: pytest.Item) -> bool:
    reasons = [mark.kwargs.get("reason") for mark in item.iter_markers("slow")]
    return item.get_closest_marker("browser") is not None or any(
        reason != FOUND for reason in reasons
    )


class Measurement:
    """A plugin of pytest that runs what is fast by hand's marks and notes the CPU seconds.

    What tests share, they pay for together: whichever runs first would else be the slow one, and
    without it the next.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.shared: dict[tuple[str, str], float] = defaultdict(float)
        self.users: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._within: list[float] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keeps what is not marked by hand, and of its cases those that stand for the others."""
        fast = [item for item in items if not _is_marked_by_hand(item)]
        items[:] = [
            cases[place]
            for cases in _by_function(fast).values()
            for place in sorted(representatives(len(cases)))
        ]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object]
    ) -> Generator[None, object, object]:
        """Takes what is made for several tests out of the test that happens to need it first."""
        if fixturedef.scope == "function":
            return (yield)
        before = _cpu_seconds()
        self._within.append(0.0)
        try:
            return (yield)
        finally:
            spent, inner = _cpu_seconds() - before, self._within.pop()
            self.shared[(fixturedef.baseid, fixturedef.argname)] += spent - inner
            if self._within:
                self._within[-1] += spent
            else:
                self._taken_out += spent

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Function) -> Iterator[None]:
        """Notes what one test takes, its own fixtures included."""
        self._taken_out = 0.0
        before = _cpu_seconds()
        result = yield
        function = function_of(item.nodeid)
        self.seconds[function].append(_cpu_seconds() - before - self._taken_out)
        for name in getattr(item, "fixturenames", ()):
            for found in item._fixtureinfo.name2fixturedefs.get(name, ())[-1:]:
                self.users[(found.baseid, name)].append(function)
        return result

    def slow(self) -> set[str]:
        """The tests of which a case takes too long, its part of what is shared included.

        The middle of the cases counts: the first may also compile a kernel, which stays on the disk
        for the next run. Where a test is left out, those that are left share what it shared.
        """
        own = {function: median(seconds) for function, seconds in self.seconds.items()}
        slow: set[str] = set()
        while True:
            each = dict(own)
            for fixture, seconds in self.shared.items():
                users = [function for function in self.users[fixture] if function not in slow]
                for function in set(users):
                    each[function] += seconds / len(users)
            more = {function for function, seconds in each.items() if seconds > LONGEST} - slow
            if not more:
                return slow
            slow |= more


def _cpu_seconds() -> float:
    return sum(os.times()[:4])


def main(paths: Sequence[str]) -> int:
    """Measures the tests of these paths, or all of them, and rewrites their lines of the list."""
    found = Measurement()
    status = pytest.main(["--quiet", "--numprocesses=0", *paths], plugins=[found])
    slow = measured() - found.seconds.keys() | found.slow()
    FILE.write_text("".join(f"{name}\n" for name in sorted(slow)), encoding="utf-8")
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
