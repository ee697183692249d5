"""``reticent demo``: the whole job; so far a walk through calibration, release and accounting."""

from __future__ import annotations

from reticent.cli.options import Json
from reticent.cli.output import print_json, print_line, print_titled
from reticent.pipeline import walk


def demo(json: Json = False) -> None:
    """A walk: a count, mechanisms side by side, many releases, a head with a proven release."""
    result = walk()
    if json:
        print_json(result.to_dict())
        return
    for table in result.tables:
        print_titled(table)
    print_line(result.verdict)
