"""Figures that must not change unnoticed: cases in code, their numbers in a JSON file beside them.

Where the same call gives another ε, δ, scale or limit, that is written under *Privacy* in
CHANGELOG.md; then ``python -m tests.printed_figures`` writes the files anew.
"""

import functools
import importlib
import json
import math
from pathlib import Path

FOLDERS = ("accounting", "ledger", "mechanisms", "protect")
TOLERANCE = 1e-7
"""Relative: a tenth of what ``make mutants`` counts as a change, far above another libm's."""


def path_of(folder):
    return Path(__file__).parent / folder / "printed_figures.json"


@functools.cache
def kept(folder):
    """The numbers of one folder."""
    return json.loads(path_of(folder).read_text(encoding="utf-8"))


def cases_of(folder):
    """Names and functions without arguments, each of which gives a number, a list or a dict."""
    return importlib.import_module(f"tests.{folder}.printed_cases").CASES


def flat(value, name=""):
    """All numbers within, by name."""
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, (list, tuple)):
        parts = enumerate(value)
    else:
        return {name: value}
    return {
        key: leaf for place, part in parts for key, leaf in flat(part, f"{name} {place}").items()
    }


def same(one, other):
    """Equal, or numbers that differ by rounding."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=0)
    return one == other


def check(folder, name):
    """The figure is what it was."""
    was, now = flat(kept(folder)[name]), flat(cases_of(folder)[name]())
    keys = dict.fromkeys((*was, *now))
    pairs = {key: (was.get(key, "absent"), now.get(key, "absent")) for key in keys}
    assert {key: pair for key, pair in pairs.items() if not same(*pair)} == {}


def check_names(folder):
    """No case without its numbers, no numbers without their case."""
    assert set(cases_of(folder)) == set(kept(folder))


def main():
    """Write all files anew."""
    for folder in FOLDERS:
        figures = {name: case() for name, case in cases_of(folder).items()}
        text = json.dumps(figures, ensure_ascii=False, indent=1, allow_nan=False)
        path_of(folder).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
