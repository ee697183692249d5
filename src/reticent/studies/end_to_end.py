"""Every command and function that prints *proven*, from two neighbouring files to all that leaves.

Audits that start after a table was read and cleaned cannot see what reading and cleaning do. Here
each pair is two files; types, layouts, numbers and persons are adversarial, and the real code runs
on both with its noise replaced (``reticent.audit.end_to_end``). A sensitivity that holds is never
exceeded, so one pair above 1 refutes a release.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from reticent.audit.end_to_end.pairs import Combination, audit_pair, combinations
from reticent.audit.end_to_end.releases import Audited
from reticent.guarantee.rounding import upper_text
from reticent.parallel import map_tasks
from reticent.run.every_release import WHOLE_JOB, every_release
from reticent.studies.trained import Outcome, Run, Table
from reticent.validation import InputError


@dataclass(frozen=True, kw_only=True)
class EndToEnd:
    """How many pairs for each release × file format × relation × unit, and the time of one fit."""

    pairs: int = 20
    command_pairs: int = 20
    """By the command line ``protect``."""
    job_pairs: int = 1
    """Of the command ``run``, attacks included."""
    limit: float = 30.0
    job_limit: float = 300.0


@dataclass(frozen=True, kw_only=True)
class OneRecipe(EndToEnd):
    """The same for the ways to one recipe alone: function, arrays and command."""

    recipe: str


@dataclass(frozen=True, kw_only=True)
class Named(EndToEnd):
    """The same for these releases alone, by their names."""

    releases: tuple[str, ...]

    def __post_init__(self) -> None:
        """Names of the list."""
        for name in self.releases:
            if name not in every_release() | WHOLE_JOB:
                raise InputError(f"releases must be of the end-to-end list, got {name!r}")


SPECS = {
    "built": EndToEnd(),
    "network": OneRecipe(recipe="network"),
    "schema": OneRecipe(recipe="schema"),
}


def study(spec: EndToEnd, run: Run) -> Outcome:
    """Neighbouring files through every command and function that prints proven.

    All pairs, and the largest figures of each release.
    """
    cells: Cells = {}
    every = _asked(spec)
    run.steps.plan(len(combinations(every)))
    for name, audited in every.items():  # one at a time: what is done stays done after a stop
        asked = combinations({name: audited})
        tasks = [(combination, *_effort(name, spec)) for combination in asked]
        compute = partial(map_tasks, _audited, tasks, jobs=run.jobs)
        cells |= dict(zip(asked, run.cell((spec, name), compute, steps=len(asked)), strict=True))
    return Outcome(specifications=(spec,), tables=(_table(cells), _formats(cells)))


def _asked(spec: EndToEnd) -> dict[str, Audited]:
    every = every_release() | WHOLE_JOB
    if isinstance(spec, Named):
        return {name: every[name] for name in every if name in spec.releases}
    if not isinstance(spec, OneRecipe):
        return every
    return {
        name: one for name, one in every.items() if spec.recipe in name.replace(",", " ").split()
    }


def _effort(name: str, spec: EndToEnd) -> tuple[int, float]:
    """Pairs of one combination, and the seconds that one release may take."""
    if name in WHOLE_JOB:
        return spec.job_pairs, spec.job_limit
    return spec.command_pairs if "(command)" in name else spec.pairs, spec.limit


def _audited(task: tuple[Combination, int, float]) -> dict[str, Any]:
    """The pairs of one combination."""
    combination, pairs, limit = task
    audited = (every_release() | WHOLE_JOB)[combination.release]
    outcomes = [
        audit_pair(audited, combination, number, limit=limit).outcome for number in range(pairs)
    ]
    return {
        "pairs": len(outcomes),
        "refused": sum(one.refused is not None for one in outcomes),
        "queries": sum(one.queries for one in outcomes),
        "ratio": max(one.ratio for one in outcomes),
        "epsilon": max(one.epsilon_ratio for one in outcomes),
        "problems": [problem for one in outcomes for problem in one.problems],
    }


Cells = dict[Combination, dict[str, Any]]


def _table(outcomes: Cells) -> Table:
    names = list(dict.fromkeys(one.release for one in outcomes))
    rows = [
        _row(name, [outcomes[one] for one in outcomes if one.release == name]) for name in names
    ]
    total = _row("all", list(outcomes.values()))
    return Table(
        title="Neighbouring files through every release: the furthest that a noisy query moved",
        columns=(
            "release",
            "pairs",
            "refused",
            "queries",
            "moved ÷ claimed",
            "ε ÷ claimed",
            "found",
        ),
        rows=(*rows, total),
        notes=(
            "Moved ÷ claimed: the largest distance of a query's exact values in two worlds, over "
            "the sensitivity that its noise was made for; above 1 the claim is false. ε ÷ claimed: "
            "what all queries of a pair are worth together, over the ε of its claim.",
            "Refused: both files, by what was asked for and not by what they hold. The hostile "
            "rows are ways around the noise, all of which must be refused. Found: pairs with any "
            "problem: a query that moved too far, another ε, a refusal of one file alone, other "
            "output after equal answers, or no end within the time limit.",
            "Rows with (command) run the installed command line; run (command) is the whole job "
            "with its attacks, whose claim covers one of its many releases. Attacks and figures "
            "may end that job on one of two files, which counts as refused: its guarantees say "
            "under stated that it is not published that a job failed.",
            *(
                f"Found in {one.release}, {one.format}, {one.relation}, {one.unit}: {problem}."
                for one, cell in outcomes.items()
                for problem in cell["problems"]
            ),
        ),
    )


def _formats(outcomes: Cells) -> Table:
    keys = list(dict.fromkeys((one.format, str(one.relation), one.unit) for one in outcomes))
    cells = {
        key: [outcomes[o] for o in outcomes if (o.format, str(o.relation), o.unit) == key]
        for key in keys
    }
    fewest = {
        key: min(
            (
                cell["pairs"]
                for one, cell in outcomes.items()
                if (one.format, str(one.relation), one.unit) == key and one.release not in WHOLE_JOB
            ),
            default=0,
        )
        for key in keys
    }
    return Table(
        title="The same by file format, relation and unit",
        columns=("format", "relation", "unit", "pairs", "fewest of a release", "moved ÷ claimed"),
        rows=tuple(
            (
                *key,
                str(sum(cell["pairs"] for cell in cells[key])),
                str(fewest[key]),
                upper_text(max(cell["ratio"] for cell in cells[key]), 12),
            )
            for key in keys
        ),
    )


def _row(name: str, cells: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    return (
        name,
        *(str(sum(cell[part] for cell in cells)) for part in ("pairs", "refused", "queries")),
        *(upper_text(max(cell[part] for cell in cells), 12) for part in ("ratio", "epsilon")),
        str(sum(len(cell["problems"]) for cell in cells)),
    )
