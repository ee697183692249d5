"""What becomes of a mutant: does a figure change, and does a test of the mirrored folder fail."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.mutation.figures import Change, Leaf, change_between, steady, unexpected
from tools.mutation.sites import Mutant
from tools.mutation.workspace import Finished, Project, Workspace

KILLED, SURVIVED, TIMED_OUT, UNCHANGED = "killed", "survived", "timed out", "figures unchanged"
_SUITE = Path(__file__).with_name("suite.py")
_PASSED, _FAILED, _INTERRUPTED = 0, 1, 2
_FACTOR, _MORE = 5, 60
"""A mutant may take so many times the time of the unchanged code, and so many seconds more."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A mutant, the figure that it changes most, and what its tests said."""

    mutant: Mutant
    change: Change | None
    verdict: str
    test: str | None
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a JSON file."""
        changed = None if self.change is None else self.change.to_dict()
        return {
            **self.mutant.to_dict(),
            "verdict": self.verdict,
            "test": self.test,
            "changed": changed,
            "figures_changed": 0 if self.change is None else self.change.figures,
            "seconds": round(self.seconds, 1),
        }


@dataclass(kw_only=True)
class Unchanged:
    """What the unchanged project gives: its figures by section, and how long all takes."""

    figures: dict[str, dict[str, Leaf]] = field(default_factory=dict)
    called: dict[str, list[list[str]]] = field(default_factory=dict)
    """File and function of all that a section calls; nothing for one where that is not known."""
    probe_cpu: dict[str, float] = field(default_factory=dict)
    suite_cpu: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a JSON file."""
        return dict(vars(self))

    def may_show(self, section: str, mutant: Mutant) -> bool:
        """Whether a section runs the function of a mutant, as far as one can see."""
        called = self.called.get(section)
        return not called or [mutant.file, mutant.function] in called


class ProbeError(Exception):
    """The table of figures cannot be had: the message says why."""


def measured(project: Project, space: Workspace, folders: list[str]) -> Unchanged:
    """Figures that two runs agree on, and the tests of each folder, which must pass."""
    found = Unchanged()
    with space.cache(None) as cache:
        for section in project.sections:
            _probed(space, [section], cache, cpu=3600)  # compiles what is compiled
            runs = [_probed(space, [section], cache, cpu=3600) for _ in range(2)]
            (one, first), (other, _) = runs
            found.called[section] = called(space, section, cache)
            if errors := unexpected(one):
                raise ProbeError(f"figures must be those of the package, got: {errors[0]}")
            found.figures[section] = steady(one, other)
            found.probe_cpu[section] = first.cpu
        for folder in folders:
            ended, failed = _tested(space, folder, cache, (), Counter(), cpu=7200)
            if ended.code != _PASSED:
                raise ProbeError(
                    f"tests of {folder} must pass without a mutant, got: {failed or ended.output}"
                )
            found.suite_cpu[folder] = ended.cpu
    return found


def called(space: Workspace, section: str, cache: Path) -> list[list[str]]:
    """File and function of all that the figures of a section call; nothing where none can say."""
    path = space.folder / ".figures.json"
    command = space.project.calls
    if not command:
        return []
    ended = space.run([*command, str(path), section], cache=cache, cpu=7200)
    if ended.code != _PASSED:
        raise ProbeError(f"the calls of {section} must be counted, got: {ended.output}")
    found: list[list[str]] = json.loads(path.read_text(encoding="utf-8"))["called"]
    return found


class Judge:
    """Gives verdicts, and learns which tests kill."""

    def __init__(self, project: Project, unchanged: Unchanged) -> None:
        self._project = project
        self._unchanged = unchanged
        self._killers: Counter[str] = Counter()
        self._lock = threading.Lock()

    def remember(self, test: str | None) -> None:
        """A test that has killed is tried first."""
        if test is not None:
            with self._lock:
                self._killers[test] += 1

    def verdict(self, mutant: Mutant, space: Workspace) -> Verdict:
        """One mutant in one copy of the project."""
        start = time.monotonic()
        folder = mutant.file.partition("/")[0]
        with space.mutated(mutant), space.cache(mutant) as cache:
            change = self._change(space, mutant, cache)
            outcome, test = UNCHANGED, None
            if change is not None:
                outcome, test = self._outcome(space, mutant, folder, cache)
        self.remember(test)
        return Verdict(
            mutant=mutant,
            change=change,
            verdict=outcome,
            test=test,
            seconds=time.monotonic() - start,
        )

    def _change(self, space: Workspace, mutant: Mutant, cache: Path) -> Change | None:
        """In the sections of the folder; where nothing changed there, in the others too.

        Those that never call its function are left out: but for compiled code, whose calls are not
        seen.
        """
        first = self._project.first[mutant.file.partition("/")[0]]
        rest = tuple(name for name in self._project.sections if name not in first)
        for part in (first, rest):
            sections = [
                section
                for section in part
                if space.compiled_in(mutant) or self._unchanged.may_show(section, mutant)
            ]
            if not sections:
                continue
            before: dict[str, Leaf] = {}
            for section in sections:
                before |= self._unchanged.figures[section]
            usual = sum(self._unchanged.probe_cpu[section] for section in sections)
            limit = _FACTOR * usual + _MORE
            try:
                after, _ = _probed(space, sections, cache, cpu=limit)
            except ProbeError as error:
                return Change(
                    figure="all figures", was="there", now=str(error), relative=None, figures=1
                )
            kept = {name: value for name, value in after.items() if name in before}
            if change := change_between(before, kept):
                return change
        return None

    def _outcome(
        self, space: Workspace, mutant: Mutant, folder: str, cache: Path
    ) -> tuple[str, str | None]:
        words = tuple(Path(mutant.file).with_suffix("").parts[1:])
        limit = _FACTOR * self._unchanged.suite_cpu[folder] + _MORE
        with self._lock:
            killers = Counter(self._killers)
        ended, failed = _tested(space, folder, cache, words, killers, cpu=limit)
        if ended.code is None:
            return TIMED_OUT, None
        if ended.code == _PASSED:
            return SURVIVED, None
        return KILLED, failed or f"exit code {ended.code}"


def _probed(
    space: Workspace, sections: list[str], cache: Path, *, cpu: float
) -> tuple[dict[str, Leaf], Finished]:
    """The table, from a process of its own that imports the copy and nothing else."""
    path = space.folder / ".figures.json"
    path.unlink(missing_ok=True)
    command = [*space.project.probe, str(path), *sections]
    ended = space.run(command, cache=cache, cpu=cpu)
    if ended.code is None:
        raise ProbeError("the figures must be there in time, got none")
    if ended.code != _PASSED or not path.exists():
        last = ended.output.strip().rpartition("\n")[2] or f"exit code {ended.code}"
        raise ProbeError(last.replace(str(space.folder), "")[:200])
    document = json.loads(path.read_text(encoding="utf-8"))
    if not Path(document["package"]).is_relative_to(space.folder):
        raise RuntimeError(f"the package must be the copy, got {document['package']}")
    return document["figures"], ended


def _tested(
    space: Workspace,
    folder: str,
    cache: Path,
    words: tuple[str, ...],
    killers: Counter[str],
    *,
    cpu: float,
) -> tuple[Finished, str | None]:
    path = space.folder / ".suite.json"
    asked = {"paths": [f"tests/{folder}"], "words": words, "killers": killers}
    path.write_text(json.dumps(asked), encoding="utf-8")
    ended = space.run(["-P", str(_SUITE), str(path)], cache=cache, cpu=cpu)
    failed = json.loads(path.read_text(encoding="utf-8")).get("failed")
    return ended, failed
