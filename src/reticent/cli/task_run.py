"""``reticent run`` on a number to predict, or on several labels at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from reticent.cli import gate, ledger_options, progress, table_form
from reticent.cli.output import print_json, print_line, print_table, print_warning
from reticent.cli.summary import REFUTED, written_by
from reticent.guarantee.rounding import upper_text
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.protect.signing import Signer
    from reticent.results.gate import Limit
    from reticent.results.task_results import TaskRelease, TaskResults
    from reticent.run import RunData, RunSpec
    from reticent.run.tasks.job import FinishedTask


def run_task_command(
    asked: tuple[RunData, RunSpec],
    form: table_form.TableForm,
    learner: str | None,
    *,
    command: str,
    charge: Any,
    limits: Sequence[Limit],
) -> FinishedTask:
    """The whole job; what only classes have a use for is refused before."""
    from reticent.results.gate import refuse_other_limits
    from reticent.run.tasks.job import TaskSpec, run_task

    refuse_other_limits(limits)
    if form.schema is None and form.classes is not None:
        raise InputError(f"--classes must not be given for {form.task}, which has none")
    wanted = TaskSpec(
        labels=form.required_labels(), learner=learner, target=form.target, unit=form.unit
    )
    with progress.stages() as stage:
        return run_task(*asked, wanted, command=command, stage=stage, charge=charge)


def written_task(finished: FinishedTask, folder: Path, *, sign: Signer | None) -> list[str]:
    """Document, release and page, all or none."""
    from reticent.report.task_page import write_task_report

    return written_by(finished, folder, sign=sign, write=write_task_report)


def end_task(
    finished: FinishedTask,
    written: tuple[Path, list[str]],
    limits: Sequence[Limit],
    *,
    json: bool,
    charged: bool,
) -> None:
    """Print what was found; end with 1 where a claim fell, with 3 above a limit."""
    from reticent.results.gate import exceeded_by_task

    results = finished.results
    if json:
        print_json(results.model_dump(mode="json"))
    else:
        if not charged:
            print_warning(ledger_options.NOT_CHARGED)
        print_task_summary(results, *written)
    if results.refuted(grades=("proven", "declared")):
        raise typer.Exit(REFUTED)
    gate.stop_above(exceeded_by_task(results, limits))


def print_task_summary(results: TaskResults, folder: Path, written: list[str]) -> None:
    """Measures before and after, each ε, what was found, where it stands; the verdict last."""
    release = results.recommended
    pairs = zip(results.unprotected.measures, release.measures, strict=True)
    print_table(
        f"On {results.facts.test:,} test records; {release.name}",
        ("measure", "without protection", "released"),
        [(one.words, shown(one.figure), shown(other.figure)) for one, other in pairs],
        detail=True,
    )
    print_table(
        f"Releases; {results.conclusion.attack} AUC without protection {results.conclusion.before}",
        ("release", "δ", results.unprotected.measures[0].words, "change", "AUC", "audit"),
        [_row(one, results) for one in results.releases],
        detail=True,
    )
    for sentence in results.conclusion.sentences:
        print_line(f"- {sentence}", detail=True)
    print_line(f"written to {folder}: {', '.join(written)}", detail=True)
    print_line(f"page: {folder / 'report.html'}")
    print_line(f"verdict: {results.conclusion.headline}")


def shown(figure: Any) -> str:
    """Four digits: measures are in the label's units."""
    return f"{figure.value:.4g} [{figure.low:.4g}, {figure.high:.4g}]"


def _row(release: TaskRelease, results: TaskResults) -> tuple[str, ...]:
    chosen = results.conclusion.attack
    auc = next((one.auc for one in release.attacks if one.name == chosen), None)
    mark = " ← handed over" if release.name == results.conclusion.recommended else ""
    return (
        f"{release.name}{mark}",
        upper_text(release.claim.delta),
        shown(release.measures[0].figure),
        f"{100 * release.change.value:+.1f} %",
        "–" if auc is None else str(auc),
        "–" if release.audit is None else release.audit.verdict,
    )
