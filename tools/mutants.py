"""Mutation test of the privacy code: ``make mutants``, or ``python tools/mutants.py --help``.

Random faults (operators, constants, comparisons, functions) are planted one at a time into bounds,
protect, mechanisms, accounting and ledger. Those that change a printed ε, δ, scale, sensitivity or
bound by more than 10⁻⁶ must be found by the tests of the folder that mirrors theirs: at least 95 %.
The survivors stand in the result with a reason out of ``tools/mutation/survivors.toml``.
"""

from __future__ import annotations

import argparse
import json
import queue
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # run as a script, too

from tools.mutation import report  # noqa: E402
from tools.mutation.journal import Journal, key_in_journal  # noqa: E402
from tools.mutation.run import Judge, Unchanged, measured  # noqa: E402
from tools.mutation.sites import Mutant, drawn, sites_of  # noqa: E402
from tools.mutation.workspace import Project, Workspace  # noqa: E402

Spaces = queue.SimpleQueue[Workspace]


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where enough mutants are found and every survivor has its reason."""
    asked = _parser().parse_args(arguments)
    project = Project(root=asked.root.resolve())
    folders = asked.only or list(project.folders)
    sites = [site for name, path in project.files(folders) for site in sites_of(path, name)]
    counts = Counter(site.file.partition("/")[0] for site in sites)
    print(f"{len(sites)} sites: " + ", ".join(f"{name} {counts[name]}" for name in folders))
    if asked.fresh:
        shutil.rmtree(asked.work, ignore_errors=True)
    rows = judged(project, drawn(sites, asked.count, asked.seed), folders, asked)
    reasons = report.reasons_of(report.REASONS)
    document = report.document_of(rows, counts, seed=asked.seed, reasons=reasons)
    if asked.out is not None:
        text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
        asked.out.write_text(text, encoding="utf-8")
    said, good = report.judgement(rows)
    print("\n".join(said))
    return 0 if good else 1


def judged(
    project: Project, mutants: list[Mutant], folders: list[str], asked: argparse.Namespace
) -> list[dict[str, Any]]:
    """The verdict on each mutant, from the journal of an earlier run where it is there."""
    header = {"package": project.digest(), "seed": asked.seed, "folders": folders}
    journal = Journal.opened(asked.work / "journal.jsonl", header)
    spaces: Spaces = queue.SimpleQueue()
    for number in range(asked.workers):
        spaces.put(Workspace(project, asked.work.resolve() / f"worker-{number}"))
    judge = Judge(project, _unchanged(project, spaces, folders, journal))
    for row in journal.rows.values():
        judge.remember(row["test"])
    waiting = [
        (number, mutant)
        for number, mutant in enumerate(mutants)
        if journal.row(mutant) is None or (asked.again and journal.survived(mutant))
    ]

    def work(task: tuple[int, Mutant]) -> None:
        number, mutant = task
        space = spaces.get()
        _tell(f"{number + 1}/{len(mutants)} {mutant.file}:{mutant.line}")
        try:
            row = judge.verdict(mutant, space).to_dict()
        finally:
            spaces.put(space)
        journal.add(mutant, row)
        print(report.line_of(row, number, len(mutants)), flush=True)

    with ThreadPoolExecutor(asked.workers) as pool:
        for _ in pool.map(work, waiting):
            pass
    return [journal.rows[key_in_journal(mutant)] for mutant in mutants]


def _unchanged(project: Project, spaces: Spaces, folders: list[str], journal: Journal) -> Unchanged:
    """Measured once for a journal, by the first worker."""
    if journal.unchanged is None:
        print("the unchanged project: figures twice, tests once", flush=True)
        space = spaces.get()
        journal.set_unchanged(measured(project, space, folders).to_dict())
        spaces.put(space)
    return Unchanged(**(journal.unchanged or {}))


def _tell(text: str) -> None:
    """What is under way, in a line that the next one overwrites; nothing where nobody looks."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}\r", end="", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    folders = Project(root=ROOT).folders
    add = parser.add_argument
    add("--count", type=int, default=200, help="how many mutants")
    add("--seed", type=int, default=16, help="of the draw")
    add("--only", nargs="+", choices=folders, help="folders of the package; all five by default")
    add("--workers", type=int, default=2, help="how many mutants at a time")
    add("--root", type=Path, default=ROOT, help="the project, which is copied")
    add("--work", type=Path, default=ROOT / "build" / "mutants", help="copies and the journal")
    add("--fresh", action="store_true", help="forget the journal of an earlier run")
    add("--again", action="store_true", help="judge the survivors of an earlier run again")
    add("--out", type=Path, help="where the result is written")
    return parser


if __name__ == "__main__":
    sys.exit(main())
