"""``reticent reproduce PAPER --quick``: what one item of each paper takes."""

import json
import sys

from benchmarks.harness import Cell, Result
from benchmarks.process_tree import ONE_THREAD, used_by

NAME = "reproduce_quick"
TITLE = "reticent reproduce --quick, paper by paper"

COLUMNS = ("paper", "items", "CPU s", "peak GiB")


def run(quick: bool) -> Result:
    """Each paper by itself; ``quick`` takes the first alone."""
    from reticent.studies.quick import quick_papers

    papers = quick_papers()[: 1 if quick else None]
    return Result(columns=COLUMNS, rows=[measured(paper) for paper in papers], note=NOTE)


NOTE = (
    "One process with one thread, imports included; on an idle machine seconds of the processor "
    "are those of the clock. One item that trains, and all exact items of the paper as one."
)


def measured(paper: str) -> list[Cell]:
    """One paper's items."""
    words = [sys.executable, "-m", "reticent", "reproduce", paper, "--quick", "--json"]
    used = used_by(words, ONE_THREAD)
    items = json.loads(used.printed)["quick"]
    return [paper, len(items), round(used.cpu, 1), round(used.peak / 2**30, 2)]
