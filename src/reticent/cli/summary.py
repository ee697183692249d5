"""What ``demo`` and ``run`` print at their end, and what they write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from reticent.cli.output import print_line, print_table
from reticent.files import partial_folder
from reticent.guarantee.rounding import upper_text
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.protect.signing import Signer
    from reticent.results import ReleaseRow, Results

REFUTED = 1
Write = Callable[[Any, Path], list[Path]]
"""Writes the page of a document into a folder."""
_CLASSES = 5
"""Whose recall is printed; the page has all of them."""


def written_by(
    finished: Any, folder: Path, *, sign: Signer | None = None, write: Write | None = None
) -> list[str]:
    """Document, release and page, all or none; what stands in the folder, folders with a slash.

    The signature of an earlier run goes with its release. ``write`` makes the page, where it is not
    that of a run on classes.
    """
    from reticent.parallel import dismiss_workers
    from reticent.protect.sealed_pair import signature_path
    from reticent.report import write_report
    from reticent.run.job import KEPT

    dismiss_workers()  # they leave while the page is drawn
    staged = None
    try:
        with partial_folder(".run-", within=folder) as staged:
            saved = finished.save(staged, sign=sign)
            paths = (write or write_report)(finished.results, folder)
            # From here on no more space is needed: a full disk has left the folder as it was.
            signature_path(folder / KEPT).unlink(missing_ok=True)
            paths += [path.replace(folder / path.name) for path in saved]
    except OSError as error:
        raise InputError(f"{folder} must be a folder to write to, got: {error.strerror}") from None
    except InputError as error:
        raise InputError(str(error).replace(str(staged or folder), str(folder))) from None
    first = [path.relative_to(folder).parts for path in paths]
    return sorted({parts[0] + ("/" if len(parts) > 1 else "") for parts in first})


def stop_refuted(results: Results) -> None:
    """End with 1 where the audit refuted a claim that rests on a theorem."""
    if results.refuted(grades=("proven", "declared")):
        raise typer.Exit(REFUTED)


def print_summary(results: Results, folder: Path, written: list[str]) -> None:
    """Releases at the ε that was asked for, what was found, where it stands; the verdict last."""
    asked = results.recommended.claim.epsilon
    shown = [one for one in results.releases if one.claim.epsilon == asked]
    chosen = results.conclusion.attack
    print_table(
        f"Releases at ε = {upper_text(asked)}; unprotected accuracy"
        f" {results.unprotected.accuracy.value:.3f}, {chosen} AUC {results.conclusion.before}",
        ("release", "δ", "accuracy", "utility loss", f"{chosen} AUC", "audit"),
        [_row(one, chosen, recommended=one is results.recommended) for one in shown],
        detail=True,
    )
    _print_recalls(results)
    for sentence in results.conclusion.sentences:
        print_line(f"- {sentence}", detail=True)
    if results.conclusion.would_help is not None:
        print_line(f"- {results.conclusion.would_help}", detail=True)
    print_line(f"written to {folder}: {', '.join(written)}", detail=True)
    print_line(f"page: {folder / 'report.html'}")
    print_line(f"verdict: {results.conclusion.headline}")


def _print_recalls(results: Results) -> None:
    """The classes of the recommended release, those that lose most first."""
    before, after = results.unprotected.by_class, results.recommended.by_class
    if before is None or after is None:
        return
    ordered = sorted(after.recalls, key=lambda one: -one.loss.value if one.loss else 0.0)
    rows = []
    for one in ordered[:_CLASSES]:
        was = before.of(one.label)
        rows.append(
            (
                one.label,
                f"{one.test:,}",
                "–" if was is None else str(was.recall),
                str(one.recall),
                "–" if one.loss is None else f"{100 * one.loss.value:.1f} %",
            )
        )
    few = "" if len(ordered) <= _CLASSES else f", {_CLASSES} of {len(ordered)} classes"
    print_table(
        f"Recall by class, {results.recommended.name}{few}; balanced accuracy"
        f" {before.balanced_accuracy.value:.3f} → {after.balanced_accuracy.value:.3f}",
        ("class", "test records", "before", "after", "loss"),
        rows,
        detail=True,
    )


def _row(release: ReleaseRow, attack: str, *, recommended: bool) -> tuple[str, ...]:
    auc = next((one.auc for one in release.attacks if one.name == attack), None)
    return (
        f"{release.name}{' ← recommended' if recommended else ''}",
        upper_text(release.claim.delta),
        str(release.accuracy),
        f"{100 * release.loss.value:.1f} %",
        "–" if auc is None else str(auc),
        "–" if release.audit is None else release.audit.verdict,
    )
