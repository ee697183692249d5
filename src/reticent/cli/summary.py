"""What ``demo`` and ``run`` print at their end, and what they write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reticent.cli.output import print_line, print_table
from reticent.guarantee.rounding import upper_text

if TYPE_CHECKING:
    from reticent.pipeline.running import Finished
    from reticent.results import Release, Results


def written_by(finished: Finished, folder: Path) -> list[str]:
    """Document, release and page; the names of what stands in the folder, folders with a slash."""
    from reticent.report import write_report

    paths = [*write_report(finished.results, folder), *finished.save(folder)]
    first = [path.relative_to(folder).parts for path in paths]
    names = {parts[0] + ("/" if len(parts) > 1 else "") for parts in first}
    return sorted(names)


def print_summary(results: Results) -> None:
    """Releases at the ε that was asked for, then the verdict."""
    asked = results.recommended.claim.epsilon
    shown = [one for one in results.releases if one.claim.epsilon == asked]
    chosen = results.conclusion.attack
    print_table(
        f"Releases at ε = {upper_text(asked)}; unprotected accuracy"
        f" {results.unprotected.accuracy.value:.3f}, {chosen} AUC {results.conclusion.before}",
        ("release", "δ", "accuracy", "utility loss", f"{chosen} AUC", "audit"),
        [_row(one, chosen, recommended=one is results.recommended) for one in shown],
    )
    print_line(results.conclusion.headline)
    for sentence in results.conclusion.sentences:
        print_line(f"- {sentence}")


def _row(release: Release, attack: str, *, recommended: bool) -> tuple[str, ...]:
    auc = next((one.auc for one in release.attacks if one.name == attack), None)
    return (
        f"{release.name}{' ← recommended' if recommended else ''}",
        upper_text(release.claim.delta),
        str(release.accuracy),
        f"{100 * release.loss.value:.1f} %",
        "–" if auc is None else str(auc),
        "–" if release.audit is None else release.audit.verdict,
    )
